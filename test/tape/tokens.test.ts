import fc from 'fast-check'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { expect, test } from 'vitest'
import { tokenCounter } from '../../src/tape/index.ts'
import { plainText } from '../../src/tape/tokens.ts'

const signs = Array.from(" \r\n\t/aZz9_.('sdLlVvEeRrT…→×“’✓─\u2028ª①")
const plain = { disallowedSpecial: new Set<string>() }

test('tokens are counted as the published o200k tokenizer counts them', async () => {
  const count = await tokenCounter()
  const texts = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 300 }),
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc.string({ unit: fc.constantFrom(...signs), maxLength: 300 }),
    fc
      .array(fc.constantFrom('const ', 'läuft', ' 请把', 'AbCd', '\n\n  ', '0xff', '<|endoftext|>', "don't", 'ssss'))
      .map((all) => all.join('')),
  )
  fc.assert(
    fc.property(texts, (text) => {
      expect(count(text)).toBe(countTokens(text, plain))
    }),
  )
})

test('a text is plain if no letter, digit or space of it is beyond ASCII', () => {
  const units = Array.from({ length: 0xff80 }, (_, at) => String.fromCharCode(0x80 + at))
  const plain = units.filter((unit) => plainText.test(unit))
  expect(plain).toContain('→')
  expect(plain.filter((unit) => /[\p{L}\p{N}\p{M}\s\p{Cs}]/u.test(unit))).toEqual([])
})
