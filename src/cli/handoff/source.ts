// What `baton handoff` is about: the session or tape that was named, or what this folder worked on last.

import fs from 'node:fs'
import path from 'node:path'
import { type AgentName, agentNames } from '../../agents/index.ts'
import { CancelledError, NotFoundError } from '../../errors.ts'
import { redactValue, resumeHandoff, type WriteOptions } from '../../handoff/index.ts'
import type { Store } from '../../store/index.ts'
import { isReserved } from '../../tape/index.ts'
import { listSessions, type Session, sessionFile } from '../../transcripts/index.ts'
import { chosenWorkspace } from '../base/chosen-workspace.ts'
import { age, type Globals, type Output } from '../base/output.ts'
import { demand } from '../base/workspace.ts'
import { sessionTape, tapeOfSession } from './session-tape.ts'

interface SourceOptions extends Globals {
  tape?: string
  agent?: AgentName
}

/** The tape to write about, and what is known of the work on it. A session of another agent is imported onto its tape first. */
interface Source {
  readonly name: string
  readonly about: Pick<WriteOptions, 'cwd' | 'project' | 'contextUsage' | 'phase'>
}

/** `ref`: a session or a tape. Without one, and without `--tape`, the person or the dates decide. */
export async function sourceOf(
  store: Store,
  ref: string | undefined,
  options: SourceOptions,
  out: Output,
): Promise<Source> {
  if (options.tape !== undefined) return tapeSource(store, options.tape, options)
  if (ref === undefined) return chosen(store, await worked(store, options), options, out)
  const isTape = options.agent === undefined && (await store.info(ref)) !== undefined
  return isTape ? tapeSource(store, ref, options) : sessionTape(store, ref, options.io, options.agent)
}

async function tapeSource(store: Store, name: string, options: Globals): Promise<Source> {
  await demand(store, name)
  const { by } = chosenWorkspace(options)
  // A workspace that was named may belong to another project than the current folder.
  return { name, about: by === 'store' || by === 'workspace' ? {} : { cwd: options.io.cwd() } }
}

/** Something that this folder worked on: a tape, or a session that may not be on a tape yet. */
type Work =
  | { readonly tape: string; readonly date: string }
  | { readonly tape: string; readonly date: string; readonly session: Session }

/** How many the list on a terminal offers; older ones have to be named. */
const offered = 30

async function chosen(store: Store, works: readonly Work[], options: SourceOptions, out: Output): Promise<Source> {
  const [newest] = works
  if (newest === undefined) {
    throw new NotFoundError('Nobody has worked in this folder yet, as far as Baton can see', {
      hint: 'Name a session of another folder; "baton ls" shows them.',
    })
  }
  const { stdin, stdout } = options.io
  const asks = works.length > 1 && stdin.isTTY === true && stdout.isTTY === true
  const work = asks ? await picked(works, options) : newest
  if (!asks && works.length > 1)
    out.warn(`baton: handing off ${work.tape}, which was worked on last; name another one, or use --tape`)
  if ('session' in work) return tapeOfSession(store, sessionFile(work.session), options.io)
  return tapeSource(store, work.tape, options)
}

async function picked(works: readonly Work[], { io }: SourceOptions): Promise<Work> {
  const { autocomplete, isCancel } = await import('@clack/prompts')
  const answer = await autocomplete({
    input: io.stdin,
    output: io.stdout,
    message: 'What do you want to hand off?',
    options: await Promise.all(
      works.slice(0, offered).map(async (work) => ({ value: work, label: await labelOf(work), hint: age(work.date) })),
    ),
  })
  if (isCancel(answer)) throw new CancelledError('Nothing was chosen')
  return answer
}

/** A title often is the first prompt, and that may hold a secret. */
async function labelOf(work: Work): Promise<string> {
  if (!('session' in work)) return `tape  ${work.tape}`
  const { value: title } = await redactValue(work.session.title ?? work.session.id)
  return `${work.session.agent}  ${title}`
}

/** The tapes of the workspace and the sessions of this folder, the last one worked on first. */
async function worked(store: Store, options: SourceOptions): Promise<Work[]> {
  const found = new Map<string, Work>()
  if (options.agent === undefined) {
    for await (const { tape } of store.list()) {
      if (isReserved(tape) || isPartOfImport(tape)) continue
      const active = await resumeHandoff(store, tape)
      const date = found.has(active) ? undefined : await lastWork(store, active)
      if (date !== undefined) found.set(active, { tape: active, date })
    }
  }
  for (const session of sessionsHere(options)) {
    const tape = `${session.agent}:${session.id}`
    found.set(tape, { tape, date: session.updated, session })
  }
  return [...found.values()].sort((a, b) => (a.date < b.date ? 1 : -1))
}

/** A subagent's tape lies below that of its session, and is no work of its own. */
function isPartOfImport(tape: string): boolean {
  return agentNames.some((agent) => tape.startsWith(`${agent}:`)) && tape.includes('/')
}

/** When somebody last said or did something on the tape. Documents and marks of imports are no work. */
async function lastWork(store: Store, tape: string): Promise<string | undefined> {
  for await (const entry of store.read(tape, { reverse: true })) {
    if (entry.meta.context !== false && entry.payload !== undefined) return entry.date
  }
  return undefined
}

/** The sessions of this folder; if there are none, those of the repository around it. */
function sessionsHere({ io, agent }: SourceOptions): Session[] {
  const cwd = io.cwd()
  const here = listSessions({ env: io.env, agent, below: cwd })
  const root = here.length > 0 ? undefined : repositoryAbove(cwd)
  return root === undefined ? here : listSessions({ env: io.env, agent, below: root })
}

function repositoryAbove(folder: string): string | undefined {
  for (let at = path.dirname(folder); ; at = path.dirname(at)) {
    if (fs.existsSync(path.join(at, '.git'))) return at
    if (at === path.dirname(at)) return undefined
  }
}
