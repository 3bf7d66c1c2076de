// `baton continue`: goes on with a session's work in another agent.

import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { NotFoundError } from '../../errors.ts'
import { documentsFolder, ownFolder, projectDocument } from '../../handoff/index.ts'
import { saveDocument } from '../../handoff/index.ts'
import { writeDocument } from '../../handoff/index.ts'
import { shellWord } from '../../system/index.ts'
import { recordEdge } from '../../tape/index.ts'
import { Tape } from '../../tape/index.ts'
import type { AgentName, SessionFile } from '../../agents/index.ts'
import { newestSession, type Session } from '../../transcripts/index.ts'
import { sessionFile } from '../../transcripts/index.ts'
import { type Start, startWith } from '../../agents/index.ts'
import { demandTrustedProject } from '../base/chosen-workspace.ts'
import { edited } from '../base/editor.ts'
import type { Io } from '../base/io.ts'
import { type Globals, Output } from '../base/output.ts'
import { pickSession } from '../sessions/pick.ts'
import { tapeOfSession } from './session-tape.ts'
import { handoffsFolder, withStore } from '../base/workspace.ts'

interface ContinueOptions extends Globals {
  in: AgentName
  agent?: AgentName
  goal?: string
  edit?: boolean
  print?: boolean
}

export async function continueIn(options: ContinueOptions, ref?: string): Promise<void> {
  const { io } = options
  demandTrustedProject('No session was opened', options)
  const file = await chosen(ref, options)
  const start = await withStore(options, async (store, out) => {
    const { name, session, about } = await tapeOfSession(store, file, io)
    const cwd = folderOf(session, io)
    const goal = options.goal === undefined ? {} : { goal: options.goal }
    const written = await writeDocument(new Tape(store, name), { ...about, ...goal, cwd, project: cwd })
    const markdown = options.edit === true ? edited(written.markdown, io) : written.markdown
    const saved = await saveDocument(
      store,
      name,
      markdown,
      written.note,
      options.edit === true ? undefined : written.document,
    )
    const { document, readable } = placed(cwd, name, new Date(saved.date), markdown, options)
    const start = startWith(options.in, document, cwd, randomUUID(), readable)
    const child = `${options.in}:${start.session ?? `after-${name}#${saved.id}`}`
    await recordEdge(store, { parent: name, child, how: 'continue', anchor: `#${saved.id}`, document })
    if (out.json) out.data({ tape: name, document, child, program: start.program, args: start.args, cwd })
    else if (options.print === true)
      out.line(`cd ${shellWord(cwd)} && ${[start.program, ...start.args].map(shellWord).join(' ')}`)
    else out.note(`${name} goes on in ${options.in} with ${document}`)
    return { ...start, cwd, document }
  })
  if (options.print !== true && options.json !== true) run(start, io)
}

/**
 * Writes the document where the next agent reads it without asking: in the project, hidden from git. Where that cannot be
 * written to, the document goes into the workspace, and the prompt has to repeat it.
 */
export function placed(
  cwd: string,
  tape: string,
  when: Date,
  markdown: string,
  globals: Globals,
): { document: string; readable: boolean } {
  try {
    const folder = ownFolder(documentsFolder(cwd, tape, undefined))
    return { document: projectDocument(folder, when, markdown), readable: true }
  } catch (error) {
    new Output(globals).warn(`baton: cannot write to ${cwd}: ${error instanceof Error ? error.message : String(error)}`)
    return { document: projectDocument(handoffsFolder(globals), when, markdown), readable: false }
  }
}

/** Returns the session that was named, or the one that was active last in this folder. */
async function chosen(ref: string | undefined, options: ContinueOptions): Promise<SessionFile> {
  const { io, agent } = options
  if (ref !== undefined) return pickSession(io, ref, agent)
  const newest = newestSession(io.cwd(), { agent, env: io.env })
  if (newest !== undefined) {
    new Output(options).note(
      `Newest session here: ${newest.agent}:${newest.id}${newest.title === undefined ? '' : `, ${newest.title}`}`,
    )
    return sessionFile(newest)
  }
  return pickSession(io, undefined, agent)
}

/** Returns the folder that the session worked in, if it still exists; else the current one. */
function folderOf(session: Session | undefined, io: Io): string {
  const { cwd } = session ?? {}
  return cwd !== undefined && fs.statSync(cwd, { throwIfNoEntry: false })?.isDirectory() === true ? cwd : io.cwd()
}

function run({ program, args, cwd, document }: Start & { cwd: string; document: string }, { env, exit }: Io): void {
  const { error, status, signal } = spawnSync(program, args, { cwd, env, stdio: 'inherit' })
  if (error !== undefined && 'code' in error && error.code === 'ENOENT') {
    throw new NotFoundError(`There is no program "${program}" on your path`, {
      hint: `Install it, or give its prompt the document yourself: ${path.normalize(document)}`,
    })
  }
  if (error !== undefined) throw error
  exit.code = status ?? (signal === null ? 1 : 130)
}
