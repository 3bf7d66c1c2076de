// What README and docs tell people to type exists: every command, and every option in it.

import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { build } from '../../src/cli/program.ts'
import { pages, typedIn, wordsOf } from '../docs/blocks.ts'
import { ioOf } from './cli.ts'

const program = build(ioOf(import.meta.dirname))

test.for(pages)('every command in %s exists, with its options', (page) => {
  const wrong = typedIn(page).flatMap(({ line }) => {
    const problem = problemOf(ownWords(line))
    return problem === undefined ? [] : [`${line}: ${problem}`]
  })
  expect(wrong).toEqual([])
})

test('a command that does not exist, and an option that does not exist, are noticed', () => {
  expect(problemOf(['tape', 'lst'])).toBe('there is no "tape lst"')
  expect(problemOf(['handoff', '--budgett', '5'])).toBe('there is no option --budgett')
  expect(problemOf(['handoff', '--budget', '5'])).toBeUndefined()
})

/** The words of the call itself: from behind `baton` up to whatever belongs to the shell. */
function ownWords(line: string): string[] {
  const [, call = ''] = /(?:^|\| )(?:[A-Z_]+=\S+ )*baton(?: (.*))?$/.exec(line) ?? []
  const words = wordsOf(call)
  const end = words.findIndex((word) => ['|', '>', '<', '&&', '--', ';', '&'].includes(word))
  return end === -1 ? words : words.slice(0, end)
}

function problemOf(words: readonly string[]): string | undefined {
  let command: Command = program
  const names: string[] = []
  const flags: string[] = []
  let isName = true
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!
    if (word.startsWith('-') && word !== '-') {
      flags.push(word.split('=')[0]!)
      continue
    }
    const below = isName
      ? command.commands.find((each) => each.name() === word || each.aliases().includes(word))
      : undefined
    if (below !== undefined) {
      command = below
      names.push(word)
      continue
    }
    // The value of an option before the name of the command, as in `baton --store URL tape ls`.
    if (flags.length > 0 && words[at - 1]!.startsWith('-') && command === program) continue
    if (isName && /^[a-z]/.test(word) && command.commands.length > 0 && command.registeredArguments.length === 0)
      return `there is no "${[...names, word].join(' ')}"`
    isName = false
  }
  const known = new Set(['-h', '--help'])
  for (let each: Command | null = command; each !== null; each = each.parent)
    for (const { long, short } of each.options)
      for (const flag of [long, short]) if (flag !== undefined) known.add(flag)
  const unknown = flags.find((flag) => !known.has(flag))
  return unknown === undefined ? undefined : `there is no option ${unknown}`
}
