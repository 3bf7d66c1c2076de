import type { AgentHooks } from '../hooks.ts'

/** The events are those of Baton's own plugin (plugin.ts), which forwards what opencode tells it. */
export const opencodeHooks: AgentHooks = {
  events: { start: 'start', prompt: 'prompt', compact: 'compact', turn: 'turn', end: 'end' },
  speaksAt: 'prompt',
  mostCharacters: 100_000,
  cleared: () => false,
}
