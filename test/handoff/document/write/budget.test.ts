import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { LimitError } from '../../../../src/errors.ts'
import { fit } from '../../../../src/handoff/document/write/budget.ts'
import { compose } from '../../../../src/handoff/document/write/compose.ts'
import { type HandoffDocument, sectionOf } from '../../../../src/handoff/document/document.ts'
import { makeDocument } from '../../../../src/handoff/document/write/make.ts'
import { parseDocument } from '../../../../src/handoff/document/markdown/parse.ts'
import { validate } from '../../../../src/handoff/document/check/validate.ts'
import type { Ledger } from '../../../../src/handoff/ledger/facts.ts'
import { type CountTokens, tokenCounter } from '../../../../src/tape/index.ts'
import { anyDocument, anyText } from '../documents.ts'
import { runs, sample } from '../../../support/full.ts'
import { busy, changed, ledgerOf } from '../ledgers.ts'

let count: CountTokens
beforeAll(async () => {
  count = await tokenCounter()
})

const header = { tape: 'main', created: '2026-01-22T14:30:00Z' }

/** What fits, or undefined where a LimitError names a budget that does. */
function fitted(document: HandoffDocument, budget: number) {
  try {
    return fit(document, budget, count)
  } catch (error) {
    expect(error).toBeInstanceOf(LimitError)
    const least = Number(/at least (\d+)/.exec((error as Error).message)![1])
    expect(least).toBeGreaterThan(budget)
    expect(fit(document, least, count).tokens).toBeLessThanOrEqual(least)
    return undefined
  }
}

const id = fc.integer({ min: 1, max: 900 })
const texts = fc.oneof(
  anyText,
  fc.tuple(anyText, fc.integer({ min: 1, max: 400 })).map(([text, times]) => text.repeat(times)),
)
const anyLedger: fc.Arbitrary<Ledger> = fc
  .record(
    {
      goal: fc.record({ text: texts, id }),
      lastRequest: fc.record({ text: texts, id }),
      instructions: fc.array(
        fc.record({
          text: texts,
          id,
          standing: fc.array(texts, { maxLength: 2 }),
        }),
      ),
      files: fc.array(
        fc.tuple(texts, id).map(([path, lastId]) => changed(path, { lastId, added: lastId })),
        { maxLength: 60 },
      ),
      failures: fc.array(
        fc.record({
          what: texts,
          message: texts,
          tail: texts,
          role: fc.constant('check' as const),
          kind: fc.constant('test' as const),
          times: id,
          firstId: id,
          lastId: id,
        }),
      ),
      todos: fc.array(
        fc.record({
          text: texts,
          id,
          status: fc.constantFrom('pending' as const, 'in_progress' as const, 'completed' as const),
        }),
      ),
      decisions: fc.array(
        fc.record({
          text: texts,
          why: texts,
          id,
          by: fc.constant('user' as const),
          source: fc.constant('plan' as const),
        }),
      ),
      lastWords: fc.record({ text: texts, id }),
    },
    { requiredKeys: [] },
  )
  .map(ledgerOf)

const repeated = [
  ['one letter', 'a'],
  ['words', 'lorem ipsum '],
  ['Chinese', '交接文件'],
  ['emoji', '👩‍👩‍👧‍👦'],
  ['blanks', ' '],
  ['dashes', '-'],
  ['backticks', '`'],
  ['lines', 'x\n'],
] as const

describe('the budget', () => {
  test('is never exceeded by any document, and what fits reads back [H13]', () => {
    fc.assert(
      fc.property(anyDocument, fc.integer({ min: 20, max: 1_500 }), (document, budget) => {
        const result = fitted(document, budget)
        if (result === undefined) return
        expect(count(result.markdown)).toBeLessThanOrEqual(budget)
        expect(parseDocument(result.markdown)).toEqual(result.document)
      }),
      { numRuns: runs(300), endOnFailure: true },
    )
  })

  test('is never exceeded by any ledger, and the document stays valid [H10] [H13]', () => {
    const profile = fc.constantFrom('session' as const, 'cycle' as const)
    fc.assert(
      fc.property(anyLedger, profile, fc.integer({ min: 100, max: 3_000 }), (ledger, profile, budget) => {
        const result = fitted(compose(ledger, { ...header, profile }), budget)
        if (result === undefined) return
        expect(count(result.markdown)).toBeLessThanOrEqual(budget)
        expect(parseDocument(result.markdown)).toEqual(result.document)
        expect(
          validate(result.document).filter((problem) => problem.kind === 'missing' || problem.kind === 'empty'),
        ).toEqual([])
      }),
      { numRuns: runs(150), endOnFailure: true },
    )
  })

  test.each(sample(repeated, 3))('holds for 10 MB of %s, in seconds [H13]', async (_, part) => {
    const text = part.repeat(10_000_000 / part.length)
    const ledger = ledgerOf({
      goal: { text, id: 1 },
      lastWords: { text, id: 2 },
      instructions: [{ text, id: 1, standing: [text.slice(0, 400)] }],
      failures: [
        { what: 'make', message: text, tail: text, kind: 'command', role: 'check', times: 1, firstId: 3, lastId: 3 },
      ],
    })
    const started = process.cpuUsage()
    for (const budget of [500, 4_000]) {
      const { tokens, markdown } = await makeDocument(ledger, { ...header, budget })
      expect(tokens).toBe(count(markdown))
      expect(tokens).toBeLessThanOrEqual(budget)
    }
    // Of CPU time: on a busy machine the clock says little.
    expect(process.cpuUsage(started).user).toBeLessThan(30e6)
  })

  test('counts what does not fit, with the command that shows it [H13]', async () => {
    const files = Array.from({ length: 3_000 }, (_, at) =>
      changed(`src/m${at % 40}/f${at}.ts`, { lastId: 1 + (at % 900) }),
    )
    const { markdown, document, leftOut } = await makeDocument({ ...busy, files }, { ...header, budget: 1_000 })
    const shown = sectionOf(document, 'files')!.items.length
    expect(shown).toBeGreaterThan(90)
    expect(document.header.leftOut).toMatch(/^\d{6}$/)
    expect(markdown).toContain(`Look up: baton show main#1..900 --left-out ${document.header.leftOut}`)
    expect(markdown).toMatch(
      new RegExp(`… and ${3_000 - shown} more: --section files|## Files \\(\\+${3_000 - shown}\\)`),
    )
    expect(sectionOf(document, 'files')!.omitted!.command).toBe(
      `baton show main#1..900 --left-out ${document.header.leftOut} --section files`,
    )
    expect(leftOut.find(({ key }) => key === 'files')!.items).toHaveLength(3_000 - shown)
    for (const constraint of ['Never touch the files under legacy/.', 'Use argon2 instead of bcrypt.'])
      expect(markdown).toContain(constraint)
    for (const todo of ['Update the API documentation', 'Remove the old endpoint']) expect(markdown).toContain(todo)
    expect(markdown).toContain('npx vitest run')
  })

  test('shortens quotes and tails before it drops a fact, and says so [H13]', async () => {
    const files = Array.from({ length: 60 }, (_, at) => changed(`src/part/file${at}.ts`))
    const words = 'and then some more of the same story, '.repeat(60)
    const ledger = ledgerOf({
      goal: { text: `Build the importer. ${words}`, id: 1 },
      failures: [
        {
          what: 'make',
          message: 'broken',
          tail: words,
          kind: 'command',
          role: 'check',
          times: 1,
          firstId: 3,
          lastId: 3,
        },
      ],
      files,
    })
    const { markdown, document } = await makeDocument(ledger, { ...header, budget: 700 })
    expect(sectionOf(document, 'files')!.items).toHaveLength(60)
    expect(markdown).toMatch(/Build the importer\..*\[…\d+ characters…\]/)
  })

  test('keeps a long request of the user whole where there is room for it [H13]', async () => {
    const values = Array.from({ length: 120 }, (_, at) => `- shelf ${at} is SH-${1_000 + 7 * at}`).join('\n')
    const ledger = ledgerOf({ goal: { text: `Fill the shelves.\n${values}\nThat is all.`, id: 1 } })
    const roomy = await makeDocument(ledger, { ...header, budget: 4_000 })
    for (const value of ['SH-1000', 'SH-1420', 'SH-1833']) expect(roomy.markdown).toContain(value)
    const tight = await makeDocument(ledger, { ...header, budget: 1_000 })
    expect(tight.markdown).not.toContain('SH-1420')
  })

  test('is 2,000 tokens unless said otherwise, and names the least that will do [H13]', async () => {
    const text = 'word '.repeat(2_000)
    const ledger = ledgerOf({
      goal: { text, id: 1 },
      todos: Array.from({ length: 500 }, (_, at) => ({
        text: `todo ${at} ${text}`,
        status: 'pending' as const,
        id: 3,
      })),
    })
    const { tokens } = await makeDocument(ledger, header)
    expect(tokens).toBeGreaterThan(1_700)
    expect(tokens).toBeLessThanOrEqual(2_000)
    await expect(makeDocument(ledger, { ...header, budget: 50 })).rejects.toThrow(/takes at least \d+/)
  })

  test('costs no more for thousands of facts than for those it shows [H13]', async () => {
    const files = Array.from({ length: 20_000 }, (_, at) =>
      changed(`packages/p${at % 300}/src/file${at}.ts`, { lastId: at }),
    )
    const todos = Array.from({ length: 5_000 }, (_, at) => ({
      text: `Look at part ${at} of the list`,
      status: 'pending' as const,
      id: 3,
    }))
    const document = compose(ledgerOf({ files, todos }), header)
    const started = process.cpuUsage()
    fit(document, 2_000, count)
    // Far more than it takes, and far less than to look at each of them in turn.
    // Of CPU time: on a busy machine the clock says little.
    expect(process.cpuUsage(started).user).toBeLessThan(30e6)
  })
})

test('in a small budget, wishes about single files do not crowd out rules, files and what is open [H13]', async () => {
  const wishes = Array.from({ length: 60 }, (_, i) => ({
    text: `The list in src/area${i}/view.ts must only load ${i} rows at a time.`,
    id: 10 + i,
    standing: [`The list in src/area${i}/view.ts must only load ${i} rows at a time.`],
  }))
  const rule = { text: 'Never touch the public API.', id: 2, standing: ['Never touch the public API.'] }
  const files = Array.from({ length: 40 }, (_, i) => changed(`src/area${i % 4}/part${i}.ts`, { lastId: 100 + i }))
  const ledger = ledgerOf({
    goal: { text: 'Build the shop', id: 1 },
    instructions: [rule, ...wishes],
    files,
    todos: [{ text: 'Write the parser', status: 'pending', id: 200 }],
  })
  const { markdown, document, tokens } = await makeDocument(ledger, { tape: 'main', budget: 400 })
  expect(tokens).toBeLessThanOrEqual(400)
  expect(markdown).toContain(rule.text)
  expect(markdown).toContain('Write the parser')
  expect(markdown).toMatch(/src\/area\d\/: part\d+\.ts, /)
  const told = document.sections.find((section) => section.key === 'files')!
  expect(told.items.length).toBeGreaterThan(25)
  expect(told.items.length + (told.omitted?.count ?? 0)).toBe(40)
  expect(parseDocument(markdown)).toEqual(document)
})
