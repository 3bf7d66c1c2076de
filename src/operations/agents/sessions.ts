// The sessions of the agents on this machine, as their own files show them.

import path from 'node:path'
import * as z from 'zod'
import { agentNamed } from '../../agents/index.ts'
import { configuredModels } from '../../config/index.ts'
import { follow, importSession, listSessions } from '../../transcripts/index.ts'
import { liveOperation, operation } from '../operation.ts'
import { tapeName } from '../tape/shapes.ts'
import { agentName, namedSession } from './session-tape.ts'

const session = z.looseObject({
  agent: z.string(),
  id: z.string(),
  cwd: z.string().optional(),
  branch: z.string().optional(),
  title: z.string().optional(),
  model: z.string().optional(),
  parent: z.string().optional(),
  started: z.string().optional(),
  updated: z.string(),
  turns: z.int(),
  compactions: z.int(),
  state: z.looseObject({ state: z.string() }),
  meter: z.looseObject({}).describe('How full the context is, what quota is left, what it cost.'),
  bytes: z.int(),
  compactsAt: z.number().optional().describe('The tokens at which the agent compacts by itself.'),
})

export const sessionList = operation('session.list', 'read', 'GET /sessions', {
  summary: "This machine's agent sessions with their meters, the last worked on first.",
  input: z.object({
    agent: agentName.optional(),
    here: z.boolean().optional().describe("Only those of this workspace's project."),
    subagents: z.boolean().optional(),
    since: z.string().max(40).optional().describe('Only those that were active after this date.'),
    limit: z.int().min(1).max(1000).default(100),
    offset: z.int().min(0).default(0),
  }),
  output: z.object({ sessions: z.array(session), total: z.int() }),
  async run({ env, project }, { agent, here, subagents, since, limit, offset }) {
    const below = here === true ? { below: project } : {}
    const all = listSessions({ env, agent, subagents, ...below, models: await configuredModels(project) })
    const from = since === undefined ? undefined : Date.parse(since)
    const found = from === undefined ? all : all.filter(({ updated }) => Date.parse(updated) >= from)
    const page = found.slice(offset, offset + limit).map(({ path: _path, ...row }) => {
      const { window } = row.meter
      const compactsAt = agentNamed(row.agent).compactsAt?.({ window, model: row.model, cwd: row.cwd, env })
      return { ...row, state: { ...row.state }, meter: { ...row.meter }, compactsAt }
    })
    return { sessions: page, total: found.length }
  },
})

export const sessionId = z
  .string()
  .min(4)
  .max(100)
  .regex(/^[\w:.-]+$/, 'it can have letters, digits, and the characters : . - _')
  .describe('The id of the session, or its beginning. A path is refused.')

const sessionRef = z.string().min(1).max(4000).describe('The id of the session, or its beginning. A path is refused.')
const damagedLine = z.looseObject({ line: z.int(), message: z.string() })

export const sessionImport = operation('session.import', 'operate', 'POST /sessions/{session}/import', {
  summary: 'Bring the session of an agent onto its tape, or bring that tape up to date.',
  input: z.object({
    session: sessionRef,
    agent: agentName.optional(),
    tape: tapeName.optional().describe('Onto this tape; AGENT:SESSION unless given.'),
  }),
  output: z.looseObject({ tape: z.string(), entries: z.int(), damaged: z.array(damagedLine) }),
  async run(workspace, { session, agent, tape }, { caller, progress }) {
    const file = namedSession(workspace, session, agent, caller)
    const imported = await importSession(workspace.store, file, {
      env: workspace.env,
      tape,
      onProgress: (bytes) => progress(`${bytes} of ${file.bytes}`),
    })
    const damaged = imported.damaged.map((each) => ({
      ...each,
      file: caller.local === true ? each.file : path.basename(each.file),
    }))
    return { ...imported, damaged }
  },
})

export const sessionFollow = liveOperation('session.follow', 'operate', 'POST /sessions/{session}/follow', {
  summary: 'Keep the tape of a session up to date while it is running, and report what was added.',
  input: z.object({ session: sessionRef, agent: agentName.optional(), tape: tapeName.optional() }),
  each: z.looseObject({}),
  async *run(workspace, { session, agent, tape }, { caller, signal }) {
    const { store, env } = workspace
    const file = namedSession(workspace, session, agent, caller)
    for await (const news of follow(store, file, { env, tape, signal })) yield { ...news }
  },
})
