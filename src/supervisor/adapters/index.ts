// Every agent that can be supervised, by its name: those that Baton knows, and those that a configuration describes.

import { NotFoundError } from '../../errors.ts'
import { type AgentName, agentNames } from '../../transcripts/index.ts'
import type { Adapter, Command } from '../adapter.ts'
import { claude } from './claude.ts'
import { codex } from './codex.ts'
import { customAdapter } from './custom.ts'
import { gemini } from './gemini.ts'
import type { Known } from './known.ts'
import { opencode } from './opencode.ts'
import { pi } from './pi.ts'
import type { AgentSettings } from './settings.ts'

export { agentSettings, type AgentSettings } from './settings.ts'

const known: Readonly<Record<AgentName, Known>> = { claude, codex, pi, gemini, opencode }

export interface AdapterOptions {
  /** What the agent will be run with: it also tells where the agent keeps its own settings. */
  readonly env?: NodeJS.ProcessEnv
  /** By name: `supervisor.agents` of baton.config.json. */
  readonly agents?: Readonly<Record<string, AgentSettings>>
}

export function adapterNamed(name: string, { env = process.env, agents = {} }: AdapterOptions = {}): Adapter {
  const settings = Object.hasOwn(agents, name) ? agents[name] : undefined
  const found = agentNames.find((each) => each === name)
  const base = found === undefined ? undefined : known[found]
  if (base !== undefined) return adapt(base, settings, env)
  if (settings !== undefined) return customAdapter(name, settings)
  const names = [...agentNames, ...Object.keys(agents)]
  throw new NotFoundError(`There is no agent "${name}"`, {
    hint: `Agents are ${names.join(', ')}; describe another under supervisor.agents in baton.config.json.`,
  })
}

function adapt(agent: Known, settings: AgentSettings | undefined, outer: NodeJS.ProcessEnv): Adapter {
  const { name, label, program } = agent
  const [first, ...rest] = settings?.command ?? [program]
  const env = { ...agent.env, ...settings?.env }
  const command = (args: readonly string[]): Command => ({ program: first!, args: [...rest, ...args], env })
  const own = agent.make(command, { ...outer, ...env })
  const custom =
    settings === undefined ? {} : customAdapter(name, { command: [program], ...settings, transcript: name }, own)
  return {
    compactsAt: () => undefined,
    ...own,
    ...custom,
    name,
    label: settings?.label ?? label,
    transcript: name,
    env,
  }
}
