import { describe, expect, it } from 'vitest'
import { hasTerm, haystackOf, sharedWith, termsOf } from '../../../../src/handoff/ledger/words/terms.ts'
import { announces, asks, proseOf, sentencesOf } from '../../../../src/handoff/ledger/words/sentences.ts'

describe('the terms of a text', () => {
  it.each([
    ['do it for me, and so on', []],
    ['the API of src/api.ts', ['api', 'src/api.ts']],
    ['indentation', ['inden']],
    ['不要修改测试', ['不要', '修改', '测试']],
    ['テストを変更しないで', ['テスト', '変更']],
    ['тесты', ['тест']],
  ])('[H13] %s', (text, stems) => {
    expect([...termsOf(text).keys()]).toEqual(stems)
  })

  it('[H13] names weigh more than words, and long words more than short ones', () => {
    const terms = termsOf('keep the formatter away from maxLineLength')
    expect(terms.get('maxlinelength')).toBeGreaterThan(terms.get('away')!)
    expect(terms.get('forma')).toBeGreaterThan(terms.get('keep')!)
  })

  it.each([
    ['the limit is 5', 'limi', true],
    ['const maxLimit = 5', 'limi', true],
    ['delimiters', 'limi', false],
    ['PreparedStatement', 'statem', true],
    ['提交到主分支', '主分支', true],
  ])('[H13] in %j, %j is %s', (text, stem, found) => {
    expect(hasTerm(haystackOf(text), stem)).toBe(found)
  })

  it('[H13] are shared in part', () => {
    expect(sharedWith(termsOf('customer addresses'), termsOf('addresses'))).toBe(0.5)
    expect(sharedWith(termsOf('a b'), termsOf('a b'))).toBe(0)
  })
})

describe('sentences', () => {
  it('[H13] end as each script ends them, and lists have one in each item', () => {
    expect(sentencesOf('One. Two! 三。四？\n- five\n2) six। seven')).toEqual([
      'One.',
      'Two!',
      '三。',
      '四？',
      'five',
      'six।',
      'seven',
    ])
  })

  it.each(['Really?', '真的吗？', 'هل هذا صحيح؟', '**Shall I?** 🙂'])('[H13] ask: %s', (text) => {
    expect(asks(text)).toBe(true)
  })

  it('[H13] announce what follows with a colon', () => {
    expect([announces('This is it:'), announces('日志如下：'), announces('a: b')]).toEqual([true, true, false])
  })

  it('[H13] of an assistant are its prose, not its code, tables, headings and quotes', () => {
    expect(proseOf('# Done\n**Fixed** it.\n```\ncode. more.\n```\n| a | b |\n> quoted\n- and this')).toEqual([
      'Fixed it.',
      'and this',
    ])
  })
})
