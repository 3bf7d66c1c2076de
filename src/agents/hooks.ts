// What the events of each agent's hooks mean to Baton. `baton hook` runs at every one of them and has to start fast, so these
// files import nothing: the rest of what is known of an agent is in its folder's agent.ts.

import { claudeHooks } from './claude/hooks.ts'
import { codexHooks } from './codex/hooks.ts'
import { geminiHooks } from './gemini/hooks.ts'
import { opencodeHooks } from './opencode/hooks.ts'
import { piHooks } from './pi/hooks.ts'

/**
 * `start`: a session begins or continues. `prompt`: the person has sent a prompt, and words can be added to it. `compact`: the
 * agent is about to compact. `turn`: a turn is over. `end`: the session is over, or cleared.
 */
type HookMeaning = 'start' | 'prompt' | 'compact' | 'turn' | 'end'

export interface AgentHooks {
  /** What each event means, by the agent's own names of events. */
  readonly events: Readonly<Record<string, HookMeaning>>
  /** The event at which a hook can give the model something to read. */
  readonly speaksAt: 'start' | 'prompt'
  /** The longest text that the model is given as a whole, in characters. */
  readonly mostCharacters: number
  /** The agent's event before a compaction comes in every turn: only how full the context is shows whether it will compact. */
  readonly compactsMaybe?: boolean
  /** Whether this input of an `end` event says that the context was cleared, rather than closed. */
  cleared(reason: string | undefined): boolean
}

const known: Readonly<Record<string, AgentHooks>> = {
  claude: claudeHooks,
  codex: codexHooks,
  gemini: geminiHooks,
  opencode: opencodeHooks,
  pi: piHooks,
}

export function hooksOf(agent: string): AgentHooks | undefined {
  return Object.hasOwn(known, agent) ? known[agent] : undefined
}
