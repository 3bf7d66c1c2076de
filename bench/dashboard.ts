// npm run bench dashboard [-- --quick]
//
// What a browser has to do for the dashboard: its first page, a tape of a million entries, and 200 sessions that change all the time.
// The absolute figures belong to the machine; the targets are what a person notices.

import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { type Browser, chromium, type Page } from 'playwright-core'
import { openStore } from '../src/store/index.ts'
import { jumpTo } from '../test/web/jump.ts'
import { median } from './contest.ts'
import { isMet, keepResults, machine, render, type Section } from './table.ts'

const quick = process.argv.includes('--quick')
const entries = quick ? 100_000 : 1_000_000
const sessions = 200
const updateSeconds = quick ? 5 : 20
const starts = quick ? 3 : 7
const cli = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))

interface Server {
  readonly url: string
  readonly token: string
  readonly child: ChildProcess
}

const home = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-bench-'))
const transcripts = Array.from({ length: sessions }, (_, at) => transcript(at))
await fill()
const server = await startServer()
const browser = await chromium.launch({
  executablePath: process.env['BATON_TEST_CHROMIUM'] ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
})
const sections: Section[] = []
try {
  sections.push(await firstPage(browser), await longTape(browser), await manySessions(browser))
} finally {
  await browser.close()
  server.child.kill('SIGTERM')
  await once(server.child, 'close')
}
const about = machine(home)
fs.rmSync(home, { recursive: true, force: true })
console.log(render(`${about.cpu}, ${about.cores} cores, Node ${about.node}, ${about.system}`, sections, false))
keepResults('dashboard', os.tmpdir(), sections, { quick })
if (!sections.flatMap(({ bars }) => bars).every(isMet)) process.exitCode = 1

/** The transcript of a session of Claude Code, and what is written into it with each turn. */
function transcript(at: number): { readonly file: string; readonly turn: () => string } {
  const id = randomUUID()
  const folder = path.join(home, '.claude/projects', `project-${at}`)
  fs.mkdirSync(folder, { recursive: true })
  let turns = 0
  const turn = () => {
    turns++
    const common = { sessionId: id, cwd: `/srv/project-${at}`, gitBranch: 'main', timestamp: new Date().toISOString() }
    const usage = { input_tokens: 10, cache_read_input_tokens: 20_000 + 500 * turns, output_tokens: 50 }
    const content = [{ type: 'text', text: `Part ${turns} is done.` }]
    const reply = { id: `m${turns}`, model: 'claude-sonnet-4-5', role: 'assistant', stop_reason: 'end_turn' }
    return [
      { ...common, type: 'user', uuid: randomUUID(), message: { role: 'user', content: `Part ${turns} of job ${at}` } },
      { ...common, type: 'assistant', uuid: randomUUID(), message: { ...reply, content, usage } },
    ]
      .map((line) => `${JSON.stringify(line)}\n`)
      .join('')
  }
  return { file: path.join(folder, `${id}.jsonl`), turn }
}

async function fill(): Promise<void> {
  for (const { file, turn } of transcripts) fs.writeFileSync(file, turn())
  const store = await openStore(path.join(home, '.baton'))
  for (let first = 1; first <= entries; first += 1_000) {
    const batch = Array.from({ length: 1_000 }, (_, at) => ({
      kind: 'message',
      payload: { role: at % 2 === 0 ? 'user' : 'assistant', content: `entry ${first + at} of many` },
    }))
    await store.append('long', batch)
  }
  await store.close()
}

async function startServer(): Promise<Server> {
  const child = spawn(process.execPath, [cli, 'up', '--json', '--port', '0', '--no-supervisor'], {
    cwd: home,
    env: { ...process.env, HOME: home, BATON_HOME: path.join(home, '.baton'), BATON_TRUST: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  for await (const line of createInterface(child.stdout)) {
    return { ...(JSON.parse(line) as { url: string; token: string }), child }
  }
  throw new Error('baton up ended before it was ready')
}

/** A page of a browser that has nothing in its cache, signed in. */
async function openPage(browser: Browser, to: string): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  const page = await context.newPage()
  const answer = await fetch(`${server.url}/v1/sign-in-codes`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.token}` },
  })
  const { code } = (await answer.json()) as { code: string }
  await page.goto(`${server.url}${to}#code=${code}`)
  return page
}

async function firstPage(browser: Browser): Promise<Section> {
  const times: number[] = []
  let bytes = 0
  for (let start = 0; start < starts; start++) {
    const page = await openPage(browser, '/doctor')
    await page.getByRole('heading', { level: 1 }).waitFor()
    // Signed in by now: a new page of the same browser has the cookie, and no file in its cache.
    const other = await page.context().newPage()
    const session = await other.context().newCDPSession(other)
    await session.send('Network.setCacheDisabled', { cacheDisabled: true })
    const files: Promise<Buffer>[] = []
    other.on('response', (response) => {
      if (!response.url().includes('/v1/')) files.push(response.body())
    })
    const begin = performance.now()
    await other.goto(server.url, { waitUntil: 'commit' })
    await other
      .getByRole('link', { name: /of job/ })
      .first()
      .waitFor()
    times.push(performance.now() - begin)
    bytes = (await Promise.all(files)).reduce((sum, body) => sum + gzipSync(body).length, 0)
    await page.context().close()
  }
  return {
    title: `The first page, with ${sessions} sessions`,
    note: 'From the address to the first session on the screen, without a cache; scripts, styles and fonts, packed.',
    columns: ['value'],
    rows: [
      { name: 'first session on the screen', unit: 'ms', values: [median(times)] },
      { name: 'sent to the browser', unit: 'kB', values: [bytes / 1_000] },
    ],
    bars: [
      { name: 'first session on the screen', value: median(times), unit: 'ms', atMost: 1_000 },
      { name: 'sent to the browser', value: bytes / 1_000, unit: 'kB', atMost: 200 },
    ],
  }
}

async function longTape(browser: Browser): Promise<Section> {
  const page = await openPage(browser, '/tapes/long')
  await page.getByRole('article', { name: `Entry ${entries},` }).waitFor()
  const jumps: number[] = []
  let rows = 0
  for (const share of [0.5, 0.1, 0.9, 0.33, 0.7, 0.02, 0.6, 0.25, 0.8]) {
    jumps.push(await page.evaluate<number>(jumpTo(share)))
    rows = Math.max(rows, await page.getByRole('article').count())
  }
  const megabytes = (await page.evaluate<number>('performance.memory.usedJSHeapSize')) / 1e6
  await page.context().close()
  return {
    title: `A tape of ${entries.toLocaleString('en')} entries`,
    note: 'From a press on the rail until other entries are drawn; the first jump is the one right after the page has opened.',
    columns: ['value'],
    rows: [
      { name: 'first jump', unit: 'ms', values: [jumps[0]!] },
      { name: 'a jump, median', unit: 'ms', values: [median(jumps)] },
      { name: 'slowest jump', unit: 'ms', values: [Math.max(...jumps)] },
      { name: 'rows drawn at most', unit: '', values: [rows] },
      { name: 'memory of the page', unit: 'MB', values: [megabytes] },
    ],
    bars: [
      { name: 'slowest jump', value: Math.max(...jumps), unit: 'ms', atMost: 150 },
      { name: 'rows drawn at most', value: rows, unit: '', atMost: 59 },
      { name: 'memory of the page', value: megabytes, unit: 'MB', atMost: 150 },
    ],
  }
}

/** A long task is one of more than 50 ms, during which the page does not react. */
async function manySessions(browser: Browser): Promise<Section> {
  const page = await openPage(browser, '/')
  await page
    .getByRole('link', { name: /of job/ })
    .first()
    .waitFor()
  await page.evaluate(`new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) (window.longTasks ??= []).push(duration)
  }).observe({ type: 'longtask' })`)
  let updates = 0
  for (const end = performance.now() + updateSeconds * 1_000; performance.now() < end;) {
    const { file, turn } = transcripts[updates++ % sessions]!
    fs.appendFileSync(file, turn())
    // About a hundred a second: each session changes every other second.
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  const long = await page.evaluate<number[]>('window.longTasks ?? []')
  await page.context().close()
  return {
    title: `${sessions} sessions that change, on the first page`,
    note: `${updates.toLocaleString('en')} turns written in ${updateSeconds} s.`,
    columns: ['value'],
    rows: [
      { name: 'tasks over 50 ms', unit: '', values: [long.length] },
      { name: 'longest of them', unit: 'ms', values: [Math.max(0, ...long)] },
    ],
    bars: [{ name: 'tasks over 50 ms', value: long.length, unit: '', atMost: 0 }],
  }
}
