// npm run bench task [-- --quick]
//
// How long a handoff of a task takes, by how much the task holds; and how tasks fare when many processes write one.
// What counts are the ratios within one run; the absolute figures belong to the machine.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { BatonError } from '../src/errors.ts'
import { openFileStore } from '../src/store/index.ts'
import { Tasks } from '../src/task/index.ts'

const args = process.argv.slice(2)
const quick = args.includes('--quick')
const handoffs = quick ? 50 : 400
const writers = 8
const each = quick ? 20 : 200
const kills = quick ? 5 : 60
const task = 'TASK-001'
const script = fileURLToPath(import.meta.url)

if (args[0] === '--writer') await write(args[1]!, args[2]!, Number(args[3]))
else await main()

async function open(folder: string): Promise<Tasks> {
  const store = await openFileStore(path.join(folder, '.baton'))
  const stateFolder = path.join(folder, '.baton', 'state')
  return new Tasks({ store, project: folder, stateFolder, close: () => store.close() })
}

async function main(): Promise<void> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-bench-'))
  process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true }))
  const rows: string[][] = [['artifacts', 'median', 'mean', 'cold', 'state file']]
  const small = await measure(path.join(folder, 'small'), 10)
  const large = await measure(path.join(folder, 'large'), 10_000)
  for (const { artifacts, median, mean, cold, bytes } of [small, large]) {
    rows.push([String(artifacts), ms(median), ms(mean), ms(cold), `${Math.round(bytes / 1000)} kB`])
  }
  console.log(rows.map((row) => row.map((cell) => cell.padStart(12)).join('')).join('\n'))
  bar('handoff() with 10,000 artifacts beside 10, median', large.median / small.median, 3)
  bar('handoff() with 10,000 artifacts beside 10, mean', large.mean / small.mean, 3)
  await contend(path.join(folder, 'contention'))
  await kill(path.join(folder, 'kill'))
}

async function measure(folder: string, artifacts: number) {
  fs.mkdirSync(path.join(folder, 'src'), { recursive: true })
  const paths = Array.from({ length: artifacts }, (_, i) => `src/part-${i}.ts`)
  for (const file of paths) fs.writeFileSync(path.join(folder, file), `export const part = '${file}'\n`)
  const tasks = await open(folder)
  await tasks.create({ task_id: task, task_title: 'Implement user login' })
  const handoff = (n: number, files: readonly string[]) => ({
    task_id: task,
    source_agent: 'engineer',
    target_agent: 'qa',
    phase: 'implementing' as const,
    artifacts: files.map((file) => ({ path: file })),
    decisions: [{ decision: `Step ${n}`, rationale: 'It is the next one' }],
  })
  await tasks.handoff(handoff(0, paths))
  await tasks.settle()
  const times: number[] = []
  const begin = performance.now()
  for (let i = 1; i <= handoffs; i++) {
    const start = performance.now()
    await tasks.handoff(handoff(i, [paths[i % artifacts]!]))
    times.push(performance.now() - start)
  }
  await tasks.settle()
  // All that was done meanwhile counts, the state files included.
  const mean = (performance.now() - begin) / handoffs
  await tasks.close()
  const colds: number[] = []
  for (let i = 0; i < 9; i++) {
    const start = performance.now()
    const again = await open(folder)
    await again.handoff(handoff(handoffs + 1 + i, [paths[0]!]))
    await again.close()
    colds.push(performance.now() - start)
  }
  const bytes = fs.statSync(path.join(folder, '.baton', 'state', `${task}.json`)).size
  return { artifacts, median: median(times), mean, cold: median(colds), bytes }
}

async function contend(folder: string): Promise<void> {
  fs.mkdirSync(folder, { recursive: true })
  const tasks = await open(folder)
  await tasks.create({ task_id: task, task_title: 'Implement user login' })
  const start = performance.now()
  const codes = await Promise.all(
    Array.from({ length: writers }, (_, n) => {
      const child = spawn(process.execPath, [script, '--writer', folder, `agent-${n}`, String(each)], {
        stdio: ['ignore', 'ignore', 'inherit'],
      })
      return new Promise((resolve) => child.once('close', resolve))
    }),
  )
  const seconds = (performance.now() - start) / 1000
  const state = await tasks.get(task)
  const made = new Set(state.decisions_made.map(({ decision }) => decision)).size
  const file = JSON.parse(fs.readFileSync(tasks.stateFile(task), 'utf8')) as { version: number }
  const bytes = fs.statSync(path.join(folder, '.baton', 'tape', `task%2F${task}.jsonl`)).size
  await tasks.close()
  console.log(
    `\n${writers} processes × ${each} handoffs of one task: ${seconds.toFixed(1)} s, tape ${Math.round(bytes / 1000)} kB`,
  )
  const isWhole =
    codes.every((code) => code === 0) && state.version === writers * each + 1 && file.version === state.version
  bar('handoffs lost', writers * each - made + (isWhole ? 0 : 1), 0)
}

/** Writers are killed in the middle of their work, and the state file with them, again and again. */
async function kill(folder: string): Promise<void> {
  fs.mkdirSync(folder, { recursive: true })
  const tasks = await open(folder)
  await tasks.create({ task_id: task, task_title: 'Implement user login' })
  const promised: string[] = []
  for (let round = 0; round < kills; round++) {
    const enough = 1 + (round % 17)
    let seen = 0
    const crowd = Array.from({ length: 4 }, (_, n) => {
      const args = [script, '--writer', folder, `agent-${round}-${n}`, '1000']
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
      createInterface(child.stdout).on('line', (line) => {
        promised.push(line)
        if (++seen === enough) for (const each of crowd) each.kill('SIGKILL')
      })
      return child
    })
    await Promise.all(crowd.map((child) => once(child, 'close')))
    if (round % 3 === 0) fs.rmSync(tasks.stateFile(task), { force: true })
    if (round % 3 === 1) fs.writeFileSync(tasks.stateFile(task), '{"version":')
  }
  const state = await tasks.get(task)
  const made = new Set(state.decisions_made.map(({ decision }) => decision))
  const file = JSON.parse(fs.readFileSync(tasks.stateFile(task), 'utf8')) as { version: number }
  await tasks.close()
  const lost = promised.filter((line) => /^agent-\d+-\d step \d+$/.test(line) && !made.has(line)).length
  console.log(`\n${kills} rounds of kill -9: ${promised.length} handoffs promised, version ${state.version}`)
  const odd = Math.abs(made.size + 1 - state.version) + Math.abs(file.version - state.version)
  bar('promised handoffs lost, or versions amiss', lost + odd, 0)
}

async function write(folder: string, agent: string, count: number): Promise<void> {
  const tasks = await open(folder)
  for (let i = 0; i < count;) {
    try {
      await tasks.handoff({
        task_id: task,
        source_agent: agent,
        target_agent: 'qa',
        phase: 'planning',
        decisions: [{ decision: `${agent} step ${i}`, rationale: 'It is the next one' }],
      })
      process.stdout.write(`${agent} step ${i}\n`)
      i++
    } catch (error) {
      if (!BatonError.is(error) || error.code !== 'conflict') throw error
    }
  }
  await tasks.close()
}

function bar(name: string, value: number, most: number): void {
  console.log(`${value <= most ? 'ok    ' : 'MISSED'} ${name}: ${Number(value.toFixed(2))} (at most ${most})`)
  if (value > most) process.exitCode = 1
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
}

function ms(value: number): string {
  return `${value.toFixed(2)} ms`
}
