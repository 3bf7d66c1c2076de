import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { call, fail, say } from '../support/model-server/index.ts'
import { program, records, type Run } from './cli.ts'
import { chatRooms, type Room } from './chat-room.ts'
import { isAlive } from '../support/processes.ts'
import { collect } from '../support/workspace.ts'

const room = chatRooms()

interface Asking {
  readonly input?: string | Buffer
  /** The input ends only when stderr says this. */
  readonly inputAfter?: string
  readonly env?: Record<string, string>
  /** Sent as soon as the model was asked. */
  readonly signal?: NodeJS.Signals
}

async function ask({ folder, env, server }: Room, args: readonly string[], options: Asking = {}): Promise<Run> {
  const child = spawn(process.execPath, [program, 'chat', ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...env, ...options.env },
  })
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  if (options.inputAfter !== undefined) await until(child.stderr, () => err.includes(options.inputAfter!))
  child.stdin.on('error', () => {}).end(options.input ?? '')
  const ended = new Promise<number | null>((resolve, reject) => child.on('close', resolve).on('error', reject))
  if (options.signal !== undefined) {
    await server.next()
    child.kill(options.signal)
  }
  return { code: await ended, out, err }
}

async function until(stream: Readable, condition: () => boolean): Promise<void> {
  while (!condition()) await once(stream, 'data')
}

describe.concurrent('baton chat -p', () => {
  test('says what it waits for where a pipe was left open', async () => {
    const here = await room({ script: [say('Fine.')] })
    const { code, out } = await ask(here, ['-p', 'Well?'], {
      input: 'late',
      inputAfter: 'waiting for the end of stdin',
    })
    expect({ code, out }).toEqual({ code: 0, out: 'Fine.\n' })
    expect(here.server.requests[0]!.messages[0]!.text).toBe('Well?\n\nlate')
  })

  test('shows the model an image that is named with @, and one that comes through the pipe [T1]', async () => {
    const here = await room({ script: [say('Two dots.')] })
    const [named, piped] = [7, 8].map((last) => Buffer.from(`89504e470d0a1a0a0${last}`, 'hex'))
    fs.writeFileSync(path.join(here.folder, 'dot.png'), named!)
    const { code, out, err } = await ask(here, ['-p', 'Compare with @dot.png'], { input: piped! })
    expect({ code, out, err }).toEqual({ code: 0, out: 'Two dots.\n', err: '' })
    for (const image of [named!, piped!]) {
      expect(JSON.stringify(here.server.requests[0]!.raw)).toContain(
        `data:image/png;base64,${image.toString('base64')}`,
      )
    }
  })

  test('a model that says nothing, or that cannot be reached, is a failure that says what to do', async () => {
    const here = await room({ script: [{ noText: true }, fail.status(404, 'no such model')] })
    const silent = await ask(here, ['-p', 'Well?'])
    expect(silent).toEqual({ code: 1, out: '', err: 'baton: The model returned no text\n' })
    const unknown = await ask(here, ['-p', 'Well?'])
    expect(unknown.err).toMatch(/^baton: no such model \(HTTP 404\)\n {2}Asked at http.*\/v1\/chat\/completions\./)
  })

  test('prints the answer and nothing else, with what was piped in behind the question', async () => {
    const here = await room({ script: [say('All **good**.')] })
    const { code, out, err } = await ask(here, ['-p', 'Review this'], { input: 'diff --git a b\n+ü\n' })
    expect({ code, out, err }).toEqual({ code: 0, out: 'All **good**.\n', err: '' })
    expect(here.server.requests[0]!.messages[0]!.text).toBe('Review this\n\ndiff --git a b\n+ü')
  })

  test('takes the question from stdin alone, where nothing is a command, and refuses none at all [T19]', async () => {
    const here = await room({ script: [say('Four.'), say('Rows.')] })
    expect(await ask(here, ['-p'], { input: 'Two and two?' })).toMatchObject({ code: 0, out: 'Four.\n' })
    expect(await ask(here, ['-p'], { input: ',a,b\n/quit' })).toMatchObject({ code: 0, out: 'Rows.\n' })
    expect(here.server.requests[1]!.messages[0]!.text).toBe(',a,b\n/quit')
    const empty = await ask(here, ['-p'])
    expect(empty).toMatchObject({ code: 2, out: '' })
    expect(empty.err).toContain('There is nothing to ask')
  })

  test('only the last answer is printed when tools ran between', async () => {
    const here = await room({ script: [call('fs_list', {}, { text: 'Let me look.' }), say('Two files.')] })
    expect(await ask(here, ['-p', 'How many?'])).toEqual({ code: 0, out: 'Two files.\n', err: '' })
  })

  test('asks nothing: what would be asked about is denied and said, --yes allows it', async () => {
    const script = () => [call('bash', { command: 'echo hi > said' }), say('Tried.')]
    const here = await room({ script: [...script(), ...script()] })
    const denied = await ask(here, ['-p', 'Go'])
    expect(denied).toMatchObject({ code: 0, out: 'Tried.\n' })
    expect(denied.err).toBe('baton: denied bash echo hi > said: nobody is there to ask; --yes allows it\n')
    expect(here.server.requests[1]!.messages.at(-1)!.toolResults[0]!.text).toContain('nobody is there to ask')
    expect(fs.existsSync(path.join(here.folder, 'said'))).toBe(false)
    expect(await ask(here, ['-p', 'Go', '--yes'])).toEqual({ code: 0, out: 'Tried.\n', err: '' })
    expect(fs.readFileSync(path.join(here.folder, 'said'), 'utf8')).toBe('hi\n')
  })

  test('--json prints events, one a line, and the result last', async () => {
    const here = await room({ script: [call('fs_list', { path: '.' }), say('Hello there.')] })
    const run = await ask(here, ['-p', 'Hi', '--json'])
    expect(run.code).toBe(0)
    const events = records(run)
    expect(events.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['turn-start', 'tool-start', 'tool-end', 'text', 'usage', 'turn-end']),
    )
    const spoken = events.filter(({ type }) => type === 'text').map(({ delta }) => delta)
    expect(spoken.join('')).toBe('Hello there.')
    expect(events.at(-1)).toMatchObject({
      type: 'result',
      kind: 'turn',
      status: 'done',
      text: 'Hello there.',
      tape: 'print',
    })
  })

  test('each is a session of its own; --tape goes on with one', async () => {
    const here = await room({ script: [say('one'), say('two'), say('three')] })
    await ask(here, ['-p', 'first'])
    await ask(here, ['-p', 'second'])
    expect(here.server.requests[1]!.messages).toHaveLength(1)
    expect(await ask(here, ['-p', 'third', '--tape', 'print'])).toMatchObject({ out: 'three\n' })
    expect(here.server.requests[2]!.messages.map(({ text }) => text)).toEqual(['first', 'one', 'third'])
  })

  test('a failure exits with 1 and says why', async () => {
    const here = await room({ script: [fail.auth()] })
    const failed = await ask(here, ['-p', 'Hi'])
    expect(failed).toMatchObject({ code: 1, out: '' })
    expect(failed.err).toMatch(/^baton: .*key/i)
  })

  test.for(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('%s cancels the turn, which ends on the tape', async (signal) => {
    const here = await room({ script: [say('never', { hold: new Promise(() => {}) })] })
    const cancelled = await ask(here, ['-p', 'Hi'], { signal })
    expect(cancelled).toMatchObject({ code: 130, out: '' })
    expect(cancelled.err).toContain('Cancelled')
    const marks = await here.store((store) => collect(store.read('print', { kinds: ['event'] })))
    expect(marks.map(({ payload }) => (payload as { name: string }).name)).toContain('turn_ended')
  })

  test('comma commands work, slash commands belong to the chat', async () => {
    const here = await room()
    const info = await ask(here, ['-p', ',tape.info', '--tape', 'main'])
    expect(info).toMatchObject({ code: 0, err: '' })
    expect(info.out).toContain('tape      main')
    expect(await ask(here, ['-p', ',tape.inof'])).toMatchObject({ code: 2, out: '' })
    expect((await ask(here, ['-p', '/handoff'])).err).toContain('/handoff works in the chat only')
    expect(here.server.requests).toEqual([])
  })

  test('without a model, a terminal, or sense, it says what to do', async () => {
    const here = await room()
    const none = await ask(here, ['-p', 'Hi'], { env: { BATON_MODEL: '' } })
    expect(none.code).toBe(2)
    expect(none.err).toContain('No model is set\n  Add --model PROVIDER/NAME, such as anthropic/')
    const pipe = await ask(here, [])
    expect(pipe).toMatchObject({ code: 1, out: '' })
    expect(pipe.err).toContain('baton chat needs a terminal\n  In a pipe or a script, ask with: baton chat -p "…"')
    expect((await ask(here, ['--json'])).err).toContain('--json goes with -p')
    expect((await ask(here, ['--new', '--tape', 'x'])).err).toContain('exclude each other')
    fs.writeFileSync(path.join(here.folder, 'baton.config.json'), '{"agent": {"handoff": {"at": "much"}}}')
    const wrong = await ask(here, ['-p', 'Hi'])
    expect(wrong.code).toBe(2)
    expect(wrong.err).toContain('agent.handoff.at')
    expect(wrong.err).toContain('such as "80%"')
    fs.rmSync(path.join(here.folder, 'baton.config.json'))
    const address = await ask(here, ['-p', 'Hi', '--base-url', 'http://me:hush@127.0.0.1:1/v1'])
    expect(address.code).toBe(2)
    expect(address.err).toContain('OPENAI_API_KEY')
    expect(address.err).not.toContain('hush')
    // What never began left nothing behind.
    expect(await here.store((store) => store.info('print'))).toBeUndefined()
  })

  test('in a folder that was deleted it says so', async () => {
    const here = await room()
    const script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
    const pane = here.run(['sh', '-c', script, 'sh', process.execPath, program, 'chat', '-p', 'Hi'])
    expect(await pane.exit()).toBe(1)
    expect(pane.text).toContain('baton: The current folder no longer exists')
    expect(pane.text).not.toContain('unexpected')
  })

  test('after a crash the next run on the tape tells where the work stands, and goes on [T23]', async () => {
    const here = await room({ script: [say('never', { hold: new Promise(() => {}) }), say('Here again.')] })
    await ask(here, ['-p', 'Hi'], { signal: 'SIGKILL' })
    const { code, out, err } = await ask(here, ['-p', 'Go on', '--tape', 'print'])
    expect({ code, out }).toEqual({ code: 0, out: 'Here again.\n' })
    expect(err).toContain('The last run ended in the middle of a turn')
    expect(err).toContain('Last anchor: session/start {"owner":"human"}')
  })

  test('a reader that leaves in the middle cancels the turn and its commands', async () => {
    const forever = 'echo $$ > pid; while sleep 0.05; do echo on and on; done'
    const here = await room({ script: [call('bash', { command: forever })] })
    const child = spawn(process.execPath, [program, 'chat', '-p', 'Go', '--yes', '--json'], {
      cwd: here.folder,
      env: { PATH: process.env.PATH, ...here.env },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    let out = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
    await until(child.stdout, () => out.includes('on and on'))
    child.stdout.destroy()
    await once(child, 'exit')
    expect(isAlive(Number(fs.readFileSync(path.join(here.folder, 'pid'), 'utf8')))).toBe(false)
    const entries = await here.store((store) => collect(store.read('print')))
    expect(entries.at(-1)!.payload).toMatchObject({ name: 'turn_ended', data: { status: 'aborted' } })
  })

  test('a command where there is no session yet leaves none behind; ,help needs none', async () => {
    const here = await room()
    expect(await ask(here, ['-p', ',tape.info'])).toMatchObject({ code: 4, err: /There is no chat in this folder yet/ })
    expect((await ask(here, ['-p', ',help fork'])).out).toMatch(/^,fork name=CHILD/)
    expect((await ask(here, ['-p', ',hepl'])).err).toContain('There is no command ,hepl\n  Did you mean ,help?')
    expect(await here.store((store) => collect(store.list()))).toEqual([])
  })

  test('a command is about the last session of the folder', async () => {
    const here = await room({ script: [say('Hello.')] })
    const pane = await here.chat()
    await pane.enter('hi', 'Hello.')
    expect((await ask(here, ['-p', ',tape.info'])).out).toContain('tape      chat\n')
  })

  test('stdout is only for the answer on a terminal too; tools are told on stderr', async () => {
    const here = await room({ script: [call('fs_list', {}), say('Done.\x1b[2J')] })
    const pane = here.run(['sh', '-c', `"$0" "$1" chat -p Go < /dev/null`, process.execPath, program])
    await pane.shows('fs.list')
    await pane.shows('Done.')
    expect(await pane.exit()).toBe(0)
    expect(pane.text).toContain('fs.list')
  })
})
