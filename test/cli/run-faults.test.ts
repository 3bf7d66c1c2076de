// What goes wrong while nobody watches, with real processes and a real tmux. Each ends with the job done and every fact
// kept, or with a person told and nothing done to the session.

import fs from 'node:fs'
import path from 'node:path'
import { describe, test } from 'vitest'
import { Door } from '../support/door.ts'
import * as job from '../support/supervised-job.ts'

/** A job that had begun when its tmux and its supervisor went away. */
async function afterReboot(onTestFinished: Parameters<typeof job.open>[0]): Promise<Door> {
  const { door, run } = job.begin(onTestFinished, { pace: 1_000 })
  await run.event(job.hasBegun)
  run.child.kill('SIGKILL')
  door.killTmux()
  await run.ended
  return door
}

describe.concurrent('the supervisor is killed with -9', () => {
  for (const step of ['asked', 'documented', 'clearing', 'resuming', 'verifying']) {
    test(`at ${step}: the next one goes on, and nothing is typed twice [C7]`, async ({ onTestFinished, expect }) => {
      const { door, run: first } = job.begin(onTestFinished)
      await first.event(job.isStep(step))
      first.child.kill('SIGKILL')
      await first.ended
      const second = door.start('resume', 'job')
      expect(await job.finish(door, second)).toEqual({ code: 0, twice: false })
    }, 300_000)
  }
})

describe.concurrent('things break', () => {
  test('the agent is killed in mid-turn: its session is reopened and goes on [C15]', async ({
    onTestFinished,
    expect,
  }) => {
    const { door, run } = job.begin(onTestFinished, { pace: 1_000 })
    await run.event(job.hasBegun)
    const before = job.prompts(door).length
    process.kill(job.pidOf(door), 'SIGKILL')
    await run.event(job.isState('restarting'))
    await run.event(job.isStep('asked'))
    // The same session: no new one was begun for it.
    expect(job.prompts(door)).toHaveLength(before)
    expect(job.prompts(door)[0]).toContainEqual(expect.stringContaining('Baton restarted you'))
    expect(await job.finish(door, run)).toEqual({ code: 0, twice: false })
    expect(job.told(door)).toContain('Baton is restarting it')
  }, 300_000)

  test('the agent is killed while it writes its document: a fresh one goes on with the ledger [C4, C15]', async ({
    onTestFinished,
    expect,
  }) => {
    const { door, run } = job.begin(onTestFinished, { pace: 300 })
    await run.event(job.isStep('asked'))
    process.kill(job.pidOf(door), 'SIGKILL')
    expect(await job.finish(door, run)).toEqual({ code: 0, twice: false })
  }, 300_000)

  test('the tmux server is killed: the agent is brought back in a new one [C15]', async ({
    onTestFinished,
    expect,
  }) => {
    const { door, run } = job.begin(onTestFinished, { pace: 1_000 })
    await run.event(job.isState('working'))
    await run.event(job.hasBegun)
    door.killTmux()
    await run.event(job.isState('restarting'))
    expect(await job.finish(door, run)).toEqual({ code: 0, twice: false })
  }, 300_000)

  test('tmux and supervisor are gone, as after a reboot: watch brings the session back [C15]', async ({
    onTestFinished,
    expect,
  }) => {
    const door = await afterReboot(onTestFinished)
    const second = door.start('watch')
    expect(await second.event(({ type }) => type === 'ended')).toMatchObject({ ended: { why: 'finished' } })
    second.child.kill('SIGINT')
    expect(await job.finish(door, second, 130)).toEqual({ code: 130, twice: false })
  }, 300_000)

  test('tmux and supervisor are gone: baton up in another folder brings the session back [C15, D1]', async ({
    onTestFinished,
    expect,
  }) => {
    const door = await afterReboot(onTestFinished)
    const project = path.join(door.folder, 'elsewhere')
    fs.mkdirSync(project)
    const elsewhere = new Door({ folder: door.folder, project, task: door.task, env: door.env })
    onTestFinished(() => elsewhere.close())
    const second = elsewhere.start('up', '--port', '0')
    expect(await second.event(({ type }) => type === 'ended')).toMatchObject({ ended: { why: 'finished' } })
    second.child.kill('SIGTERM')
    expect(await job.finish(door, second, 0)).toEqual({ code: 0, twice: false })
  }, 300_000)

  test('a person is typing when the cycle is due: it waits until the draft is gone, and leaves it alone [C5]', async ({
    onTestFinished,
    expect,
  }) => {
    const { door, run } = job.begin(onTestFinished, { pace: 500 })
    await run.event(job.isState('working'))
    door.tmux('send-keys', '-l', 'one moment, please')
    await run.event(
      ({ type, row }) => type === 'row' && (row as { state: string; context_usage: number }).state === 'waiting',
    )
    // It is full and at rest; what stands there is the person's.
    await expect
      .poll(() => door.tmux('capture-pane', '-p'), { timeout: 120_000, interval: 500 })
      .toContain('› one moment, please')
    expect(run.events.some(({ type }) => type === 'step')).toBe(false)
    door.tmux('send-keys', 'C-u')
    expect(await job.finish(door, run)).toEqual({ code: 0, twice: false })
    expect(job.prompts(door).flat().join('\n')).not.toContain('one moment')
  }, 300_000)

  test('a clear that is ignored twice: the cycle is given up, and a person told [C5, C16]', async ({
    onTestFinished,
    expect,
  }) => {
    const door = job.open(onTestFinished, { agent: { clear: 'please forget it all' } })
    const run = door.start('run', 'scripted', '--name', 'job', '--task', door.task)
    const failed = await run.event(job.isStep('failed'))
    expect(failed.details).toContain('ignored the clear')
    await run.event(job.isHealth('handoff', 'critical'))
    await expect.poll(() => job.told(door), { timeout: 120_000 }).toContain('ignored the clear')
    expect(door.say('health', 'job')).toContainEqual(
      expect.objectContaining({ check_type: 'handoff', status: 'critical' }),
    )
    run.child.kill('SIGINT')
    await run.ended
  }, 300_000)
})
