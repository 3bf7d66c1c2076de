// The events of Baton's own plugin for opencode (see connection.ts), which forwards those of opencode.

import type { AgentHooks } from '../hooks.ts'

export const opencodeHooks: AgentHooks = {
  events: { start: 'start', prompt: 'prompt', compact: 'compact', turn: 'turn', end: 'end' },
  speaksAt: 'prompt',
  mostCharacters: 100_000,
  cleared: () => false,
}
