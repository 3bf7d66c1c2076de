// The program as it is built: every command is there and can be loaded. What commands do is proved in process.

import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import type { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { build } from '../../src/cli/program.ts'
import { temporaryFolder } from '../support/workspace.ts'
import { batonProcess, ioOf, program } from './cli.ts'

describe.concurrent('the built program', () => {
  test.for(commandsOf(build(ioOf(import.meta.dirname))))(
    'explains baton %s',
    async ([name, description], { expect }) => {
      const run = await batonProcess(import.meta.dirname, [...name.split(' '), '--help'])
      expect(run).toMatchObject({ code: 0, err: '' })
      expect(run.out).toContain(`Usage: baton ${name}`)
      // As a sentence: with a capital.
      expect(run.out.replaceAll(/\s+/g, ' ').toLowerCase()).toContain(description.toLowerCase())
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
    ['escalations ls', 0, /^Nothing is waiting for you\.\n$/],
    ['follow nothing', 4, /^baton: There is no session "nothing"/],
    ['handoff', 4, /^baton: Baton found no work in this folder/],
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
    ['relay status', 0, /^0 waiting, 0 in progress/],
    ['run nobody --driver headless', 4, /^baton: .*nobody/],
    ['show nothing#1', 4, /^baton: There is no tape "nothing"/],
    ['stop nobody', 4, /^baton: There is no supervised session "nobody"/],
    ['tape ls', 0, /^No tapes yet\./],
    ['tape lst', 2, /^baton: There is no command "lst"\n {2}Did you mean "baton tape ls"\?\n$/],
    ['task lst', 2, /^baton: There is no command "lst"\n {2}Did you mean "baton task ls"\?\n$/],
    ['task ls', 0, /^No tasks yet\./],
  ])('runs baton %s', async ([args, code, says], { expect, onTestFinished }) => {
    const run = await batonProcess(temporaryFolder(onTestFinished), args === '' ? [] : args.split(' '))
    expect(run.out + run.err).toMatch(says)
    expect(run.code).toBe(code)
  })
})

describe('the compiled code of the program', () => {
  test('is kept beside it, used again, and made anew when it is damaged', ({ onTestFinished }) => {
    const folder = copyOfProgram(onTestFinished)
    const started = (env = {}) => execFileSync(process.execPath, [path.join(folder, 'main.js'), '--version'], { env })
    const version = started()
    const kept = path.join(folder, 'compiled')
    const [name, ...others] = fs.readdirSync(kept)
    expect(others).toEqual([])
    const file = path.join(kept, name!)
    const made = fs.statSync(file)
    expect(started()).toEqual(version)
    expect(fs.statSync(file).mtimeMs).toBe(made.mtimeMs)
    for (const damaged of [Buffer.alloc(made.size, 7), Buffer.alloc(0), fs.readFileSync(file).subarray(0, 1_000)]) {
      fs.writeFileSync(file, damaged)
      expect(started()).toEqual(version)
      expect(fs.statSync(file).size).toBeGreaterThan(damaged.length === made.size ? 0 : damaged.length)
    }
    // What others may write is not run.
    fs.chmodSync(file, 0o666)
    expect(started()).toEqual(version)
    expect(fs.statSync(file).mode & 0o777).toBe(0o644)
  })

  test('is kept in the cache folder of the user where the program cannot be written to', ({ onTestFinished }) => {
    const folder = copyOfProgram(onTestFinished)
    fs.writeFileSync(path.join(folder, 'compiled'), 'not a folder')
    const cache = temporaryFolder(onTestFinished)
    const env = { XDG_CACHE_HOME: cache }
    const version = execFileSync(process.execPath, [path.join(folder, 'main.js'), '--version'], { env })
    expect(fs.readdirSync(path.join(cache, 'baton/compiled'))).toHaveLength(1)
    expect(execFileSync(process.execPath, [path.join(folder, 'main.js'), '--version'], { env })).toEqual(version)
  })

  test.for([['handoff'], ['ls'], ['log'], ['import']])(
    'is used for the modules of Node too, by baton %s, which changes the options of V8',
    ([command], { onTestFinished }) => {
      const folder = temporaryFolder(onTestFinished)
      // Node counts which of its own modules it had to compile although it was built with their code.
      const counter = path.join(folder, 'counter.cjs')
      fs.writeFileSync(
        counter,
        `const { internalBinding } = require('internal/test/binding')
process.on('exit', () => {
  const { compiledWithoutCache } = internalBinding('builtins').getCacheUsage()
  require('fs').writeFileSync('compiled.json', JSON.stringify([...compiledWithoutCache]))
})`,
      )
      const line = { type: 'user', uuid: 'a', message: { role: 'user', content: 'Fix the door.' } }
      const transcript = path.join(folder, '0b7b1f0e-5f5a-4d0e-9d37-6a1f8a0c7a11.jsonl')
      fs.writeFileSync(transcript, `${JSON.stringify({ ...line, sessionId: 'b', cwd: folder })}\n`)
      const env = { PATH: process.env.PATH, HOME: folder, NODE_NO_WARNINGS: '1' }
      const words = command === 'ls' ? [] : [transcript]
      execFileSync(process.execPath, ['--expose-internals', '--require', counter, program, command!, ...words], {
        cwd: folder,
        env,
      })
      const compiled = JSON.parse(fs.readFileSync(path.join(folder, 'compiled.json'), 'utf8')) as string[]
      // Those that it loads for itself, later, stay.
      expect(compiled.filter((name) => !name.startsWith('internal/'))).toEqual([])
    },
  )
})

function copyOfProgram(onTestFinished: (remove: () => void) => void): string {
  const folder = temporaryFolder(onTestFinished)
  for (const name of ['main.js', 'program.js', 'package.json'])
    fs.copyFileSync(path.join(path.dirname(program), name), path.join(folder, name))
  return folder
}

/** The name and the description of every command, hidden ones and those below a noun too. */
function commandsOf(parent: Command, above: readonly string[] = []): [name: string, description: string][] {
  return parent.commands.flatMap((command) => {
    const words = [...above, command.name()]
    return [[words.join(' '), command.description()], ...commandsOf(command, words)]
  })
}
