// How commands are declared: their work is loaded when one of them runs, since hooks start this program often; the values of their
// options are parsed here; and a noun without a verb, such as `baton tape`, lists everything of that kind.

import { type Command, type CommandOptions, InvalidArgumentError } from 'commander'
import { InvalidError } from '../../errors.ts'
import type { Globals } from './output.ts'

type Work = (options: never, ...words: unknown[]) => Promise<void>

/** Adds commands that each call the function of that name with its options and its words. */
export function lazily<Room extends object>(parent: Command, load: () => Promise<Room>) {
  return (usage: string, description: string, name: keyof Room, options?: CommandOptions): Command =>
    parent
      .command(usage, options)
      .description(description)
      // A noun takes a word that is no verb, to refuse it in its own words; its commands inherit that.
      .allowExcessArguments(false)
      .action(async (...given: unknown[]) => {
        const command = given.pop() as Command
        const words = given.slice(0, -1)
        const room = (await load()) as Record<keyof Room, Work>
        await room[name](command.optsWithGlobals(), ...words)
      })
}

/** The value of an option or an argument, as this one and the three below parse it. */
export function wholeNumber(text: string): number {
  if (/^\d+$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text)
  throw new InvalidArgumentError('It must be a whole number, without a sign.')
}

export function port(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) < 65_536) return Number(text)
  throw new InvalidArgumentError('It must be a number from 0 to 65535.')
}

export function words(text: string): string[] {
  return text.split(',').filter((word) => word !== '')
}

export function json(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw new InvalidArgumentError(`It must be JSON: ${(error as Error).message}.`)
  }
}

/** What a noun does without a verb, or else its help. A word that is no verb is refused, with those that come close. */
export function whenBare(noun: Command, work?: (globals: Globals) => Promise<void>): void {
  noun.allowExcessArguments().action(async (_options, command: Command) => {
    const [word, ...rest] = command.args
    if (word === undefined) return work === undefined ? command.outputHelp() : work(command.optsWithGlobals())
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

/** A description, which is a fragment in lists, as a sentence. */
export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.…]$/.test(text) ? '' : '.')
}

/** `baton tape ls`. */
export function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`
}
