// What was worked on here: tapes, and sessions of agents that may not be on a tape yet.

import fs from 'node:fs'
import path from 'node:path'
import { randomUUID } from 'node:crypto'
import * as z from 'zod'
import { type AgentName, agentNames, startWith } from '../../agents/index.ts'
import { NotFoundError } from '../../errors.ts'
import {
  documentsFolder,
  documentText,
  projectedFile,
  resumeHandoff,
  saveDocument,
  savedDocuments,
  writeDocument,
} from '../../handoff/index.ts'
import type { Store } from '../../store/index.ts'
import { givenDocument, isReserved, recordEdge, recordGiven, Tape } from '../../tape/index.ts'
import { listSessions, newestSession, type Session, sessionFile } from '../../transcripts/index.ts'
import { placeDocument } from '../document/write.ts'
import { operation } from '../operation.ts'
import { agentName, namedSession, tapeOfSession } from './session-tape.ts'

const agent = agentName

export const workList = operation('work.list', 'read', 'GET /work', {
  summary: 'What was worked on in this project: tapes and sessions of agents, the last one worked on first.',
  input: z.object({ agent: agent.optional().describe('Only sessions of this agent.') }),
  output: z.object({
    work: z.array(
      z.object({
        tape: z.string(),
        date: z.string(),
        session: z.looseObject({ agent: z.string(), id: z.string(), title: z.string().optional() }).optional(),
      }),
    ),
  }),
  async run({ store, cwd, project, env }, { agent }, { caller }) {
    const found = new Map<string, { tape: string; date: string; session?: Shown }>()
    if (agent === undefined) {
      for await (const { tape } of store.list()) {
        if (isReserved(tape) || isPartOfImport(tape)) continue
        const active = await resumeHandoff(store, tape)
        const date = found.has(active) ? undefined : await lastWork(store, active)
        if (date !== undefined) found.set(active, { tape: active, date })
      }
    }
    for (const session of sessionsIn(caller.local === true ? cwd : project, env, agent)) {
      const tape = `${session.agent}:${session.id}`
      const { id, title } = session
      found.set(tape, { tape, date: session.updated, session: { agent: session.agent, id, title } })
    }
    return { work: [...found.values()].sort((a, b) => (a.date < b.date ? 1 : -1)) }
  },
})

type Shown = { agent: AgentName; id: string; title: string | undefined }

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

/** The sessions of a folder; if there are none, those of the repository around it. */
function sessionsIn(folder: string, env: NodeJS.ProcessEnv, agent: AgentName | undefined): Session[] {
  const here = listSessions({ env, agent, below: folder })
  const root = here.length > 0 ? undefined : repositoryAbove(folder)
  return root === undefined ? here : listSessions({ env, agent, below: root })
}

function repositoryAbove(folder: string): string | undefined {
  for (let at = path.dirname(folder); ; at = path.dirname(at)) {
    if (fs.existsSync(path.join(at, '.git'))) return at
    if (at === path.dirname(at)) return undefined
  }
}

export const sessionContinue = operation('session.continue', 'operate', 'POST /continue-session', {
  summary: "Prepare another agent to continue a session's work: its document, and the command that starts the agent.",
  input: z.object({
    session: z.string().min(1).max(4000).optional().describe("Its id, or its beginning; else the project's newest."),
    agent: agent.optional().describe('The agent of the session.'),
    in: agent.describe('The agent to continue in.'),
    goal: z.string().max(2000).optional().describe('What it is to do; steers what is kept.'),
    print: z
      .boolean()
      .optional()
      .describe('Whether the command is only shown: lineage then learns of the session when it has begun.'),
  }),
  output: z.object({
    tape: z.string(),
    document: z.string().describe('The file that the agent reads.'),
    child: z.string().describe('The tape of the session that continues.'),
    program: z.string(),
    args: z.array(z.string()),
    cwd: z.string(),
  }),
  async run(workspace, { session: ref, agent, in: into, goal, print }, { caller, edit }) {
    const { store, env } = workspace
    workspace.trusted('No session was opened')
    const newest = ref === undefined ? newestSession(workspace.cwd, { agent, env }) : undefined
    if (ref === undefined && newest === undefined)
      throw new NotFoundError(`No agent has worked in ${workspace.cwd} yet`, { hint: 'Name a session.' })
    const file = newest === undefined ? namedSession(workspace, ref!, agent, caller) : sessionFile(newest)
    const { name, session, about } = await tapeOfSession(workspace, file)
    const cwd = folderOf(session) ?? workspace.cwd
    const write = async () => {
      const options = { ...about, ...(goal === undefined ? {} : { goal }), cwd, project: cwd }
      const written = await writeDocument(new Tape(store, name), options)
      const markdown = (await edit?.(written.markdown)) ?? written.markdown
      const own = edit === undefined ? written.document : undefined
      const saved = await saveDocument(store, name, markdown, written.note, own)
      return { saved, ...placeDocument(workspace, cwd, name, new Date(saved.date), markdown) }
    }
    const printed = print === true && edit === undefined ? await printedBefore(store, name, goal, cwd) : undefined
    const { saved, document, readable } = printed ?? (await write())
    const start = startWith(into, document, cwd, randomUUID(), readable)
    const child = `${into}:${start.session ?? `after-${name}#${saved.id}`}`
    const origin = { parent: name, anchor: `#${saved.id}`, document }
    await (print === true ? recordGiven(store, origin) : recordEdge(store, { ...origin, child, how: 'continue' }))
    return { tape: name, document, child, program: start.program, args: start.args, cwd }
  },
})

/** The document of an earlier look at the command, if nothing has happened on the tape since: looking stores it once. */
async function printedBefore(store: Store, tape: string, goal: string | undefined, cwd: string) {
  const newest = await savedDocuments(store, tape).next()
  if (newest.done === true) return undefined
  const saved = newest.value
  if (saved.goal !== goal || (await store.info(tape))?.lastId !== saved.id) return undefined
  const folder = documentsFolder(cwd, tape, undefined)
  const document = projectedFile(folder, new Date(saved.date), await documentText(store, saved))
  if (document === undefined || (await givenDocument(store, document))?.anchor !== `#${saved.id}`) return undefined
  return { saved, document, readable: true }
}

/** The folder that the session worked in, if it still exists. */
function folderOf(session: Session | undefined): string | undefined {
  const { cwd } = session ?? {}
  return cwd !== undefined && fs.statSync(cwd, { throwIfNoEntry: false })?.isDirectory() === true ? cwd : undefined
}
