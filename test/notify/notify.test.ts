import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { expect, test } from 'vitest'
import { checked } from '../../src/config/validate.ts'
import { type Notification, type NotifierOptions, notifySection, openNotifier } from '../../src/notify/index.ts'
import { isAlive } from '../support/processes.ts'
import { temporaryFolder } from '../support/workspace.ts'
import { listen, status } from './listener.ts'

const told: Notification = {
  level: 'warning',
  title: 'A person must decide',
  body: 'The budget of Q3 is missing.',
  action: 'baton escalations answer esc-1 --input budget=1000',
  source: 'relay',
}

function open(channels: unknown[], options: NotifierOptions = {}, settings: object = {}) {
  const section = checked(notifySection, { channels, timeoutMs: 20_000, ...settings }, 'notify')
  return openNotifier(section, { backoffMs: 5, ...options })
}

/** A program for the command channel. */
function program(code: string): { command: string[]; folder: string } {
  const folder = temporaryFolder()
  const file = path.join(folder, 'told.mjs')
  fs.writeFileSync(file, `import fs from 'node:fs'\nprocess.chdir(${JSON.stringify(folder)})\n${code}`)
  return { command: [process.execPath, file], folder }
}

test('every channel that takes the level is told, each in its own shape [C16]', async () => {
  const web = await listen()
  const { command, folder } = program(`
    fs.writeFileSync('told.json', fs.readFileSync(0))
    fs.writeFileSync('env.json', JSON.stringify(process.env))`)
  const notifier = open(
    [
      { type: 'webhook', url: `${web.url}/json`, headers: { authorization: 'env:TOKEN' } },
      { type: 'webhook', url: 'env:NTFY', preset: 'ntfy' },
      { type: 'webhook', url: `${web.url}/slack`, preset: 'slack' },
      { type: 'webhook', url: `${web.url}/bot1:x/sendMessage`, preset: 'telegram', chatId: 'env:CHAT' },
      { type: 'webhook', url: `${web.url}/critical`, levels: ['critical'] },
      { type: 'command', command, name: 'mine' },
    ],
    {
      env: { ...process.env, TOKEN: 'Bearer s', NTFY: `${web.url}/topic`, CHAT: '-42' },
      now: () => Date.UTC(2026, 0, 2),
    },
  )
  const outcomes = await notifier.notify({ ...told, body: 'a <b> & c', key: 'k' })
  const { host } = new URL(web.url)
  expect(outcomes.map(({ channel, status }) => `${channel}: ${status}`)).toEqual([
    `json ${host}: sent`,
    'ntfy env:NTFY: sent',
    `slack ${host}: sent`,
    `telegram ${host}: sent`,
    'mine: sent',
  ])
  const record = { ...told, body: 'a <b> & c', key: 'k', at: '2026-01-02T00:00:00.000Z' }
  const at = (path: string) => web.received.find((each) => each.path === path)!
  expect(at('/json').headers).toMatchObject({ authorization: 'Bearer s', 'content-type': 'application/json' })
  expect(JSON.parse(at('/json').body)).toEqual(record)
  expect(at('/topic').headers).toMatchObject({ title: told.title, priority: '4', tags: 'warning' })
  expect(at('/topic').body).toBe(`a <b> & c\n\n${told.action}`)
  expect(JSON.parse(at('/slack').body)).toEqual({
    text: `*:warning: ${told.title}*\na &lt;b&gt; &amp; c\n\n${told.action}`,
  })
  expect(JSON.parse(at('/bot1:x/sendMessage').body)).toMatchObject({
    chat_id: '-42',
    text: `${told.title}\n\na <b> & c\n\n${told.action}`,
  })
  expect(at('/critical')).toBeUndefined()
  expect(JSON.parse(fs.readFileSync(path.join(folder, 'told.json'), 'utf8'))).toEqual(record)
  expect(JSON.parse(fs.readFileSync(path.join(folder, 'env.json'), 'utf8'))).toMatchObject({
    BATON_NOTIFY_LEVEL: 'warning',
    BATON_NOTIFY_TITLE: told.title,
    BATON_NOTIFY_ACTION: told.action,
  })
  await notifier.close()
})

test('what may pass is tried again: 5xx, 429 with Retry-After, a connection that breaks [C16]', async () => {
  const web = await listen(
    status(500),
    status(429, { 'retry-after': '0' }),
    status(429, {}, '{"ok":false,"parameters":{"retry_after":0}}'),
    (response) => response.destroy(),
  )
  const notifier = open([{ type: 'webhook', url: web.url }], {}, { retries: 4 })
  expect(await notifier.notify(told)).toMatchObject([{ status: 'sent', attempts: 5 }])
  expect(web.received).toHaveLength(5)
})

test('whoever has patience is tried for, beyond the number of retries [C16]', async () => {
  const web = await listen(...Array.from({ length: 7 }, () => status(500)))
  const notifier = open([{ type: 'webhook', url: web.url }], { patienceMs: 60_000, backoffMs: 1 }, { retries: 0 })
  expect(await notifier.notify(told)).toMatchObject([{ status: 'sent', attempts: 8 }])
})

test('Retry-After is waited for, and one that is too long is a failure that says so [C16]', async () => {
  const web = await listen(status(429, { 'retry-after': '1' }))
  const notifier = open([{ type: 'webhook', url: web.url }])
  const [first] = await notifier.notify(told)
  expect(first).toMatchObject({ status: 'sent', attempts: 2 })
  expect(first!.status === 'sent' && first!.ms).toBeGreaterThanOrEqual(990)
  const later = new Date(Date.now() + 3_600_000).toUTCString()
  web.answers.push(status(503, { 'retry-after': later }))
  expect(await notifier.notify(told)).toMatchObject([
    {
      status: 'failed',
      attempts: 1,
      error: expect.stringMatching(/^it answered 503; it asks to wait 3\d\d\d s/) as string,
    },
  ])
})

test('what will not pass is not tried again, and every failure is handed out [C16]', async () => {
  const web = await listen(status(403, {}, '{"error":"wrong token"}'), status(302, { location: '/elsewhere' }))
  const failures: string[] = []
  const notifier = open([{ type: 'webhook', url: `${web.url}/secret-token` }], {
    onFailure: ({ channel, error, notification }) => {
      failures.push(`${channel} ${notification.title} ${error}`)
      if (failures.length === 2) throw new Error('disk full')
    },
  })
  const [refused] = await notifier.notify(told)
  expect(refused).toMatchObject({ status: 'failed', attempts: 1, error: 'it answered 403: {"error":"wrong token"}' })
  const [redirected] = await notifier.notify(told)
  expect(redirected).toMatchObject({
    status: 'failed',
    error: 'it answered 302, a redirect: use the address it leads to; and this could not be recorded: disk full',
  })
  expect(failures).toHaveLength(2)
  expect(JSON.stringify([refused, failures])).not.toContain('secret-token')
})

test('a service that never answers, offline, or a variable that is not set: failures, never exceptions [C16]', async () => {
  const web = await listen(
    () => {},
    () => {},
  )
  const silent = open([{ type: 'webhook', url: web.url }], {}, { timeoutMs: 50, retries: 1 })
  expect(await silent.notify(told)).toMatchObject([{ status: 'failed', attempts: 2, error: 'no answer within 50 ms' }])
  const offline = open([
    { type: 'webhook', url: await nobodyListens() },
    { type: 'webhook', url: 'env:NOT_SET' },
  ])
  expect(await offline.notify(told)).toMatchObject([
    { status: 'failed', attempts: 4, error: expect.stringContaining('ECONNREFUSED') as string },
    { status: 'failed', attempts: 1, error: 'the variable NOT_SET is not set' },
  ])
})

test('an answer that never ends does not hold the notification [C16]', async () => {
  const web = await listen(
    (response) => void response.writeHead(200).write('x'),
    (response) => {
      response.writeHead(400)
      const more = () => response.write('y'.repeat(65_536), (error) => error ?? more())
      more()
    },
  )
  const notifier = open([{ type: 'webhook', url: web.url }])
  expect(await notifier.notify(told)).toMatchObject([{ status: 'sent' }])
  const [failed] = await notifier.notify(told)
  expect(failed).toMatchObject({ status: 'failed', attempts: 1 })
})

test('a huge text is cut, and the action stays [C16]', async () => {
  const web = await listen()
  const { command, folder } = program(`
    fs.writeFileSync('told.json', fs.readFileSync(0))
    fs.writeFileSync('env', process.env.BATON_NOTIFY_BODY)`)
  const notifier = open([
    { type: 'webhook', url: `${web.url}/json` },
    { type: 'webhook', url: `${web.url}/topic`, preset: 'ntfy' },
    { type: 'webhook', url: `${web.url}/slack`, preset: 'slack' },
    { type: 'webhook', url: `${web.url}/telegram`, preset: 'telegram', chatId: 1 },
    { type: 'command', command },
  ])
  const outcomes = await notifier.notify({ ...told, title: '標題'.repeat(5_000), body: '🙂é\0'.repeat(1_000_000) })
  expect(outcomes.map((each) => each.status)).toEqual(['sent', 'sent', 'sent', 'sent', 'sent'])
  for (const { path, body } of web.received) {
    expect(body, path).toContain(told.action)
    expect(body, path).not.toContain('\uFFFD')
    expect(Buffer.byteLength(body)).toBeLessThan({ '/json': 200_000, '/topic': 4_096 }[path] ?? 20_000)
  }
  const telegram = JSON.parse(web.received.find(({ path }) => path === '/telegram')!.body) as { text: string }
  expect(telegram.text.length).toBeLessThanOrEqual(4_096)
  expect(fs.readFileSync(path.join(folder, 'told.json'), 'utf8')).toContain(told.action)
  expect(fs.statSync(path.join(folder, 'env')).size).toBeLessThanOrEqual(4_000)
})

test('a title in any script fits into a header, and none can add one [C16]', async () => {
  const web = await listen()
  const notifier = open([{ type: 'webhook', url: web.url, preset: 'ntfy' }])
  const title = 'Übergabe fällig 🙂 引き継ぎ '.repeat(5).trim()
  await notifier.notify({ ...told, title })
  await notifier.notify({ ...told, title: 'one\r\nx-injected: two' })
  const words = (web.received[0]!.headers.title as string).split(' ')
  expect(Math.max(...words.map((word) => word.length))).toBeLessThanOrEqual(75)
  const decoded = words.map((word) => Buffer.from(/^=\?UTF-8\?B\?(.+)\?=$/.exec(word)![1]!, 'base64').toString('utf8'))
  expect(decoded.join('')).toBe(title)
  expect(web.received[1]!.headers).toMatchObject({ title: 'one x-injected: two' })
  expect(web.received[1]!.headers).not.toHaveProperty('x-injected')
})

test('the same key is sent once in a while, on its own for each channel; a failure does not count [C16]', async () => {
  let clock = 0
  const web = await listen(status(400))
  const notifier = open([{ type: 'webhook', url: web.url }], { now: () => clock, repeatMs: 1_000 })
  const keyed = { ...told, key: 'budget' }
  const statusOf = async () => (await notifier.notify(keyed)).map((each) => each.status)
  expect(await statusOf()).toEqual(['failed'])
  expect((await Promise.all([statusOf(), statusOf()])).flat().sort()).toEqual(['repeated', 'sent'])
  expect((await notifier.notify({ ...told, key: 'other' }))[0]!.status).toBe('sent')
  clock = 1_500
  expect(await statusOf()).toEqual(['sent'])
})

test('a command that fails is tried again and then reported with its last words; a missing one is not [C16]', async () => {
  const flaky = program(`
    fs.appendFileSync('runs', 'x')
    if (fs.statSync('runs').size < 3) { console.error('no\\nmail server'); process.exitCode = 75 }`)
  const broken = program("console.error('a\\nthe last words'); process.exit(3)")
  const notifier = open(
    [
      { type: 'command', command: flaky.command },
      { type: 'command', command: broken.command, name: 'broken' },
      { type: 'command', command: ['/no/such/program'] },
    ],
    {},
    { retries: 2 },
  )
  expect(await notifier.notify(told)).toMatchObject([
    { status: 'sent', attempts: 3 },
    { channel: 'broken', status: 'failed', attempts: 3, error: 'it ended with 3: the last words' },
    {
      channel: 'command /no/such/program',
      status: 'failed',
      attempts: 1,
      error: expect.stringContaining('there is no program') as string,
    },
  ])
})

test('a command that hangs is ended with all that it started [C16]', async () => {
  // Both children write their pid; one of them has left the group.
  const folder = temporaryFolder()
  const pidFile = path.join(folder, 'pids')
  const script = `sleep 1000 & one=$!; setsid sleep 1000 & echo "[$$,$one,$!]" > ${pidFile}; wait`
  const command = ['sh', '-c', script]
  const notifier = open([{ type: 'command', command }], {}, { timeoutMs: 1_000, retries: 0 })
  expect(await notifier.notify(told)).toMatchObject([
    { status: 'failed', error: 'it ran longer than 1000 ms and was ended' },
  ])
  const pids = JSON.parse(fs.readFileSync(pidFile, 'utf8')) as number[]
  expect(pids).toHaveLength(3)
  for (const pid of pids) await expect.poll(() => isAlive(pid), { timeout: 20_000 }).toBe(false)
})

test('close waits for what is under way, and gives up what takes too long [C16]', async () => {
  const web = await listen(
    (response) => setTimeout(() => response.end(), 100),
    () => {},
  )
  const notifier = open([{ type: 'webhook', url: web.url }])
  const first = notifier.notify(told)
  await expect.poll(() => web.received.length).toBe(1)
  await notifier.close()
  expect(await first).toMatchObject([{ status: 'sent' }])
  expect(await notifier.notify(told)).toMatchObject([{ status: 'failed', error: 'the notifier is closed' }])

  const hanging = open([{ type: 'webhook', url: web.url }])
  const second = hanging.notify(told)
  await expect.poll(() => web.received.length).toBe(2)
  await hanging.close({ withinMs: 20 })
  expect(await second).toMatchObject([{ status: 'failed', error: 'the program ended before it answered' }])
})

test('wrong settings are named by their path [C16]', () => {
  const problem = (channel: unknown) => {
    try {
      open([channel])
      return ''
    } catch (error) {
      return (error as Error).message
    }
  }
  expect(problem({ type: 'webhook', url: 'ftp://x' })).toContain('channels[0].url is not valid')
  expect(problem({ type: 'webhook', url: 'env:not a name' })).toContain('channels[0].url')
  expect(problem({ type: 'webhook', url: 'https://x', preset: 'telegram' })).toContain('channels[0].chatId')
  expect(problem({ type: 'command', command: [] })).toContain('channels[0].command is empty')
  expect(problem({ type: 'webhook', url: 'https://x', levels: ['loud'] })).toContain('info, warning, critical')
  expect(problem({ type: 'pigeon' })).toContain('channels[0].type')
})

async function nobodyListens(): Promise<string> {
  const server = net.createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as net.AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}`
}

test('the desktop shows it with the program of the platform, and a missing program is named [C16]', async () => {
  const folder = temporaryFolder()
  for (const name of ['notify-send', 'osascript']) {
    const script = `#!/bin/sh\nprintf '%s\\n' "$@" > "${path.join(folder, name)}.txt"\n`
    fs.writeFileSync(path.join(folder, name), script, { mode: 0o755 })
  }
  const shown = async (platform: NodeJS.Platform, PATH: string) =>
    open([{ type: 'desktop' }], { platform, env: { ...process.env, PATH } }).notify({ ...told, body: 'a <b> & c' })
  const own = `${folder}${path.delimiter}${process.env.PATH ?? ''}`
  const words = (name: string) => fs.readFileSync(path.join(folder, `${name}.txt`), 'utf8')
  expect(await shown('linux', own)).toMatchObject([{ channel: 'desktop', status: 'sent' }])
  const text = `${told.title}\na &lt;b> &amp; c\n\n${told.action}\n`
  expect(words('notify-send')).toBe(`--app-name=Baton\n--urgency=normal\n--\n${text}`)
  expect(await shown('darwin', own)).toMatchObject([{ channel: 'desktop', status: 'sent' }])
  expect(words('osascript')).toContain(`end run\n${text.replace('&lt;', '<').replace('&amp;', '&')}`)
  expect(await shown('linux', temporaryFolder())).toMatchObject([
    { status: 'failed', attempts: 1, error: expect.stringContaining('notify-send') as string },
  ])
})
