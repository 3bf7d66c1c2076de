// An agent in a process of its own that dies where it is told to:
// crash-child FOLDER URL DIE [THRESHOLD], where DIE is `event:N` (at the Nth event), `access`, `running`, `output` (of a command), or `never`; `handoff` hands off after the turn.

import fs from 'node:fs'
import path from 'node:path'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import * as z from 'zod'
import { bash, createAgent } from '../../src/agent/index.ts'
import { openFileStore } from '../../src/store/index.ts'

const [folder, url, die, threshold] = process.argv.slice(2) as [string, string, string, string?]
const deathEvent = Number(/^event:(\d+)$/.exec(die)?.[1] ?? 0)
let events = 0

function dieAt(place: string): void {
  if (place !== die) return
  process.kill(process.pid, 'SIGKILL')
  // The signal may take a moment; nothing more may happen until then.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}

const store = await openFileStore(path.join(folder, '.baton'))
const agent = await createAgent({
  store,
  tape: 'main',
  cwd: folder,
  model: createOpenAICompatible({ name: 'scripted', baseURL: `${url}/v1`, includeUsage: true })('scripted'),
  handoff: { at: threshold === undefined ? false : Number(threshold) },
  tools: [
    bash,
    {
      name: 'test.note',
      description: 'Notes a text',
      input: z.object({ text: z.string() }),
      access: () => {
        dieAt('access')
        return { kind: 'none' }
      },
      run: async (input) => {
        const { text } = input as { text: string }
        fs.appendFileSync(path.join(folder, 'notes'), `${text}\n`)
        dieAt('running')
        return { output: `noted ${text}` }
      },
    },
  ],
  onEvent: (event) => {
    fs.writeSync(1, `${JSON.stringify(event)}\n`)
    events++
    if (events === deathEvent) dieAt(die)
    if (event.type === 'tool-output') dieAt('output')
  },
})
process.stdin.on('data', (chunk) => void agent.submit(String(chunk).trim()))
const result = await agent.submit('Note a and b. Never note c.')
fs.writeSync(1, `${JSON.stringify({ type: 'result', result })}\n`)
if (die === 'handoff') await agent.handoff()
await store.close()
process.exit(0)
