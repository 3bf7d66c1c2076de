import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { adapterNamed, type ScreenState } from '../../../src/agents/index.ts'
import type { Driver } from '../../../src/supervisor/drivers/driver.ts'
import { withLock } from '../../../src/supervisor/drivers/pane-lock.ts'
import type { Adapter } from '../../../src/agents/index.ts'
import { TmuxServer } from '../../../src/supervisor/drivers/tmux-server.ts'
import { startInTmux, takePane } from '../../../src/supervisor/drivers/tmux-start.ts'
import { temporaryFolder } from '../../support/workspace.ts'

const { signal } = new AbortController()

/** A small program with a prompt of its own: it writes down what it is given, with every byte. */
const program = `
const fs = require('node:fs')
const out = process.argv[2]
fs.writeFileSync(out + '.start', JSON.stringify({ args: process.argv.slice(3), env: process.env, cwd: process.cwd() }))
process.stdin.setRawMode(true)
process.stdout.write('\\x1b[?2004h')
let draft = '', mode = '', lost = 0
// A long paste is shown as a sign.
const shown = () => draft.split('\\n').length < 5 ? draft.replaceAll('\\n', '\\r\\n') : '[paste #1 +' + draft.split('\\n').length + ' lines]'
const draw = () => process.stdout.write('\\x1b[2J\\x1b[H' + (mode === 'ask' ? 'Really do it?\\n' : mode === 'work' ? '* working\\n' : '') + 'you> ' + shown())
let pasting = false
process.stdin.setEncoding('utf8').on('data', (data) => {
  fs.appendFileSync(out + '.keys', data)
  for (const part of data.split(/(\\x1b\\[20[01]~|\\r|\\x1b|\\x15|\\x7f)/)) {
    if (part === '\\x1b[200~') pasting = true
    else if (part === '\\x1b[201~') pasting = false
    else if (part === '\\x15') draft = ''
    else if (part === '\\x7f') draft = draft.slice(0, -1)
    else if (part === '/meet') draft = 'wait, I want' + part // as if somebody had typed at that very moment
    else if (part === '/pursue') draft = part + 'wait, I want'
    else if (part === '\\x1b') mode = ''
    else if (part === '\\r' && !pasting && draft === 'blink' && lost++ === 0) {
      // It has not taken this Enter, and draws everything anew.
      process.stdout.write('\\x1b[2J\\x1b[H')
      setTimeout(draw, 150)
      return
    }
    else if (part === '\\r' && draft === 'stuck') continue // takes no Enter
    else if (part === '\\r' && !pasting) {
      if (draft !== '') fs.appendFileSync(out, JSON.stringify(draft) + '\\n')
      mode = /^(ask|work)$/.exec(draft)?.[0] ?? mode
      if (draft === 'leave') process.exit(7)
      if (draft === 'paint') {
        // Takes the whole screen, and paints full rows, one right behind the other.
        const rows = [...Array(process.stdout.rows - 1).fill('│'), 'you> ']
        draft = ''
        process.stdout.write('\\x1b[?1049h\\x1b[H' + rows.map((row) => row.padEnd(process.stdout.columns)).join(''))
        return
      }
      if (draft === 'vanish') {
        // Draws nothing more until its window changes.
        draft = ''
        process.stdout.write('\\x1b[2J\\x1b[H')
        process.stdout.once('resize', draw)
        return
      }
      draft = ''
    } else draft += part
  }
  draw()
})
draw()
`

interface Started {
  readonly driver: Driver & { readonly place: { readonly pane: string; readonly pid?: number } }
  /** What it took for prompts. */
  readonly prompts: () => string[]
  readonly start: () => { args: string[]; env: Record<string, string>; cwd: string }
  readonly tmux: (...args: string[]) => string
}

function files() {
  const folder = temporaryFolder()
  const script = path.join(folder, 'agent.cjs')
  const out = path.join(folder, 'out')
  fs.writeFileSync(script, program)
  const socket = path.join(folder, 's')
  const tmux = (...args: string[]) =>
    execFileSync('tmux', ['-S', socket, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => {
    try {
      tmux('kill-server')
    } catch {
      // It ended with its last pane.
    }
  })
  const prompts = () => (fs.existsSync(out) ? lines(fs.readFileSync(out, 'utf8')) : [])
  const start = () => JSON.parse(fs.readFileSync(`${out}.start`, 'utf8')) as ReturnType<Started['start']>
  return { folder, script, out, socket, tmux, prompts, start }
}

function lines(text: string): string[] {
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as string)
}

function agent(script: string, out: string) {
  const settings = {
    transcript: 'pi' as const,
    command: [process.execPath, script, out],
    launch: ['{prompt}'],
    interrupt: ['Escape'],
    clear: '/new',
    ready: '^you> (.*)$',
    busy: '^\\* working',
    dialog: '^Really.*\\?$',
  }
  return adapterNamed('small', { agents: { small: settings } })
}

async function begin(
  options: { cwd?: string; args?: string[]; env?: NodeJS.ProcessEnv; name?: string } = {},
): Promise<Started> {
  const { folder, script, out, socket, tmux, prompts, start } = files()
  const adapter = agent(script, out)
  const { cwd = folder, args = [], env = process.env, name = 'small' } = options
  const driver = await startInTmux({ adapter, command: adapter.launch!({ args }), cwd, env, name, socket })
  expect(await driver.ready(signal)).toEqual({ is: 'prompt', draft: '' })
  return { driver, prompts, start, tmux }
}

function start(adapter: Adapter, cwd: string, socket: string): ReturnType<typeof startInTmux> {
  return startInTmux({ adapter, command: adapter.launch!(), cwd, env: process.env, name: 'x', socket })
}

async function until(done: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 60_000
  while (!(await done())) {
    if (Date.now() > deadline) throw new Error(`it never came: ${done.toString()}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function shows(driver: Driver, is: ScreenState['is']): Promise<void> {
  await until(async () => (await driver.screenState()).is === is)
}

test('the program gets its very arguments, folder and environment, and no shell sees any of them [C13]', async () => {
  const cwd = path.join(temporaryFolder(), 'a #(touch hit) #{pid} folder;')
  fs.mkdirSync(cwd)
  const args = ['$(touch hit)', 'it\'s; "so"', 'ends with;', '#{pid}', '', 'two\nlines', '-x']
  const env = { PATH: process.env.PATH!, HOME: '/nowhere', ODD: "it's $HOME; `x`;", EMPTY: '', CLAUDECODE: '1' }
  const { start } = await begin({ cwd, args, env, name: 'a.b:c#{pid};' })
  const started = start()
  expect(started.args).toEqual(args)
  expect(started.cwd).toBe(fs.realpathSync(cwd))
  const {
    TMUX: _t,
    TMUX_PANE: _p,
    TERM: _e,
    TERM_PROGRAM: _g,
    TERM_PROGRAM_VERSION: _v,
    PWD: _w,
    ...rest
  } = started.env
  const { LINES: _l, COLUMNS: _c, SHLVL: _s, OLDPWD: _o, _: _u, SHELL: _h, ...own } = rest
  // What the agent starts is known as an agent's.
  expect(own).toEqual({ ...env, BATON_AGENT: '1' })
  expect(fs.readdirSync(cwd)).toEqual([])
})

test('a second agent of the same server has its own environment, not that of the first [C13]', async () => {
  const one = files()
  const two = files()
  const adapter = agent(one.script, one.out)
  const other = agent(two.script, two.out)
  const { socket } = one
  const base = { PATH: process.env.PATH! }
  const common = { cwd: one.folder, socket, name: 'twice' }
  const first = await startInTmux({
    ...common,
    adapter,
    command: adapter.launch!(),
    env: { ...base, ONLY: 'first', SAME: 'a' },
  })
  const command = { ...other.launch!(), env: { SAME: undefined } }
  const second = await startInTmux({ ...common, adapter: other, command, env: { ...base, OTHER: 'x\ny', SAME: 'b' } })
  await Promise.all([first.ready(signal), second.ready(signal)])
  expect(one.start().env).toMatchObject({ ONLY: 'first', SAME: 'a' })
  expect(two.start().env).toMatchObject({ OTHER: 'x\ny' })
  expect(two.start().env).not.toHaveProperty('ONLY')
  expect(two.start().env).not.toHaveProperty('SAME')
  expect(one.tmux('list-sessions', '-F', '#{session_name}').trim().split('\n')).toEqual(['twice', 'twice-2'])
})

test('prompts arrive whole: markup, unicode, several lines, and nothing that ends a paste [C13]', async () => {
  const { driver, prompts } = await begin()
  const words = [
    'plain',
    '/clear looks like a command, @this like a file',
    'ünïcödé 漢字 🏃 „quotes"',
    '$(touch x) `y` "z" \\n ; ; #{pid}',
    'one\ntwo\nthree',
    `escapes \u001B[201~ and \u0003 are taken out`,
  ]
  for (const text of words) await driver.submit(text, signal)
  await until(() => prompts().length === words.length)
  expect(prompts()).toEqual([...words.slice(0, -1), 'escapes [201~ and  are taken out'])
  await expect(driver.submit(' \n ', signal)).rejects.toThrow('nothing to type')
  await expect(driver.submit('late', AbortSignal.abort())).rejects.toThrow('Cancelled')
  expect(prompts()).toHaveLength(words.length)
})

test('a dialog, a draft and a program that is gone are never typed into [C5, C13]', async () => {
  const { driver, prompts, tmux } = await begin()
  const { pane } = driver.place
  tmux('send-keys', '-t', pane, '-l', 'mine')
  await until(async () => JSON.stringify(await driver.screenState()).includes('mine'))
  await expect(driver.submit('x', signal)).rejects.toMatchObject({ code: 'refused', reason: 'draft' })
  tmux('send-keys', '-t', pane, 'C-u')
  await until(async () => JSON.stringify(await driver.screenState()) === JSON.stringify({ is: 'prompt', draft: '' }))
  await driver.submit('ask', signal)
  await shows(driver, 'dialog')
  for (const act of [driver.submit('yes', signal), driver.clear(signal), driver.interrupt(signal)])
    await expect(act).rejects.toMatchObject({
      reason: 'dialog',
      message: expect.stringContaining('Really do it?') as string,
    })
  tmux('send-keys', '-t', pane, 'Escape')
  await shows(driver, 'prompt')
  await driver.submit('leave', signal)
  await until(async () => !(await driver.alive()))
  expect(await driver.ended()).toMatchObject({ code: 7 })
  await expect(driver.submit('x', signal)).rejects.toMatchObject({ reason: 'gone' })
  expect(prompts()).toEqual(['ask', 'leave'])
})

test('what somebody types at the very moment of a paste is not sent, and left as it was [C5, C13]', async () => {
  const { driver, prompts, tmux } = await begin()
  await expect(driver.submit('/meet', signal)).rejects.toMatchObject({ code: 'refused', reason: 'draft' })
  await expect.poll(() => tmux('capture-pane', '-p').trim()).toBe('you> wait, I want')
  expect(prompts()).toEqual([])
})

test('what somebody types right behind a paste is not sent with it [C5, C13]', async () => {
  const { driver, prompts, tmux } = await begin()
  await expect(driver.submit('/pursue', signal)).rejects.toMatchObject({ code: 'refused', reason: 'draft' })
  expect(tmux('capture-pane', '-p').trim()).toBe('you> /pursuewait, I want')
  expect(prompts()).toEqual([])
  tmux('send-keys', 'C-u')
  await expect.poll(() => tmux('capture-pane', '-p').trim()).toBe('you>')
  await driver.submit('work', signal)
  await expect.poll(prompts).toEqual(['work'])
})

test('a long prompt that stands there as a sign, because its Enter was lost, is sent and not typed again [C5, C13]', async () => {
  const { driver, prompts, tmux } = await begin()
  const rows = (count: number) => Array.from({ length: count }, (_, i) => `row ${i}`).join('\n')
  const paste = (text: string) => {
    tmux('set-buffer', text)
    tmux('paste-buffer', '-p', '-r')
  }
  paste(rows(40))
  await expect.poll(() => tmux('capture-pane', '-p').trim()).toBe('you> [paste #1 +40 lines]')
  // One of another size is somebody's own.
  await expect(driver.submit(rows(60), signal)).rejects.toMatchObject({ code: 'refused', reason: 'draft' })
  await driver.submit(rows(40), signal)
  expect(prompts()).toEqual([rows(40)])
})

test('an Enter that got lost while the screen was drawn is pressed again [C13]', async () => {
  const { driver, prompts } = await begin()
  await driver.submit('blink', signal)
  expect(prompts()).toEqual(['blink'])
})

test('words of its own that were kept in the input give way to the next ones [C5, C13]', async () => {
  const { driver, prompts, tmux } = await begin()
  await expect(driver.submit('stuck', signal)).rejects.toMatchObject({
    message: expect.stringContaining('did not send'),
  })
  expect(tmux('capture-pane', '-p').trim()).toBe('you> stuck')
  expect(driver.unsent).toBe('stuck')
  await driver.submit('go on', signal)
  expect(prompts()).toEqual(['go on'])
  expect(driver.unsent).toBeUndefined()
  // The same words are a person's own when they were sent before.
  tmux('send-keys', '-l', 'go on')
  await expect.poll(() => tmux('capture-pane', '-p').trim()).toBe('you> go on')
  await expect(driver.submit('next', signal)).rejects.toMatchObject({ code: 'refused', reason: 'draft' })
})

test('a turn is stopped once, and one at rest is not [C5]', async () => {
  const { driver, tmux } = await begin()
  const keys = () => fs.readFileSync(path.join(path.dirname(tmuxSocket(driver)), 'out.keys'), 'utf8')
  await driver.submit('work', signal)
  await shows(driver, 'busy')
  await driver.interrupt(signal)
  await shows(driver, 'prompt')
  await driver.interrupt(signal)
  await driver.interrupt(signal)
  expect(
    keys()
      .split('\u001B')
      .filter((part) => !part.startsWith('[20')),
  ).toHaveLength(2)
  expect(tmux('list-panes', '-a').trim().split('\n')).toHaveLength(1)
})

function tmuxSocket(driver: Driver): string {
  return driver.place.driver === 'tmux' ? driver.place.socket : ''
}

test('copy mode and other modes are left before anything is typed [C13]', async () => {
  const { driver, prompts, tmux } = await begin()
  tmux('copy-mode', '-t', driver.place.pane)
  await driver.submit('out of copy mode', signal)
  tmux('choose-tree', '-t', driver.place.pane)
  await driver.submit('out of the tree', signal)
  await until(() => prompts().length === 2)
  expect(prompts()).toEqual(['out of copy mode', 'out of the tree'])
})

test('many at once at one pane type one after the other [C7]', async () => {
  const { driver, prompts } = await begin()
  const words = Array.from({ length: 8 }, (_, i) => `prompt number ${i}`)
  await Promise.all(words.map((text) => driver.submit(text, signal)))
  await until(() => prompts().length === words.length)
  expect(prompts().toSorted()).toEqual(words)
  const order: string[] = []
  await Promise.all([
    withLock('a test', async () => {
      order.push('in')
      await new Promise((resolve) => setTimeout(resolve, 50))
      order.push('out')
    }),
    withLock('a test', async () => {
      order.push('in')
      order.push('out')
    }),
  ])
  expect(order).toEqual(['in', 'out', 'in', 'out'])
})

test('its line to a server of its own changes nothing there, is no hindrance when it breaks, and is gone when it is let go [C13]', async () => {
  const { driver, prompts, tmux } = await begin()
  const clients = () => tmux('list-clients', '-F', '#{client_control_mode}').trim()
  const size = tmux('display-message', '-p', '#{window_width}x#{window_height}')
  await driver.submit('one', signal)
  expect(clients()).toBe('1')
  tmux('detach-client', '-a')
  tmux('detach-client', '-s', 'small')
  await until(() => clients() === '')
  expect((await driver.screenState()).is).toBe('prompt')
  await driver.submit('two', signal)
  expect(clients()).toBe('1')
  expect(tmux('display-message', '-p', '#{window_width}x#{window_height}')).toBe(size)
  await driver.close()
  await until(() => clients() === '')
  expect(prompts()).toEqual(['one', 'two'])
})

test('a window that was left too small to draw in is drawn anew [C13]', async () => {
  const { driver, tmux } = await begin()
  // What it draws there nobody knows.
  tmux('resize-window', '-t', driver.place.pane, '-x', '4', '-y', '2')
  const width = () => Number(tmux('display-message', '-p', '#{window_width}'))
  await until(async () => {
    const { is } = await driver.screenState()
    return is === 'prompt' || width() > 60
  })
  expect(width()).toBe(160)
})

test('a prompt longer than the small screen on which somebody looks at the agent is sent, and they see it as before [C13]', async () => {
  const { driver, prompts, tmux } = await begin()
  const phone = path.join(temporaryFolder(), 'phone')
  const attach = `TMUX= tmux -S ${tmux('display-message', '-p', '#{socket_path}').trim()} attach`
  execFileSync('tmux', ['-S', phone, '-f', '/dev/null', 'new-session', '-d', '-x', '40', '-y', '9', attach])
  onTestFinished(() => void execFileSync('tmux', ['-S', phone, 'kill-server']))
  const width = () => tmux('display-message', '-p', '-t', driver.place.pane, '#{window_width}').trim()
  await until(() => width() === '40')
  const words = Array.from({ length: 120 }, (_, i) => `word ${i}`).join(' ')
  await driver.submit(words, signal)
  expect(prompts()).toEqual([words])
  await until(() => width() === '40')
})

test('a screen that stays blank behind a clear is drawn anew by a change of its window, which keeps its size [C13]', async () => {
  const { driver, tmux } = await begin()
  await driver.submit('vanish', signal)
  await until(async () => (await driver.screenState()).is !== 'prompt')
  await shows(driver, 'prompt')
  expect(tmux('display-message', '-p', '#{window_width}').trim()).toBe('160')
})

test('the rows of a program that paints the whole screen are read one by one [C13]', async () => {
  const { driver } = await begin()
  await driver.submit('paint', signal)
  await until(async () => (await driver.screenText()).includes('│'))
  // tmux takes them for one long line.
  expect((await driver.screenText()).split('\n').at(-1)!.trim()).toMatch(/^│ {159}│/)
  expect(await driver.screenState()).toEqual({ is: 'prompt', draft: '' })
})

test("in the person's own tmux it gets a window there; a pane that was there is taken over and left as it was [C13]", async () => {
  const { folder, script, out, socket, tmux, prompts } = files()
  tmux('-f', '/dev/null', 'new-session', '-d', '-s', 'own', '-x', '100', '-y', '30', 'env', 'PS1=$ ', 'sh')
  const adapter = agent(script, out)
  const env = { ...process.env, TMUX: `${socket},1,0`, TMUX_PANE: '%0' }
  const driver = await startInTmux({ adapter, command: adapter.launch!(), cwd: folder, env, name: 'helper' })
  await driver.ready(signal)
  expect(
    tmux('list-windows', '-a', '-F', '#{session_name} #{window_name} #{window_active}').trim().split('\n'),
  ).toEqual([expect.stringMatching(/^own \w+ 1$/), 'own helper 0'])
  // One more client would set off whatever the person has their tmux do about clients.
  await driver.submit('there', signal)
  expect(tmux('list-clients')).toBe('')
  await driver.stop()
  expect(tmux('list-panes', '-a', '-F', '#{pane_id}').trim()).toBe('%0')

  await expect(takePane(adapter, { socket, pane: '%0' })).rejects.toMatchObject({ code: 'not_found' })
  tmux('send-keys', '-t', '%0', '-l', `${process.execPath} ${script} ${out}`)
  tmux('send-keys', '-t', '%0', 'Enter')
  const named = adapterNamed('agent', {
    agents: { agent: { transcript: 'pi', command: ['agent'], ready: '^you> (.*)$' } },
  })
  await until(() =>
    takePane(named, { socket, pane: '%0' }).then(
      () => true,
      () => false,
    ),
  )
  const taken = await takePane(named, { socket, pane: '%0' })
  await taken.ready(signal)
  await taken.submit('to the one below the shell', signal)
  await until(() => prompts().includes('to the one below the shell'))
  // Put into the background: what is typed would go to the shell.
  process.kill(taken.place.pid!, 'SIGSTOP')
  await until(() => tmux('display-message', '-p', '-t', '%0', '#{pane_current_command}').trim() === 'sh')
  await expect(taken.submit('touch hit', signal)).rejects.toMatchObject({ reason: 'gone' })
  process.kill(taken.place.pid!, 'SIGCONT')
  await taken.stop()
  expect(await taken.alive()).toBe(false)
  await expect(taken.submit('touch hit', signal)).rejects.toMatchObject({ reason: 'gone' })
  expect(tmux('list-panes', '-a', '-F', '#{pane_id} #{pane_dead}').trim()).toBe('%0 0')
})

test('an agent is started although a server that never ends keeps the socket [C15]', async () => {
  const { folder, script, out, socket, tmux } = files()
  // Like tmux when it has been told to end, and waits for a client that does not leave: it takes connections, and no command.
  const ending = net.createServer((client) => client.destroy())
  await new Promise<void>((resolve) => ending.listen(socket, resolve))
  onTestFinished(() => void ending.close())
  const adapter = agent(script, out)
  const gone = new TmuxServer(socket).run(['list-sessions'])
  await expect(gone).rejects.toMatchObject({ gone: true, isEnding: true })
  const driver = await start(adapter, folder, socket)
  expect(await driver.ready(signal)).toEqual({ is: 'prompt', draft: '' })
  expect(tmux('list-sessions')).toContain('x:')
  await driver.stop()
})

test('a server that dies is a program that is gone, and a program that is missing says so [C15]', async () => {
  const { driver, tmux } = await begin()
  tmux('kill-server')
  await until(async () => !(await driver.alive()))
  expect(await driver.ended()).toEqual({})
  await expect(driver.submit('x', signal)).rejects.toMatchObject({ reason: 'gone' })
  await driver.stop()

  const { folder, socket } = files()
  const adapter = adapterNamed('nothing', {
    agents: { nothing: { transcript: 'pi', command: ['no-such-program-here'] } },
  })
  const missing = await start(adapter, folder, socket)
  await until(async () => !(await missing.alive()))
  expect(await missing.ended()).toMatchObject({
    code: 127,
    error: expect.stringContaining('no-such-program-here') as string,
  })
  await missing.stop()
})
