// What goes wrong, and when: in which cycle and at which of its steps.

type Step = 'asked' | 'documented' | 'clearing' | 'resuming' | 'verifying' | 'working'

export type Harm =
  | 'supervisor killed'
  | 'agent killed'
  | 'tmux server killed'
  | 'supervisor and tmux killed'
  | 'person types'
  | 'quota stop'
  | 'permission dialog'

export interface Planned {
  /** The cycle that it happens in; at `working`, the one before it is over. */
  readonly cycle: number
  readonly step: Step
  readonly harm: Harm
}

/** Twenty-four cycles of the scripted agent. */
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
]

/** Six cycles of Claude Code. */
export const claude: readonly Planned[] = [
  { cycle: 2, step: 'working', harm: 'permission dialog' },
  { cycle: 3, step: 'working', harm: 'quota stop' },
  { cycle: 4, step: 'asked', harm: 'agent killed' },
  { cycle: 5, step: 'clearing', harm: 'supervisor killed' },
  { cycle: 6, step: 'working', harm: 'tmux server killed' },
]
