// The events of the hooks that Claude Code runs.

import type { AgentHooks } from '../hooks.ts'

export const claudeHooks: AgentHooks = {
  events: { SessionStart: 'start', PreCompact: 'compact', Stop: 'turn', StopFailure: 'turn', SessionEnd: 'end' },
  speaksAt: 'start',
  // Beyond 10,000 the model gets a preview and the name of a file.
  mostCharacters: 9_500,
  cleared: (reason) => reason === 'clear',
}
