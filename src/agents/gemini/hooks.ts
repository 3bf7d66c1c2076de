// The events of the hooks that Gemini CLI runs.

import type { AgentHooks } from '../hooks.ts'

export const geminiHooks: AgentHooks = {
  events: {
    SessionStart: 'start',
    BeforeAgent: 'prompt',
    PreCompress: 'compact',
    AfterAgent: 'turn',
    SessionEnd: 'end',
  },
  // What SessionStart says after /clear never reaches the model.
  speaksAt: 'prompt',
  // The tools of Gemini CLI read nothing that git ignores, so a document has to be given as a whole.
  mostCharacters: 100_000,
  compactsMaybe: true,
  cleared: (reason) => reason === 'clear',
}
