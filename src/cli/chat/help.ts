// The slash commands, which ask something of the chat itself and never reach a model, and what the chat says in more than a line.

import type { SlashCommand } from '@earendil-works/pi-tui'
import type { Recovered } from '../../agent/index.ts'
import { nearest } from '../../tape/index.ts'

export type SlashName = 'handoff' | 'fork' | 'anchors' | 'model' | 'tape' | 'help' | 'quit'

export const slashCommands: readonly (SlashCommand & { name: SlashName; description: string })[] = [
  {
    name: 'handoff',
    argumentHint: '[goal]',
    description: 'continue in a new session that starts with a handoff document',
  },
  { name: 'fork', argumentHint: '[name]', description: 'continue in a copy of this session; this one stays as it is' },
  { name: 'anchors', description: 'the phases of this session' },
  { name: 'model', argumentHint: '[provider/name]', description: 'which model answers, or another one' },
  { name: 'tape', argumentHint: '[name]', description: 'the sessions of this workspace, or change to one' },
  { name: 'help', description: 'commands and keys' },
  { name: 'quit', description: 'leave; baton chat continues from here' },
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

export const noModel = `No model is set, so nobody answers yet. Set one in one of these ways:

  baton chat --model anthropic/claude-sonnet-4-5   with ANTHROPIC_API_KEY
  baton chat --model openai/gpt-5                  with OPENAI_API_KEY
  baton chat --model ollama/qwen3                  a server on this machine
  baton chat --model name/model --base-url URL     any that speaks OpenAI

or here with /model, for this folder. BATON_MODEL and BATON_BASE_URL set it for good.
Commands work without: ,help for the tape, /help for the chat.`

export function help(): string {
  const rows = slashCommands.map(({ name, argumentHint = '', description }) => [
    `/${name} ${argumentHint}`,
    description,
  ])
  const keys = [
    ['Enter', 'send; while the model works, it gets the message before its next step'],
    ['Alt+Enter, \\Enter', 'a new line (also Shift+Enter, if the terminal reports it)'],
    ['Escape', 'cancel: the response, a tool, a handoff, a question'],
    ['@shot.png', 'an image goes to the model; so does one dropped onto the terminal'],
    ['Up, Down', 'what you sent before'],
    ['Ctrl+O', 'unfold what tools printed and documents, or fold it'],
    ['Ctrl+C', 'empty the editor; twice: quit'],
    ['Ctrl+D', 'quit, when the editor is empty'],
  ]
  const table = [...rows, [',help', 'commands on the tape: ,handoff ,anchors ,tape.search …'], ...keys]
  return table.map(([what, about]) => `${what!.trim().padEnd(22)} ${about}`).join('\n')
}

export function recoveryText({ anchor, state, closed, ended }: Recovered): string {
  const calls = closed.length === 0 ? '' : ` ${closed.join(', ')} did not finish and will not be run again by itself.`
  const orphans = ended.map((what) => ` A command ${what}.`).join('')
  return `The last run ended in the middle of a turn; nothing that was on the tape is lost.${calls}${orphans}\nLast anchor: ${anchor} ${JSON.stringify(state)}`
}
