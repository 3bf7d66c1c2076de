// npm run bench handoff [-- --quick]
//
// How long `baton handoff` takes for a transcript, beside a program that only parses each of its lines as JSON. Both are whole
// processes, and both are measured by the CPU time they used: on a busy machine the time on the clock says little.

import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeTranscript } from './claude-transcript.ts'
import { writeCodexTranscript } from './codex-transcript.ts'
import { median } from './contest.ts'
import { isMet, keepResults, machine, render, type Row, type Section } from './table.ts'

interface Figure {
  /** Milliseconds of CPU time. */
  readonly cpu: number
  /** The most memory the process ever had resident, in MB. */
  readonly memory: number
}

const args = process.argv.slice(2)
const quick = args.includes('--quick')
const rounds = quick ? 1 : 5
const sizes = quick ? [1, 10] : [1, 10, 60]
const cli = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))
const place = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-bench-'))
process.on('exit', () => fs.rmSync(place, { recursive: true, force: true }))

/** Loaded by both programs: writes down what the process used. */
const meter = path.join(place, 'meter.cjs')
fs.writeFileSync(
  meter,
  `process.on('exit', () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage()
  require('fs').writeFileSync(process.env.FIGURE, JSON.stringify({ cpu: (userCPUTime + systemCPUTime) / 1e3, memory: maxRSS / 1e3 }))
})`,
)
const parser = path.join(place, 'parse.cjs')
fs.writeFileSync(
  parser,
  `for (const line of require('fs').readFileSync(process.argv[2], 'utf8').split('\\n')) if (line !== '') JSON.parse(line)`,
)

const sections = [
  section('Claude Code', (bytes) => {
    const file = path.join(place, `${randomUUID()}.jsonl`)
    writeTranscript(file, bytes)
    return file
  }),
  section('Codex', (bytes) => {
    const file = path.join(place, `rollout-2026-10-01T09-00-00-${randomUUID()}.jsonl`)
    writeCodexTranscript(file, bytes)
    return file
  }),
]
const where = machine(place)
const line = `${new Date().toISOString().slice(0, 10)}, ${where.cpu} (${where.cores} cores), ${where.system}, Node ${where.node}`
console.log(render(line, sections, args.includes('--markdown')))
keepResults('handoff', place, sections, { quick: args.includes('--quick') })
if (!sections.every(({ bars }) => bars.every(isMet))) process.exitCode = 1

function section(agent: string, write: (bytes: number) => string): Section {
  const rows: Row[] = []
  const bars = sizes.flatMap((size) => {
    const file = write(size * 1e6)
    const parse: Figure[] = []
    const handoff: Figure[] = []
    for (let round = 0; round < rounds; round++) {
      parse.push(measured([parser, file]))
      handoff.push(measured([cli, 'handoff', file]))
    }
    const least = median(parse.map(({ cpu }) => cpu))
    const ours = median(handoff.map(({ cpu }) => cpu))
    const memory = Math.max(...handoff.map((each) => each.memory))
    rows.push({ name: `${size} MB, JSON.parse`, unit: '', values: [least, median(parse.map((each) => each.memory))] })
    rows.push({ name: `${size} MB, baton handoff`, unit: '', values: [ours, memory] })
    if (size < 10) return []
    return [
      { name: `${agent}, ${size} MB, to JSON.parse`, value: ours / least, unit: '×', atMost: 4 },
      { name: `${agent}, ${size} MB, resident`, value: memory, unit: 'MB', atMost: 300 },
    ]
  })
  return {
    title: `baton handoff of a ${agent} transcript`,
    note: 'CPU time of the whole process, with the start of Node. The workspace is new each time.',
    columns: ['CPU ms', 'MB resident'],
    rows,
    bars,
  }
}

function measured(command: readonly string[]): Figure {
  const home = fs.mkdtempSync(path.join(place, 'home-'))
  const figure = path.join(home, 'figure.json')
  const { status, stderr } = spawnSync(process.execPath, ['--require', meter, ...command], {
    cwd: home,
    env: { PATH: process.env.PATH, HOME: home, FIGURE: figure },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  if (status !== 0) throw new Error(`${command.join(' ')} failed\n${stderr.toString()}`)
  const found = JSON.parse(fs.readFileSync(figure, 'utf8')) as Figure
  fs.rmSync(home, { recursive: true })
  return found
}
