import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { describe, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { allProcesses } from '../../src/system/index.ts'
import { isAlive } from '../support/processes.ts'
import { temporaryFolder } from '../support/workspace.ts'
import { program } from './cli.ts'

interface Ended {
  readonly code: number | null
  readonly out: string
}

/** In a folder for temporary files of its own, so that what is left can be seen. */
function start(folder: string, args: readonly string[]) {
  const { TMUX: _tmux, NODE_TEST_CONTEXT: _test, npm_lifecycle_event: _npm, ...rest } = process.env
  const env = { ...rest, HOME: folder, TMPDIR: folder, TMUX_TMPDIR: folder, NO_COLOR: '1' }
  const child = spawn(process.execPath, [program, ...args], { cwd: folder, env })
  let out = ''
  const hear = (text: string) => (out += text)
  child.stdout.setEncoding('utf8').on('data', hear)
  child.stderr.setEncoding('utf8').on('data', hear)
  const ended = new Promise<Ended>((resolve) => child.on('close', (code) => resolve({ code, out })))
  return { child, ended, said: () => out }
}

describe.concurrent('baton demo', () => {
  for (const driver of ['tmux', 'headless']) {
    test(`with ${driver}: fills its context, is cycled twice and loses nothing; what it prints can be run [C1, C13, C19]`, async ({
      onTestFinished,
      expect,
    }) => {
      const folder = fs.realpathSync(temporaryFolder(onTestFinished))
      const { code, out } = await start(folder, ['demo', '--fast', '--driver', driver]).ended
      expect(out).toContain('Nothing was lost: 16 tests pass after 2 cycles')
      expect(code).toBe(0)
      const printed = [...out.matchAll(/^ {2}node (\S+main\.js) (.*)$/gm)].map(([, , args]) => args!.split(' '))
      expect(printed.map((args) => args.slice(2).join(' '))).toEqual([
        'health --all',
        'log demo',
        'handoff show session/demo',
        'lineage',
      ])
      for (const args of printed) {
        const told = await start(folder, args).ended
        expect(told, told.out).toMatchObject({ code: 0 })
        expect(told.out).not.toBe('')
      }
    }, 90_000)
  }

  test('Ctrl-C ends the agent and leaves nothing behind', async ({ onTestFinished, expect }) => {
    const folder = fs.realpathSync(temporaryFolder(onTestFinished))
    const { child, ended, said } = start(folder, ['demo'])
    await expect.poll(said, { timeout: 30_000 }).toMatch(/working {2}context/)
    child.kill('SIGINT')
    const { code, out } = await ended
    expect(out).toContain('Nothing of the demo is left')
    expect(code).toBe(130)
    expect(fs.readdirSync(folder).filter((name) => name.startsWith('baton-demo-'))).toEqual([])
    expect(fs.existsSync(path.join(folder, `tmux-${process.getuid!()}`, 'baton'))).toBe(true)
  }, 60_000)

  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    test(`started by a server, it ends with the server and leaves nothing behind: ${signal}`, async ({
      onTestFinished,
      expect,
    }) => {
      const folder = fs.realpathSync(temporaryFolder(onTestFinished))
      const { child, ended, said } = start(folder, ['up', '--json', '--no-supervisor', '--port', '0'])
      onTestFinished(() => void child.kill('SIGKILL'))
      await expect.poll(said, { timeout: 30_000 }).toMatch(/^\{"url".*\n/)
      const client = createClient(JSON.parse(said()) as { url: string; token: string })
      const { pid } = await client.demoStart({})
      const demo = async () => (await client.supervisedList({ all: true })).sessions[0]
      await expect.poll(async () => (await demo())?.state, { timeout: 30_000 }).toBe('working')
      const agents = scriptedAgentsIn(folder)
      expect(agents).not.toEqual([])

      child.kill(signal)
      await ended
      const left = () => [
        ...[pid, ...agents].filter(isAlive),
        ...fs.readdirSync(folder).filter((name) => name.startsWith('baton-demo-')),
      ]
      // A server that was killed waits for nobody.
      await expect.poll(left, { timeout: signal === 'SIGTERM' ? 0 : 30_000 }).toEqual([])
    }, 90_000)
  }
})

/** The processes of agents whose sessions are below that folder. */
function scriptedAgentsIn(folder: string): number[] {
  return allProcesses()
    .filter(({ args }) => args.includes('scripted-agent') && args.some((each) => each.startsWith(folder)))
    .map(({ pid }) => pid)
}
