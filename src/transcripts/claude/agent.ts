import os from 'node:os'
import path from 'node:path'
import type { Agent, SessionFile } from '../agent.ts'
import { filesBelow } from '../folder.ts'
import { claudeParser } from './parser.ts'

export const claude: Agent = {
  name: 'claude',
  label: 'Claude Code',
  folders: (env) => [path.join(env.CLAUDE_CONFIG_DIR || path.join(env.HOME || os.homedir(), '.claude'), 'projects')],
  find: (folder) =>
    filesBelow(folder, 3, (name) => name.endsWith('.jsonl')).map(({ path: at, name, bytes, changed }): SessionFile => {
      const id = name.slice(0, -'.jsonl'.length)
      const parent = id.startsWith('agent-') ? parentOf(at) : undefined
      return parent === undefined
        ? { agent: 'claude', path: at, id, bytes, changed }
        : { agent: 'claude', path: at, id, bytes, changed, parent }
    }),
  recognises: (line) =>
    (typeof line.sessionId === 'string' && typeof line.type === 'string' && !('projectHash' in line)) ||
    (line.type === 'summary' && typeof line.leafUuid === 'string') ||
    (line.type === 'file-history-snapshot' && 'snapshot' in line),
  parser: claudeParser,
}

/** `<session>/subagents/agent-….jsonl`; older versions keep them beside the session and do not say whose they are. */
function parentOf(file: string): string | undefined {
  const above = path.dirname(file)
  return path.basename(above) === 'subagents' ? path.basename(path.dirname(above)) : undefined
}
