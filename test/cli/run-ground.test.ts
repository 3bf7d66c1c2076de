// The ground under a run gives way: its workspace, its terminal, its command line. With real processes and a real tmux.

import fs from 'node:fs'
import path from 'node:path'
import { describe, test } from 'vitest'
import type { Door } from '../support/door.ts'
import * as job from '../support/supervised-job.ts'
import { isAlive } from '../support/processes.ts'

/** Loaded into an agent: it lives on when its terminal is gone. */
const tough = `
process.on('SIGHUP', () => {})
process.on('uncaughtException', () => {})
process.exit = () => {}
setInterval(() => {}, 1000)
`

function panes(door: Door): string[] {
  try {
    return door.tmux('list-panes', '-a', '-F', '#{pane_pid}').trim().split('\n')
  } catch {
    return [] // there is no server yet
  }
}

describe.concurrent('the ground gives way', () => {
  test('the workspace is moved away: a person is told, and it goes on when it is back [C7, C16]', async ({
    onTestFinished,
    expect,
  }) => {
    const door = job.open(onTestFinished, { pace: 500 })
    const workspace = path.join(door.folder, 'workspace')
    const run = door.start(...door.job('scripted', '--workspace', workspace))
    await run.event(job.hasBegun)
    fs.renameSync(workspace, `${workspace}-away`)
    await expect.poll(() => job.told(door), { timeout: 120_000 }).toContain('put the workspace back')
    fs.renameSync(`${workspace}-away`, workspace)
    await run.event(job.isHealth('storage', 'ok'))
    expect(await job.finish(door, run)).toEqual({ code: 0, twice: false })
  }, 300_000)

  test('tmux is killed and the agent outlives it: it is ended before another takes its place [C15]', async ({
    onTestFinished,
    expect,
  }) => {
    const door = job.open(onTestFinished, { pace: 1_000 })
    const file = path.join(door.project, 'baton.config.json')
    const config = JSON.parse(fs.readFileSync(file, 'utf8')) as {
      supervisor: { agents: { scripted: { command: string[] } } }
    }
    const { scripted } = config.supervisor.agents
    const preload = path.join(door.folder, 'tough.cjs')
    fs.writeFileSync(preload, tough)
    scripted.command.splice(1, 0, '--require', preload)
    fs.writeFileSync(file, JSON.stringify(config))
    const run = door.start(...door.job('scripted'))
    await run.event(job.hasBegun)
    const pid = job.pidOf(door)
    onTestFinished(() => {
      if (isAlive(pid)) process.kill(pid, 'SIGKILL')
    })
    door.killTmux()
    await run.event(job.isState('restarting'))
    await expect.poll(() => panes(door), { timeout: 120_000 }).not.toEqual([])
    expect(isAlive(pid)).toBe(false)
    door.say('stop', 'job')
    await run.ended
  }, 300_000)

  test('the terminal of the supervisor is closed: supervision goes on; when it is killed, one watcher takes it up [C7, C15]', async ({
    onTestFinished,
    expect,
  }) => {
    const { door, run: first } = job.begin(onTestFinished, { pace: 500 })
    await first.event(job.hasBegun)
    first.child.kill('SIGHUP')
    await first.event(job.isStep('asked'))
    first.child.kill('SIGKILL')
    await first.ended
    const watches = [door.start('watch'), door.start('watch')]
    const [refused, other] = await Promise.race(
      watches.map(async (each, i) => [await each.ended, watches[1 - i]!] as const),
    )
    expect(refused).toBe(3)
    await other.event(({ type }) => type === 'ended')
    other.child.kill('SIGINT')
    expect(await job.finish(door, other, 130)).toEqual({ code: 130, twice: false })
  }, 300_000)

  test('a task that no command line takes is read from a file [C13]', async ({ onTestFinished, expect }) => {
    const door = job.open(onTestFinished)
    fs.appendFileSync(door.task, `\n${'And mind the change. '.repeat(10_000)}`)
    const run = door.start('run', 'scripted', '--name', 'job', '--task', door.task, '--driver', 'headless')
    await run.event(job.isState('waiting'))
    const [said = ''] = job.prompts(door).flat()
    const file = /^Your task is written in (.+): read all of it/.exec(said)?.[1]
    expect(fs.readFileSync(file!, 'utf8')).toBe(fs.readFileSync(door.task, 'utf8').trimEnd())
    run.child.kill('SIGINT')
    await run.ended
  }, 300_000)

  test('what the command of --until leaves running is not waited for [C19]', async ({ onTestFinished, expect }) => {
    const door = job.open(onTestFinished)
    const until = ['--until', 'sleep 1000 & node --test']
    const run = door.start('run', 'scripted', '--name', 'job', '--task', door.task, ...until)
    expect(await job.finish(door, run)).toEqual({ code: 0, twice: false })
  }, 300_000)
})
