// `baton continue`: goes on with a session's work in another agent.

import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { NotFoundError } from '../errors.ts'
import { projectDocument } from '../handoff/projection.ts'
import { saveDocument } from '../handoff/saved.ts'
import { writeDocument } from '../handoff/writer.ts'
import { shellWord } from '../store/shell-word.ts'
import { recordEdge } from '../tape/lineage.ts'
import { Tape } from '../tape/index.ts'
import { type AgentName, newestSession, type Session, type SessionFile } from '../transcripts/index.ts'
import { sessionFile } from '../transcripts/resolve.ts'
import { type Start, startWith } from '../transcripts/launch.ts'
import { edited } from './editor.ts'
import { type Globals, Output } from './output.ts'
import { pickSession } from './pick-session.ts'
import { tapeOfSession } from './session-tape.ts'
import { handoffsFolder, withStore } from './workspace.ts'

interface ContinueOptions extends Globals {
  in: AgentName
  agent?: AgentName
  goal?: string
  edit?: boolean
  print?: boolean
}

export async function continueIn(ref: string | undefined, options: ContinueOptions): Promise<void> {
  const file = await chosen(ref, options)
  const start = await withStore(options, async (store, out) => {
    const { name, session, about } = await tapeOfSession(store, file)
    const cwd = folderOf(session)
    const goal = options.goal === undefined ? {} : { goal: options.goal }
    const written = await writeDocument(new Tape(store, name), { ...about, ...goal, cwd, project: cwd })
    const markdown = options.edit === true ? edited(written.markdown) : written.markdown
    const saved = await saveDocument(store, name, markdown, written.note)
    const document = projectDocument(handoffsFolder(options), new Date(saved.date), markdown)
    const start = startWith(options.in, document, cwd, randomUUID())
    const child = `${options.in}:${start.session ?? `after-${name}#${saved.id}`}`
    await recordEdge(store, { parent: name, child, how: 'continue', anchor: `#${saved.id}` })
    if (out.json) out.data({ tape: name, document, child, program: start.program, args: start.args, cwd })
    else if (options.print === true)
      out.line(`cd ${shellWord(cwd)} && ${[start.program, ...start.args].map(shellWord).join(' ')}`)
    else out.note(`${name} goes on in ${options.in} with ${document}`)
    return { ...start, cwd, document }
  })
  if (options.print !== true && options.json !== true) run(start)
}

/** The session that is named, or the one that was active last in this folder. */
async function chosen(ref: string | undefined, options: ContinueOptions): Promise<SessionFile> {
  if (ref !== undefined) return pickSession(ref, options.agent)
  const newest = newestSession(process.cwd(), { agent: options.agent })
  if (newest !== undefined) {
    new Output(options).note(
      `Newest session here: ${newest.agent}:${newest.id}${newest.title === undefined ? '' : `, ${newest.title}`}`,
    )
    return sessionFile(newest)
  }
  return pickSession(undefined, options.agent)
}

/** Where the session worked, if that folder is still there. */
function folderOf(session: Session | undefined): string {
  const { cwd } = session ?? {}
  return cwd !== undefined && fs.statSync(cwd, { throwIfNoEntry: false })?.isDirectory() === true ? cwd : process.cwd()
}

function run({ program, args, cwd, document }: Start & { cwd: string; document: string }): void {
  const { error, status, signal } = spawnSync(program, args, { cwd, stdio: 'inherit' })
  if (error !== undefined && 'code' in error && error.code === 'ENOENT') {
    throw new NotFoundError(`There is no program "${program}" on your path`, {
      hint: `Install it, or give its prompt the document yourself: ${path.normalize(document)}`,
    })
  }
  if (error !== undefined) throw error
  process.exitCode = status ?? (signal === null ? 1 : 130)
}
