// Gemini CLI loads a folder below `extensions/`: hooks, MCP server and commands, with no edit of the user's files.

import os from 'node:os'
import path from 'node:path'
import { type AgentConnection, type Change, handoffPrompt, mcpCommand, shellCommand } from '../connection.ts'
import { geminiHooks } from './hooks.ts'

/** In milliseconds here. */
const hookTimeout = 10_000

export const geminiConnection: AgentConnection = {
  home: (env) => path.join(env.GEMINI_CLI_HOME || env.HOME || os.homedir(), '.gemini'),
  changes(place) {
    const top = place.scope === 'user' ? geminiConnection.home(place.env) : path.join(place.project, '.gemini')
    const extension = path.join(top, 'extensions', 'baton')
    const file = (name: string, content: string): Change => ({
      type: 'file',
      path: path.join(extension, name),
      content,
    })
    const json = (name: string, content: unknown) => file(name, `${JSON.stringify(content, null, 2)}\n`)
    const hooks: [string, object][] = Object.keys(geminiHooks.events).map((event) => [
      event,
      [{ hooks: [{ type: 'command', command: shellCommand(place, 'hook', 'gemini', event), timeout: hookTimeout }] }],
    ])
    return [
      json('gemini-extension.json', { name: 'baton', version: '1.0.0', mcpServers: { baton: mcpCommand(place) } }),
      json('hooks/hooks.json', { hooks: Object.fromEntries(hooks) as object }),
      file(
        'commands/baton/handoff.toml',
        `description = "Write a handoff document; the next session here opens with it"\nprompt = '''\n${handoffPrompt(place, '{{args}}')}\nAsk them to type /clear.\n'''\n`,
      ),
    ]
  },
  notes: () => ['With -p, Gemini CLI gives the model only MCP tools that you have approved. Hooks work either way.'],
}
