import { expect, test } from 'vitest'
import { isLeftDraft, lastWords } from '../../../src/supervisor/drivers/screen.ts'
import { styledRows } from '../../../src/supervisor/drivers/picture.ts'

test.each([
  ['plain', [{ text: 'plain', style: {} }]],
  [
    '\u001B[1;38;5;208mwarm\u001B[22;39m rest',
    [
      { text: 'warm', style: { bold: true, color: 208 } },
      { text: ' rest', style: {} },
    ],
  ],
  ['\u001B[48;2;1;2;255mblue', [{ text: 'blue', style: { background: '#0102ff' } }]],
  ['\u001B[38:2::1:2:3;4:3mwaves', [{ text: 'waves', style: { color: '#010203', underline: true } }]],
  ['\u001B[4m\u001B[4:0mnone', [{ text: 'none', style: {} }]],
  ['\u001B[97;100mgrey', [{ text: 'grey', style: { color: 15, background: 8 } }]],
  [
    '\u000Elqk\u000F box',
    [
      { text: '┌─┐', style: {} },
      { text: ' box', style: {} },
    ],
  ],
  ['\u001B]8;;https://a.example\u001B\\link\u001B]8;;\u001B\\', [{ text: 'link', style: {} }]],
])('a row of a picture is told with its style: %j', (row, runs) => {
  expect(styledRows(row)).toEqual([runs])
})

test('a style lasts until it is changed, also over rows', () => {
  expect(styledRows('\u001B[7mone\ntwo')[1]).toEqual([{ text: 'two', style: { inverse: true } }])
})

test('the last words of a program are what it said after its question [C16]', () => {
  const screen = [
    ' Is this a project you trust?',
    ' ❯ No, exit',
    '   Yes, I trust this folder',
    '',
    ' Enter to confirm · Esc to cancel',
    "Claude Code didn't start because this folder isn't trusted.",
    'Pane is dead (status 1)',
  ]
  expect(lastWords(screen)).toBe("Claude Code didn't start because this folder isn't trusted.")
  expect(lastWords(['Error: no such model', ''])).toBe('Error: no such model')
  const trace = ['Stack backtrace:', '   0: <unknown>', '   1: main', '  at run (x.js:1:2)', 'Node.js v20.20.2']
  const settings = ['Error: loading settings.toml', '/home/owl/settings.toml:20:33: unclosed table']
  expect(lastWords(['WARNING: going on', ...settings, '', ...trace])).toBe(settings.join(' '))
})

test('a sign for a paste is ours where it gives the size of what was typed, as each agent draws it [C5]', () => {
  const long = Array.from({ length: 40 }, (_, i) => `row ${i} 🏃`).join('\n')
  const [units, characters] = [long.length, long.length - 40]
  for (const sign of [
    '[Pasted Text: 40 lines]',
    '[Pasted text #1 +39 lines]',
    '[paste #2 +40 lines]',
    `[paste #1 ${units} chars]`,
    `[Pasted Content ${characters} chars]`,
  ])
    expect(isLeftDraft(sign, long), sign).toBe(true)
  for (const draft of ['[Pasted Text: 41 lines]', `[paste #1 ${units + 1} chars]`, 'and [Pasted Text: 40 lines]'])
    expect(isLeftDraft(draft, long), draft).toBe(false)
  expect(isLeftDraft('[Pasted Text: 3 lines]', 'one\ntwo\nthree')).toBe(false)
})
