import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { login, project } from './project.ts'

let script = ''

beforeAll(async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-agent-'))
  fs.symlinkSync(path.resolve(import.meta.dirname, '../../node_modules'), path.join(folder, 'node_modules'))
  script = path.join(folder, 'agent.mjs')
  const entryPoints = [fileURLToPath(new URL('./agent.ts', import.meta.url))]
  await build({ entryPoints, outfile: script, bundle: true, platform: 'node', format: 'esm', packages: 'external' })
  afterAll(() => fs.rmSync(folder, { recursive: true }))
})

interface Agent {
  readonly child: ChildProcess
  /** `version agent step` of every handoff that it was promised. */
  readonly promised: string[]
  readonly ended: Promise<unknown>
}

function agent(folder: string, name: string, times: number, onPromise: () => void = () => {}): Agent {
  const child = spawn(process.execPath, [script, folder, name, String(times)], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const promised: string[] = []
  const lines = createInterface(child.stdout)
  lines.on('line', (line) => {
    promised.push(line)
    onPromise()
  })
  const ended = Promise.all([once(child, 'exit'), once(lines, 'close')]).then(([[code, signal]]) => signal ?? code)
  return { child, promised, ended }
}

test('eight processes hand one task over: every handoff is a version, none is lost [S4, S11]', async () => {
  const { tasks, folder, again } = await project()
  await tasks.create(login)
  const crowd = Array.from({ length: 8 }, (_, i) => agent(folder, `agent-${i}`, 25))
  expect(await Promise.all(crowd.map(({ ended }) => ended))).toEqual(crowd.map(() => 0))
  const state = await (await again()).get('TASK-001')
  expect(state.version).toBe(201)
  expect(state.decisions_made.map(({ decision }, i) => `${i + 2} ${decision}`)).toEqual(
    crowd.flatMap(({ promised }) => promised).sort((a, b) => Number.parseInt(a) - Number.parseInt(b)),
  )
  expect((await tasks.history('TASK-001')).map(({ version }) => version)).toEqual(
    Array.from({ length: 201 }, (_, i) => i + 1),
  )
  expect(JSON.parse(fs.readFileSync(tasks.stateFile('TASK-001'), 'utf8'))).toEqual(state)
})

/** What may happen to the state file while others write it. */
const mishaps: ((file: string) => void)[] = [
  (file) => fs.rmSync(file, { force: true }),
  (file) => fs.writeFileSync(file, ''),
  (file) => fs.writeFileSync(file, '{"task_id":"TASK-001","version":99999}'),
  (file) => fs.truncateSync(file, 40),
]

test('agents killed in the middle lose nothing they were promised, whatever happens to the state file [S4, S10, S11]', async () => {
  const { tasks, folder } = await project()
  await tasks.create(login)
  const file = tasks.stateFile('TASK-001')
  const promised: string[] = []
  for (let round = 0; round < 12; round++) {
    // Killed at another point of its work each time, by what it was promised so far.
    const enough = 2 + (round % 4) * 3
    let seen = 0
    const crowd: Agent[] = []
    const onPromise = () => {
      if (++seen === enough) for (const { child } of crowd) child.kill('SIGKILL')
    }
    crowd.push(...['a', 'b', 'c'].map((name) => agent(folder, `${name}${round}`, 1_000, onPromise)))
    await Promise.all(crowd.map(({ ended }) => ended))
    promised.push(...crowd.flatMap((each) => each.promised.filter((line) => /^\d+ \w+ \d+$/.test(line))))
    if (fs.existsSync(file)) mishaps[round % mishaps.length]!(file)

    const state = await tasks.get('TASK-001')
    const made = state.decisions_made.map(({ decision }, i) => `${i + 2} ${decision}`)
    expect(made).toHaveLength(state.version - 1)
    expect(promised.filter((line) => !made.includes(line))).toEqual([])
    expect(JSON.parse(fs.readFileSync(file, 'utf8'))).toEqual(state)
  }
})
