import { describe, expect, test } from 'vitest'
import { compose } from '../../../src/handoff/document/compose.ts'
import { type SectionKey, sectionOf } from '../../../src/handoff/document/document.ts'
import { makeDocument } from '../../../src/handoff/document/make.ts'
import { parseClaims, parseDocument } from '../../../src/handoff/document/parse.ts'
import { validate } from '../../../src/handoff/document/validate.ts'
import type { Ledger } from '../../../src/handoff/ledger/facts.ts'
import { busy, ledgerOf } from './ledgers.ts'

const header = { tape: 'main', created: '2026-01-22T14:30:00Z', contextUsage: 87, project: 'consilio' }

function texts(ledger: Ledger, key: SectionKey, options: Parameters<typeof compose>[1] = header): string[] {
  return sectionOf(compose(ledger, options), key)!.items.map((item) => item.text)
}

describe('a document from a ledger', () => {
  test.each(['session', 'cycle'] as const)('is complete without a model: %s [H10] [H13]', async (profile) => {
    const { document, markdown } = await makeDocument(busy, { ...header, profile })
    expect(validate(document, busy)).toEqual([])
    expect(parseDocument(markdown)).toEqual(document)
    expect(markdown).toContain('> User [#40]: Never touch the files under legacy/.')
    expect(markdown).toContain('baton show main#1..900')
    expect(markdown).toContain('edited src/auth/: index.ts +2 -1 #710, token.ts +120 -3 #640')
    expect(markdown).toContain('renamed docs/readme.md → docs/api.md #130')
    expect(markdown).toContain('AssertionError: expected 401 to be 200')
    expect(markdown).not.toContain('tmp/x.ts')
  })

  test.each(['session', 'cycle'] as const)('is valid even when nothing is known: %s [H10]', async (profile) => {
    const empty = ledgerOf({ range: undefined, span: undefined })
    const { document, markdown } = await makeDocument(empty, { profile })
    expect(validate(document, empty)).toEqual([])
    expect(parseDocument(markdown)).toEqual(document)
    expect(markdown).toContain('Context Usage: unknown')
  })

  test("keeps the user's words as the user's, and drops what they took back [H14]", () => {
    const items = sectionOf(compose(busy, header), 'constraints')!.items
    expect(items.map((item) => [item.text, item.by, item.refs])).toEqual([
      ['Never touch the files under legacy/.', 'user', ['main#40']],
      ['Use argon2 instead of bcrypt.', 'user', ['main#60']],
    ])
  })

  test('quotes of a long message the sentences that bind, word for word [H13]', () => {
    const text = `${'We talked about the layout of the page. '.repeat(20)}Never change the public API. ${'It was a nice talk. '.repeat(20)}`
    const ledger = ledgerOf({ instructions: [{ text, id: 5, kind: 'constraint' }] })
    expect(texts(ledger, 'constraints')).toEqual(['[…] Never change the public API. […]'])
  })

  test.each<[string, Partial<Ledger>, RegExp]>([
    ['a todo in progress', { todos: busy.todos, failures: busy.failures }, /^Finish: Write tests for rotation/],
    ['a failure', { failures: busy.failures, todos: busy.todos.slice(2) }, /^Fix `npx vitest run`: `AssertionError/],
    ['a pending todo', { todos: busy.todos.slice(2) }, /^Start: Update the API documentation/],
    ['a question', { questions: busy.questions }, /^Get the user's answer to: Should old tokens be revoked/],
    ['a call without a result', { inFlight: busy.inFlight }, /^See how far `npm run migrate` got/],
    ['a task in the background', { background: busy.background }, /^Check on `npm run dev`/],
    [
      'the last request',
      { lastRequest: busy.lastRequest, goal: busy.goal },
      /request is carried out: Now write the tests/,
    ],
    [
      'a request newer than the list',
      { lastRequest: busy.lastRequest, todos: busy.todos },
      /^Act on the user's request/,
    ],
    ['nothing', {}, /^Ask the user what to do/],
  ])('begins its next steps with %s [H10]', (_, facts, step) => {
    expect(texts(ledgerOf(facts), 'next')[0]).toMatch(step)
    expect(texts(ledgerOf(facts), 'next', { profile: 'cycle' })[0]).toMatch(step)
  })

  test('what the next session is for decides what is kept [H3]', async () => {
    const todos = Array.from({ length: 400 }, (_, at) => ({
      text: `Look at page ${at}`,
      status: 'pending' as const,
      id: 9,
    }))
    todos.push({ text: 'Review the refunds module', status: 'pending', id: 9 })
    const ledger = ledgerOf({ todos })
    const { markdown } = await makeDocument(ledger, { ...header, budget: 500, goal: 'finish refunds' })
    expect(markdown).toContain('Goal: finish refunds')
    expect(markdown).toContain('Review the refunds module')
    expect((await makeDocument(ledger, { ...header, budget: 500 })).markdown).not.toContain('refunds')
  })

  test('takes no secret with it, also where texts are cut [H14]', async () => {
    const secret = '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'
    const words = `${'a b '.repeat(40)}${secret} ${'c d '.repeat(3_000)}`
    const ledger = ledgerOf({ goal: { text: words, id: 1 }, lastWords: { text: words, id: 2 } })
    for (const budget of [300, 400, 600, 2_000]) {
      const { markdown, redacted } = await makeDocument(ledger, { ...header, budget })
      expect(markdown).not.toContain('ghp_')
      expect(redacted.get('GitHub token')).toBe(2)
    }
  })
})

describe('a narrative', () => {
  const narrative = parseClaims(`## Goal
Give the login API refresh tokens that rotate.
## Progress
### Done
- All tests pass.
- Write tests for rotation
- Wrote src/auth/rotate.ts
- Wrote src/invented/nothing.ts
## Key Decisions
- Keep one table
- Sign with ES256
## Next Steps
1. Make test/rotate.test.ts accept 401 after reuse
## Files
- src/everything.ts
`)

  test('adds claims, and the ledger has the last word on facts [H10] [H13]', () => {
    const document = compose(busy, { ...header, narrative })
    const done = sectionOf(document, 'done')!.items
    expect(done.filter((item) => item.status === 'claimed').map((item) => item.text)).toEqual([
      'Wrote src/auth/rotate.ts',
    ])
    expect(sectionOf(document, 'goal')!.items.map((item) => item.status)).toEqual(['verified', 'verified', 'claimed'])
    expect(sectionOf(document, 'next')!.items[0]).toMatchObject({
      text: 'Make test/rotate.test.ts accept 401 after reuse',
      status: 'claimed',
    })
    const decisions = sectionOf(document, 'decisions')!.items.map((item) => item.text)
    expect(decisions).toEqual(['Rotate on every use', 'Keep one table', 'Sign with ES256'])
    expect(sectionOf(document, 'files')!.items.map((item) => item.text)).not.toContain('src/everything.ts')
    expect(validate(document, busy)).toEqual([])
  })

  test('that says nothing changes nothing', () => {
    const nothing = parseClaims('## Goal\nTBD\n## Next Steps\n- Continue working\n## Key Decisions\n- None\n')
    const document = compose(busy, { ...header, narrative: nothing })
    expect(sectionOf(document, 'goal')!.items).toHaveLength(2)
    expect(sectionOf(document, 'next')!.items[0]!.status).toBe('verified')
  })
})
