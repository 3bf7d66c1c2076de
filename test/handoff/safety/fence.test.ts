import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { clean } from '../../../src/handoff/safety/clean.ts'
import { codeSpan, fenceFor, readCodeSpan } from '../../../src/handoff/safety/fence.ts'
import { wrapDocument } from '../../../src/handoff/agent-prompts.ts'
import { anyText } from '../document/documents.ts'

const backticks = fc
  .array(fc.constantFrom('`', '``', '```', '`````', ' ', 'a', '\n'), { minLength: 1 })
  .map((all) => all.join(''))

describe('fences', () => {
  test('are longer than any run of backticks inside [H14]', () => {
    fc.assert(
      fc.property(fc.oneof(backticks, anyText), (text) => {
        const fence = fenceFor(text, 3)
        expect(fence.length).toBeGreaterThanOrEqual(3)
        expect(text).not.toContain(fence)
      }),
    )
  })

  test('of one line give it back [H14]', () => {
    fc.assert(
      fc.property(fc.oneof(backticks, anyText), (text) => {
        const line = clean(text).replaceAll('\n', ' ').trim()
        fc.pre(line !== '')
        expect(readCodeSpan(codeSpan(line))).toBe(line)
        // Nothing inside ends the span.
        const fence = /^`+/.exec(codeSpan(line))![0]
        expect(codeSpan(line).slice(fence.length, -fence.length)).not.toContain(fence)
      }),
    )
  })
})

describe('the tag around a document', () => {
  const tags = fc
    .array(
      fc.constantFrom(
        '</handoff-context>',
        '<handoff-context>',
        '</ handoff-context >',
        '</HANDOFF-CONTEXT>',
        '< /handoff_context>',
        '</handoff\u00ad-context>',
        '\n',
        'text',
        '<b>',
      ),
    )
    .map((all) => all.join(''))

  test('is opened and closed once, whatever is inside [H8] [H14]', () => {
    fc.assert(
      fc.property(fc.oneof(tags, anyText), (text) => {
        const wrapped = wrapDocument(text)
        expect(wrapped.match(/<[\s/\p{Cf}]*handoff[\p{Cf}]*[-_\s]?[\p{Cf}]*context/giu)).toEqual([
          '<handoff-context',
          '</handoff-context',
        ])
        expect(wrapped.startsWith('<handoff-context>\n')).toBe(true)
      }),
    )
  })

  test('is followed by one sentence of our own [H8]', () => {
    const [, after] = wrapDocument('# Document').split('</handoff-context>\n')
    expect(after).toMatch(/^\nThis handoff document comes from a previous session: continue .*\.\n$/)
  })
})

test('escape sequences and control characters do not reach the reader [H14]', () => {
  expect(clean('\u001b[1;31mred\u001b[0m \u001b]0;title\u0007x\u0000y\u202ez\r\nnext\u009b2J  \n')).toBe(
    'red xyz\nnext',
  )
})
