// opencode takes MCP servers from its configuration, and runs plugins in its own process: a small one forwards what happens to
// `baton hook`.

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { type AgentConnection, type Change, handoffPrompt, type ConnectionPlace, forwarding } from '../connection.ts'

export const opencodeConnection: AgentConnection = {
  home: (env) => path.join(env.XDG_CONFIG_HOME || path.join(env.HOME || os.homedir(), '.config'), 'opencode'),
  changes(place) {
    const config = configFile(place)
    const top = place.scope === 'user' ? opencodeConnection.home(place.env) : path.join(place.project, '.opencode')
    return [
      { type: 'value', path: config, at: ['mcp', 'baton'], value: { type: 'local', command: [...place.self, 'mcp'] } },
      { type: 'file', path: path.join(top, 'plugin', 'baton.js'), content: plugin(place) },
      {
        type: 'file',
        path: path.join(top, 'command', 'baton-handoff.md'),
        content: `---\ndescription: Write a handoff document; the next session here opens with it\n---\n\n${handoffPrompt(place, '$ARGUMENTS')}\nAsk them to type /new.\n`,
      },
    ] satisfies Change[]
  },
  notes: (place) => (hasPluginPackage(place) ? [] : [packageNote]),
  check: (place) => (hasPluginPackage(place) ? [] : [packageNote]),
}

const packageNote =
  'The next time opencode starts, it installs @opencode-ai/plugin from npm before it continues, so be online then.'

function hasPluginPackage(place: ConnectionPlace): boolean {
  const top = place.scope === 'user' ? opencodeConnection.home(place.env) : path.join(place.project, '.opencode')
  return fs.existsSync(path.join(top, 'node_modules', '@opencode-ai', 'plugin'))
}

function configFile(place: ConnectionPlace): string {
  const folder = place.scope === 'user' ? opencodeConnection.home(place.env) : place.project
  const withComments = path.join(folder, 'opencode.jsonc')
  return fs.existsSync(withComments) ? withComments : path.join(folder, 'opencode.json')
}

function plugin(place: ConnectionPlace): string {
  return `${forwarding(place, 'opencode')}
export const Baton = async ({ directory }) => {
  const tell = (event, session, more = {}) => call(event, { session_id: session, cwd: directory, ...more })
  return {
    event: async ({ event }) => {
      const session = event.properties?.sessionID ?? event.properties?.info?.id
      if (event.type === 'session.created' && !event.properties?.info?.parentID) await tell('start', session, { source: 'new' })
      if (event.type === 'session.idle') await tell('turn', session)
    },
    'chat.message': async (input, output) => {
      const text = await tell('prompt', input.sessionID)
      if (!text) return
      const id = 'prt_' + Date.now().toString(16) + Math.random().toString(16).slice(2)
      const { sessionID, id: messageID } = output.message
      output.parts.push({ id, sessionID, messageID, type: 'text', synthetic: true, text })
    },
    'experimental.session.compacting': async (input) => void (await tell('compact', input.sessionID)),
  }
}
`
}
