// What is shown of supervised sessions: their screens, their cycles and their meters.
import { execFileSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { operations } from '../../src/operations/index.ts'
import { callBy, temporaryWorkspace } from './workspace.ts'

let opened: Awaited<ReturnType<typeof temporaryWorkspace>>
beforeEach(async () => {
  opened = await temporaryWorkspace()
})
afterEach(() => opened.close())

/** A row as a supervisor writes it. */
async function addRow(name: string, more: object): Promise<void> {
  const now = new Date().toISOString()
  const data = { name, agent: 'claude', project: '/p', state: 'working', last_check: now, started: now, ...more }
  const draft = { kind: 'event', payload: { name: 'row', data }, meta: { key: 'row', context: false } }
  await opened.workspace.store.append(`session/${name}`, [draft])
}

function tmuxIn(folder: string) {
  const socket = path.join(folder, 's')
  const tmux = (...args: string[]) =>
    execFileSync('tmux', ['-S', socket, '-f', '/dev/null', ...args], { encoding: 'utf8' })
  return { socket, tmux }
}

it('the screen of a supervised session is shown with its colours, and again whenever it changes [D2, D4]', async () => {
  const { workspace, folder } = opened
  const { socket, tmux } = tmuxIn(folder)
  tmux('new-session', '-d', '-x', '40', '-y', '6', 'cat')
  const pane = tmux('display-message', '-p', '#{pane_id}').trim()
  // Marked as Baton's own: then tmux tells when something is drawn.
  tmux('set-option', '-s', '@baton', '1')
  try {
    await addRow('seen', { cycles: 0, place: { driver: 'tmux', socket, pane, pid: process.pid } })
    const stop = new AbortController()
    const call = { ...callBy(), signal: stop.signal }
    const shown: string[] = []
    for await (const { columns, rows } of operations.supervisedScreen.run(workspace, { name: 'seen' }, call)) {
      expect(columns).toBe(40)
      const text = rows.map((row) => row.map((run) => run.text).join('')).join('\n')
      shown.push(text.trim())
      if (shown.length === 1) tmux('send-keys', '-t', pane, '-l', '\u001b[1;31mred\u001b[0m plain')
      // What is typed is echoed with a caret first; `cat` prints it in colour behind Enter.
      if (text.includes('plain') && !rows.flat().some(({ style }) => style.color === 1))
        tmux('send-keys', '-t', pane, 'Enter')
      const red = rows.flat().find(({ style }) => style.color === 1)
      if (red === undefined) continue
      expect(red).toEqual({ text: 'red', style: { color: 1, bold: true } })
      break
    }
    stop.abort()
    expect(shown[0]).toBe('')
    expect(shown.at(-1)).toMatch(/^red plain$/m)
    const once = []
    for await (const each of operations.supervisedScreen.run(workspace, { name: 'seen', once: true }, callBy()))
      once.push(each)
    expect(once).toHaveLength(1)
  } finally {
    tmux('kill-server')
  }
})

it('a session without a screen says so, and one that has ended', async () => {
  const first = (name: string) =>
    operations.supervisedScreen.run(opened.workspace, { name }, callBy())[Symbol.asyncIterator]().next()
  await addRow('plain', { cycles: 0, place: { driver: 'headless', folder: '/f' } })
  await expect(first('plain')).rejects.toThrow('plain has no screen')
  await addRow('over', { cycles: 0, state: 'ended' })
  await expect(first('over')).rejects.toThrow('over has ended')
  await expect(first('nobody')).rejects.toMatchObject({ code: 'not_found' })
})

it('the meters of a supervised session are told over time, with its cycles; peaks survive thinning', async () => {
  const usages = [10, 40, 80, 12, 12, 30]
  for (const [i, tokens] of usages.entries())
    await addRow('busy', { tokens, window: 100, usd: i < 4 ? i : 3, cycles: i < 3 ? 0 : 1 })
  const history = (most: number) =>
    operations.meterHistory.run(opened.workspace, { tape: 'session/busy', most }, callBy())
  const { points, total } = await history(500)
  expect(total).toBe(5)
  expect(points.map(({ tokens, event }) => [tokens, event])).toEqual([
    [10, undefined],
    [40, undefined],
    [80, undefined],
    [12, 'cycle'],
    [30, undefined],
  ])
  expect(points.map(({ usd }) => usd)).toEqual([0, 1, 2, 3, 3])
  const thin = await history(4)
  expect(thin.points.map(({ tokens }) => tokens)).toEqual([10, 40, 12, 30])
  expect(thin.total).toBe(5)
})

it('each step of a cycle comes with what proved it, and without where nothing is recorded [W7]', async () => {
  await addRow('job', { cycles: 1 })
  const document = { id: 7, path: '/p/.handoffs/one.md', by: 'agent' }
  const add = async (key: 'cycle' | 'cycled', data: object) => {
    const draft = { kind: 'event', payload: { name: key, data }, meta: { key, context: false } }
    return (await opened.workspace.store.append('session/job', [draft]))[0]!.id
  }
  const at = (n: number, at: string, more: object = {}) => add('cycle', { cycle: { n, at, from: 'old', ...more } })
  await at(1, 'asked', { prompt: { state: 'typing' } })
  const heard = await at(1, 'asked', { prompt: { state: 'heard' } })
  const stored = await at(1, 'documented', { document })
  await at(1, 'clearing', { document })
  await at(1, 'resuming', { document })
  const verifying = await at(1, 'verifying', { document })
  const done = await at(1, 'done', { document })
  const end = { n: 1, outcome: 'done', from: 'old', to: 'new', document, percentBefore: 70.6, percentAfter: 9 }
  const ended = await add('cycled', end)
  // Nobody heard the second request, Baton wrote the document, and the clear was ignored.
  await at(2, 'asked', { prompt: { state: 'typed' } })
  await at(2, 'documented', { document: { ...document, by: 'ledger' } })
  await at(2, 'clearing', { document })
  await at(2, 'resuming', { document })
  await at(2, 'documented', { document })
  // The agent's own tape shows what its new context began with.
  await opened.workspace.store.append('claude:new', [
    { kind: 'event', payload: { name: 'usage', data: { of: 'one.md' } } },
    { kind: 'message', payload: { role: 'user', content: 'Read handoff from /p/.handoffs/one.md and resume work' } },
    {
      kind: 'tool_call',
      payload: { calls: [{ id: '1', name: 'Read', arguments: { file_path: '/p/.handoffs/one.md' } }] },
    },
  ])
  const { cycles } = await operations.supervisedCycles.run(opened.workspace, { name: 'job', limit: 20 }, callBy())
  const [second, first] = cycles.map(({ steps }) => steps.map(({ step, proof }) => [step, proof?.text, proof?.id]))
  expect(first).toEqual([
    ['asked', 'The request is in its transcript.', heard],
    ['documented', 'The agent wrote one.md, and it is stored as entry 7.', stored],
    ['clearing', 'Its transcript is in a new context, new.', verifying],
    ['resuming', 'The prompt to resume is in its transcript.', verifying],
    ['verifying', 'The new context read one.md or was given its text, and replied or called a tool.', done],
    ['done', 'Its context went from 71 to 9%.', ended],
  ])
  expect(
    cycles[1]!.steps.flatMap(({ step, proof }) => (proof?.seen === undefined ? [] : [[step, proof.seen]])),
  ).toEqual([
    ['resuming', { tape: 'claude:new', id: 2 }],
    ['verifying', { tape: 'claude:new', id: 3 }],
  ])
  expect(second!.map(([step, text]) => [step, text])).toEqual([
    ['asked', undefined],
    ['documented', 'Baton wrote, from the transcript, one.md, and it is stored as entry 7.'],
    ['clearing', undefined],
    ['resuming', undefined],
    ['documented', 'The agent wrote one.md, and it is stored as entry 7.'],
  ])
})

it("the meters of an agent's own session are read from its transcript", async () => {
  const { folder, workspace } = opened
  const projects = path.join(folder, '.claude', 'projects', '-p')
  await mkdir(projects, { recursive: true })
  const id = '11111111-2222-4333-8444-555555555555'
  const reply = (n: number, input: number) => ({
    type: 'assistant',
    uuid: `u${n}`,
    sessionId: id,
    cwd: folder,
    timestamp: `2026-01-01T00:0${n}:00.000Z`,
    message: {
      id: `m${n}`,
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content: [{ type: 'text', text: 'done' }],
      usage: { input_tokens: input, output_tokens: 5, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
    },
  })
  const asked = {
    type: 'user',
    uuid: 'u0',
    sessionId: id,
    cwd: folder,
    timestamp: '2026-01-01T00:00:00.000Z',
    message: { role: 'user', content: 'go' },
  }
  const lines = [asked, reply(1, 1000), reply(2, 3000), reply(2, 3500)]
  await writeFile(path.join(projects, `${id}.jsonl`), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  const { points } = await operations.sessionMeters.run(workspace, { session: id, most: 500 }, callBy())
  expect(points.map(({ tokens }) => tokens)).toEqual([1000, 3500])
  expect(points[1]!.usd).toBeGreaterThan(points[0]!.usd!)
})

it('what was spent since a date leaves out what a session had cost before it', async () => {
  const { folder, workspace } = opened
  const projects = path.join(folder, '.claude', 'projects', '-spending')
  await mkdir(projects, { recursive: true })
  const write = async (id: string, dates: readonly string[]) => {
    const lines = dates.flatMap((timestamp, n) => [
      { type: 'user', uuid: `q${n}`, sessionId: id, timestamp, message: { role: 'user', content: 'go' } },
      {
        type: 'assistant',
        uuid: `a${n}`,
        sessionId: id,
        timestamp,
        message: {
          id: `m${n}`,
          role: 'assistant',
          model: 'claude-sonnet-4-5',
          content: [{ type: 'text', text: 'done' }],
          usage: { input_tokens: 1_000_000, output_tokens: 0 },
        },
      },
    ])
    await writeFile(path.join(projects, `${id}.jsonl`), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  }
  await write('22222222-2222-4333-8444-555555555555', ['2040-01-01T20:00:00.000Z', '2040-01-02T01:00:00.000Z'])
  await write('33333333-2222-4333-8444-555555555555', ['2040-01-02T02:00:00.000Z'])
  await write('44444444-2222-4333-8444-555555555555', ['2040-01-01T02:00:00.000Z'])
  const spent = (since: string) => operations.spendingShow.run(workspace, { since }, callBy())
  const today = await spent('2040-01-02T00:00:00Z')
  const both = await spent('2040-01-01T00:00:00Z')
  expect(today).toMatchObject({ sessions: 2, unpriced: 0 })
  expect(both.sessions).toBe(3)
  expect(both.usd).toBeCloseTo(2 * today.usd, 6)
  expect(await spent('2040-01-03T00:00:00Z')).toEqual({ usd: 0, sessions: 0, unpriced: 0 })
})
