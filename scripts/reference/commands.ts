// The page of all commands, from the table that parses them.

import type { Command, Option } from 'commander'
import { EventEmitter } from 'node:events'
import { Readable, Writable } from 'node:stream'
import { isHidden, sentence } from '../../src/cli/base/commands.ts'
import { examplesOf } from '../../src/cli/examples.ts'
import { build } from '../../src/cli/program.ts'

export function commandsPage(): string {
  const program = build({
    stdin: Readable.from([]),
    stdout: new Writable(),
    stderr: new Writable(),
    env: {},
    signals: new EventEmitter(),
    self: ['node', 'baton'],
    cwd: () => '.',
    exit: { code: 0, now: () => {} },
  })
  const shown = program.commands.filter((each) => !isHidden(each))
  const headings = [...new Set(shown.map((each) => each.helpGroup()))]
  return [
    '# Reference: commands',
    '',
    'Every command with its options. [Command line](../cli.md) explains JSON output and exit codes, and which command to use for what.',
    '',
    'Options of every command:',
    '',
    ...optionLines(program.options),
    '',
    ...headings.flatMap((heading) => [
      `## ${heading.replace(/:$/, '')}`,
      '',
      ...shown.filter((each) => each.helpGroup() === heading).flatMap((each) => commandLines(each, [])),
    ]),
  ].join('\n')
}

function commandLines(command: Command, above: readonly string[]): string[] {
  if (isHidden(command)) return []
  const words = [...above, command.name()]
  const usage = command.usage().replace(/^\[options\] ?/, '')
  const below = command.commands.flatMap((each) => commandLines(each, words))
  const examples = examplesOf(words.join(' '))
  return [
    `### \`${`baton ${words.join(' ')} ${below.length > 0 ? '' : usage}`.trim()}\``,
    '',
    `${sentence(command.description())}${aliasText(command)}`,
    '',
    ...(command.options.length === 0 ? [] : [...optionLines(command.options), '']),
    ...(examples.length === 0 ? [] : ['```sh', ...examples, '```', '']),
    ...below,
  ]
}

function optionLines(options: readonly Option[]): string[] {
  return options
    .filter(({ hidden }) => !hidden)
    .map(({ flags, description, argChoices, defaultValue }) => {
      const choices = argChoices === undefined ? '' : ` (${argChoices.join(', ')})`
      const preset =
        defaultValue === undefined || typeof defaultValue === 'boolean' || String(defaultValue) === ''
          ? ''
          : `; default ${String(defaultValue)}`
      return `- \`${flags}\`: ${description}${choices}${preset}`
    })
}

function aliasText(command: Command): string {
  const aliases = command.aliases()
  return aliases.length === 0 ? '' : ` Also called ${aliases.map((each) => `\`${each}\``).join(', ')}.`
}
