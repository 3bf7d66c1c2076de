import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { Tape } from '../../src/tape/index.ts'
import { importSession, listSessions } from '../../src/transcripts/index.ts'
import { temporaryFolder, temporaryStore } from '../support/workspace.ts'
import { snapshot } from '../transcripts/home.ts'
import { canBeAlone, runAlone } from './alone.ts'

const seconds = 240
const play = new URL('./play.ts', import.meta.url)

beforeAll(() => {
  if (!canBeAlone)
    process.stderr.write('this kernel gives no network of its own: the agents run with the one there is\n')
})

describe.each(['claude', 'codex', 'pi', 'gemini', 'opencode'] as const)('a real session of %s', (agent) => {
  test(
    'is found, metered and imported as it was, and nothing of it is touched [C2, T13]',
    async () => {
      const folder = temporaryFolder()
      const home = path.join(folder, 'home')
      const env = { HOME: home, XDG_CACHE_HOME: path.join(folder, 'cache') }
      const told = JSON.parse(await runAlone(play, [agent, folder, 'please write the notes'], seconds)) as {
        requests: number
      }
      expect(told.requests).toBeGreaterThanOrEqual(2)
      const before = snapshot(home)

      const [session, ...others] = listSessions({ env })
      expect(others).toEqual([])
      expect(session).toMatchObject({ agent, turns: 1, damaged: 0, cwd: fs.realpathSync(path.join(folder, 'project')) })
      expect(['waiting', 'ended']).toContain(session!.state.state)
      // The scripted model counted 2,000 and 700 for each reply; the second was the last.
      const output = 32
      const whole = 3_400 + output
      const tokens = { claude: 3_400, codex: whole, pi: whole, gemini: 3_400, opencode: whole }
      expect(session!.meter.tokens).toBe(tokens[agent])

      const store = await temporaryStore()
      const { tape, damaged } = await importSession(
        store,
        session!.path.endsWith('.db') ? session!.id : session!.path,
        { env },
      )
      expect(damaged).toEqual([])
      const { messages } = await new Tape(store, tape).context({ format: 'openai' })
      const text = JSON.stringify(messages)
      for (const words of [
        'please write the notes',
        'I write the notes and check them.',
        'first note',
        'Done: the notes are written',
      ])
        expect(text).toContain(words)
      expect(snapshot(home)).toBe(before)
    },
    (seconds + 30) * 1000,
  )
})

test(
  'the command line works on folders that cannot be written at all [C2]',
  async () => {
    const folder = temporaryFolder()
    await runAlone(play, ['pi', folder, 'please write the notes'], seconds)
    const home = path.join(folder, 'home')
    const [unshare, ...mount] = [
      'unshare',
      '-rm',
      'sh',
      '-c',
      'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"',
      home,
    ] as const
    const env = {
      PATH: process.env.PATH,
      HOME: home,
      XDG_CACHE_HOME: path.join(folder, 'cache'),
      XDG_DATA_HOME: path.join(folder, 'data'),
      PI_CODING_AGENT_DIR: path.join(home, '.pi/agent'),
    }
    if (spawnSync(unshare, [...mount, 'true']).status !== 0) {
      process.stderr.write('this kernel mounts nothing for us: only the snapshots tell that nothing is written\n')
      return
    }
    const cli = path.join(import.meta.dirname, '../../dist/cli/main.js')
    const run = (...args: string[]) =>
      spawnSync(unshare, [...mount, process.execPath, cli, ...args], { cwd: folder, env, encoding: 'utf8' })
    expect(spawnSync(unshare, [...mount, 'touch', path.join(home, 'x')]).status).not.toBe(0)
    const [listed] = run('ls', '--json').stdout.trim().split('\n')
    const { id } = JSON.parse(listed!) as { id: string }
    expect(run('import', id).stdout).toContain(`pi:${id}`)
    expect(run('log', id).stdout).toContain('please write the notes')
  },
  (seconds + 30) * 1000,
)
