// What `baton handoff` is about: the session or tape that was named, or what this folder worked on last.

import type { AgentName } from '../../agents/index.ts'
import { CancelledError, NotFoundError } from '../../errors.ts'
import { redactValue } from '../../handoff/index.ts'
import { tapeList, workList } from '../../operations/index.ts'
import { age, brief, type Globals, type Output } from '../base/output.ts'
import type { Door } from '../base/workspace.ts'

interface SourceOptions extends Globals {
  tape?: string
  agent?: AgentName
}

/** What `document.write` takes. */
interface Source {
  readonly tape?: string
  readonly session?: string
  readonly agent?: AgentName
}

/** `ref`: a session or a tape. Without one, and without `--tape`, the person or the dates decide. */
export async function sourceOf(
  door: Door,
  ref: string | undefined,
  options: SourceOptions,
  out: Output,
): Promise<Source> {
  const { tape, agent } = options
  if (tape !== undefined) return { tape }
  if (ref === undefined) return chosen(door, options, out)
  if (agent !== undefined) return { session: ref, agent }
  const { tapes } = await door.run(tapeList, { prefix: ref, own: true, limit: Number.MAX_SAFE_INTEGER })
  return tapes.some(({ tape }) => tape === ref) ? { tape: ref } : { session: ref }
}

/** How many the list on a terminal offers; older ones have to be named. */
const offered = 30

type Work = Awaited<ReturnType<typeof workList.run>>['work'][number]

async function chosen({ run }: Door, options: SourceOptions, out: Output): Promise<Source> {
  const { work } = await run(workList, { agent: options.agent })
  const [newest] = work
  if (newest === undefined) {
    throw new NotFoundError('Baton found no work in this folder', {
      hint: 'Name a session of another folder; "baton ls" shows them.',
    })
  }
  const { stdin, stdout } = options.io
  const asks = work.length > 1 && stdin.isTTY === true && stdout.isTTY === true
  const { tape, session } = asks ? await picked(work, options) : newest
  if (!asks && work.length > 1)
    out.warn(`baton: handing off ${tape}, which was worked on last; name another one, or use --tape`)
  return session === undefined ? { tape } : { session: tape }
}

async function picked(works: readonly Work[], { io }: SourceOptions): Promise<Work> {
  const { autocomplete, isCancel } = await import('@clack/prompts')
  const answer = await autocomplete({
    input: io.stdin,
    output: io.stdout,
    message: 'What do you want to hand off?',
    options: await Promise.all(
      works.slice(0, offered).map(async (work) => ({
        value: work,
        label: `${age(work.date).padStart(7)}  ${brief(await labelOf(work), 60)}`,
      })),
    ),
  })
  if (isCancel(answer)) throw new CancelledError('Nothing was chosen')
  return answer
}

/** A title often is the first prompt, and that may hold a secret. */
async function labelOf({ tape, session }: Work): Promise<string> {
  if (session === undefined) return `tape  ${tape}`
  const { value: title } = await redactValue(session.title ?? session.id)
  return `${session.agent}  ${title}`
}
