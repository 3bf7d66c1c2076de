// Commands whose work is loaded when one of them runs: hooks start this program often.

import type { Command, CommandOptions } from 'commander'

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
