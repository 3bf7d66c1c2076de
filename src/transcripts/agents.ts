import type { Agent, AgentName } from './agent.ts'
import { claude } from './claude/agent.ts'
import { codex } from './codex/agent.ts'
import { gemini } from './gemini/agent.ts'
import { opencode } from './opencode/agent.ts'
import { pi } from './pi/agent.ts'

const known: Readonly<Record<AgentName, Agent>> = { claude, codex, pi, gemini, opencode }

export const agents: readonly Agent[] = Object.values(known)

export function agentNamed(name: AgentName): Agent {
  return known[name]
}
