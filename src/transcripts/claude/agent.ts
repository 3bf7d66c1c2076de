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
    filesBelow(folder, 3, (name) => name.endsWith('.jsonl')).flatMap((file): SessionFile[] => {
      const { path: at, name, bytes, changed } = file
      const id = name.slice(0, -'.jsonl'.length)
      const subagent = id.startsWith('agent-')
      const above = path.dirname(at)
      const parent = subagent && path.basename(above) === 'subagents' ? path.basename(path.dirname(above)) : undefined
      return [{ agent: 'claude', path: at, id, bytes, changed, ...(parent === undefined ? {} : { parent }) }]
    }),
  recognises: (line) =>
    (typeof line.sessionId === 'string' && typeof line.type === 'string' && !('projectHash' in line)) ||
    (line.type === 'summary' && typeof line.leafUuid === 'string') ||
    (line.type === 'file-history-snapshot' && 'snapshot' in line),
  parser: claudeParser,
}
