import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { call, closedGate, fail, say } from '../support/model-server/index.ts'
import type { Pane } from '../support/terminal.ts'
import { chatRooms } from './chat-room.ts'

const room = chatRooms()

describe.concurrent('a chat on a terminal', () => {
  test('streams an answer as markdown, with the footer and colours of the terminal', async () => {
    const { chat, server } = await room({
      script: [say('# Plan\n\nSome **bold** words and `code`.', { usage: { input: 9_000, output: 1_000 } })],
    })
    const pane = await chat()
    await pane.shows('chat · ⚓ session/start · test/scripted')
    await pane.enter('What is the plan?', '10% of 100k')
    const screen = await pane.screen()
    expect(screen).toContain('› What is the plan?')
    expect(screen).toContain('\nSome bold words and code.\n')
    expect(pane.styleOf('Plan')).toMatchObject({ color: 6, bold: true })
    expect(pane.styleOf('bold words')).toMatchObject({ color: -1, bold: true })
    expect(server.requests[0]!.messages).toMatchObject([{ role: 'user', text: 'What is the plan?' }])
    await pane.press('C-d')
    expect(await pane.exit()).toBe(0)
    expect(server.problems).toEqual([])
  })

  test('a tool call is one line; a key unfolds its output and folds it again', async () => {
    const { chat, folder } = await room({ script: [call('fs_read', { path: 'notes.txt' }), say('Read.')] })
    fs.writeFileSync(path.join(folder, 'notes.txt'), 'first line\nsecond line\n')
    const pane = await chat()
    await pane.enter('Read my notes', 'Read.')
    expect(await pane.screen()).toMatch(/● fs\.read notes\.txt · \d+ lines?\n/)
    expect(await pane.screen()).not.toContain('second line')
    await pane.press('C-o')
    await pane.shows('second line')
    await pane.press('C-o')
    await pane.until(() => !pane.lines.join('\n').includes('second line'), 'the line folded')
  })

  test('a command that fails is told from one that does not, now and after a restart', async () => {
    const script = [
      call('bash', { command: 'echo fine' }),
      call('bash', { command: 'echo tried; echo no such thing >&2; exit 3' }),
      call('bash', { command: 'kill -9 $$' }),
      say('Ran.'),
    ]
    const { chat } = await room({ script })
    const looksRight = async (pane: Pane) => {
      await pane.shows(/● bash echo fine · 1 line/)
      await pane.shows(/● bash echo tried.* · exit 3: no such thing/)
      await pane.shows(/● bash kill -9 .* · ended by SIGKILL/)
      expect(pane.styleOf('● bash echo fine')).toMatchObject({ color: 2 })
      expect(pane.styleOf('● bash echo tried')).toMatchObject({ color: 1 })
    }
    const pane = await chat(['--yes'])
    await pane.enter('Run it', 'Ran.')
    await looksRight(pane)
    await pane.enter('/quit')
    expect(await pane.exit()).toBe(0)
    const again = await chat()
    await again.shows('chat continues')
    await looksRight(again)
  })

  test('a question tells what and where; y allows once, a always, n denies', async () => {
    const run = (command: string) => call('bash', { command })
    const { chat, server, folder } = await room({
      script: [run('echo 1 >> log'), run('echo 2 >> log'), run('rm log'), run('echo 3 >> log'), say('Done.')],
    })
    const pane = await chat()
    await pane.enter('Write the log', '? bash wants to run')
    expect(await pane.screen()).toContain(
      '  echo 1 >> log\n  y allow once\n  n deny (Escape)\n  a always allow exactly this command',
    )
    await pane.press('y')
    await pane.shows('  echo 2 >> log\n  y allow once')
    await pane.press('a')
    await pane.shows('  rm log\n  y allow once')
    await pane.press('n')
    await pane.until(() => /Done\.|3 >> log\n {2}y allow/.test(pane.text), 'what comes after the denial')
    if (!pane.text.includes('Done.')) await pane.press('y')
    await pane.shows('Done.')
    expect(fs.readFileSync(path.join(folder, 'log'), 'utf8')).toBe('1\n2\n3\n')
    expect(server.requests[3]!.messages.at(-1)!.toolResults[0]!.text).toContain('the user did not allow this')
  })

  test('a question about a file shows what would be written', async () => {
    const edit = { path: 'a.txt', old_string: 'old words', new_string: 'new words\nand more' }
    const { chat, folder } = await room({
      script: [call('fs_read', { path: 'a.txt' }), call('fs_edit', edit), say('Done.')],
    })
    fs.writeFileSync(path.join(folder, 'a.txt'), 'some old words here\n')
    const pane = await chat()
    await pane.enter('Go', '? fs.edit wants to write')
    const file = path.join(fs.realpathSync(folder), 'a.txt')
    expect(pane.text).toContain(`  ${file}\n- old words\n+ new words\n+ and more\n  y allow once`)
    await pane.press('y')
    await pane.shows('Done.')
    expect(fs.readFileSync(path.join(folder, 'a.txt'), 'utf8')).toBe('some new words\nand more here\n')
  })

  test('who is writing when a question comes up answers nothing, however long they pause', async () => {
    const { chat, server } = await room({
      script: [call('bash', { command: 'true' }), call('bash', { command: 'false' }), say('Done.')],
    })
    const pane = await chat()
    await pane.enter('Go', 'allow once')
    await pane.type('maybe ')
    await pane.shows('Send what you are writing, or empty it (Ctrl+C), to answer; Escape denies')
    await new Promise((resolve) => setTimeout(resolve, 700)) // longer than between two keys of a word
    await pane.type('any day')
    await pane.shows('maybe any day')
    await pane.press('Escape')
    await pane.shows('● bash true · failed: denied: the user did not allow this')
    expect(await pane.screen()).toContain('maybe any day')
    await pane.shows('  false\n')
    await pane.press('Enter')
    await pane.shows('queued: the model gets it')
    await pane.shows('allow once')
    await pane.press('y')
    await pane.shows('Done.')
    expect(server.requests.at(-1)!.messages.at(-1)!.text).toBe('maybe any day')
  })

  test('with --yes nobody is asked, and the footer says so', async () => {
    const { chat, folder } = await room({ script: [call('bash', { command: 'echo hi > said' }), say('Done.')] })
    const pane = await chat(['--yes'])
    await pane.shows('--yes')
    await pane.enter('Go', 'Done.')
    expect(fs.readFileSync(path.join(folder, 'said'), 'utf8')).toBe('hi\n')
  })

  test('what is typed while the model answers is shown as queued and reaches it [H9]', async () => {
    const gate = closedGate()
    const { chat, server } = await room({
      script: [say('First answer.', { hold: gate.opened, holdAfter: 1 }), say('Second answer.')],
    })
    const pane = await chat()
    await pane.enter('first', 'First an')
    await pane.enter('and another thing', 'queued: the model gets it before its next step')
    gate.open()
    await pane.shows('Second answer.')
    expect(pane.text).not.toContain('queued:')
    expect(server.requests[1]!.messages.map(({ text }) => text)).toEqual([
      'first',
      'First answer.',
      'and another thing',
    ])
  })

  test('a failed turn says why, and what was typed is on the tape', async () => {
    const { chat, store } = await room({ script: [fail.auth(), say('Back again.')] })
    const pane = await chat()
    await pane.enter('precious words', /✗ The turn failed: .*(key|auth)/i)
    await pane.press('Up')
    await pane.until(() => pane.lines.join('\n').split('precious words').length === 3, 'the words in the editor')
    await pane.press('C-c')
    await pane.enter('again', 'Back again.')
    const texts = await store(async (store) => {
      const found: unknown[] = []
      for await (const entry of store.read('chat', { kinds: ['message'] })) found.push(entry.payload)
      return found
    })
    expect(texts[0]).toMatchObject({ role: 'user', content: 'precious words' })
  })

  test('comma commands show their output and never reach the model; text of a model never runs [T19]', async () => {
    const { chat, server } = await room({ script: [say(',handoff name=hijacked'), say('Second.')] })
    const pane = await chat()
    await pane.enter('hello', ',handoff name=hijacked')
    await pane.enter(',handoff name=phase-1 summary="Setup done" state={goal: "ship it"}', 'Handed off: phase-1')
    await pane.shows('⚓ phase-1')
    await pane.enter(',anchors', '"goal":"ship it"')
    await pane.enter(',anchrs', 'Did you mean ,anchors')
    await pane.enter(',tape.search "unfinished', /✗ .*(quote|end)/i)
    await pane.press('C-c')
    await pane.type(' ,not a command')
    await pane.press('Enter')
    await pane.shows('Second.')
    expect(server.requests).toHaveLength(2)
    const [state, ...after] = server.requests[1]!.messages.map(({ text }) => text)
    expect(state).toContain('ship it')
    expect(after.at(-1)!.trim()).toBe(',not a command')
    expect(after.join('\n')).not.toContain('unfinished')
    expect(pane.text).not.toContain('⚓ hijacked')
  })

  test('an unknown slash command suggests the nearest and is never sent', async () => {
    const { chat, server } = await room()
    const pane = await chat()
    await pane.enter('/hanofd now', 'There is no command /hanofd. Did you mean /handoff')
    await pane.enter('/help', 'Ctrl+O')
    expect(server.requests).toEqual([])
  })

  test('/fork goes on in a copy, /tape lists and changes, /anchors and /model answer', async () => {
    const { chat, server } = await room({ script: [say('one'), say('two'), say('three')] })
    const pane = await chat()
    await pane.enter('first', 'one')
    await pane.enter('/fork side', 'Forked into side; the chat continues there')
    await pane.enter('on the side', 'two')
    expect(server.requests[1]!.messages.map(({ text }) => text).join(' ')).toContain('first one on the side')
    await pane.enter('/tape', /› side +\d+ entries/)
    await pane.enter('/tape sid', 'There is no tape "sid"')
    await pane.shows('side?')
    await pane.enter('/tape chat', 'chat continues')
    await pane.shows('chat · ⚓')
    await pane.enter('/model', '· test/scripted\n')
    await pane.enter('/model nonsense', '"nonsense" is not a model')
    await pane.enter('/model test/other', 'test/other answers from now on')
    await pane.enter('main line', 'three')
    expect(server.requests[2]!.model).toBe('other')
    expect(server.requests[2]!.messages.map(({ text }) => text)).toEqual(['first', 'one', 'main line'])
    await pane.enter('/anchors', '#1 session/start')
  })

  test('the model chosen with /model answers after a restart too, until another is named', async () => {
    const { chat } = await room()
    const leave = async (pane: Pane) => {
      await pane.enter('/quit')
      expect(await pane.exit()).toBe(0)
    }
    const first = await chat()
    await first.enter('/model test/other', 'test/other answers from now on')
    await leave(first)
    const second = await chat(['--new'])
    await second.shows(/chat-2 · .* · test\/other/)
    await leave(second)
    const named = await chat(['--model', 'test/third'])
    await named.shows(/chat-2 · .* · test\/third/)
    await leave(named)
    const changed = await chat([], { env: { BATON_MODEL: 'test/fourth' } })
    await changed.shows(/chat-2 · .* · test\/fourth/)
  })

  test('Ctrl-C empties the editor, Up brings it back, twice quits', async () => {
    const { chat } = await room()
    const pane = await chat()
    await pane.shows('⚓')
    await pane.type('half a thought')
    await pane.shows('half a thought')
    await pane.press('C-c')
    await pane.until(() => !pane.text.includes('half a thought'), 'the editor empty')
    await pane.type('\x1b[99;5:3u') // the key let go, as some terminals tell: not a second time
    await pane.press('Up')
    await pane.shows('half a thought')
    await pane.press('C-c')
    await pane.until(() => !pane.text.includes('half a thought'), 'the editor empty again')
    await pane.press('C-c')
    expect(await pane.exit()).toBe(0)
  })

  test('a model that cannot be had is told, and what was typed is there to be sent again', async () => {
    const { chat, server } = await room({ script: [say('Now it works.')] })
    const pane = await chat(['--model', 'anthropic/claude-sonnet-4-5'])
    await pane.shows('anthropic needs a key, and ANTHROPIC_API_KEY is not set')
    await pane.enter('my question')
    await pane.until(() => pane.text.split('anthropic needs a key').length === 3, 'the reason again')
    await pane.press('C-c')
    await pane.enter('/model test/scripted', 'test/scripted answers from now on')
    await pane.press('Up', 'Up')
    await pane.shows('my question')
    await pane.press('Enter')
    await pane.shows('Now it works.')
    expect(server.requests[0]!.messages.at(-1)!.text).toBe('my question')
  })

  test('without a model it says how to set one, and commands work', async () => {
    const { chat, server } = await room()
    const pane = await chat([], { env: { BATON_MODEL: '' }, rows: 24, columns: 80 })
    await pane.shows('No model is set')
    expect(await pane.screen()).toContain('baton chat --model ollama/qwen3')
    await pane.shows('no model')
    await pane.enter('hello?')
    await pane.until(() => pane.text.split('No model is set').length === 3, 'the advice again')
    await pane.until(() => pane.text.includes('hello?'), 'what was typed, kept in the editor')
    await pane.press('C-c')
    await pane.enter(',tape.info', 'since it')
    await pane.enter('/handoff', 'Nothing to hand off (no messages yet)')
    await pane.enter('/model test/scripted', 'test/scripted answers from now on')
    expect(server.requests).toEqual([])
  })
})
