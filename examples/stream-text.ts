// An agent of your own on a tape: the context comes from the tape, each step goes to it, and when it grows too long a
// document takes the place of the conversation.
//
// In a project of your own: import { openTape, writeHandoff } from '@baton/baton'

import fs from 'node:fs'
import { jsonSchema, type LanguageModel, stepCountIs, streamText, tool } from 'ai'
import { openTape, type Tape, writeHandoff } from '../src/index.ts'

const tools = {
  list: tool({
    description: 'List the files of a folder',
    inputSchema: jsonSchema<{ folder: string }>({ type: 'object', properties: { folder: { type: 'string' } } }),
    execute: async ({ folder }) => fs.readdirSync(folder),
  }),
}

/** One turn: what the user said, then as many steps as the model takes. */
export async function turn(tape: Tape, model: LanguageModel, input: string, limit = 100_000): Promise<string> {
  await tape.record({ role: 'user', content: input })
  const { messages } = await tape.context({ format: 'ai-sdk', maxTokens: 120_000 })
  const run = streamText({
    model,
    tools,
    messages,
    stopWhen: stepCountIs(10),
    onStepFinish: (step) => tape.recordStep(step),
  })
  await run.consumeStream()
  if ((await tape.info()).contextTokens > limit) await writeHandoff(tape, { goal: input, budget: 2_000 })
  return run.text
}

/** A whole conversation, which goes on where it was left. */
export async function talk(name: string, model: LanguageModel, inputs: readonly string[]): Promise<string[]> {
  const tape = await openTape(name)
  const answers: string[] = []
  for (const input of inputs) answers.push(await turn(tape, model, input))
  await tape.close()
  return answers
}
