// A made-up agent is registered, and everything that Baton does with agents works with it: what it took is one folder.

import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { adapterNamed, agentSettings, registerAgent, startWith } from '../../src/agents/index.ts'
import { ledger } from '../../src/handoff/index.ts'
import { screenOf } from '../../src/supervisor/drivers/screen.ts'
import type { Driver, Sent } from '../../src/supervisor/drivers/driver.ts'
import { openObserver, type Observation, type Observer } from '../../src/supervisor/observe/observation.ts'
import { importSession, listSessions, resolveSession } from '../../src/transcripts/index.ts'
import { someProcess } from '../support/processes.ts'
import { collect, temporaryFolder, temporaryStore } from '../support/workspace.ts'
import { quill } from './quill/agent.ts'

beforeEach(() => registerAgent(quill))

interface Home {
  readonly home: string
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  readonly write: (...lines: object[]) => void
}

const id = 'f3a1'

/** A home with one session of Quill in it. */
function homeWithSession(): Home {
  const home = fs.realpathSync(temporaryFolder())
  const cwd = path.join(home, 'novel')
  const file = path.join(home, '.quill/logs/novel', `${id}.quill`)
  fs.mkdirSync(path.dirname(file), { recursive: true })
  fs.mkdirSync(cwd)
  const write = (...lines: object[]) => {
    const at = new Date().toISOString()
    fs.appendFileSync(file, lines.map((line) => `${JSON.stringify({ by: 'quill', at, ...line })}\n`).join(''))
  }
  write({ session: id, cwd }, { ask: 'write the first chapter' })
  return { home, cwd, env: { HOME: home }, write }
}

const work = [
  { tool: 'peruse', with: { path: 'outline.md' }, got: 'a ship, a storm' },
  { tool: 'inscribe', with: { path: 'one.md', content: 'It was night.\n' }, got: 'ok' },
  { say: 'The first chapter is written.', tokens: 250 },
]

test('its sessions are listed with title, state and meter', () => {
  const { env, cwd, write } = homeWithSession()
  write(...work)
  expect(listSessions({ env })).toEqual([
    expect.objectContaining({ agent: 'quill', id, cwd, title: 'write the first chapter', turns: 1 }),
  ])
  expect(listSessions({ env, agent: 'quill' })[0]).toMatchObject({
    state: { state: 'waiting' },
    meter: { tokens: 250, window: 1_000, percent: 25 },
  })
})

test('a session is imported, by its id or by the path of its file, and the ledger knows its tools', async () => {
  const { env, home, write } = homeWithSession()
  write(...work)
  const file = path.join(home, '.quill/logs/novel', `${id}.quill`)
  const other = path.join(home, 'copy.jsonl')
  fs.copyFileSync(file, other)
  expect(resolveSession(other, { env })).toMatchObject({ agent: 'quill', id })
  const store = await temporaryStore()
  const imported = await importSession(store, `quill:${id}`, { env })
  expect(imported).toMatchObject({ tape: `quill:${id}`, agent: 'quill', created: true, damaged: [] })
  const { files } = ledger(await collect(store.read(imported.tape)))
  expect(files.map(({ path: name }) => name).sort()).toEqual(['one.md', 'outline.md'])
  write({ ask: 'and the second' })
  expect(await importSession(store, file, { env })).toMatchObject({ created: false, replaced: false })
})

test('work is continued in it: with a new id, the document, and the rules that it would not read', () => {
  const { cwd } = homeWithSession()
  fs.writeFileSync(path.join(cwd, 'QUILL.md'), 'rhyme\n')
  fs.writeFileSync(path.join(cwd, 'AGENTS.md'), 'no rhymes\n')
  const start = startWith('quill', '/work/handoff.md', cwd, id)
  expect(start).toMatchObject({ program: 'quill', session: id, args: ['write', `--as=${id}`, expect.anything()] })
  expect(start.args[2]).toMatch(/^--first=.*\/work\/handoff\.md.*AGENTS\.md/s)
  expect(start.args[2]).not.toContain('QUILL.md')
})

test('it is driven as it is, or as the configuration says', () => {
  const own = adapterNamed('quill', { env: {} })
  expect(own).toMatchObject({ label: 'Quill', transcript: 'quill', clear: '/blank', interrupt: ['Escape'] })
  expect(own.launch!({ session: id, prompt: 'go' })).toMatchObject({
    program: 'quill',
    args: ['write', `--as=${id}`, '--first=go'],
  })
  expect(own.resume!(id, { args: ['-x'] }).args).toEqual(['reopen', id, '-x'])
  expect(own.compactsAt({ window: 1_000 })).toBe(1_000)
  const agents = { quill: agentSettings.parse({ command: ['npx', 'quill'], clear: '/fresh' }) }
  const configured = adapterNamed('quill', { env: {}, agents })
  expect(configured.launch!()).toMatchObject({ program: 'npx', args: ['quill', 'write'] })
  expect(configured.clear).toBe('/fresh')
  // Another program may write transcripts in its form.
  const mine = agentSettings.parse({ command: ['mine'], transcript: 'quill' })
  expect(adapterNamed('mine', { env: {}, agents: { mine } }).transcript).toBe('quill')
})

test('its screen is read', () => {
  const adapter = adapterNamed('quill', { env: {} })
  const read = (text: string) => adapter.readScreen!(screenOf(text))
  expect(read('Quill 1.0')).toEqual({ is: 'starting' })
  expect(read('Quill 1.0\n\nquill> a dark night')).toEqual({ is: 'prompt', draft: 'a dark night' })
  expect(read('scratching…\nquill>')).toEqual({ is: 'busy', draft: '' })
})

test('the supervisor observes it: its transcript, its turns and what it read', async () => {
  const { env, cwd, write } = homeWithSession()
  const adapter = adapterNamed('quill', { env })
  const driver = new Pane(() => adapter.readScreen!(screenOf('scratching…\nquill>')))
  const observer = openObserver({ adapter, driver, cwd, env, since: 0, session: id })
  onTestFinished(() => observer.close())
  expect(await until(observer, ({ turn }) => turn === 'asked')).toMatchObject({
    session: id,
    prompt: { text: 'write the first chapter' },
    state: { state: 'working' },
  })
  write(...work)
  expect(await until(observer, ({ turn }) => turn === 'idle')).toMatchObject({
    meter: { tokens: 250, percent: 25 },
    read: [path.join(cwd, 'outline.md')],
    state: { state: 'waiting' },
  })
})

/** Stands for a pane with the agent in it. */
class Pane implements Driver {
  place: Driver['place'] = { driver: 'tmux', socket: '/none', pane: '%0', pid: someProcess(onTestFinished) }
  sent: Sent[] = []
  screenState: Driver['screenState']

  constructor(screenState: () => Awaited<ReturnType<Driver['screenState']>>) {
    this.screenState = () => Promise.resolve(screenState())
  }

  alive = () => Promise.resolve(true)
  ended = () => Promise.resolve(undefined)
  screenText = () => Promise.resolve('')
  ready = () => this.screenState()
  submit = () => Promise.resolve()
  clear = () => Promise.resolve()
  interrupt = () => Promise.resolve()
  stop = () => Promise.resolve()
  close = () => Promise.resolve()
}

async function until(observer: Observer, done: (now: Observation) => boolean): Promise<Observation> {
  for await (const now of observer.watch(AbortSignal.timeout(20_000))) if (done(now)) return now
  throw new Error(`it never came: ${done.toString()}`)
}
