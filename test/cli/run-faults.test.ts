// What goes wrong while nobody watches, with real processes and a real tmux. Each ends with the job done and every fact
// kept, or with a person told and nothing done to the session.

import fs from 'node:fs'
import path from 'node:path'
import { describe, test } from 'vitest'
import { type Door, type Event, scriptedDoor, type Started } from '../support/door.ts'
import { temporaryFolder } from '../support/workspace.ts'

type AtEnd = (work: () => void) => void

/** Four modules, two of them to a context; people are told by a command that writes to a file. */
function open(onTestFinished: AtEnd, options: Parameters<typeof scriptedDoor>[1] = {}): Door {
  const folder = fs.realpathSync(temporaryFolder(onTestFinished))
  const tell = { type: 'command', command: ['tee', '-a', path.join(folder, 'told.jsonl')] }
  const small = { modules: 4, perTurn: 2, growth: 10_000, pace: 60 }
  const { settings, ...rest } = options
  const patient = { submitSeconds: 3, clearSeconds: 3, graceSeconds: 2, ...settings }
  const sections = { notify: { channels: [tell] } }
  const door = scriptedDoor(folder, { ...small, sections, settings: patient, ...rest })
  onTestFinished(() => door.close())
  return door
}

const isStep =
  (step: string, cycle = 1) =>
  (event: Event) =>
    event.type === 'step' && event.step === step && event.cycle === cycle
const isState = (state: string) => (event: Event) =>
  event.type === 'row' && (event.row as { state: string }).state === state
const isHealth = (check: string, status: string) => (event: Event) =>
  event.type === 'health' &&
  (event.check as { check_type: string }).check_type === check &&
  (event.check as { status: string }).status === status

/** Its first reply is written, and it thinks about the next: no command runs whose output would be lost with it. */
const hasBegun = ({ type, row }: Event) => type === 'row' && Number((row as { tokens?: number }).tokens) > 10_000

function pidOf(door: Door): number {
  return Number(door.tmux('list-panes', '-a', '-F', '#{pane_pid}').trim())
}

function told(door: Door): string {
  const file = path.join(door.folder, 'told.jsonl')
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : ''
}

/** What each context was told by us, from the transcripts: one request for a document at most, one to resume. */
function prompts(door: Door): string[][] {
  const sessions = path.join(door.folder, 'agent/sessions')
  const files = fs
    .readdirSync(sessions, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.jsonl'))
  return files.map((file) =>
    fs
      .readFileSync(path.join(sessions, file), 'utf8')
      .split('\n')
      .filter((line) => line.includes('"role":"user"'))
      .map((line) => (JSON.parse(line) as { message: { content: { text: string }[] } }).message.content[0]!.text),
  )
}

function nothingTwice(door: Door): boolean {
  return prompts(door).every((said) => {
    const ours = said.filter((text) => /^(Create|Read) handoff/.test(text))
    return new Set(ours).size === ours.length
  })
}

async function finish(door: Door, run: Started): Promise<{ code: number | null; twice: boolean }> {
  const code = await run.ended
  if (code !== 0) throw new Error(`it ended with ${code}: ${run.err()}\n${JSON.stringify(run.events.slice(-5))}`)
  return { code, twice: !nothingTwice(door) }
}

describe.concurrent('the supervisor is killed with -9', () => {
  for (const step of ['asked', 'documented', 'clearing', 'resuming', 'verifying']) {
    test(`at ${step}: the next one goes on, and nothing is typed twice [C7]`, async ({ onTestFinished, expect }) => {
      const door = open(onTestFinished)
      const first = door.start(...door.job('scripted'))
      await first.event(isStep(step))
      first.child.kill('SIGKILL')
      await first.ended
      const second = door.start('resume', 'job')
      expect(await finish(door, second)).toEqual({ code: 0, twice: false })
    }, 90_000)
  }
})

describe.concurrent('things break', () => {
  test('the agent is killed in mid-turn: its session is reopened and goes on [C15]', async ({
    onTestFinished,
    expect,
  }) => {
    const door = open(onTestFinished, { pace: 1_000 })
    const run = door.start(...door.job('scripted'))
    await run.event(hasBegun)
    const before = prompts(door).length
    process.kill(pidOf(door), 'SIGKILL')
    await run.event(isState('restarting'))
    await run.event(isStep('asked'))
    // The same session: no new one was begun for it.
    expect(prompts(door)).toHaveLength(before)
    expect(prompts(door)[0]).toContainEqual(expect.stringContaining('Baton restarted you'))
    expect(await finish(door, run)).toEqual({ code: 0, twice: false })
    expect(told(door)).toContain('started again')
  }, 90_000)

  test('the agent is killed while it writes its document: a fresh one goes on with the ledger [C4, C15]', async ({
    onTestFinished,
    expect,
  }) => {
    const door = open(onTestFinished, { pace: 300 })
    const run = door.start(...door.job('scripted'))
    await run.event(isStep('asked'))
    process.kill(pidOf(door), 'SIGKILL')
    expect(await finish(door, run)).toEqual({ code: 0, twice: false })
  }, 90_000)

  test('the tmux server is killed: the agent is brought back in a new one [C15]', async ({
    onTestFinished,
    expect,
  }) => {
    const door = open(onTestFinished, { pace: 1_000 })
    const run = door.start(...door.job('scripted'))
    await run.event(isState('working'))
    await run.event(hasBegun)
    door.killTmux()
    await run.event(isState('restarting'))
    expect(await finish(door, run)).toEqual({ code: 0, twice: false })
  }, 90_000)

  test('tmux and supervisor are gone, as after a reboot: watch brings the session back [C15]', async ({
    onTestFinished,
    expect,
  }) => {
    const door = open(onTestFinished, { pace: 1_000 })
    const first = door.start(...door.job('scripted'))
    await first.event(hasBegun)
    first.child.kill('SIGKILL')
    door.killTmux()
    await first.ended
    const second = door.start('watch')
    expect(await finish(door, second)).toEqual({ code: 0, twice: false })
    expect(
      second.events.some(({ type, ended }) => type === 'ended' && (ended as { why: string }).why === 'finished'),
    ).toBe(true)
  }, 90_000)

  test('a person is typing when the cycle is due: it waits until the draft is gone, and leaves it alone [C5]', async ({
    onTestFinished,
    expect,
  }) => {
    const door = open(onTestFinished, { pace: 500 })
    const run = door.start(...door.job('scripted'))
    await run.event(isState('working'))
    door.tmux('send-keys', '-l', 'one moment, please')
    await run.event(
      ({ type, row }) => type === 'row' && (row as { state: string; context_usage: number }).state === 'waiting',
    )
    // It is full and at rest; what stands there is the person's.
    await expect
      .poll(() => door.tmux('capture-pane', '-p'), { timeout: 30_000, interval: 500 })
      .toContain('› one moment, please')
    expect(run.events.some(({ type }) => type === 'step')).toBe(false)
    door.tmux('send-keys', 'C-u')
    expect(await finish(door, run)).toEqual({ code: 0, twice: false })
    expect(prompts(door).flat().join('\n')).not.toContain('one moment')
  }, 90_000)

  test('a clear that is ignored twice: the cycle is given up, and a person told [C5, C16]', async ({
    onTestFinished,
    expect,
  }) => {
    const door = open(onTestFinished, { agent: { clear: 'please forget it all' } })
    const run = door.start('run', 'scripted', '--name', 'job', '--task', door.task)
    const failed = await run.event(isStep('failed'))
    expect(failed.details).toContain('ignored the clear')
    await run.event(isHealth('handoff', 'critical'))
    await expect.poll(() => told(door), { timeout: 30_000 }).toContain('ignored the clear')
    expect(door.say('health', 'job')).toContainEqual(
      expect.objectContaining({ check_type: 'handoff', status: 'critical' }),
    )
    run.child.kill('SIGINT')
    await run.ended
  }, 90_000)
})
