import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { call, closedGate, say } from '../support/model-server/index.ts'
import type { Pane } from '../support/terminal.ts'
import { program } from './cli.ts'
import { atRest, chatRooms } from './chat-room.ts'

const room = chatRooms()

/** Resizes the terminal until the chat is drawn anew: its editor then has two rules of full width, and no terminal wraps so. */
async function fits(pane: Pane, columns: number, rows: number): Promise<void> {
  await pane.resize(columns, rows)
  const rules = () => pane.lines.filter((line) => line.startsWith('─'))
  const isDrawn = () => rules().length === 2 && rules().every((line) => line.length === columns)
  await pane.until(isDrawn, `two rules of ${columns}`)
}

describe.concurrent('the terminal', () => {
  test('takes any script, emoji and a paste of many lines, to the letter', async () => {
    const { chat, server } = await room({ script: [say('漢字かな 👩‍👩‍👧 naïve Ω'), say('Pasted.')] })
    const pane = await chat()
    const typed = 'Grüße 日本語 한국어 👍🏽 עברית'
    await pane.type(typed)
    await pane.shows('Grüße 日本語 한국어')
    // Where a word wide as two stands, the cursor stands behind it: the editor's line is measured in columns.
    await pane.press('Enter')
    await pane.shows('漢字かな')
    expect(server.requests[0]!.messages[0]!.text).toBe(typed)
    const lines = Array.from({ length: 60 }, (_, i) => `${i}: über "quotes" \\ $HOME 日本`).join('\n')
    await pane.paste(`${lines}\n/quit`)
    await pane.shows('[paste #1 +61 lines]')
    await pane.press('Enter')
    await pane.shows('Pasted.')
    expect(server.requests[1]!.messages.at(-1)!.text).toBe(`${lines}\n/quit`)
    expect(await pane.screen()).toContain('  … 41 more lines (ctrl+o unfolds)\n')
  })

  test('a message of several lines, by Alt+Enter and by a backslash', async () => {
    const { chat, server } = await room({ script: [say('Read.')] })
    const pane = await chat()
    await pane.type('one')
    await pane.press('M-Enter')
    await pane.type('two\\')
    await pane.press('Enter')
    await pane.enter('three', 'Read.')
    expect(server.requests[0]!.messages[0]!.text).toBe('one\ntwo\nthree')
  })

  test('is drawn anew for its width while a response streams, down to 40 columns and fewer', async () => {
    const gate = closedGate()
    const words = Array.from({ length: 40 }, (_, i) => `word${i}`).join(' ')
    const wide = '| a column | another one | and a third |\n|---|---|---|\n| 日本語日本語 | `code` | text |'
    const { chat } = await room({
      script: [say(`${words}\n\n${wide}\n\nThe end.`, { hold: gate.opened, holdAfter: 20 })],
    })
    const pane = await chat([], { columns: 100, rows: 30 })
    await pane.enter('Go', 'word10')
    for (const columns of [40, 12, 3, 70]) await fits(pane, columns, 20)
    gate.open()
    await pane.shows('The end.')
    await fits(pane, 40, 20)
    await pane.until(() => /^chat · ⚓ session\/start.*%$/.test(pane.lines.at(-1)!), 'the status line')
    const screen = await pane.screen()
    expect(screen).toContain('The end.')
    expect(Math.max(...screen.split('\n').map((line) => line.length))).toBeLessThanOrEqual(40)
    await pane.press('C-d')
    expect(await pane.exit()).toBe(0)
  })

  test('keeps its scrollback, and what was there before it, when it is resized, stopped and unfolded', async () => {
    const answer = Array.from({ length: 40 }, (_, i) => `Answer ${i}.`).join('\n\n')
    const { run } = await room({ script: [call('bash', { command: 'seq 1 300' }), say(answer), say('Later.')] })
    const chat = `${process.execPath} ${program} chat --yes`
    const pane = run(['bash', '-c', `for i in $(seq 1 60); do echo "before $i"; done; ${chat}`], {
      columns: 80,
      rows: 20,
    })
    const redraw = async (...sizes: string[]) => {
      for (const size of sizes) {
        const [columns, rows] = size.split('x').map(Number)
        await fits(pane, columns!, rows!)
      }
    }
    const before = Array.from({ length: 60 }, (_, i) => `before ${i + 1}\n`)
    await pane.shows('Baton chat')
    await redraw('60x20', '100x30', '80x12', '80x20')
    // Nothing is lost as long as the chat does not fill the screen; what is narrower than a row was never wrapped.
    for (const line of before) expect(pane.text).toContain(line)
    await pane.enter('Go', 'Answer 39.')
    await redraw('40x20', '90x25', '80x20')
    for (const line of before) expect(pane.text).toContain(line)
    for (let i = 0; i < 40; i++) expect(pane.text).toContain(`Answer ${i}.`)
    await pane.press('C-o')
    await pane.shows('\n  123\n')
    expect(pane.text).toContain('before 1\n')
    await pane.enter('And?', 'Later.')
    expect(pane.text.split('Later.')).toHaveLength(2)
  })

  test('shows what the model says on a screen of five rows too', async () => {
    const { chat } = await room({ script: [say('The answer.')] })
    const pane = await chat([], { columns: 20, rows: 5 })
    await pane.enter('Well?')
    await pane.until(() => pane.lines.includes('The answer.'), 'the answer')
    await atRest(pane)
    expect(await pane.screen()).toMatch(/The answer\.\n[\s\S]*⚓/)
  })

  test('neither a model nor a tool nor a file can steer it', async () => {
    const evil = '\x1b]0;pwned\x07\x1b[2J\x1b[H\x1b[31mred\x1b[0m \x9b31m \x1bP1$r0m\x1b\\ \u202egnirts\x07 end'
    const { chat, folder } = await room({
      script: [
        call('bash', { command: "printf '\\033]0;pwned\\007\\033[2J\\033[Hfrom a tool\\n'" }),
        call('fs_read', { path: 'evil.txt' }),
        say(`Said: ${evil}. [link](https://x.test/\x1b]0;pwned\x07)`),
      ],
    })
    fs.writeFileSync(path.join(folder, 'evil.txt'), evil)
    const pane = await chat(['--yes'])
    await pane.press('C-o')
    await pane.enter('Go \u202e', 'Said:')
    await pane.shows('% of 100k')
    expect(await pane.title).not.toContain('pwned')
    const screen = await pane.screen()
    expect(screen).toContain('› Go')
    expect(screen).toContain('from a tool')
    expect(screen).toMatch(/red .* end/)
    for (const steering of ['\u202e', '\x1b', '\x9b']) expect(screen).not.toContain(steering)
    expect(pane.styleOf('red')).toMatchObject({ color: -1 })
  })

  test('while a question is open, the status says nothing else, whatever ends meanwhile', async () => {
    const gate = closedGate()
    const both = [
      { id: 'call_1', name: 'bash', arguments: { command: 'echo asked' } },
      { id: 'call_2', name: 'fs_read', arguments: { path: 'note.txt' } },
    ]
    const { chat, folder } = await room({ script: [{ toolCalls: both }, say('Done.', { hold: gate.opened })] })
    fs.writeFileSync(path.join(folder, 'note.txt'), 'noted\n')
    const pane = await chat()
    await pane.enter('Go', 'allow once')
    // The call beside it has ended by the time its block is complete.
    await pane.until(() => pane.lines.some((line) => /fs\.read note\.txt · /.test(line)), 'the end of fs.read')
    expect(pane.lines.join('\n')).not.toMatch(/Waiting for the model|Running/)
    await pane.press('y')
    await pane.shows('Waiting for the model')
    gate.open()
    await pane.shows('Done.')
  })

  test('a question shows what would be hidden', async () => {
    const { chat } = await room({
      script: [call('bash', { command: 'echo safe\r\x1b[2Krm -rf \u202e/\u200b' }), say('ok')],
    })
    const pane = await chat()
    await pane.enter('Go', 'allow once')
    expect(await pane.screen()).toContain('echo safe␍␛[2Krm -rf \\u{202e}/\\u{200b}')
    await pane.press('n')
    await pane.shows('ok')
  })

  test('has no colours with NO_COLOR or --no-color', async () => {
    const { chat } = await room({ script: [say('# Title'), say('# Title')] })
    for (const pane of [await chat([], { env: { NO_COLOR: '1' } }), await chat(['--no-color', '--new'])]) {
      await pane.enter('Go', 'Title')
      expect(pane.styleOf('Title')).toMatchObject({ color: -1, bold: true })
      expect(pane.styleOf('› Go')).toMatchObject({ color: -1 })
    }
  })

  test.each([
    ['SIGTERM', 143],
    ['SIGHUP', 129],
    ['SIGINT', 130],
  ] as const)('%s ends the chat in the middle of a response, and the terminal is as it was', async (signal, code) => {
    const { chat } = await room({ script: [say('A response', { hold: new Promise(() => {}), holdAfter: 1 })] })
    const pane = await chat()
    await pane.enter('Go', 'A respon')
    process.kill(await pane.pid(), signal)
    expect(await pane.exit()).toBe(code)
    const again = await chat()
    await again.shows('chat continues')
    expect(again.text).not.toContain('The last run ended')
  })

  test('a store that breaks under an open chat is reported without an end of reports, and the chat can be left', async () => {
    const { chat, folder } = await room({ script: [] })
    const pane = await chat()
    await pane.shows('⚓ session/start')
    const data = path.join(folder, '.local/share/baton')
    const tapes = path.join(data, fs.readdirSync(data)[0]!, 'tape')
    fs.renameSync(tapes, `${tapes}-gone`)
    fs.writeFileSync(tapes, 'not a folder')
    await pane.enter('Go', 'ENOTDIR')
    await pane.press('C-c', 'C-c') // the first clears the prompt, which was given back
    const code = await pane.exit()
    expect([code, pane.text]).toEqual([1, expect.stringContaining('ENOTDIR')])
    expect(pane.text.match(/✗/g)!.length).toBeLessThan(3) // as the turn that failed, and as what else did
  })

  test('a crash of the chat itself restores the terminal and is reported', async () => {
    const { run, folder } = await room()
    const crash = path.join(folder, 'crash.mjs')
    fs.writeFileSync(crash, `process.on('SIGUSR2', () => { throw new Error('the roof fell in') })\n`)
    const pane = run([process.execPath, '--import', crash, program, 'chat'])
    await pane.shows('⚓ session/start')
    process.kill(await pane.pid(), 'SIGUSR2')
    await pane.shows('the roof fell in')
    expect(await pane.exit()).toBe(1)
    expect(pane.text).toContain('baton: unexpected failure, please report it')
  })

  test.for(['Ctrl-Z', 'SIGTSTP', 'SIGSTOP'] as const)('goes to the background by %s and comes back', async (how) => {
    const { run } = await room({ script: [say('Still here.')] })
    const pane = run(['bash', '--norc', '-i'], { env: { PS1: '$ ' } })
    await pane.shows('$')
    await pane.enter(`${process.execPath} ${program} chat`, '⚓ session/start')
    if (how === 'Ctrl-Z') await pane.press('C-z')
    else process.kill(await pane.jobPid(), how)
    await pane.shows('Stopped')
    await pane.enter('clear; echo in the shell')
    await pane.until(() => pane.lines[0] === 'in the shell', 'the shell')
    await pane.enter('fg')
    await pane.until(() => pane.lines.some((line) => line.includes('⚓')), 'the chat')
    await pane.enter('hello', 'Still here.')
    expect(pane.text).not.toContain('no shell')
    await pane.press('C-d')
    await pane.until(() => pane.lines.findLast((line) => line !== '') === '$', 'the shell')
    await pane.enter('stty -a | grep -o -- "-*icanon"', '\nicanon')
    expect(pane.text).not.toContain('-icanon\n')
  })

  test('an Enter that was typed before it came back sends what was typed', async () => {
    const { chat, server } = await room({ script: [say('Still here.')] })
    const pane = await chat()
    await pane.shows('⚓ session/start')
    const pid = await pane.pid()
    process.kill(pid, 'SIGSTOP')
    // As a shell sets it: Enter becomes a line feed.
    execFileSync('stty', ['-F', fs.readlinkSync(`/proc/${pid}/fd/0`), 'icanon', 'icrnl', 'echo'])
    await pane.type('hello\r')
    await pane.shows('hello')
    process.kill(pid, 'SIGCONT')
    await pane.shows('Still here.')
    expect(server.requests[0]!.messages[0]!.text).toBe('hello')
    await pane.press('C-d')
    expect(await pane.exit()).toBe(0)
  })

  test('has nowhere to go to with Ctrl-Z where no shell has started it, and stays', async () => {
    const { chat } = await room({ script: [say('Still here.')] })
    const pane = await chat()
    await pane.shows('⚓ session/start')
    await pane.press('C-z')
    await pane.shows('There is no shell to go back to')
    await pane.enter('hello', 'Still here.')
    await pane.press('C-d')
    expect(await pane.exit()).toBe(0)
  })

  test('a tape that another chat has open is left to it', async () => {
    const { chat, run } = await room({ script: [say('one')] })
    const first = await chat()
    await first.enter('hello', 'one')
    const second = await chat()
    await second.shows(/chat is open in another chat \(process \d+ on .*\), so this is a new session/)
    await second.shows('chat-2 · ⚓')
    const third = run([process.execPath, program, 'chat', '--tape', 'chat'])
    await third.shows('baton: chat is open in another chat')
    expect(await third.exit()).toBe(3)
  })

  test('resumes the last session of the folder; --new starts one, --tape names one', async () => {
    const { chat, folder } = await room({ script: [say('one'), say('two')] })
    const first = await chat()
    await first.enter('the first words', 'one')
    await first.press('C-d')
    expect(await first.exit()).toBe(0)
    const resumed = await chat()
    await resumed.shows('chat continues')
    expect(resumed.text).toContain('› the first words')
    await resumed.press('Up')
    await resumed.until(() => resumed.text.split('the first words').length === 3, 'the words in the editor')
    await resumed.press('C-c')
    await resumed.press('C-d')
    await resumed.exit()
    const fresh = await chat(['--new'])
    await fresh.shows('chat-2 · ⚓')
    expect(fresh.text).not.toContain('the first words')
    await fresh.press('C-d')
    await fresh.exit()
    const named = await chat(['--tape', 'plans: ä/b'])
    await named.shows('plans: ä/b · ⚓')
    await named.press('C-d')
    await named.exit()
    expect(fs.existsSync(path.join(folder, '.baton'))).toBe(false)
    const last = await chat()
    await last.shows('plans: ä/b · ⚓')
  })
})
