// The door of the supervisor, as a person uses it: the built command line, a real tmux, the scripted agent.

import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Door, type Event, scriptedDoor } from '../support/door.ts'
import { isAlive } from '../support/processes.ts'
import { startMs } from '../support/pace.ts'
import { temporaryFolder } from '../support/workspace.ts'
import { baton } from './cli.ts'

type AtEnd = (work: () => void | Promise<void>) => void

function open(onTestFinished: AtEnd, options: Parameters<typeof scriptedDoor>[1] = {}): Door {
  const door = scriptedDoor(temporaryFolder(onTestFinished), options)
  onTestFinished(() => door.close())
  return door
}

const small = { modules: 4, perTurn: 2, growth: 10_000 }

/** A bound may end the agent in the middle of a command, and what that prints once reaches nobody: here it is printed again. */
function printStampsAgain(project: string): void {
  const file = path.join(project, 'scripts/stamp.mjs')
  const once = fs.readFileSync(file, 'utf8')
  const again = once
    .replace(/if \(existsSync\(file\)\) \{[\s\S]*?\n\}\n/, '')
    .replace(
      /String\(randomInt\(.*?\)\)/,
      "String(Number.parseInt(createHash('sha256').update(name).digest('hex').slice(0, 5), 16))",
    )
  expect(again).not.toContain('stamped before')
  expect(again).not.toContain('randomInt(1')
  fs.writeFileSync(file, again)
}

const isStep =
  (step: string, cycle = 1) =>
  (event: Event) =>
    event.type === 'step' && event.step === step && event.cycle === cycle
const isState = (state: string) => (event: Event) =>
  event.type === 'row' && (event.row as { state: string }).state === state

function rowOf(door: Door): Record<string, unknown> {
  return door.say('health', 'job').find(({ type }) => type === 'session')!
}

function pidOf(door: Door): number {
  return (rowOf(door).place as { pid: number }).pid
}

describe('baton run', { timeout: 300_000 }, () => {
  test('cycles an agent in a tmux pane until the job is done, and tells each step [C3, C5, C6, C8, C9, C13]', async ({
    onTestFinished,
    expect,
  }) => {
    const door = open(onTestFinished, small)
    const run = door.start(...door.job('scripted'))
    expect(await run.ended, run.err()).toBe(0)
    const steps = run.events.filter(({ type, cycle }) => type === 'step' && cycle === 1).map(({ step }) => step)
    expect(steps).toEqual(['asked', 'documented', 'clearing', 'resuming', 'verifying', 'done'])
    expect(run.events.at(-1)).toMatchObject({ type: 'ended', name: 'job', ended: { why: 'finished' } })
    const row = rowOf(door)
    expect(row).toMatchObject({ name: 'job', agent: 'scripted', project: door.project, state: 'ended' })
    expect(row.cycles).toBeGreaterThanOrEqual(2)
    const checks = door.say('health', '--history', '--all').filter(({ type }) => type === 'check')
    expect(checks).toContainEqual(
      expect.objectContaining({ session: 'job', project: door.project, check_type: 'handoff', status: 'ok' }),
    )
    const [document] = door.say('handoff', 'ls')
    expect(document).toMatchObject({ profile: 'cycle' })
    const files = fs.readdirSync(path.join(door.project, '.baton/handoffs/job'))
    expect(files.every((name) => /^handoff-\d{4}(-\d\d){4}(-\d+)?\.md$/.test(name))).toBe(true)
    expect(isAlive(pidOf(door))).toBe(false)
  })

  test('runs the same agent without a screen [C13]', async ({ onTestFinished, expect }) => {
    const door = open(onTestFinished, small)
    const run = door.start(...door.job('scripted', '--driver', 'headless'))
    expect(await run.ended, run.err()).toBe(0)
    expect(rowOf(door).cycles).toBeGreaterThanOrEqual(2)
  })

  test('Ctrl-C lets go of the agent; stop ends it, and it stays ended [C15]', async ({ onTestFinished, expect }) => {
    const door = open(onTestFinished, { ...small, pace: 400 })
    const run = door.start(...door.job('scripted'))
    await run.event(isState('working'))
    const pid = pidOf(door)
    run.child.kill('SIGINT')
    expect(await run.ended).toBe(130)
    expect(isAlive(pid)).toBe(true)
    // Lists tell the truth, from any folder.
    const elsewhere = new Door({ folder: door.folder, project: door.folder, task: door.task, env: door.env })
    expect(rowOf(elsewhere)).toMatchObject({ state: 'unsupervised' })
    expect(elsewhere.say('ls')[0]).toMatchObject({ supervised: { name: 'job', state: 'unsupervised' } })
    expect(await elsewhere.start('health').ended).toBe(1)
    expect(door.say('watch', '--dry-run')).toContainEqual(expect.objectContaining({ type: 'left', name: 'job' }))
    expect(door.say('stop', 'job')).toEqual([{ name: 'job', wish: 'stop' }])
    expect(isAlive(pid)).toBe(false)
    expect(rowOf(door)).toMatchObject({ state: 'ended' })
    expect(door.say('watch', '--dry-run')).toEqual([])
  })

  test('what was let go is taken up again where it is, by watch [C7, C15]', async ({ onTestFinished, expect }) => {
    const door = open(onTestFinished, { ...small, pace: 100 })
    const first = door.start(...door.job('scripted'))
    await first.event(isStep('asked'))
    first.child.kill('SIGTERM')
    await first.ended
    const pid = pidOf(door)
    const second = door.start('watch')
    await second.event(({ type }) => type === 'ended')
    // It goes on watching; another one is refused.
    const third = door.start('watch')
    expect(await third.ended).toBe(3)
    second.child.kill('SIGINT')
    expect(await second.ended, second.err()).toBe(130)
    expect(rowOf(door)).toMatchObject({ state: 'ended', cycles: 2 })
    expect(second.events.some(isStep('done', 2))).toBe(true)
    expect(pid).toBe(pidOf(door))
  })

  test('a session that is taken up again, or reopened, takes bounds of its own [C19]', async ({
    onTestFinished,
    expect,
  }) => {
    const door = open(onTestFinished, { ...small, pace: 100 })
    printStampsAgain(door.project)
    const first = door.start('run', 'scripted', '--name', 'job', '--task', door.task)
    await first.event(isState('working'))
    first.child.kill('SIGINT')
    await first.ended
    const second = door.start('resume', 'job', '--until', 'node --test', '--max-cycles', '1')
    expect(await second.ended, second.err()).toBe(1)
    // The agent may be in the middle of a command when the cycle ends.
    const ended = /^bound: 1 cycle done(?:; Baton waited for the end of the command that was running)?$/
    expect(rowOf(door)).toMatchObject({ ended: expect.stringMatching(ended), cycles: 1 })
    // Reopened, it counts anew.
    const third = door.start('resume', 'job', '--max-cycles', '9')
    expect(await third.ended, third.err()).toBe(0)
    expect(door.say('health', 'job')).toContainEqual(expect.objectContaining({ check_type: 'bounds', status: 'ok' }))
  })

  test('a second supervisor is refused and told who is there [C7]', async ({ onTestFinished, expect }) => {
    const door = open(onTestFinished, { ...small, pace: 400 })
    const run = door.start(...door.job('scripted'))
    await run.event(isState('working'))
    // Another agent on the same files is started only with --beside.
    const beside = ['run', 'scripted', '--task', door.task]
    for (const args of [['resume', 'job'], door.job('scripted'), beside]) {
      const second = door.start(...args)
      expect(await second.ended).toBe(3)
      expect(second.err()).toContain(`process ${run.child.pid}`)
    }
    run.child.kill('SIGINT')
    await run.ended
  })

  test('pause holds a cycle back, unpause lets it come; cycle asks for one at once [C8]', async ({
    onTestFinished,
    expect,
  }) => {
    const door = open(onTestFinished, { ...small, pace: 1_000 })
    const run = door.start('run', 'scripted', '--name', 'job', '--task', door.task)
    await run.event(isState('working'))
    door.say('pause', 'job')
    await run.event(isState('paused'))
    const isFull = ({ type, row }: Event) => type === 'row' && (row as { context_usage?: number }).context_usage! > 0.85
    await run.event(isFull)
    expect(run.events.some(({ type }) => type === 'step')).toBe(false)
    door.say('unpause', 'job')
    await run.event(isStep('done'))
    door.say('cycle', 'job')
    await run.event(isStep('done', 2))
    const pid = pidOf(door)
    door.say('stop', 'job')
    expect(isAlive(pid)).toBe(false)
    expect(rowOf(door)).toMatchObject({ state: 'ended' })
    expect(await run.ended).toBe(130)
  })

  test('in the background with --detach; its log and its screen are told [C8]', async ({ onTestFinished, expect }) => {
    const door = open(onTestFinished, { ...small, pace: 300 })
    const [told] = door.say(...door.job('scripted', '--detach'))
    expect(told).toMatchObject({ name: 'job', pid: expect.any(Number) })
    onTestFinished(() => {
      if (isAlive(told!.pid as number)) process.kill(told!.pid as number, 'SIGKILL')
    })
    expect(door.say('attach', 'job')[0]).toMatchObject({
      commands: [expect.any(Array), expect.arrayContaining(['attach-session'])],
    })
    // tmux refuses to run within another unless it does not know.
    Object.assign(door.env, { TMUX: '/elsewhere/tmux,1,0' })
    expect(door.say('attach', 'job')[0]).toMatchObject({
      commands: [expect.any(Array), expect.arrayContaining(['env', '-u', 'TMUX', 'attach-session'])],
    })
    delete door.env.TMUX
    expect(door.say('ls')[0]).toMatchObject({ supervised: { name: 'job' } })
    door.say('stop', 'job')
    await expect.poll(() => isAlive(told!.pid as number), { timeout: 120_000 }).toBe(false)
    expect(rowOf(door)).toMatchObject({ state: 'ended' })
  })

  test('inside tmux it opens a window there [C13]', async ({ onTestFinished, expect }) => {
    const door = open(onTestFinished, { ...small, pace: 300 })
    const socket = path.join(door.folder, 'mine')
    door.tmux('-S', socket, 'new-session', '-d', '-s', 'mine', '-x', '120', '-y', '40')
    onTestFinished(() => void door.tmux('-S', socket, 'kill-server'))
    const pane = door.tmux('-S', socket, 'display-message', '-p', '#{pane_id}').trim()
    const inside = new Door({
      folder: door.folder,
      project: door.project,
      task: door.task,
      env: { ...door.env, TMUX: `${socket},1,0`, TMUX_PANE: pane },
    })
    onTestFinished(() => inside.close())
    const run = inside.start(...inside.job('scripted'))
    await run.event(isState('working'))
    expect(rowOf(door).place).toMatchObject({ driver: 'tmux', socket })
    expect(door.tmux('-S', socket, 'list-windows', '-F', '#{window_name}')).toContain('job')
    run.child.kill('SIGINT')
    await run.ended
    door.say('stop', 'job')
  })

  test('bounds end a run, and say so [C19]', async ({ onTestFinished, expect }) => {
    const door = open(onTestFinished, { ...small, modules: 8 })
    const run = door.start(...door.job('scripted', '--max-cycles', '1'))
    expect(await run.ended).toBe(1)
    expect(run.events.at(-1)).toMatchObject({ ended: { why: 'bound', bound: 'cycles' } })
  })

  test('a task of any length reaches the agent whole', async ({ onTestFinished, expect }) => {
    const door = open(onTestFinished, small)
    fs.appendFileSync(door.task, `\n${'Mind the gap between the till and the drawer. '.repeat(1_500)}\n`)
    const run = door.start(...door.job('scripted'))
    expect(await run.ended, run.err()).toBe(0)
  })
})

test.each(['tmux', 'headless'])(
  'a start that fails is told within seconds, with its exit code and its words, and leaves nothing behind: %s [C15]',
  async (driver) => {
    const folder = fs.realpathSync(temporaryFolder())
    const script = path.join(folder, 'agent.sh')
    fs.writeFileSync(script, '#!/bin/sh\necho "Invalid API key" >&2\nsleep 0.1\nexit 1\n', { mode: 0o755 })
    const agents = { mine: { command: [script], transcript: 'claude', turn: ['{prompt}'] } }
    fs.writeFileSync(path.join(folder, 'baton.config.json'), JSON.stringify({ supervisor: { agents } }))
    fs.writeFileSync(path.join(folder, 'task.md'), 'Build it.')
    fs.mkdirSync(path.join(folder, '.baton'))
    const { TMUX: _tmux, TMUX_PANE: _pane, ...env } = process.env
    const door = new Door({
      folder,
      project: folder,
      task: path.join(folder, 'task.md'),
      env: { ...env, HOME: folder },
    })
    onTestFinished(() => door.close())
    const run = door.start('run', 'mine', '--name', 'job', '--task', door.task, '--driver', driver)
    const begun = await run.event(({ type }) => type === 'row')
    expect(await run.ended).toBe(1)
    const over = run.events.at(-1)!
    expect(over).toMatchObject({
      ended: { why: 'crashed', details: expect.stringMatching(/did not start.*Invalid API key/) },
    })
    expect(door.say('health', 'job', '--all')).toContainEqual(
      expect.objectContaining({ type: 'check', check_type: 'agent', status: 'critical' }),
    )
    const took = Date.parse(over.date as string) - Date.parse(begun.date as string)
    expect(took).toBeLessThan(Math.max(5_000, 100 * startMs()))
    expect(
      run.events.filter(({ type, row }) => type === 'row' && (row as { state: string }).state === 'restarting'),
    ).toEqual([])
    // The server ends with its last session, a moment after it.
    const sessions = () => {
      try {
        return door.tmux('list-sessions')
      } catch {
        return 'none'
      }
    }
    if (driver === 'tmux') await expect.poll(sessions).toBe('none')
  },
)

test('mistakes are refused before anything is started, and say what to do [C8]', async () => {
  const folder = temporaryFolder()
  const tried = async (...args: string[]) => {
    const { code, err } = await baton(folder, args)
    return `${code} ${err.trim().replaceAll(folder, 'HERE')}`
  }
  expect(await tried('run', 'nobody')).toMatch(/^4 baton: There is no agent "nobody"\n {2}Agents are claude, codex/)
  expect(await tried('run', 'claude', '--task', 'none.md')).toMatch(/^4 baton: The task cannot be read/)
  expect(await tried('run', 'claude', '--cwd', 'nowhere')).toBe('4 baton: There is no folder HERE/nowhere')
  expect(await tried('run', 'claude', '--driver', 'headless')).toMatch(
    /^4 baton: There is no program "claude" on the PATH: Claude Code cannot be started\n {2}Install it, or say where it is/,
  )
  expect(await tried('run', 'claude', '--max-usd', '0')).toMatch(/^2 .*must be a number above zero/s)
  expect(await tried('run', 'claude', '--driver', 'ssh')).toMatch(
    /^2 .*"ssh" is not valid for --driver <driver>\n {2}Choose one of tmux, headless\./s,
  )
  expect(await tried('pause', 'job')).toMatch(
    /^4 baton: There is no supervised session "job".*\n {2}Start one with "baton run AGENT"/,
  )
  expect(await tried('logs', 'job')).toMatch(/^4 /)
  expect(await tried('resume', 'job')).toMatch(/^4 /)
  fs.writeFileSync(path.join(folder, 'baton.config.json'), '{"supervisor":{"threshold":85}}')
  expect(await tried('run', 'claude')).toMatch(/^2 baton: .*supervisor\.threshold/)
  expect(await tried('config', 'check')).toMatch(/^2 baton: .*supervisor\.threshold/)
})
