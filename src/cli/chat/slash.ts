// Slash commands: what a person asks of the chat itself. None of them reaches a model.

import type { SlashCommand } from '@earendil-works/pi-tui'
import { nearest } from '../../tape/nearest.ts'

export type SlashName = 'handoff' | 'fork' | 'anchors' | 'model' | 'tape' | 'help' | 'quit'

export const slashCommands: readonly (SlashCommand & { name: SlashName; description: string })[] = [
  {
    name: 'handoff',
    argumentHint: '[goal]',
    description: 'go on in a new session that starts with a handoff document',
  },
  { name: 'fork', argumentHint: '[name]', description: 'go on in a copy of this session; this one stays as it is' },
  { name: 'anchors', description: 'the phases of this session' },
  { name: 'model', argumentHint: '[provider/name]', description: 'which model answers, or another one' },
  { name: 'tape', argumentHint: '[name]', description: 'the sessions of this workspace, or change to one' },
  { name: 'help', description: 'commands and keys' },
  { name: 'quit', description: 'leave; baton chat goes on from here' },
]

/** The command of that name, or what to say where there is none. */
export function slashCommand(name: string): SlashName | { readonly unknown: string } {
  const found = slashCommands.find((command) => command.name === name.toLowerCase())
  if (found !== undefined) return found.name
  const names = slashCommands.map((command) => command.name)
  const close = nearest(name, names).map((each) => `/${each}`)
  const help = close.length > 0 ? `Did you mean ${close.join(', ')}?` : '/help lists them.'
  return { unknown: `There is no command /${name}. ${help} To send it to the model, put a space in front.` }
}
