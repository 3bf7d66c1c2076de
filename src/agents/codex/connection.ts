// Codex reads hooks from hooks.json and MCP servers from config.toml, both in its home or in the project's `.codex`. It ignores
// hooks that the user has not trusted, and those whose text has changed since.

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import {
  type AgentConnection,
  type Change,
  handoffPrompt,
  mcpCommand,
  type ConnectionPlace,
  shellCommand,
} from '../connection.ts'
import { codexHooks } from './hooks.ts'

export const codexConnection: AgentConnection = {
  home: (env) => env.CODEX_HOME || path.join(env.HOME || os.homedir(), '.codex'),
  changes,
  notes: () => [
    'Codex ignores new hooks until you trust them. Start codex and answer "Hooks need review" with "Trust all and continue".',
  ],
  check,
}

function changes(place: ConnectionPlace): Change[] {
  const top = folderOf(place)
  const { command, args } = mcpCommand(place)
  const lines = `command = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\n`
  return [
    ...Object.keys(codexHooks.events).map((event): Change => ({
      type: 'item',
      path: path.join(top, 'hooks.json'),
      at: ['hooks', event],
      value: {
        hooks: [{ type: 'command', command: shellCommand(place, 'hook', 'codex', event), timeout: timeoutOf(event) }],
      },
    })),
    { type: 'table', path: path.join(top, 'config.toml'), table: '[mcp_servers.baton]', lines },
    { type: 'file', path: path.join(top, 'skills', 'baton-handoff', 'SKILL.md'), content: skill(place) },
  ]
}

/** In seconds. Codex gives those that come at an end three, and complains of more in every session. */
function timeoutOf(event: string): number {
  return event === 'SessionEnd' || event === 'Interrupt' ? 3 : 10
}

function folderOf({ scope, project, env }: ConnectionPlace): string {
  return scope === 'user' ? codexConnection.home(env) : path.join(project, '.codex')
}

function skill(place: ConnectionPlace): string {
  return `---
name: baton-handoff
description: Hand this session over to a fresh one when the user asks for a handoff, or before the context is full.
---

${handoffPrompt(place, 'see their last message')}
Ask them to type /clear or /new.
`
}

/** The hashes of trusted hooks are in the user's config.toml, under the path of hooks.json. */
function check(place: ConnectionPlace): string[] {
  const hooks = path.join(folderOf(place), 'hooks.json')
  const config = path.join(codexConnection.home(place.env), 'config.toml')
  const text = fs.existsSync(config) ? fs.readFileSync(config, 'utf8') : ''
  const trusted = text.split('\n').filter((line) => line.startsWith('[hooks.state.') && line.includes(hooks)).length
  const wanted = Object.keys(codexHooks.events).length
  if (trusted >= wanted) return []
  return [
    `Codex ignores ${trusted === 0 ? "Baton's hooks" : `${wanted - trusted} of Baton's hooks`} until you trust them. Start codex and answer "Hooks need review" with "Trust all and continue".`,
  ]
}
