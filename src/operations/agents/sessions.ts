// The sessions of the agents on this machine, as their own files tell.

import * as z from 'zod'
import { agentNamed, agentNames } from '../../agents/index.ts'
import { configuredModels } from '../../config/index.ts'
import { importSession, listSessions, resolveSession } from '../../transcripts/index.ts'
import { operation } from '../operation.ts'

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

export const sessionList = operation({
  name: 'session.list',
  summary: "This machine's agent sessions with their meters, the last worked on first.",
  scope: 'read',
  route: 'GET /sessions',
  input: z.object({
    agent: z.enum(agentNames).optional(),
    here: z.boolean().optional().describe("Only those of this workspace's project."),
    subagents: z.boolean().optional(),
    limit: z.int().min(1).max(1000).default(100),
    offset: z.int().min(0).default(0),
  }),
  output: z.object({ sessions: z.array(session), total: z.int() }),
  async run({ env, project }, { agent, here, subagents, limit, offset }) {
    const below = here === true ? { below: project } : {}
    const found = listSessions({ env, agent, subagents, ...below, models: await configuredModels(project) })
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
  .regex(/^[\w:.-]+$/)
  .describe('The id of the session, or its beginning. A path is refused.')

export const sessionImport = operation({
  name: 'session.import',
  summary: 'Bring the session of an agent onto its tape, or bring that tape up to date.',
  scope: 'operate',
  route: 'POST /sessions/{session}/import',
  input: z.object({
    session: sessionId,
    agent: z.enum(agentNames).optional(),
  }),
  output: z.object({ tape: z.string() }),
  async run({ store, env, project }, { session, agent }) {
    const file = resolveSession(session, { env, cwd: project, agent })
    const { tape } = await importSession(store, file, { env })
    return { tape }
  },
})
