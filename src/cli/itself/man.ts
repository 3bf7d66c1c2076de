// The man page, made from the commands and their options.

import type { Command } from 'commander'
import manifest from '../../../package.json' with { type: 'json' }
import { isHidden } from '../base/commands.ts'
import { type Globals, Output } from '../base/output.ts'
import { examplesOf } from '../examples.ts'

export async function man(globals: Globals, program: Command): Promise<void> {
  new Output(globals).write(page(program))
}

function page(program: Command): string {
  const lines = [
    `.TH BATON 1 "" "baton ${manifest.version}" "Baton"`,
    '.SH NAME',
    `baton \\- ${escaped(program.description())}`,
    '.SH SYNOPSIS',
    '.B baton',
    '[options] [command]',
    '.SH OPTIONS',
    ...optionLines(program),
    '.SH COMMANDS',
    ...program.commands.flatMap((each) => commandLines(each, [])),
    '.SH EXIT STATUS',
    ...['0: done', '1: failed', '2: incorrect use', '3: conflict', '4: not found', '130: cancelled'].flatMap((each) => [
      '.br',
      escaped(each),
    ]),
    '.SH SEE ALSO',
    'baton docs',
  ]
  return `${lines.join('\n')}\n`
}

function commandLines(command: Command, above: readonly string[]): string[] {
  if (isHidden(command)) return []
  const words = [...above, command.name()]
  const name = words.join(' ')
  const examples = examplesOf(name).flatMap((each) => ['.br', `.I ${escaped(each)}`])
  return [
    `.SS "baton ${escaped(name)} ${escaped(command.usage())}"`,
    escaped(command.description()),
    ...optionLines(command),
    ...(examples.length === 0 ? [] : ['.PP', 'For example:', ...examples]),
    ...command.commands.flatMap((each) => commandLines(each, words)),
  ]
}

function optionLines(command: Command): string[] {
  return command.options.flatMap(({ flags, description }) => ['.TP', `.B ${escaped(flags)}`, escaped(description)])
}

/** The formatter of man pages takes a line that begins with a dot or a quote for a command. */
function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('"', '\\(dq')
    .replace(/^([.'])/, '\\&$1')
}
