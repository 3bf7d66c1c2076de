// The events of Baton's own extension for pi (see connection.ts), which forwards those of pi.

import type { AgentHooks } from '../hooks.ts'

export const piHooks: AgentHooks = {
  events: { start: 'start', prompt: 'prompt', compact: 'compact', turn: 'turn', end: 'end' },
  speaksAt: 'prompt',
  mostCharacters: 100_000,
  cleared: (reason) => reason === 'new',
}
