import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Agent, createAgent, tapeHandoff } from '../../src/agent/index.ts'
import { handoffSession, type SessionHandoff, writeDocument } from '../../src/handoff/index.ts'
import type { Store } from '../../src/store/index.ts'
import { call, type ModelServer, say } from '../support/model-server/index.ts'
import { runs } from '../support/full.ts'
import { temporaryFolder, temporaryStore } from '../support/workspace.ts'
import { modelOf, serve } from './harness.ts'

const window = 20_000
const goal = 'Build the importer for the ledgers of the harbour'
const constraints = ['Never touch the public API.', 'The port is 4711.']

/** Each kind of handoff, as whoever makes it does. */
const kinds = {
  plain: async ({ agent }: Work) => void (await agent.tape.handoff('phase', { state: {} })),
  tool: async ({ agent }: Work) => void (await agent.submit('Please call the tool')),
  automatic: async ({ agent }: Work) => void (await agent.submit('Please fill the context')),
  '/handoff': async ({ agent }: Work) => demandDone(await agent.handoff()),
  '--new': async (work: Work) => {
    demandDone(await handoffSession(work.agent.tape, { cwd: work.cwd }))
    await work.agent.close()
    work.agent = await open(work)
  },
} as const

function demandDone({ status, message }: SessionHandoff): void {
  if (status !== 'done') throw new Error(message)
}

type Kind = keyof typeof kinds

interface Work {
  readonly store: Store
  readonly server: ModelServer
  readonly cwd: string
  agent: Agent
}

async function open({ store, server, cwd }: Omit<Work, 'agent'>): Promise<Agent> {
  return createAgent({
    store,
    // Whoever comes back still asks for the session that it knows.
    tape: 'main',
    model: modelOf['chat-completions'](server),
    tools: [tapeHandoff],
    cwd,
    window,
    handoff: { cooldown: 0 },
  })
}

/** A model that does what it is told and writes documents that say nothing. */
async function server(): Promise<ModelServer> {
  return serve((request) => {
    const last = request.messages.at(-1)!
    const usage = { input: 2_000, output: 10 }
    if (request.tools.length === 0) return say('## Goal\nGo on.\n\n## Next Steps\n1. Go on.', { usage })
    if (last.role === 'user' && last.text.endsWith('Please call the tool')) {
      return call('tape_handoff', { name: 'part' }, { usage })
    }
    const isFull = last.role === 'user' && last.text.endsWith('Please fill the context')
    return say('Done.', { usage: isFull ? { input: 17_000, output: 10 } : usage })
  })
}

async function afterHandoffs(order: readonly Kind[]): Promise<void> {
  const place = { store: await temporaryStore(), server: await server(), cwd: temporaryFolder() }
  const work: Work = { ...place, agent: await open(place) }
  await work.agent.submit(`${goal}. ${constraints.join(' ')}`)
  for (const [i, kind] of order.entries()) {
    await kinds[kind](work)
    await work.agent.submit(`Go on with part ${i + 1}`)
    // The context that the model was just given, and the document that would be written now.
    const given = place.server.requests.at(-1)!.messages.map(({ text }) => text)
    const { markdown } = await writeDocument(work.agent.tape, { budget: 2_000 })
    for (const words of [goal, ...constraints]) {
      expect(given.join('\n'), `after ${order.slice(0, i + 1).join(', ')}`).toContain(words)
      expect(markdown, `after ${order.slice(0, i + 1).join(', ')}`).toContain(words)
    }
  }
  await work.agent.close()
}

test(
  'ten handoffs of mixed kinds in any order keep the goal and the constraints [H12, H13, H14]',
  { timeout: 120_000 },
  async () => {
    const names = Object.keys(kinds) as Kind[]
    const order = fc.array(fc.constantFrom(...names), { minLength: 10, maxLength: 10 })
    await fc.assert(fc.asyncProperty(order, afterHandoffs), {
      numRuns: runs(20),
      examples: [[[...names, ...names]], [[...names, ...names].reverse()]],
    })
  },
)
