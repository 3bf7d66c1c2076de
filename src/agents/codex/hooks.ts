// The events of the hooks that Codex runs.

import type { AgentHooks } from '../hooks.ts'

export const codexHooks: AgentHooks = {
  // SessionStart comes with the first prompt, not when Codex is started.
  events: { SessionStart: 'start', PreCompact: 'compact', Stop: 'turn', Interrupt: 'turn', SessionEnd: 'end' },
  speaksAt: 'start',
  // 2,500 tokens by default; connecting raises it, but a hook that a person wrote into the file need not.
  mostCharacters: 9_500,
  // SessionEnd comes when the process ends; a cleared session is told apart by the next SessionStart only.
  cleared: () => false,
}
