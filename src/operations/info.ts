// The workspace itself.

import * as z from 'zod'
import manifest from '../../package.json' with { type: 'json' }
import { agentNames } from '../agents/index.ts'
import { isReserved } from '../tape/index.ts'
import { operation } from './operation.ts'

export const workspaceInfo = operation({
  name: 'workspace.info',
  summary: 'Which workspace this is, what an acknowledged write means here, and how much it holds.',
  scope: 'read',
  route: 'GET /workspace',
  input: z.object({}),
  output: z.object({
    workspace: z.string().describe('Identifies it in tape:// references.'),
    place: z.string().describe('Where it is, for people.'),
    project: z.string(),
    guarantee: z.string(),
    version: z.string().describe('Of Baton.'),
    agents: z.array(z.string()).describe('The agents that Baton knows by itself.'),
    tapes: z.int(),
    entries: z.int(),
    bytes: z.int(),
  }),
  async run({ store, project }) {
    const total = { tapes: 0, entries: 0, bytes: 0 }
    for await (const { tape, entries, bytes } of store.list()) {
      if (!isReserved(tape)) total.tapes += 1
      total.entries += entries
      total.bytes += bytes
    }
    const { workspace, place, guarantee } = store
    return { workspace, place, project, guarantee, version: manifest.version, agents: agentNames, ...total }
  },
})
