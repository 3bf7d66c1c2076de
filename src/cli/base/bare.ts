// What a noun does without a verb, such as `baton tape`: it lists what there is. A word that is no verb is refused, with those that
// come close.

import type { Command } from 'commander'
import { InvalidError } from '../../errors.ts'
import type { Globals } from './output.ts'

export function whenBare(noun: Command, work: (globals: Globals) => Promise<void>): void {
  noun.allowExcessArguments().action(async (_options, command: Command) => {
    const [word, ...rest] = command.args
    if (word === undefined) return work(command.optsWithGlobals())
    if (word === 'help') return helpOn(command, rest)
    throw await noCommand(command, word)
  })
}

/** Prints the help of a command below this one, named by its words. */
export async function helpOn(parent: Command, words: readonly string[]): Promise<void> {
  const [word, ...rest] = words
  if (word === undefined) return parent.outputHelp()
  const found = parent.commands.find((each) => each.name() === word || each.aliases().includes(word))
  if (found === undefined) throw await noCommand(parent, word)
  await helpOn(found, rest)
}

export async function noCommand(parent: Command, word: string): Promise<InvalidError> {
  const { nearest } = await import('../../tape/index.ts')
  const names = parent.commands.filter((each) => !isHidden(each)).flatMap((each) => [each.name(), ...each.aliases()])
  const [close] = nearest(word, names)
  const path = pathOf(parent)
  const hint = close === undefined ? `See "${path} --help".` : `Did you mean "${path} ${close}"?`
  return new InvalidError(`There is no command "${word}"`, { hint })
}

/** Commands that only programs call. */
export function isHidden(command: Command): boolean {
  const { parent } = command
  return parent !== null && !parent.createHelp().visibleCommands(parent).includes(command)
}

function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`
}
