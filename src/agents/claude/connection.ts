// Claude Code loads a folder below `skills/` as a plugin: hooks, MCP server and commands without an edit of the user's files. Only
// the status line has to be in the user's settings.

import path from 'node:path'
import { type AgentConnection, type Change, mcpCommand, type ConnectionPlace, shellCommand } from '../connection.ts'
import { claudeHooks } from './hooks.ts'
import { projectsIn } from './status.ts'

/** In seconds. SessionEnd would be cancelled after 3 without it. */
const hookTimeout = 10

export const claudeConnection: AgentConnection = {
  home: (env) => path.dirname(projectsIn(env)),
  changes,
  strictJson: true,
  ownStatusLine,
  notes: ({ scope }) => [
    'In a Claude Code that is running, type /reload-plugins, or restart it.',
    ...(scope === 'project'
      ? ['The status line is a user setting, not a project one: "baton connect claude" (without --project) adds it.']
      : []),
  ],
}

function changes(place: ConnectionPlace): Change[] {
  const home = claudeConnection.home(place.env)
  const top = place.scope === 'user' ? home : path.join(place.project, '.claude')
  const plugin = path.join(top, 'skills', 'baton')
  const file = (name: string, content: string): Change => ({ type: 'file', path: path.join(plugin, name), content })
  const json = (name: string, content: unknown) => file(name, `${JSON.stringify(content, null, 2)}\n`)
  const hooks: [string, object][] = Object.keys(claudeHooks.events).map((event) => [
    event,
    [{ hooks: [{ type: 'command', command: shellCommand(place, 'hook', 'claude', event), timeout: hookTimeout }] }],
  ])
  const statusLine = { type: 'command', command: shellCommand(place, 'hook', 'claude', 'statusline') }
  return [
    json('.claude-plugin/plugin.json', {
      name: 'baton',
      version: '1.0.0',
      description: 'Hands long sessions over without losing anything: handoff documents, tapes, questions to people.',
    }),
    json('hooks/hooks.json', { hooks: Object.fromEntries(hooks) as object }),
    json('.mcp.json', { mcpServers: { baton: mcpCommand(place) } }),
    file('commands/handoff.md', handoffCommand(place)),
    ...(place.scope === 'user'
      ? [
          {
            type: 'value',
            path: path.join(home, 'settings.json'),
            at: ['statusLine'],
            value: statusLine,
          } satisfies Change,
        ]
      : []),
  ]
}

/** Claude Code runs the command before the model sees the prompt, so that no tool call and no question is needed. */
function handoffCommand(place: ConnectionPlace): string {
  const command = shellCommand(place, 'handoff', '--next', '--quiet')
  return `---
description: Write a handoff document; the next session here, or the one after /clear, opens with it
argument-hint: [what the next session is for]
allowed-tools: Bash(${command}:*)
---

Baton has written this handoff document, and the next session in this folder opens with it:

!\`${command} --goal "$ARGUMENTS"\`

If something that the next session must know is missing from it, say so in one or two sentences. Then ask the user to type /clear.
Do not continue the work.
`
}

function ownStatusLine(settings: unknown): string | undefined {
  const { statusLine } = (settings ?? {}) as { statusLine?: { command?: unknown } }
  const command = statusLine?.command
  // That of a Baton in another place would call itself without end.
  return typeof command === 'string' && !command.endsWith(' hook claude statusline') ? command : undefined
}
