// A model by its name: `provider/name`, from a flag or BATON_MODEL, with keys from the usual variables. The providers are
// loaded only when one is used: most of Baton works without a model.

import type { LanguageModel } from 'ai'
import { InvalidError } from '../errors.ts'

export interface ModelChoice {
  /** `provider/name`, such as `anthropic/claude-sonnet-4-5`, `openai/gpt-5` or `ollama/qwen3`. */
  model?: string
  /** The address of a server that speaks OpenAI chat completions: Ollama, vLLM, LM Studio and the like. */
  baseUrl?: string
  env?: NodeJS.ProcessEnv
}

export interface ChosenModel {
  readonly name: string
  readonly model: LanguageModel
}

/** Local servers that need no more than their name. */
const localServers: Record<string, string> = {
  ollama: 'http://127.0.0.1:11434/v1',
  lmstudio: 'http://127.0.0.1:1234/v1',
  vllm: 'http://127.0.0.1:8000/v1',
}

const howTo =
  'Name one with --model provider/name or BATON_MODEL, for example anthropic/claude-sonnet-4-5, openai/gpt-5 or ollama/qwen3.'

/** The name that was chosen, or undefined if none was. */
export function chosenName({ model, env = process.env }: ModelChoice): string | undefined {
  const name = model ?? env.BATON_MODEL
  return name === undefined || name === '' ? undefined : name
}

export async function loadModel(choice: ModelChoice): Promise<ChosenModel> {
  const env = choice.env ?? process.env
  const name = chosenName(choice)
  if (name === undefined) throw new InvalidError('No model is set', { hint: howTo })
  const slash = name.indexOf('/')
  if (slash <= 0 || slash === name.length - 1) throw new InvalidError(`"${name}" is not a model`, { hint: howTo })
  const provider = name.slice(0, slash)
  const id = name.slice(slash + 1)
  const baseURL = choice.baseUrl ?? nonEmpty(env.BATON_BASE_URL)
  if (provider === 'anthropic') {
    const { createAnthropic } = await import('@ai-sdk/anthropic')
    const apiKey = demandKey(env, 'ANTHROPIC_API_KEY', provider)
    return {
      name,
      model: createAnthropic({ apiKey, ...(baseURL === undefined ? {} : { baseURL: checkedUrl(baseURL) }) })(id),
    }
  }
  if (provider === 'openai' && baseURL === undefined) {
    const { createOpenAI } = await import('@ai-sdk/openai')
    return { name, model: createOpenAI({ apiKey: demandKey(env, 'OPENAI_API_KEY', provider) })(id) }
  }
  const address = baseURL ?? localServers[provider]
  if (address === undefined) {
    throw new InvalidError(`"${provider}" is not a known provider`, {
      hint: 'Use openai, anthropic, ollama, lmstudio or vllm, or give the address of your server with --base-url.',
    })
  }
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
  const apiKey = nonEmpty(env.OPENAI_API_KEY)
  const server = createOpenAICompatible({
    name: provider,
    baseURL: checkedUrl(address),
    includeUsage: true,
    ...(apiKey === undefined ? {} : { apiKey }),
  })
  return { name, model: server(id) }
}

function demandKey(env: NodeJS.ProcessEnv, variable: string, provider: string): string {
  const key = nonEmpty(env[variable])
  if (key !== undefined) return key
  throw new InvalidError(`${provider} needs a key, and ${variable} is not set`, {
    hint: `Set ${variable}, or use a local server with --base-url. A handoff without a model needs no key: --writer ledger.`,
  })
}

function checkedUrl(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined
  // The request would be refused later, in a sentence that shows them.
  if (url !== undefined && url.username + url.password !== '') {
    throw new InvalidError('The address of the server holds a name or a password', {
      hint: 'Give a key in OPENAI_API_KEY instead.',
    })
  }
  if (url !== undefined && /^https?:$/.test(url.protocol)) return address
  throw new InvalidError(`"${address}" is not the address of a server`, {
    hint: 'For example: --base-url http://127.0.0.1:11434/v1',
  })
}

function nonEmpty(value: string | undefined): string | undefined {
  return value === '' ? undefined : value
}
