// @ts-nocheck It is checked where it runs: there the package is installed.
// Has the installed Baton call a model of whichever AI SDK is beside it: a document with a narrative, and an agent's turn with a tool.
// Prints what came of it as JSON.
import { createAgent, openTape, writeHandoff } from '@baton/baton'
import { fsList } from '@baton/baton/agent'
import { simulateReadableStream } from 'ai'
import * as mocks from 'ai/test'

// AI SDK 7 has the newer of the two.
const { MockLanguageModelV4, MockLanguageModelV3 } = /** @type {Record<string, any>} */ (mocks)
const Model = MockLanguageModelV4 ?? MockLanguageModelV3
const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
}
/** @param {object[]} parts @param {string} reason */
const answer = (parts, reason) => ({
  stream: simulateReadableStream({
    chunks: [
      { type: 'stream-start', warnings: [] },
      ...parts,
      { type: 'finish', finishReason: { unified: reason, raw: reason }, usage },
    ],
  }),
})
const text = (delta) => [
  { type: 'text-start', id: '1' },
  { type: 'text-delta', id: '1', delta },
  { type: 'text-end', id: '1' },
]
/** One answer after another. */
const modelThatSays = (...answers) => new Model({ doStream: async () => answers.shift() })

const tape = await openTape('refunds')
await tape.record({ role: 'user', content: 'Refund order 7. Never refund twice.' })
await tape.record({ role: 'assistant', content: 'Order 7 is refunded.' })
const narrator = new Model({ doStream: async () => answer(text('## Notes\n- the customer was friendly'), 'stop') })
const { markdown } = await writeHandoff(tape, { goal: 'refunds', model: narrator, budget: 1_000 })

const call = { type: 'tool-call', toolCallId: 'c1', toolName: 'fs_list', input: '{"path":"."}' }
const worker = modelThatSays(answer([call], 'tool-calls'), answer(text('There are files.'), 'stop'))
const agent = await createAgent({ store: tape.store, tape: 'worker', model: worker, tools: [fsList] })
const turn = await agent.submit('What is in this folder?')
await agent.close()
const results = []
const work = await openTape('worker')
for await (const entry of work.entries()) if (entry.kind === 'tool_result') results.push(...entry.payload.results)
await work.close()
await tape.close()
console.log(JSON.stringify({ specification: narrator.specificationVersion, markdown, turn, results }))
