// Whatever line of Baton's own tapes is damaged: `tape verify` and `tape repair` are all it takes, and every command of that area works
// with what is left, and says what is missing.

import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sample } from '../support/full.ts'
import { temporaryFolder } from '../support/workspace.ts'
import { baton, records, type Run } from './cli.ts'

const fixture = path.join(import.meta.dirname, '../fixtures/workspace-8f8b79c')
const blocker = (issue: string) => JSON.stringify({ issue, severity: 'high', requires_human: true })
const handing = ['task', 'handoff', 'SHOP', '--from', 'a', '--to', 'b', '--phase', 'planning']
const long = 'because '.repeat(600)

/** A workspace with everything on its tapes, made once. */
let made: string

beforeAll(async () => {
  made = temporaryFolder(afterAll)
  fs.cpSync(path.join(fixture, 'workspace'), path.join(made, '.baton'), { recursive: true })
  fs.copyFileSync(path.join(fixture, 'baton.config.json'), path.join(made, 'baton.config.json'))
  fs.writeFileSync(path.join(made, 'add.js'), 'export const add = (a, b) => a + b\n')
  fs.writeFileSync(path.join(made, 'add.test.js'), '')
  const steps = [
    ['task', 'new', 'SHOP', '--title', 'A shop'],
    // Version 5 is a full state, because what changed is larger by then.
    ...[2, 3, 4, 5, 6].map((n) => [...handing, '--decision', `Decision ${n}`, '--rationale', long]),
    ['task', 'reject', 'SHOP', '--by', 'anna'],
    ['task', 'approve', 'SHOP', '--by', 'anna'],
    ['tape', 'fork', 'main', 'fork-of-main'],
  ]
  for (const [i, step] of steps.entries()) {
    if (i === 6) await baton(made, [...handing, '--blocker', blocker('Sell it?')])
    if (i === 7) await baton(made, [...handing, '--blocker', blocker('Rent it?')])
    const { code, err } = await baton(made, step)
    if (code !== 0) throw new Error(`baton ${step.join(' ')}: ${err}`)
  }
})

const ways: Record<string, (lines: string[], at: number) => string[]> = {
  'a byte changed': (lines, at) => lines.with(at, flip(lines[at]!)),
  'half of it gone': (lines, at) => lines.with(at, lines[at]!.slice(0, lines[at]!.length / 2)),
  'all of it gone': (lines, at) => lines.toSpliced(at, 1),
}

function flip(line: string): string {
  const middle = Math.floor(line.length / 2)
  return `${line.slice(0, middle)}${line[middle] === 'x' ? 'y' : 'x'}${line.slice(middle + 1)}`
}

interface Damaged {
  readonly cwd: string
  readonly run: (...args: string[]) => Promise<Run>
}

/** A copy of the workspace with damage to one line of a tape. */
function damaged(tape: string, line: number, way: string): Damaged {
  const cwd = temporaryFolder()
  fs.cpSync(made, cwd, { recursive: true })
  const file = fileOf(cwd, tape)
  const lines = fs.readFileSync(file, 'utf8').split('\n')
  fs.writeFileSync(file, ways[way]!(lines, line).join('\n'))
  return { cwd, run: (...args) => baton(cwd, args) }
}

function fileOf(cwd: string, tape: string): string {
  const name = tape === 'lineage' ? 'session_graph' : `tape/${encodeURIComponent(tape)}`
  return path.join(cwd, '.baton', `${name}.jsonl`)
}

/** Every line of a tape with every way to damage it; a sample of them in a run that is not full. */
function damages(tape: string, count: number): readonly { line: number; way: string }[] {
  const { length } = fs.readFileSync(fileOf(made, tape), 'utf8').trimEnd().split('\n')
  const lines = Array.from({ length }, (_, line) => line)
  return sample(
    lines.flatMap((line) => Object.keys(ways).map((way) => ({ line, way }))),
    count,
  )
}

/** Commands by the exit codes that are an answer: 1 is a gate, 3 a conflict, 4 something that was lost. */
type Commands = readonly (readonly [codes: readonly number[], ...command: string[]])[]

/** The commands that did not answer, each with what it printed. */
async function failures({ run }: Damaged, commands: Commands): Promise<object[]> {
  const found: object[] = []
  for (const [codes, ...command] of commands) {
    const { code, err } = await run(...command)
    const isAnswer = codes.includes(code ?? -1) && !/unexpected failure|NAME|is damaged at byte/.test(err)
    if (!isAnswer) found.push({ command, code, err })
  }
  return found
}

/** Follows the advice that a command gives when it meets the damage. */
async function repaired(tape: string, line: number, way: string): Promise<Damaged> {
  const place = damaged(tape, line, way)
  await place.run('tape', 'verify', tape)
  expect(await place.run('tape', 'repair', tape)).toMatchObject({ code: 0, err: '' })
  expect(await place.run('tape', 'verify', tape)).toMatchObject({ code: 0 })
  return place
}

const versions = [1, 2, 3, 4, 5, 6].map((n) => [[0, 4], 'task', 'show', 'SHOP', '--version', String(n)] as const)
const aboutTasks: Commands = [
  [[0], 'task', 'ls'],
  [[0], 'task', 'ready'],
  [[0], 'task', 'show', 'SHOP'],
  [[0], 'task', 'show', 'SHOP', '--full', '--json'],
  ...versions,
  [[0], 'task', 'history', 'SHOP'],
  [[0, 4], 'task', 'diff', 'SHOP'],
  [[0], 'task', 'receive', 'SHOP'],
  [[0, 1], 'task', 'gate', 'SHOP'],
  [[0, 2], 'task', 'withdraw', 'SHOP', '--by', 'anna'],
  [[0], 'task', 'new', 'OTHER', '--title', 'Other'],
  [[0], ...handing, '--decision', 'Go on', '--rationale', 'It works'],
  [[0], 'task', 'show', 'SHOP'],
]

test('a task goes on after any line of its tape was lost, and says which version that was [S10, T6]', async () => {
  for (const { line, way } of damages('task/SHOP', 6)) {
    const place = await repaired('task/SHOP', line, way)
    expect(await failures(place, aboutTasks), `line ${line}, ${way}`).toEqual([])
  }
})

test('a first line that is gone altogether is repaired at once', async () => {
  const { run } = await repaired('task/SHOP', 0, 'all of it gone')
  expect((await run('tape', 'verify', 'task/SHOP')).code).toBe(0)
})

test('a task whose first version is lost altogether continues with what later versions changed [S10]', async () => {
  const place = damaged('task/LOGIN', 0, 'all of it gone')
  const file = fileOf(place.cwd, 'task/LOGIN')
  const [first, ...rest] = fs.readFileSync(file, 'utf8').split('\n')
  expect(first).toContain('"name":"version","data":{"version":1')
  fs.writeFileSync(file, [flip(first!), ...rest].join('\n'))
  expect(await place.run('tape', 'repair', 'task/LOGIN')).toMatchObject({ code: 0 })
  const shown = await place.run('task', 'show', 'LOGIN')
  expect(shown.code).toBe(0)
  expect(shown.err).toContain('what version 1 of LOGIN changed is missing')
  expect((await place.run('task', 'show', 'LOGIN', '--version', '1')).err).toContain('Version 1 of LOGIN was lost')
  expect((await place.run('task', 'history', 'LOGIN')).out).toMatch(/^ *1 +lost with a damaged entry/m)
  expect(await place.run('task', 'handoff', 'LOGIN', '--from', 'a', '--to', 'b', '--phase', 'testing')).toMatchObject({
    code: 0,
  })
})

test('a lost version is named wherever it is missed, and later ones say what they lack [S10]', async () => {
  const lines = fs.readFileSync(fileOf(made, 'task/SHOP'), 'utf8').split('\n')
  const line = lines.findIndex((each) => each.includes('"name":"version","data":{"version":3'))
  const { run } = await repaired('task/SHOP', line, 'a byte changed')
  const lost = await run('task', 'show', 'SHOP', '--version', '3')
  expect(lost).toMatchObject({ code: 4, out: '' })
  expect(lost.err).toContain('Version 3 of SHOP was lost with a damaged entry of its tape')
  expect((await run('task', 'diff', 'SHOP', '3', '4')).err).toContain('Version 3 of SHOP was lost')
  expect((await run('task', 'history', 'SHOP')).out).toMatch(/^ *3 +lost with a damaged entry/m)
  expect(records(await run('task', 'history', 'SHOP', '--json'))[2]).toMatchObject({ version: 3, lost: true })
  const later = await run('task', 'show', 'SHOP', '--version', '4')
  expect(later.code).toBe(0)
  expect(later.err).toContain('what version 3 of SHOP changed is missing')
  // A full state that was written before holds it all.
  const whole = records(await run('task', 'show', 'SHOP', '--full', '--json'))
  expect(whole[0]!.decisions_made).toHaveLength(5)
  expect((await run('task', 'show', 'SHOP')).err).toBe('')
})

test('what was lost behind the newest version is said, and a question that was lost stays open [S7, S10]', async () => {
  const lines = fs.readFileSync(fileOf(made, 'task/SHOP'), 'utf8').trimEnd().split('\n')
  const newest = lines.findIndex((each) => each.includes('"name":"version","data":{"version":6'))
  const gone = await repaired('task/SHOP', newest, 'a byte changed')
  expect((await gone.run('task', 'show', 'SHOP', '--version', '6')).err).toContain('Version 6 of SHOP')
  // The approval that came last: without it, the person is asked again.
  const open = await repaired('task/SHOP', lines.length - 1, 'a byte changed')
  expect((await open.run('task', 'show', 'SHOP')).err).toContain('a person must decide: Rent it?')
  expect((await open.run(...handing)).code).toBe(1)
  // The question itself, which stands beside the refusal, and then its answer.
  const asked = lines.findIndex((each) => each.includes('"name":"questions"') && each.includes('Rent it?'))
  const both = damaged('task/SHOP', asked, 'a byte changed')
  const file = fileOf(both.cwd, 'task/SHOP')
  const left = fs.readFileSync(file, 'utf8').trimEnd().split('\n')
  fs.writeFileSync(file, `${left.with(left.length - 1, flip(left.at(-1)!)).join('\n')}\n`)
  await both.run('tape', 'repair', 'task/SHOP')
  expect((await both.run(...handing)).err).toContain('a person must decide: Rent it?')
})

test('a damaged task is named with its tape, and stops no other [S11]', async () => {
  const last = fs.readFileSync(fileOf(made, 'task/SHOP'), 'utf8').trimEnd().split('\n').length - 1
  const { run } = damaged('task/SHOP', last, 'a byte changed')
  for (const command of [
    ['task', 'ls'],
    ['task', 'ready'],
  ]) {
    const { code, out, err } = await run(...command)
    expect(code).toBe(0)
    expect(out).toContain('LOGIN')
    expect(err).toContain('SHOP cannot be read')
    expect(err).toContain('"baton tape repair task/SHOP"')
  }
  const spec = path.join(temporaryFolder(), 'spec.json')
  fs.writeFileSync(spec, JSON.stringify({ title: 'Next', dependencies: ['SHOP', 'LOGIN'] }))
  expect(await run('task', 'new', 'NEXT', '--spec', spec)).toMatchObject({ code: 0, err: '' })
  expect((await run('task', 'show', 'SHOP')).err).toContain('"baton tape repair task/SHOP"')
  expect((await run('tape', 'verify')).err).toContain('See "baton tape repair task/SHOP".')
})

test('lineage is shown after any line of it was lost [T6]', async () => {
  for (const { line, way } of damages('lineage', 4)) {
    const place = await repaired('lineage', line, way)
    // The torn end of a tape may be no entry at all.
    if (way === 'a byte changed')
      expect((await place.run('lineage')).err).toContain('of the lineage was lost to damage')
    const commands: Commands = [
      [[0], 'lineage'],
      [[0], 'lineage', 'main'],
      [[0], 'tape', 'ls'],
      [[0], 'tape', 'info', 'fork-of-main'],
      [[0], 'tape', 'context', 'fork-of-main'],
      [[0], 'tape', 'fork', 'main', 'another'],
      [[0], 'lineage', 'another'],
      [[0, 4], 'tape', 'merge', 'another'],
    ]
    expect(await failures(place, commands), `line ${line}, ${way}`).toEqual([])
  }
})

test('supervised sessions are shown after any line of their tapes was lost [T6]', async () => {
  for (const tape of ['session/till', 'session/~cycles']) {
    for (const { line, way } of damages(tape, 4)) {
      const place = await repaired(tape, line, way)
      if (way === 'a byte changed' && tape === 'session/till') {
        expect((await place.run('logs', 'till')).out).toMatch(/^lost {6}Entry \d+ was damaged/m)
      }
      const commands: Commands = [
        [[0], 'ls', '--json'],
        [[0, 1], 'health'],
        [[0, 1, 4], 'health', 'till'],
        [[0, 4], 'logs', 'till'],
        [[0, 4], 'logs', 'till', '--json'],
        [[0, 1, 3, 4], 'pause', 'till'],
        [[0, 1, 3, 4], 'unpause', 'till'],
        [[0], 'handoff', 'ls'],
      ]
      expect(await failures(place, commands), `line ${line}, ${way}`).toEqual([])
    }
  }
})

test('the relay goes on after any line of its tape was lost [P9, T6]', async () => {
  const ask = ['relay', 'request', '--from', 'writer', '--reason', 'missing_required_input', '--missing', 'n:number']
  const commands: Commands = [
    [[0], 'relay', 'status'],
    [[0, 4], 'relay', 'status', 'req-answered'],
    [[0, 4], 'relay', 'status', 'req-open'],
    [[0], 'relay', 'inbox', 'researcher'],
    [[0, 1], 'relay', 'alerts'],
    [[0], 'relay', 'routes'],
    [[0], 'escalations', 'ls'],
    [[0, 3, 4], 'escalations', 'answer', 'e5', '--input', 'budget=8', '--by', 'anna'],
    [[0], ...ask, '--to', 'human', '--summary', 'Which?', '--detail', 'Nobody knows'],
    [[0], ...ask, '--to', 'researcher', '--summary', 'How many?', '--detail', 'Unknown', '--request-id', 'next'],
    [[0], 'relay', 'answer', 'next', '--status', 'failed', '--failure', 'no source'],
    [[0], 'relay', 'status', 'next'],
    [[0, 4], 'relay', 'claim', 'researcher'],
  ]
  for (const { line, way } of damages('relay/handoffs', 4)) {
    const place = await repaired('relay/handoffs', line, way)
    expect(await failures(place, commands), `line ${line}, ${way}`).toEqual([])
  }
})
