// A coding agent of your own: its context is built from a tape, its handoffs are anchors on that tape, and when its
// process dies in the middle of a turn, the next one goes on.
//
// In a project of your own: import { codingTools, createAgent, openStore, permissionPolicy } from '@baton/baton'
//
//   node examples/agent.ts openai/gpt-5 "What does this project do?"     (Node 22.18 or newer, which runs TypeScript)

import { fileURLToPath } from 'node:url'
import { loadModel } from '../src/config/model.ts'
import { type AgentOptions, codingTools, createAgent, openStore, permissionPolicy } from '../src/index.ts'

/** Asks an agent that works in a folder, and tells what it does meanwhile. */
export async function ask(
  prompt: string,
  cwd: string,
  model: NonNullable<AgentOptions['model']>,
  tell: (line: string) => void,
): Promise<string> {
  const store = await openStore(`${cwd}/.baton`)
  const agent = await createAgent({
    store,
    tape: 'example',
    model,
    cwd,
    tools: codingTools(),
    permissions: permissionPolicy({ cwd, yes: true }),
    handoff: { at: '70%' },
    onEvent: (event) => {
      if (event.type === 'recovered') tell(`The last run was cut; going on from ${event.anchor}`)
      if (event.type === 'tool-start') tell(`${event.name} ${JSON.stringify(event.input)}`)
      if (event.type === 'handoff' && event.phase === 'done') tell(event.message)
    },
  })
  try {
    const result = await agent.submit(prompt)
    if (result.kind === 'turn' && result.status === 'failed') throw new Error(result.error)
    return result.kind === 'turn' || result.kind === 'command' ? result.text : ''
  } finally {
    await agent.close()
    await store.close()
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [model, prompt = 'What is in this folder?'] = process.argv.slice(2)
  console.log(await ask(prompt, process.cwd(), await loadModel(model === undefined ? {} : { model }), console.error))
}
