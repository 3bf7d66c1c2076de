// A supervisor that dies at the worst moment of a start: the agent runs, and nobody has written down where.

import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Run } from '../../../src/supervisor/index.ts'
import { supervisorSection } from '../../../src/supervisor/settings.ts'
import { lastTurn, Turn } from '../../../src/supervisor/drivers/turn.ts'
import { program } from '../../cli/cli.ts'
import { dataOf, Harness } from '../support/harness.ts'

/** The scripted agent, by way of a script that notes each start, and supervisors that can be killed. */
async function stage(driver: Run['driver'], prompt = 'Say hello.') {
  const harness = await Harness.open()
  const home = path.join(harness.root, 'agent')
  const starts = path.join(harness.root, 'starts')
  const script = path.join(harness.root, 'agent.sh')
  fs.writeFileSync(script, `echo $$ >>${starts}\nexec "$@"\n`)
  const scripted = {
    command: ['sh', script, process.execPath, program, 'scripted-agent', '--home', home, '--pace', '50'],
    env: { PI_CODING_AGENT_DIR: home },
    transcript: 'pi',
    launch: ['{prompt}'],
    resume: ['--session', '{session}'],
    turn: ['--print', '{prompt}'],
    resumeTurn: ['--print', '--session', '{session}', '{prompt}'],
    clear: '/clear',
    ready: '^›(?: (.*))?$',
    busy: '^… working',
  }
  harness.settings = supervisorSection.parse({ ...harness.settings, agents: { scripted } })
  const real = { socket: path.join(harness.root, 'tmux.sock'), turns: path.join(harness.root, 'turns') }
  onTestFinished(() => {
    try {
      execFileSync('tmux', ['-S', real.socket, 'kill-server'], { stdio: 'ignore' })
    } catch {
      // There is none.
    }
  })
  // A turn without a screen goes on when its supervisor is gone.
  const turns = path.join(real.turns, harness.run.name)
  onTestFinished(() => new Turn(turns, lastTurn(turns)).stop())
  const run = { ...harness.run, agent: 'scripted', driver, prompt }
  const keep = (killAt?: string, times?: number) =>
    harness.spawnSupervisor({
      home,
      real,
      run,
      ...(killAt === undefined ? {} : { killAt }),
      ...(times === undefined ? {} : { times }),
    }).ended
  const lines = (file: string) => (fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim().split('\n') : [])
  const transcripts = () =>
    fs.existsSync(home)
      ? fs
          .readdirSync(home, { recursive: true, encoding: 'utf8' })
          .filter((file) => file.endsWith('.jsonl'))
          .map((file) => lines(path.join(home, file)))
      : []
  /** How often it was told to do its work, in all of its transcripts. */
  const told = () => transcripts().flatMap((all) => all.filter((line) => line.includes(prompt.slice(0, 20)))).length
  const rests = () => harness.until(() => transcripts().some((all) => all.at(-1)?.includes('"stop"')), 'its answer')
  return { harness, keep, starts: () => lines(starts).length, told, rests }
}

const moments = ['after the entry launching', 'before the entry whereabouts']

test.each(moments.flatMap((moment) => (['tmux', 'headless'] as const).map((driver) => [moment, driver] as const)))(
  'a supervisor that dies %s is followed by one with one agent that was told once (%s) [C7][C15]',
  async (moment, driver) => {
    const { harness, keep, starts, told, rests } = await stage(driver)
    expect(await keep(moment)).toEqual([null, 'SIGKILL'])
    void keep()
    await harness.until(async () => (await harness.entries('whereabouts')).length > 0, 'whereabouts')
    await rests()
    expect({ starts: starts(), told: told() }).toEqual({ starts: 1, told: 1 })
  },
)

test('one that dies when it has reopened a crashed agent is followed by one that finds it reopened [C15]', async () => {
  const { harness, keep, starts, told, rests } = await stage('tmux')
  expect(await keep('before the entry whereabouts')).toEqual([null, 'SIGKILL'])
  await rests()
  // It finds the agent, then the session of the agent; the third is where it has brought it back.
  const second = keep('before the entry whereabouts', 3)
  const at = await harness.until(async () => (await harness.entries('whereabouts'))[1], 'its session')
  process.kill((dataOf(at) as { place: { pid: number } }).place.pid, 'SIGKILL')
  expect(await second).toEqual([null, 'SIGKILL'])
  void keep()
  await harness.until(async () => (await harness.entries('whereabouts')).length > 2, 'the agent again')
  await harness.aged()
  expect({ starts: starts(), told: told() }).toEqual({ starts: 2, told: 1 })
  expect(await harness.entries('restarts')).toHaveLength(1)
})

test('a task too long for a command line is typed once, even if a supervisor dies before it is [C7][C13]', async () => {
  const task = `Say hello. ${'Every word of this counts. '.repeat(300)}`.trim()
  const { keep, starts, told, rests } = await stage('tmux', task)
  expect(await keep('after the entry launching')).toEqual([null, 'SIGKILL'])
  expect(await keep('before the entry whereabouts')).toEqual([null, 'SIGKILL'])
  void keep()
  await rests()
  expect({ starts: starts(), told: told() }).toEqual({ starts: 1, told: 1 })
})
