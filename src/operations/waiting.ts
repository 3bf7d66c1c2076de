// What waits for a person: questions of agents and tasks, and supervised sessions that cannot continue by themselves.

import * as z from 'zod'
import { BatonError } from '../errors.ts'
import { sessionRows } from '../supervisor/index.ts'
import { operation } from './operation.ts'
import type { Workspace } from './workspace.ts'

const item = z.object({
  kind: z.enum(['escalation', 'session']),
  id: z.string().describe('Of the escalation, or the name of the session.'),
  title: z.string(),
  detail: z.string(),
  from: z.string(),
  priority: z.string(),
  since: z.string(),
})

type Item = z.output<typeof item>

export const waitingList = operation('waiting.list', 'read', 'GET /waiting', {
  summary: 'What waits for a person: questions of agents, and sessions that ask or are left alone.',
  input: z.object({}),
  output: z.object({ items: z.array(item) }),
  async run(workspace) {
    return { items: [...(await questions(workspace)), ...(await sessions(workspace))] }
  },
})

async function questions(workspace: Workspace): Promise<Item[]> {
  const found = await openQuestions(workspace)
  return found.map(({ id, from, priority, summary, reasonDetail, askedAt }) => ({
    kind: 'escalation',
    id,
    title: reasonDetail === '' ? summary : reasonDetail,
    detail: summary,
    from,
    priority,
    since: askedAt,
  }))
}

/** In a project that the user does not trust there is no relay, and so nobody who asks. */
async function openQuestions(workspace: Workspace) {
  try {
    return await (await workspace.relay()).escalations.list()
  } catch (error) {
    if (BatonError.is(error) && error.code === 'refused') return []
    throw error
  }
}

/** The states in which nothing happens until somebody looks. */
const stuck: ReadonlySet<string> = new Set(['dialog', 'unsupervised', 'dead', 'lost'])

async function sessions({ store }: Workspace): Promise<Item[]> {
  const items: Item[] = []
  for await (const { name, agent, state, step, last_check } of sessionRows(store)) {
    if (!stuck.has(state)) continue
    const title = state === 'dialog' ? `${name} asks something` : `${name} is ${state}`
    items.push({
      kind: 'session',
      id: name,
      title,
      detail: step ?? '',
      from: agent,
      priority: 'medium',
      since: last_check,
    })
  }
  return items
}
