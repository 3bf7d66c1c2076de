// A workspace as commit 8f8b79c wrote it, with everything that Baton keeps on disk: tapes with anchors, a blob, a fork that was
// merged, an archive, a new session, an imported session, documents, tasks with versions and gates, requests between agents
// and people, and a supervised session with a cycle. It must open, be read as it was meant, and be written on.

import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { openFileStore, type Store } from '../src/store/index.ts'
import { importFile } from '../src/transcripts/index.ts'
import { baton, records } from './cli/cli.ts'
import { temporaryFolder } from './support/workspace.ts'

const fixture = path.join(import.meta.dirname, 'fixtures/workspace-8f8b79c')
const session = '5b0c6a52-4a0e-4a6b-9f07-1f5a6f0a7a10'

let cwd: string

beforeEach(() => {
  cwd = temporaryFolder()
  fs.cpSync(path.join(fixture, 'workspace'), path.join(cwd, '.baton'), { recursive: true })
  fs.writeFileSync(path.join(cwd, 'add.js'), 'export const add = (a, b) => a + b\n')
  fs.writeFileSync(path.join(cwd, 'add.test.js'), '')
  for (const name of ['baton.config.json', 'session.jsonl']) {
    fs.copyFileSync(path.join(fixture, name), path.join(cwd, name))
  }
})

/** What a command prints; it must succeed. */
async function printed(args: readonly string[], input = ''): Promise<string> {
  const { code, out, err } = await baton(cwd, args, input)
  expect(err).toBe('')
  expect(code).toBe(0)
  return out
}

async function printedRecords(...args: string[]): Promise<Record<string, unknown>[]> {
  return records({ code: 0, out: await printed(['--json', '--quiet', ...args]), err: '' })
}

async function opened(): Promise<Store> {
  const store = await openFileStore(path.join(cwd, '.baton'))
  onTestFinished(() => store.close())
  return store
}

test('every byte of every tape is sound, and the tapes are as they were', async () => {
  const before = fs.readFileSync(path.join(cwd, '.baton/tape/main.jsonl'))
  const reports = await printedRecords('tape', 'verify')
  expect(reports.length).toBeGreaterThanOrEqual(12)
  for (const report of reports) expect(report).toMatchObject({ damage: [] })
  expect((await printedRecords('tape', 'ls')).map(({ tape, entries }) => [tape, entries])).toEqual(
    expect.arrayContaining([
      ['main', 13],
      ['subtract', 19],
      ['subtract-2', 2],
      ['scratch', 2],
      [`claude:${session}`, 10],
    ]),
  )
  expect(fs.readFileSync(path.join(cwd, '.baton/tape/main.jsonl'))).toEqual(before)
})

test('a tape goes on from its anchor, with its blob, its fork and its archive', async () => {
  const context = await printed(['tape', 'context', 'main', '--format', 'text'])
  expect(context).toContain('add is written')
  expect(context).toContain('Yes, write subtract.')
  expect(context).toContain('subtract is written.')
  expect(context).not.toContain('Never use a loop')
  await printed(
    ['tape', 'append', 'main', '--quiet'],
    '{"kind":"message","payload":{"role":"user","content":"Now divide."}}\n',
  )
  expect((await printedRecords('tape', 'read', 'main')).at(-1)).toMatchObject({ id: 14 })

  const [blob] = /(?<="type":"blob","sha256":")[0-9a-f]{64}/.exec(await printed(['tape', 'export', 'main'])) ?? []
  expect(await printed(['show', `blob:${blob}`])).toContain('All of the log, line by line.')

  expect(await printed(['lineage', '--quiet'])).toMatch(
    /main\n└─ subtract {2}fork, .*merged into main\n {3}└─ subtract-2 {2}handoff/,
  )
  await printed(['tape', 'fork', 'main', 'divide', '--quiet'])
  expect(await printed(['lineage', 'divide'])).toContain('divide')

  const store = await opened()
  const texts: string[] = []
  for await (const { payload } of store.read('scratch', { archived: true })) texts.push(JSON.stringify(payload))
  expect(texts.join('\n')).toMatch(/A first attempt\.[^]*A second attempt\./)
  await printed(['tape', 'reset', 'scratch', '--quiet'])
  expect((await store.archives('scratch')).map(({ firstId, lastId }) => [firstId, lastId])).toEqual([
    [1, 1],
    [2, 3],
  ])
})

test('documents are listed and shown, and a new one is written', async () => {
  const listed = await printedRecords('handoff', 'ls')
  // The fork "subtract" holds a copy of main's document, which is listed once.
  expect(listed.map(({ tape, id }) => `${String(tape)}#${String(id)}`)).toEqual([
    'session/till#23',
    'subtract#15',
    'main#8',
  ])
  expect(await printed(['handoff', 'show', 'main#8'])).toContain('Never use a loop')
  expect(await printed(['handoff', 'show', 'session/till'])).toContain('till')
  expect(await printed(['handoff', '--tape', 'subtract-2', '--quiet'])).toContain('## Goal')
  expect(
    fs.readdirSync(path.join(cwd, '.baton/handoffs')).filter((name) => name.endsWith('.md')).length,
  ).toBeGreaterThanOrEqual(3)
})

test('a session that was imported goes on where the import stopped', async () => {
  const store = await opened()
  const file = path.join(cwd, 'session.jsonl')
  const line = {
    type: 'user',
    sessionId: session,
    cwd: '/tmp/project',
    uuid: '00000000-0000-4000-8000-000000000005',
    parentUuid: '00000000-0000-4000-8000-000000000004',
    timestamp: '2026-11-16T10:00:05.000Z',
    message: { role: 'user', content: 'And write a test for it.' },
  }
  fs.appendFileSync(file, `${JSON.stringify(line)}\n`)
  const { size: bytes, mtimeMs: changed } = fs.statSync(file)
  const tape = `claude:${session}`
  const imported = await importFile(store, { agent: 'claude', path: file, id: session, bytes, changed }, { tape })
  expect(imported.entries).toBeGreaterThan(0)
  const texts: string[] = []
  for await (const { payload } of store.read(tape)) texts.push(JSON.stringify(payload))
  expect(texts.filter((text) => text.includes('Rename add to sum'))).toHaveLength(1)
  expect(texts.filter((text) => text.includes('And write a test for it.'))).toHaveLength(1)
})

test('tasks have their versions, gates and files, and are handed over further', async () => {
  expect(await printedRecords('task', 'history', 'LOGIN')).toMatchObject([
    { version: 1 },
    { version: 2, gates: expect.arrayContaining([expect.objectContaining({ name: 'tests', ok: true })]) as unknown },
    { version: 3, source_agent: 'engineer', target_agent: 'tester' },
  ])
  expect(await printed(['task', 'show', 'LOGIN'])).toContain('Sign in with a name')
  const review = ['task', 'handoff', 'LOGIN', '--from', 'tester', '--to', 'reviewer', '--phase', 'reviewing']
  await printed([...review, '--artifact', 'add.test.js:test', '--quiet'])
  expect(JSON.parse(fs.readFileSync(path.join(cwd, '.baton/state/LOGIN.json'), 'utf8'))).toMatchObject({
    version: 4,
    phase: 'reviewing',
  })
  // The approval that a person gave then still counts.
  const blocker = '{"issue":"May we keep the session for a week?","severity":"blocker","requires_human":true}'
  const handoff = ['task', 'handoff', 'LOGOUT', '--from', 'planner', '--to', 'engineer', '--phase', 'implementing']
  await printed([...handoff, '--blocker', blocker, '--quiet'])
  expect(await printedRecords('task', 'ls')).toMatchObject([{ task_id: 'LOGIN' }, { task_id: 'LOGOUT', version: 2 }])
})

test('requests wait, are answered and escalated as they were', async () => {
  expect(await printedRecords('relay', 'status')).toMatchObject([
    { pending: 1, claimed: 0, escalated: 1, counters: { requests: 4, resolved: 2, escalated: 2 } },
  ])
  expect(await printedRecords('relay', 'status', 'req-answered')).toMatchObject([
    { status: 'resolved', response: { status: 'resolved', providedInputs: { budget: 1_000 } } },
  ])
  const [claim] = await printedRecords('relay', 'claim', 'researcher', '--worker', 'worker-2')
  const answer = ['--token', String(claim!.token), '--status', 'resolved', '--input', 'budget=7', '--quiet']
  await printed(['relay', 'answer', 'req-open', ...answer])
  expect(await printedRecords('escalations', 'ls')).toMatchObject([{ requestId: 'req-person' }])
  await printed(['escalations', 'answer', 'e5', '--input', 'budget=8', '--by', 'person', '--quiet'])
  expect(await printedRecords('relay', 'status')).toMatchObject([
    { pending: 0, claimed: 0, escalated: 0, counters: { requests: 4, resolved: 4 } },
  ])
})

test('a supervised session has its history, its document and its state', async () => {
  expect(await printedRecords('health', '--all')).toMatchObject([
    { type: 'session', name: 'till', agent: 'scripted', state: 'ended', cycles: 1, ended: 'finished' },
    { type: 'check', session: 'till', check_type: 'handoff', status: 'ok' },
  ])
  const logs = await printed(['logs', 'till'])
  expect(logs).toContain('cycle 1   the document is stored, written by the agent: ')
  expect(logs).toContain('Handed over to a fresh context')
  expect(logs).toContain('finished: the --until command succeeded')
})
