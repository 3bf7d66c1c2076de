// What only its screen, or only its files, can say of Gemini CLI.

import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { adapterNamed, type ScreenState } from '../../../src/agents/index.ts'
import { lateText, restartText, resumeText } from '../../../src/handoff/index.ts'
import { promptFor } from '../../../src/supervisor/documents/document-file.ts'
import { TranscriptTape } from '../../../src/supervisor/documents/transcript-tape.ts'
import type { Driver, Sent } from '../../../src/supervisor/drivers/driver.ts'
import { type Observation, openObserver } from '../../../src/supervisor/observe/observation.ts'
import { fileAt } from '../../../src/transcripts/resolve.ts'
import { temporaryFolder, temporaryStore } from '../../support/workspace.ts'

const sessions = ['aaaaaaaa-0000-4000-8000-000000000000', 'bbbbbbbb-0000-4000-8000-000000000000'] as const

function stage(session?: string) {
  const home = fs.realpathSync(temporaryFolder())
  const cwd = path.join(home, 'work')
  const chats = path.join(home, '.gemini/tmp/work/chats')
  for (const folder of [cwd, chats]) fs.mkdirSync(folder, { recursive: true })
  fs.writeFileSync(path.join(chats, '../.project_root'), cwd)
  const shown: { screen: ScreenState; text: string } = { screen: { is: 'prompt', draft: '' }, text: '' }
  const sent: Sent[] = []
  const driver: Driver = {
    place: { driver: 'tmux', socket: '/none', pane: '%0' },
    sent,
    alive: () => Promise.resolve(true),
    ended: () => Promise.resolve(undefined),
    screenState: () => Promise.resolve(shown.screen),
    screenText: () => Promise.resolve(shown.text),
    ready: () => Promise.resolve(shown.screen),
    submit: (text) => Promise.resolve(void sent.push({ text, at: Date.now() })),
    clear: () => Promise.resolve(void sent.push({ text: '/clear', at: Date.now() })),
    interrupt: () => Promise.resolve(),
    stop: () => Promise.resolve(),
    close: () => Promise.resolve(),
  }
  const env = { HOME: home }
  const observer = openObserver({
    adapter: adapterNamed('gemini', { env }),
    driver,
    cwd,
    env,
    since: Date.now() - 1_000,
    ...(session === undefined ? {} : { session }),
  })
  onTestFinished(() => observer.close())
  const write = (session: string, ...lines: object[]) => {
    const file = path.join(chats, `session-2026-11-16T03-00-${session.slice(0, 8)}.jsonl`)
    const now = new Date().toISOString()
    const begun = [{ sessionId: session, projectHash: 'h', startTime: now, kind: 'main' }, { $set: { messages: [] } }]
    for (const line of fs.existsSync(file) ? lines : [...begun, ...lines])
      fs.appendFileSync(file, `${JSON.stringify({ timestamp: now, ...line })}\n`)
  }
  const until = async (done: (now: Observation) => boolean): Promise<Observation> => {
    for await (const now of observer.watch(AbortSignal.timeout(60_000))) if (done(now)) return now
    throw new Error(`it never came: ${done.toString()}`)
  }
  return { chats, driver, shown, write, until }
}

const asked = { id: 'u1', type: 'user', content: [{ text: 'begin the work' }] }
const replied = { id: 'g1', type: 'gemini', content: 'I run it.', tokens: { input: 10 }, model: 'gemini-2.5-pro' }

test('a reply that may be followed by a call ends the turn only when the screen is at rest [C2, C6]', async () => {
  const { driver, shown, write, until } = stage()
  await driver.submit('begin the work', new AbortController().signal)
  shown.screen = { is: 'busy', draft: '' }
  write(sessions[0], asked)
  await until(({ turn }) => turn === 'asked')
  write(sessions[0], replied)
  await until(({ turn }) => turn === 'working')
  shown.screen = { is: 'dialog', question: 'Allow execution of [Shell]?', about: 'permission' }
  expect(await until(({ dialog }) => dialog !== undefined)).toMatchObject({
    turn: 'working',
    dialog: { question: 'Allow execution of [Shell]?' },
  })
  shown.screen = { is: 'prompt', draft: '' }
  expect(await until(({ turn }) => turn === 'idle')).toMatchObject({ dialog: undefined, session: sessions[0] })
})

test('the session that a clear begins is seen before its first word, and is not left for the one before it [C6]', async () => {
  const { driver, shown, write, until } = stage()
  await driver.submit('begin the work', new AbortController().signal)
  write(sessions[0], asked, replied)
  await until(({ turn }) => turn === 'idle')
  await driver.clear(new AbortController().signal)
  write(sessions[1])
  await until(({ session }) => session === sessions[1])
  // What was said before still stands further up on the screen.
  shown.text = 'begin the work\nI run it.'
  write(sessions[0], { id: 'i1', type: 'info', content: 'Late words of the old one.' })
  await driver.submit('go on', new AbortController().signal)
  write(sessions[1], { id: 'u2', type: 'user', content: [{ text: 'go on' }] })
  const seen: (string | undefined)[] = []
  await until(({ session, turn }) => seen.push(session) > 0 && turn === 'asked')
  expect(new Set(seen)).toEqual(new Set([sessions[1]]))
})

test('a reopened session that takes its first words in a second file of its id is followed there, and back [C15]', async () => {
  const { chats, driver, shown, write, until } = stage(sessions[0])
  const { signal } = new AbortController()
  const first = path.join(chats, `session-2026-11-16T01-00-${sessions[0].slice(0, 8)}.jsonl`)
  const begun = '2026-11-16T01:00:00.000Z'
  const head = { sessionId: sessions[0], projectHash: 'h', startTime: begun, kind: 'main' }
  const add = (...lines: object[]) => {
    for (const line of lines) fs.appendFileSync(first, `${JSON.stringify(line)}\n`)
  }
  add(head, { ...asked, timestamp: begun }, { ...replied, timestamp: begun })
  await until(({ session, turn }) => session === sessions[0] && turn === 'idle')
  await driver.submit('too early', signal)
  write(sessions[0], { id: 'u2', type: 'user', content: [{ text: 'too early' }] }, { ...replied, id: 'g2' })
  await until(({ prompt, turn }) => prompt?.text === 'too early' && turn === 'idle')
  await driver.submit('go on', signal)
  shown.screen = { is: 'busy', draft: '' }
  add({ id: 'u3', timestamp: new Date().toISOString(), type: 'user', content: [{ text: 'go on' }] })
  const now = await until(({ prompt }) => prompt?.text === 'go on')
  expect(now).toMatchObject({ session: sessions[0], turn: 'asked', file: { path: first } })
})

test('a document that an agent was not let to read counts as unread [C5]', async () => {
  const file = path.join(temporaryFolder(), 'session-2026-11-16T03-00-aaaaaaaa.jsonl')
  const call = (id: string, status: string, response: object) => ({
    id: `g${id}`,
    type: 'gemini',
    content: '',
    toolCalls: [
      {
        id,
        name: 'read_file',
        args: { file_path: '/work/.baton/handoffs/handoff-1.md' },
        status,
        result: [{ functionResponse: { id, name: 'read_file', response } }],
      },
    ],
  })
  const head = { sessionId: sessions[0], projectHash: 'h' }
  const refused = call('1', 'error', { error: 'is ignored by configured ignore patterns' })
  fs.writeFileSync(file, `${JSON.stringify(head)}\n${JSON.stringify(refused)}\n`)
  const tape = new TranscriptTape(await temporaryStore())
  expect(await tape.touched(fileAt(file), '/work/.baton/handoffs/handoff-1.md')).toBe(false)
  fs.appendFileSync(file, `${JSON.stringify(call('2', 'success', { output: '# Handoff' }))}\n`)
  expect(await tape.touched(fileAt(file), '/work/.baton/handoffs/handoff-1.md')).toBe(true)
})

test('it is given a document itself, without words that it would take for files [C5]', () => {
  const file = path.join(temporaryFolder(), 'handoff.md')
  fs.writeFileSync(file, '# Handoff\nuse @types/node, ask me@example.org\n@src/a.ts\n')
  const words = '# Handoff\nuse \\@types/node, ask me@example.org\n\\@src/a.ts'
  for (const text of [resumeText(file), resumeText(file, 2), lateText(file)])
    expect(promptFor({ inlineAbove: 0 }, text)).toBe(`${text} Here it is:\n\n${words}`)
  for (const text of [restartText(), resumeText(`${file}.none`)]) expect(promptFor({ inlineAbove: 0 }, text)).toBe(text)
})

test('a question whether to keep trying at a limit is a limit, and none any more when it is gone [C17]', async () => {
  const { shown, write, until } = stage()
  write(sessions[0], { id: '1', type: 'user', content: [{ text: 'go on' }] })
  const words = 'Usage limit reached for all Pro models. Access resets at 11:30 PM UTC.'
  shown.screen = { is: 'limited', words, again: ['1'] }
  const limited = await until(({ limit }) => limit !== undefined)
  expect(limited.dialog).toBeUndefined()
  expect(limited.limit).toMatchObject({ asks: true, until: expect.stringMatching(/T23:30:00/) as string })
  shown.screen = { is: 'busy', draft: '' }
  write(sessions[0], { id: '2', type: 'gemini', content: 'I go on.', toolCalls: [] })
  expect((await until(({ limit }) => limit === undefined)).turn).toBe('working')
})
