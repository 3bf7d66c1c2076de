// An agent whose tool ignores that it was cancelled, in a process with nothing else to wait for: ignoring-child FOLDER

import path from 'node:path'
import { MockLanguageModelV3, simulateReadableStream } from 'ai/test'
import * as z from 'zod'
import { createAgent } from '../../src/agent/index.ts'
import { openFileStore } from '../../src/store/index.ts'

const [folder] = process.argv.slice(2) as [string]
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
}
const model = new MockLanguageModelV3({
  doStream: async () => ({
    stream: simulateReadableStream({
      chunks: [
        { type: 'tool-call', toolCallId: 'call_1', toolName: 'test_deaf', input: '{}' },
        { type: 'finish', finishReason: { unified: 'tool-calls', raw: undefined }, usage },
      ],
    }),
  }),
})
const store = await openFileStore(path.join(folder, '.baton'))
const agent = await createAgent({
  store,
  tape: 'main',
  cwd: folder,
  model,
  tools: [
    {
      name: 'test.deaf',
      description: 'Never ends',
      input: z.object({}),
      run: () => {
        agent.abort()
        return new Promise(() => {})
      },
    },
  ],
})
const result = await agent.submit('go')
await store.close()
process.stdout.write(JSON.stringify(result))
