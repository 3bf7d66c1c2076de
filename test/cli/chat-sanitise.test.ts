import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sanitise, visible } from '../../src/cli/chat/screen/sanitise.ts'
import { runs } from '../support/full.ts'

const steering = (text: string) =>
  Array.from(text).some((character) => {
    const code = character.codePointAt(0)!
    return (code < 32 && character !== '\n') || (code >= 127 && code < 160) || (code >= 0x202a && code <= 0x202e)
  })
const nasty = fc
  .array(
    fc.oneof(
      fc.constantFrom('\x1b', '[', ']', '0;', '\x07', '\x9b', 'm', '\r', '\n', '\x1bP', '\\', '\u202e'),
      fc.string({ unit: 'grapheme' }),
    ),
  )
  .map((parts) => parts.join(''))

test('no text steers the terminal, whatever it is made of', () => {
  fc.assert(
    fc.property(nasty, (text) => {
      expect(steering(sanitise(text))).toBe(false)
      expect(steering(visible(text))).toBe(false)
      expect(sanitise(sanitise(text))).toBe(sanitise(text))
    }),
    { numRuns: runs(2_000) },
  )
})

test('colours, titles and bars that write over themselves become what a person saw', () => {
  expect(sanitise('\x1b[1;31merror\x1b[0m: \x1b]8;;https://x.test\x1b\\link\x1b]8;;\x1b\\')).toBe('error: link')
  expect(sanitise('10%\r50%\r100%\ndone\r\n')).toBe('100%\ndone\n')
  expect(sanitise('a\tb')).toBe('a    b')
  expect(sanitise('naïve 日本語 👩‍👩‍👧')).toBe('naïve 日本語 👩‍👩‍👧')
  expect(sanitise('an unfinished \x1b[31')).toBe('an unfinished ')
})

test('what a person decides about shows every character', () => {
  expect(visible('rm \x1b[8mx\r\n\u200b\u{e0041}')).toBe('rm ␛[8mx␍\n\\u{200b}\\u{e0041}')
})
