import os from 'node:os'
import path from 'node:path'
import type { Agent, SessionFile } from '../agent.ts'
import { fields, list } from '../fields.ts'
import { filesBelow, readJson } from '../folder.ts'
import { piParser } from './parser.ts'

export const pi: Agent = {
  name: 'pi',
  label: 'pi',
  folders: (env) => {
    const home = env.PI_CODING_AGENT_DIR || path.join(env.HOME || os.homedir(), '.pi', 'agent')
    return [env.PI_CODING_AGENT_SESSION_DIR || path.join(home, 'sessions')]
  },
  find: (folder) =>
    filesBelow(folder, 1, (name) => name.endsWith('.jsonl')).map(({ path: at, name, bytes, changed }): SessionFile => {
      const stem = name.slice(0, -'.jsonl'.length)
      return { agent: 'pi', path: at, id: stem.slice(stem.indexOf('_') + 1), bytes, changed }
    }),
  recognises: (line) => line.type === 'session' && typeof line.id === 'string' && 'cwd' in line,
  parser: piParser,
  hints({ path: file }) {
    const at = file.lastIndexOf(`${path.sep}sessions${path.sep}`)
    return at < 0 ? {} : { windows: windowsIn(path.join(file.slice(0, at), 'models.json')) }
  },
}

/** Models of the user's own. */
function windowsIn(file: string): Record<string, number> {
  const windows: Record<string, number> = {}
  for (const provider of Object.values(fields(fields(readJson(file)).providers))) {
    for (const each of list(fields(provider).models)) {
      const { id, contextWindow } = fields(each)
      if (typeof id === 'string' && typeof contextWindow === 'number') windows[id] = contextWindow
    }
  }
  return windows
}
