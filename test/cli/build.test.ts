// The program as it is built: every command is there and can be loaded. What commands do is proved in process.

import type { Command } from 'commander'
import { describe, test } from 'vitest'
import { build } from '../../src/cli/program.ts'
import { temporaryFolder } from '../support/workspace.ts'
import { batonProcess, ioOf } from './cli.ts'

describe.concurrent('the built program', () => {
  test.for(commandsOf(build(ioOf(import.meta.dirname))))(
    'explains baton %s',
    async ([name, description], { expect }) => {
      const run = await batonProcess(import.meta.dirname, [...name.split(' '), '--help'])
      expect(run).toMatchObject({ code: 0, err: '' })
      expect(run.out).toContain(`Usage: baton ${name}`)
      expect(run.out.replaceAll(/\s+/g, ' ')).toContain(description)
    },
  )

  // One command of each file that is loaded when a command runs, where no agent has to be there for it.
  test.for<[args: string, code: number, says: RegExp]>([
    ['--version', 0, /^\d+\.\d+\.\d+\n$/],
    ['', 0, /^No agent sessions on this machine yet\.\n/],
    ['attach nobody', 4, /^baton: There is no supervised session "nobody"/],
    ['chat', 1, /^baton: baton chat needs a terminal\n/],
    ['chat -p ,help', 0, /tape/],
    ['config check', 0, /^There is no baton\.config\.json here or above/],
    ['continue --in codex nothing', 4, /^baton: There is no session "nothing"/],
    ['escalations ls', 0, /^Nobody waits for a person\.\n$/],
    ['follow nothing', 4, /^baton: There is no session "nothing"/],
    ['handoff', 4, /^baton: Nobody has worked in this folder yet/],
    ['handoff nothing', 4, /^baton: There is no session "nothing"/],
    ['health', 0, /^No supervised sessions on this machine\./],
    ['import nothing', 4, /^baton: There is no session "nothing"/],
    ['init', 0, /^Workspace \w+ in \//],
    ['lineage', 0, /^No tape came from another yet\.\n$/],
    ['log nothing', 4, /^baton: There is no session "nothing"/],
    ['logs nobody', 4, /^baton: There is no supervised session "nobody"/],
    ['notify test', 2, /names no channel to notify\n/],
    ['relay request --from a --to b --reason validation_failure --summary s', 0, /^[0-9a-f-]{36}\n$/],
    ['relay inbox a', 0, /^Nothing waits for a\./],
    ['relay status', 0, /^0 wait, 0 are being worked on/],
    ['run nobody --driver headless', 4, /^baton: .*nobody/],
    ['show nothing#1', 4, /^baton: There is no tape "nothing"/],
    ['stop nobody', 4, /^baton: There is no supervised session "nobody"/],
    ['tape ls', 0, /^No tapes yet\./],
    ['task ls', 0, /^No tasks yet\./],
  ])('runs baton %s', async ([args, code, says], { expect, onTestFinished }) => {
    const run = await batonProcess(temporaryFolder(onTestFinished), args === '' ? [] : args.split(' '))
    expect(run.out + run.err).toMatch(says)
    expect(run.code).toBe(code)
  })
})

/** The name and the description of every command, hidden ones and those below a noun too. */
function commandsOf(parent: Command, above: readonly string[] = []): [name: string, description: string][] {
  return parent.commands.flatMap((command) => {
    const words = [...above, command.name()]
    return [[words.join(' '), command.description()], ...commandsOf(command, words)]
  })
}
