// An agent against the scripted server, on a store of its own.

import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { LanguageModel } from 'ai'
import { onTestFinished } from 'vitest'
import * as z from 'zod'
import {
  type Agent,
  type AgentEvent,
  type AgentOptions,
  type AgentTool,
  createAgent,
  type ToolContext,
  type ToolOutcome,
} from '../../src/agent/index.ts'
import { type Api, type ModelServer, type Script, startModelServer } from '../support/model-server/index.ts'
import { temporaryFolder, temporaryStore } from '../support/workspace.ts'

/** A handoff document as a model writes one; what is not given is `(none)`. */
export function documentText(sections: {
  goal: string
  inProgress?: string
  pending?: string
  decision: string
  context?: string
  next: string
}): string {
  const { goal, inProgress = '(none)', pending = '(none)', decision, context = '(none)', next } = sections
  return `## Goal
${goal}
## Constraints & Preferences
- Never touch the public API.
## Progress
### Done
- Looked around
### In Progress
- ${inProgress}
### Pending
- ${pending}
## Key Decisions
- ${decision}
## Critical Context
- ${context}
## Next Steps
- ${next}
`
}

export async function serve(script: Script): Promise<ModelServer> {
  const server = await startModelServer({ script })
  onTestFinished(() => server.close())
  return server
}

const apiKey = 'none'
export const modelOf: Record<Api, (server: ModelServer) => LanguageModel> = {
  'chat-completions': ({ url }) =>
    createOpenAICompatible({ name: 'scripted', baseURL: `${url}/v1`, includeUsage: true })('scripted'),
  responses: ({ url }) => createOpenAI({ baseURL: `${url}/v1`, apiKey }).responses('scripted'),
  messages: ({ url }) => createAnthropic({ baseURL: `${url}/v1`, apiKey })('scripted'),
}

export interface Scene {
  agent: Agent
  server: ModelServer
  events: AgentEvent[]
  /** The events of one type, as far as they have come. */
  of: <T extends AgentEvent['type']>(type: T) => Extract<AgentEvent, { type: T }>[]
  /** Resolves at the first event, from now on, that fits. */
  until: (fits: (event: AgentEvent) => boolean) => Promise<AgentEvent>
}

export async function scene(
  script: Script,
  options: Partial<AgentOptions> = {},
  api: Api = 'chat-completions',
): Promise<Scene> {
  const server = await serve(script)
  const events: AgentEvent[] = []
  const store = options.store ?? (await temporaryStore())
  const agent = await createAgent({
    store,
    tape: 'main',
    model: modelOf[api](server),
    cwd: temporaryFolder(),
    retry: { seconds: 0.01 },
    ...options,
    onEvent: (event) => events.push(event),
  })
  onTestFinished(() => agent.close())
  return {
    agent,
    server,
    events,
    of: (type) => events.filter((event) => event.type === type) as never,
    until: (fits) =>
      new Promise((resolve) => {
        const stop = agent.subscribe((event) => {
          if (!fits(event)) return
          stop()
          resolve(event)
        })
      }),
  }
}

/** A tool that tells the test about its runs. */
export function probe(
  name: string,
  run: (input: { text: string }, context: ToolContext) => Promise<ToolOutcome> | ToolOutcome,
): AgentTool<{ text: string }> & { readonly runs: string[] } {
  const runs: string[] = []
  return {
    name,
    description: `Does ${name}`,
    input: z.object({ text: z.string() }),
    runs,
    run: async (input, context) => {
      runs.push(input.text)
      return run(input, context)
    },
  }
}

export const echo = () => probe('test.echo', ({ text }) => ({ output: `echo ${text}` }))
