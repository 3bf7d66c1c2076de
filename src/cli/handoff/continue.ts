// `baton continue`: goes on with a session's work in another agent.

import { spawnSync } from 'node:child_process'
import path from 'node:path'
import type { AgentName } from '../../agents/index.ts'
import { NotFoundError } from '../../errors.ts'
import { sessionContinue } from '../../operations/index.ts'
import { shellWord } from '../../system/index.ts'
import { newestSession } from '../../transcripts/index.ts'
import { demandTrustedProject } from '../base/chosen-workspace.ts'
import { edited } from '../base/editor.ts'
import type { Io } from '../base/io.ts'
import { type Globals, Output } from '../base/output.ts'
import { withWorkspace } from '../base/workspace.ts'
import { pickSession } from '../sessions/pick.ts'

interface ContinueOptions extends Globals {
  in: AgentName
  agent?: AgentName
  goal?: string
  edit?: boolean
  print?: boolean
}

export async function continueIn(options: ContinueOptions, ref?: string): Promise<void> {
  const { io, goal, agent } = options
  demandTrustedProject('No session was opened', options)
  const session = await chosen(ref, options)
  const edit = options.edit === true ? { edit: async (markdown: string) => edited(markdown, io) } : {}
  const start = await withWorkspace(options, async ({ run }, out) => {
    const start = await run(sessionContinue, { session, agent, in: options.in, goal }, edit)
    const { tape, document, program, args, cwd } = start
    if (out.json) out.data(start)
    else if (options.print === true) out.line(`cd ${shellWord(cwd)} && ${[program, ...args].map(shellWord).join(' ')}`)
    else out.note(`${tape} continues in ${options.in} with ${document}`)
    return start
  })
  if (options.print !== true && options.json !== true) open(start, io)
}

/** The session that was named, or the one that was active last in this folder, or one that the person picks. */
async function chosen(ref: string | undefined, options: ContinueOptions): Promise<string> {
  const { io, agent } = options
  if (ref !== undefined) return ref
  const newest = newestSession(io.cwd(), { agent, env: io.env })
  if (newest === undefined) {
    const { agent: of, id } = await pickSession(io, undefined, agent)
    return `${of}:${id}`
  }
  new Output(options).note(
    `Newest session here: ${newest.agent}:${newest.id}${newest.title === undefined ? '' : `, ${newest.title}`}`,
  )
  return `${newest.agent}:${newest.id}`
}

interface Start {
  readonly program: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly document: string
}

function open({ program, args, cwd, document }: Start, { env, exit }: Io): void {
  const { error, status, signal } = spawnSync(program, args, { cwd, env, stdio: 'inherit' })
  if (error !== undefined && 'code' in error && error.code === 'ENOENT') {
    throw new NotFoundError(`There is no program "${program}" on your path`, {
      hint: `Install it, or give its prompt the document yourself: ${path.normalize(document)}`,
    })
  }
  if (error !== undefined) throw error
  exit.code = status ?? (signal === null ? 1 : 130)
}
