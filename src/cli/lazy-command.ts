// Commands of a noun, whose work is loaded when one of them runs: hooks start this program often.

import type { Command } from 'commander'

type Work = (globals: never, ...words: unknown[]) => Promise<void>

/** Adds a command that calls the function of that name with its options and its words. */
export function lazily<Room extends object>(noun: Command, load: () => Promise<Room>) {
  return (usage: string, description: string, name: keyof Room): Command =>
    noun
      .command(usage)
      .description(description)
      .action(async (...given: unknown[]) => {
        const command = given.pop() as Command
        const words = given.slice(0, -1)
        const room = (await load()) as Record<keyof Room, Work>
        await room[name](command.optsWithGlobals(), ...words)
      })
}
