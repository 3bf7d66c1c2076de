// A model by its name: `provider/name`, from a flag or BATON_MODEL, with keys from the usual variables. The providers are
// loaded only when one is used: most of Baton works without a model.

import { createRequire } from 'node:module'
import type { LanguageModel } from 'ai'
import { InvalidError, UnsupportedError } from '../errors.ts'

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

// Which AI SDK calls a model. Baton carries AI SDK 6, which calls models of the specifications v2 and v3. A model of a newer
// specification was made by a newer SDK, and the package "ai" of the caller's own project calls it.

type AiSdk = Pick<typeof import('ai'), 'streamText'>

const carried: readonly string[] = ['v2', 'v3']

/** A variable, because the build replaces every literal import of the package by the carried copy. */
const ownPackage: string = 'ai'

/** The SDK that can call the model; where there is none, the error says what to install. */
export async function aiSdkFor(model: LanguageModel): Promise<AiSdk> {
  if (typeof model === 'string' || carried.includes(model.specificationVersion)) return import('ai')
  // AI SDK 5 brought the specification v2, 6 brought v3, 7 brought v4.
  const needed = Number(model.specificationVersion.slice(1)) + 3
  const found = ownVersion()
  if (found === undefined || Number.parseInt(found, 10) < needed) {
    throw new UnsupportedError(
      `The model ${model.modelId} needs AI SDK ${needed}, and ${found === undefined ? 'it is not installed' : `AI SDK ${found} is installed`}`,
      { hint: `Run "npm install ai@${needed}" in your project.${needed === 7 ? ' It needs Node 22 or newer.' : ''}` },
    )
  }
  return (await import(ownPackage)) as AiSdk
}

/** The version of the package "ai" in the project that uses Baton. */
function ownVersion(): string | undefined {
  try {
    const { version } = createRequire(import.meta.url)(`${ownPackage}/package.json`) as { version: string }
    return version
  } catch {
    // There is no such package: the caller of this says so.
    return undefined
  }
}
