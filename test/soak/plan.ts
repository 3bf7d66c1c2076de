// What goes wrong, and when: in which cycle and at which of its steps.

/**
 * `working`: right after a cycle. `thinking`: its model has the outcome of a command and has not answered. `running`: in the
 * middle of a command. `anywhere`: at a moment that nobody chose.
 */
type Step =
  | 'asked'
  | 'documented'
  | 'clearing'
  | 'resuming'
  | 'verifying'
  | 'working'
  | 'thinking'
  | 'running'
  | 'anywhere'

export type Harm =
  | 'supervisor killed'
  | 'agent killed'
  | 'tmux server killed'
  | 'supervisor and tmux killed'
  | 'person types'
  | 'quota stop'
  | 'permission dialog'
  | 'person says more'
  | 'disk full'
  | 'own compaction'
  | 'subagent'
  | 'context at 99%'
  | 'no document'
  | 'agent frozen'
  | 'documents removed'
  | 'git busy'
  | 'settings broken'
  | 'login expired'
  | 'paused'
  | 'asked for cycles'
  | 'disk full, supervisor killed'
  | 'terminal closed'

export interface Planned {
  /** The cycle that it happens in; at the last three steps, the one before it is over. */
  readonly cycle: number
  readonly step: Step
  readonly harm: Harm
}

/** What happens between two cycles, or whenever. */
export const between: readonly Step[] = ['working', 'thinking', 'running', 'anywhere']

/** Thirty-three cycles of the scripted agent. */
export const scripted: readonly Planned[] = [
  { cycle: 2, step: 'asked', harm: 'supervisor killed' },
  { cycle: 3, step: 'documented', harm: 'supervisor killed' },
  { cycle: 4, step: 'clearing', harm: 'supervisor killed' },
  { cycle: 5, step: 'resuming', harm: 'supervisor killed' },
  { cycle: 6, step: 'verifying', harm: 'supervisor killed' },
  { cycle: 7, step: 'working', harm: 'supervisor killed' },
  { cycle: 8, step: 'asked', harm: 'agent killed' },
  { cycle: 9, step: 'documented', harm: 'agent killed' },
  { cycle: 10, step: 'clearing', harm: 'agent killed' },
  { cycle: 11, step: 'resuming', harm: 'agent killed' },
  { cycle: 12, step: 'verifying', harm: 'agent killed' },
  { cycle: 13, step: 'working', harm: 'agent killed' },
  { cycle: 14, step: 'asked', harm: 'tmux server killed' },
  { cycle: 16, step: 'clearing', harm: 'tmux server killed' },
  { cycle: 18, step: 'working', harm: 'tmux server killed' },
  { cycle: 20, step: 'working', harm: 'supervisor and tmux killed' },
  { cycle: 22, step: 'clearing', harm: 'person types' },
  { cycle: 23, step: 'running', harm: 'agent killed' },
  { cycle: 24, step: 'running', harm: 'supervisor killed' },
  { cycle: 25, step: 'running', harm: 'tmux server killed' },
  { cycle: 26, step: 'running', harm: 'supervisor and tmux killed' },
  { cycle: 27, step: 'running', harm: 'agent killed' },
  { cycle: 28, step: 'anywhere', harm: 'supervisor killed' },
  { cycle: 29, step: 'anywhere', harm: 'supervisor killed' },
  { cycle: 30, step: 'anywhere', harm: 'supervisor and tmux killed' },
  { cycle: 31, step: 'anywhere', harm: 'agent killed' },
  { cycle: 32, step: 'anywhere', harm: 'supervisor killed' },
]

/** Eight cycles of Claude Code. */
export const claude: readonly Planned[] = [
  { cycle: 2, step: 'working', harm: 'permission dialog' },
  { cycle: 3, step: 'working', harm: 'quota stop' },
  { cycle: 4, step: 'asked', harm: 'agent killed' },
  { cycle: 5, step: 'clearing', harm: 'supervisor killed' },
  { cycle: 6, step: 'working', harm: 'tmux server killed' },
  { cycle: 7, step: 'running', harm: 'agent killed' },
  { cycle: 8, step: 'anywhere', harm: 'supervisor killed' },
]

/** What happens in a night; what happens only to some agents, or only on a screen, says so. */
const nightOf: readonly (Planned & { readonly agents?: readonly string[]; readonly screen?: true })[] = [
  { cycle: 2, step: 'thinking', harm: 'permission dialog', agents: ['claude'] },
  { cycle: 3, step: 'clearing', harm: 'person types', screen: true },
  { cycle: 4, step: 'working', harm: 'person says more', screen: true },
  { cycle: 5, step: 'thinking', harm: 'quota stop', agents: ['claude', 'codex', 'gemini'] },
  { cycle: 6, step: 'asked', harm: 'disk full' },
  { cycle: 7, step: 'thinking', harm: 'own compaction' },
  { cycle: 8, step: 'asked', harm: 'supervisor killed' },
  { cycle: 9, step: 'documented', harm: 'supervisor killed' },
  { cycle: 10, step: 'asked', harm: 'no document' },
  { cycle: 11, step: 'resuming', harm: 'supervisor killed' },
  { cycle: 12, step: 'verifying', harm: 'agent killed' },
  { cycle: 13, step: 'thinking', harm: 'tmux server killed', screen: true },
  { cycle: 14, step: 'thinking', harm: 'agent killed' },
  { cycle: 15, step: 'thinking', harm: 'subagent', agents: ['claude', 'codex', 'opencode'] },
  { cycle: 16, step: 'thinking', harm: 'context at 99%' },
  { cycle: 17, step: 'clearing', harm: 'agent killed', screen: true },
  { cycle: 18, step: 'anywhere', harm: 'supervisor killed' },
  { cycle: 19, step: 'thinking', harm: 'supervisor and tmux killed', screen: true },
]

/** Twenty cycles of an agent whose commands print each fact only once, so that it is killed only while its model thinks. */
export function night(agent: string, onScreen: boolean): readonly Planned[] {
  return nightOf.filter(({ agents, screen }) => (agents?.includes(agent) ?? true) && (onScreen || screen !== true))
}

/** Ten cycles with what goes wrong less often. */
export const odd: readonly Planned[] = [
  { cycle: 2, step: 'thinking', harm: 'agent frozen' },
  { cycle: 3, step: 'documented', harm: 'documents removed' },
  { cycle: 4, step: 'asked', harm: 'git busy' },
  { cycle: 5, step: 'thinking', harm: 'login expired' },
  { cycle: 6, step: 'asked', harm: 'settings broken' },
  { cycle: 7, step: 'asked', harm: 'paused' },
  { cycle: 8, step: 'asked', harm: 'asked for cycles' },
  { cycle: 9, step: 'asked', harm: 'disk full, supervisor killed' },
  { cycle: 10, step: 'thinking', harm: 'terminal closed' },
]
