// npm run bench transcripts [-- --quick]
//
// How fast a large transcript comes onto a tape, beside the least that any reader of it has to do; and how fast the list of
// many sessions appears, beside starting Node at all. Each figure is from a process of its own.

import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { openFileStore } from '../src/store/index.ts'
import { importSession } from '../src/transcripts/index.ts'
import { linesOf } from '../src/transcripts/lines.ts'
import { writeTranscript } from './claude-transcript.ts'
import { median } from './contest.ts'
import { isMet, keepResults, machine, render, type Section } from './table.ts'

interface Figure {
  readonly ms: number
  /** The most memory the process ever had resident, in MB. */
  readonly memory: number
}

const args = process.argv.slice(2)
const quick = args.includes('--quick')
const [job, file = '', folder = ''] = args[0] === '--child' ? args.slice(1) : []

if (job === 'parse') figure(() => parseLines(file))
else if (job === 'import') await figureOf(() => importInto(file, folder))
else main()

function main(): void {
  const place = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-bench-'))
  process.on('exit', () => fs.rmSync(place, { recursive: true, force: true }))
  const where = machine(place)
  const sections = [importing(place), listing(place)]
  const line = `${new Date().toISOString().slice(0, 10)}, ${where.cpu} (${where.cores} cores), ${where.system}, Node ${where.node}`
  console.log(render(line, sections, args.includes('--markdown')))
  keepResults('transcripts', place, sections, { quick: args.includes('--quick') })
  if (!sections.every(({ bars }) => bars.every(isMet))) process.exitCode = 1
}

function importing(place: string): Section {
  const bytes = (quick ? 10 : 100) * 1e6
  const transcript = path.join(place, `${randomUUID()}.jsonl`)
  say(`writing a transcript of ${bytes / 1e6} MB`)
  const lines = writeTranscript(transcript, bytes)
  const parse: Figure[] = []
  const imports: Figure[] = []
  for (let round = 0; round < (quick ? 2 : 5); round++) {
    say(`round ${round + 1}`)
    parse.push(inChild('parse', transcript))
    imports.push(inChild('import', transcript, path.join(place, `store-${round}`)))
    fs.rmSync(path.join(place, `store-${round}`), { recursive: true })
  }
  const least = median(parse.map(({ ms }) => ms))
  const ours = median(imports.map(({ ms }) => ms))
  const memory = Math.max(...imports.map((each) => each.memory))
  return {
    title: `Import of a Claude Code transcript, ${bytes / 1e6} MB, ${lines.toLocaleString('en')} lines`,
    note: 'JSON.parse reads the file and parses every line of it, and does nothing else. The import is durable when it ends.',
    columns: ['time', 'rate', 'memory'],
    rows: [
      {
        name: 'JSON.parse of its lines',
        unit: '',
        values: [least, bytes / 1e3 / least, median(parse.map((each) => each.memory))],
      },
      { name: 'baton import', unit: '', values: [ours, bytes / 1e3 / ours, memory] },
    ],
    bars: [
      { name: 'import, to JSON.parse', value: least / ours, unit: '×', atLeast: 0.4 },
      { name: 'import, resident', value: memory, unit: 'MB', atMost: 200 },
    ],
  }
}

function listing(place: string): Section {
  const files = quick ? 500 : 5_000
  const home = path.join(place, 'home')
  say(`writing ${files} sessions`)
  for (let i = 0; i < files; i++) {
    const session = randomUUID()
    writeTranscript(path.join(home, `.claude/projects/-home-dev-shop-${i % 50}/${session}.jsonl`), 12_000, session)
  }
  const cli = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))
  const first = timed([cli, 'ls'], home)
  const again: number[] = []
  const node: number[] = []
  for (let round = 0; round < (quick ? 3 : 11); round++) {
    node.push(timed(['-e', '0'], home))
    again.push(timed([cli, 'ls'], home))
  }
  return {
    title: `baton ls over ${files.toLocaleString('en')} session files`,
    note: 'Wall time from start to exit. The second run finds its index in the cache.',
    columns: ['time'],
    rows: [
      { name: 'node -e 0', unit: 'ms', values: [median(node)] },
      { name: 'baton ls, first run', unit: 'ms', values: [first] },
      { name: 'baton ls, second run', unit: 'ms', values: [median(again)] },
    ],
    bars: [{ name: 'ls, second run, to node -e 0', value: median(again) / median(node), unit: '×', atMost: 5 }],
  }
}

function timed(command: readonly string[], home: string): number {
  const start = performance.now()
  const { status, stderr } = spawnSync(process.execPath, command, {
    cwd: home,
    env: { PATH: process.env.PATH, HOME: home },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  if (status !== 0) throw new Error(`${command.join(' ')} failed\n${stderr.toString()}`)
  return performance.now() - start
}

function parseLines(transcript: string): void {
  const fd = fs.openSync(transcript, 'r')
  let lines = 0
  for (const { text } of linesOf(fd)) if (JSON.parse(text) !== null) lines++
  fs.closeSync(fd)
  if (lines === 0) throw new Error('nothing was read')
}

async function importInto(transcript: string, at: string): Promise<void> {
  const store = await openFileStore(at)
  await importSession(store, transcript)
  await store.close()
}

function figure(work: () => void): void {
  const start = performance.now()
  work()
  tell(performance.now() - start)
}

async function figureOf(work: () => Promise<void>): Promise<void> {
  const start = performance.now()
  await work()
  tell(performance.now() - start)
}

function tell(ms: number): void {
  console.log(JSON.stringify({ ms, memory: process.resourceUsage().maxRSS / 1_000 }))
}

function inChild(...job: string[]): Figure {
  const self = fileURLToPath(import.meta.url)
  const { status, stdout, stderr } = spawnSync(process.execPath, [self, '--child', ...job], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${job.join(' ')} failed\n${stderr}`)
  return JSON.parse(stdout) as Figure
}

function say(line: string): void {
  process.stderr.write(`${line}\n`)
}
