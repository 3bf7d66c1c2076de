// The names of OpenTelemetry's conventions for generative AI that Baton uses, as data: a test holds them against the published list.
// https://opentelemetry.io/docs/specs/semconv/gen-ai/

import type { Attributes } from '@opentelemetry/api'

/** The last release with the conventions for generative AI; since then they are kept in a separate repository. */
export const schemaUrl = 'https://opentelemetry.io/schemas/1.41.0'

/** Attributes of spans and metrics. */
export const genAi = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  agentName: 'gen_ai.agent.name',
  agentDescription: 'gen_ai.agent.description',
  agentVersion: 'gen_ai.agent.version',
  conversation: 'gen_ai.conversation.id',
  model: 'gen_ai.request.model',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  tokenType: 'gen_ai.token.type',
  toolName: 'gen_ai.tool.name',
  toolDescription: 'gen_ai.tool.description',
  toolType: 'gen_ai.tool.type',
  errorType: 'error.type',
} as const

/** Histograms with their units. The bounds of tokens are those that the conventions advise. */
export const genAiMetrics = {
  agentDuration: { name: 'gen_ai.invoke_agent.duration', unit: 's' },
  toolDuration: { name: 'gen_ai.execute_tool.duration', unit: 's' },
  tokens: { name: 'gen_ai.client.token.usage', unit: '{token}' },
} as const

export const tokenBoundaries = Array.from({ length: 14 }, (_, power) => 4 ** power)

/** The provider of an agent that names none: as far as is known, the relay provides it. */
const ownProvider = 'baton'

/** What is known of an agent besides its name. */
export interface AgentShape {
  readonly description?: string | undefined
  readonly version?: string | undefined
  /** As the conventions name it, such as `anthropic` or `openai`. */
  readonly provider?: string | undefined
  readonly model?: string | undefined
}

/** The name of the span for work of an agent, and its attributes. */
export function invokeAgent(
  agent: string,
  conversation: string,
  about: AgentShape = {},
): { name: string; attributes: Attributes } {
  return {
    name: `invoke_agent ${agent}`,
    attributes: {
      ...invocation(agent, about),
      [genAi.conversation]: conversation,
      ...(about.description === undefined ? {} : { [genAi.agentDescription]: about.description }),
      ...(about.version === undefined ? {} : { [genAi.agentVersion]: about.version }),
    },
  }
}

/** The attributes of an invocation that are few enough for metrics. */
export function invocation(agent: string, { provider = ownProvider, model }: AgentShape = {}): Attributes {
  return {
    [genAi.operation]: 'invoke_agent',
    [genAi.provider]: provider,
    [genAi.agentName]: agent,
    ...(model === undefined ? {} : { [genAi.model]: model }),
  }
}

/** A command that an agent has to pass, as a tool that runs. */
export function executeTool(tool: string, description: string): { name: string; attributes: Attributes } {
  return {
    name: `execute_tool ${tool}`,
    attributes: {
      [genAi.operation]: 'execute_tool',
      [genAi.toolName]: tool,
      [genAi.toolDescription]: description,
      [genAi.toolType]: 'extension',
    },
  }
}

/** What an agent has used of a model. */
export interface TokenUsage {
  readonly input: number
  readonly output: number
}

export function usageAttributes(usage: TokenUsage | undefined): Attributes {
  return usage === undefined ? {} : { [genAi.inputTokens]: usage.input, [genAi.outputTokens]: usage.output }
}
