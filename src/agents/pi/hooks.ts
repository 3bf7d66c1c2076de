import type { AgentHooks } from '../hooks.ts'

/** The events are those of Baton's own extension (see connection.ts), which forwards those of pi. */
export const piHooks: AgentHooks = {
  events: { start: 'start', prompt: 'prompt', compact: 'compact', turn: 'turn', end: 'end' },
  speaksAt: 'prompt',
  mostCharacters: 100_000,
  cleared: (reason) => reason === 'new',
}
