// How a document spends its tokens: each rule with a case where it applies and one where it does not.

import { describe, expect, test } from 'vitest'
import { sectionOf, type HandoffDocument, type SectionKey } from '../../../../src/handoff/document/document.ts'
import { compose } from '../../../../src/handoff/document/write/compose.ts'
import { makeDocument } from '../../../../src/handoff/document/write/make.ts'
import { shorten, shortenStart } from '../../../../src/handoff/document/write/shorten.ts'
import { renderMarkdown } from '../../../../src/handoff/document/markdown/render.ts'
import type { Failure, Instruction, Ledger } from '../../../../src/handoff/ledger/facts.ts'
import { changed, ledgerOf } from '../ledgers.ts'

const header = { tape: 'main', created: '2026-01-22T14:30:00Z' }

function texts(ledger: Ledger, key: SectionKey): string[] {
  return (sectionOf(compose(ledger, header), key)?.items ?? []).map(({ text }) => text)
}

function said(text: string, id: number, standing: string[] = []): Instruction {
  return { text, id, standing }
}

function failed(what: string, message: string): Failure {
  return {
    what,
    message,
    kind: 'test',
    role: 'check',
    exit: 1,
    times: 1,
    firstId: 30,
    lastId: 30,
    tail: `${message}\n`.repeat(9),
  }
}

describe('a text is cut', () => {
  test('where that saves something', () => {
    expect(shorten('word '.repeat(60), 160)).toMatch(/\[…\d+ characters…\]/)
  })
  test('and not where the mark of the cut would be as long as what is missing', () => {
    const text = 'word '.repeat(38).trim()
    expect(shorten(text, 160)).toBe(text)
    expect(shortenStart(text, 160)).toBe(text)
  })
  test('at its beginning, where the end says more', () => {
    expect(shortenStart(`${'word '.repeat(60)}end`, 160)).toMatch(/^\[…\d+ characters…\]\n[^]*end$/)
  })
})

describe('words that bind', () => {
  const rules = (later: string) => {
    const told = [
      'Payments are always retried through the gateway of the bank.',
      'Screens keep their colours, whatever the brand book says.',
      'Amounts stay in cents, also where carriers send euros.',
      'Photographs of customers never leave this machine.',
      'Public names follow the glossary of the translators.',
      'Nobody besides me merges branches.',
      'Migrations that have run anywhere stay untouched.',
      'Commit messages begin with an imperative verb.',
      'Helpers come from the standard library wherever it has them.',
      later,
    ]
    const instructions = [said('Build the shop.', 1), ...told.map((text, at) => said(text, at + 2, [text]))]
    return ledgerOf({ instructions: [...instructions, said('Now the labels.', 40)] })
  }
  const shown = async (later: string) => (await makeDocument(rules(later), { ...header, budget: 270 })).markdown

  test('go before the others only while no later words are about the same [H13]', async () => {
    const first = 'Payments are always retried'
    expect(await shown('Mails are sent at night, never during the day.')).toContain(first)
    const overtaken = await shown('From now on payments are retried by our own queue, not by the gateway.')
    expect(overtaken).toContain('retried by our own queue')
    expect(overtaken).not.toContain(first)
  })
})

test('in a small document what is still to be done comes before one more of many files [H13]', async () => {
  const todos = Array.from({ length: 6 }, (_, at) => ({
    text: `Port form ${at} of the old shop`,
    status: 'pending' as const,
    id: 5,
  }))
  const files = Array.from({ length: 60 }, (_, at) => changed(`src/area-${at % 7}/page-${at}.ts`))
  const { markdown } = await makeDocument(ledgerOf({ todos, files, instructions: [said('Port the shop.', 1)] }), {
    ...header,
    budget: 400,
  })
  for (const { text } of todos) expect(markdown).toContain(text)
  expect(markdown).toContain('page-0.ts')
})

describe('claims', () => {
  const document = (claims: number): HandoffDocument => ({
    profile: 'session',
    header,
    sections: [
      {
        key: 'decisions',
        items: [
          { text: 'Approved plan: Ship it', status: 'verified', refs: [] },
          ...Array.from({ length: claims }, (_, at) => ({ text: `Claim ${at}`, status: 'claimed' as const, refs: [] })),
        ],
      },
    ],
  })
  test('are marked once where several follow each other to the end', () => {
    expect(renderMarkdown(document(3))).toContain('- Approved plan: Ship it\nClaimed from here on:\n- Claim 0\n')
  })
  test('and one by one where there are only a few', () => {
    expect(renderMarkdown(document(2))).toContain('- Claim 0 (claimed)\n- Claim 1 (claimed)')
  })
})

describe("the user's words", () => {
  test('are quoted without the sentence that stands under what binds', () => {
    const ledger = ledgerOf({
      instructions: [
        said('Add the report. Amounts are always in cents.', 2, ['Amounts are always in cents.']),
        said('Now the footer of the page', 9),
        said('And the header of the page', 12),
      ],
      lastRequest: { text: 'And the header of the page', id: 12 },
    })
    expect(texts(ledger, 'constraints').join()).toContain('Amounts are always in cents.')
    expect(texts(ledger, 'context')).toContain('Add the report.')
  })
  test.each([
    ['Parquet by month', false],
    ['Parquet by month, and only those that the tax office may still ask for', true],
  ])('that answer a question, %j, are told again beside it only where they say much: %j', (text, again) => {
    const answered = { question: 'How are old reports kept?', answer: text }
    const ledger = ledgerOf({
      decisions: [{ text: `How are old reports kept? → ${text}`, answered, by: 'user', source: 'answer', id: 4 }],
      instructions: [said('Add the archive', 2), said(text, 4), said('Now the footer of the page', 9)],
      lastRequest: { text: 'Now the footer of the page', id: 9 },
    })
    expect(texts(ledger, 'decisions').join()).toContain(text)
    expect(texts(ledger, 'context').includes(text)).toBe(again)
  })
  test('are told once when they were said twice', () => {
    const ledger = ledgerOf({
      instructions: [
        said('Run the nightly import again', 2),
        said('Run the nightly import again', 5),
        said('Stop there please, and wait', 8),
      ],
      lastRequest: { text: 'Stop there please, and wait', id: 8 },
    })
    expect(texts(ledger, 'context').filter((text) => text.includes('nightly'))).toHaveLength(1)
  })
  test('of an answer come with the beginning of the question where room is short', async () => {
    const question = `Which currency should the ledger keep its books in, given that ${'the branches differ and '.repeat(8)}?`
    const ledger = ledgerOf({
      decisions: [
        { text: `${question} → euro`, answered: { question, answer: 'euro' }, by: 'user', source: 'answer', id: 4 },
      ],
      files: Array.from({ length: 300 }, (_, at) => changed(`src/area/part${at}.ts`)),
    })
    const { markdown } = await makeDocument(ledger, { ...header, budget: 500 })
    expect(markdown).toMatch(/- Which currency should the ledger keep .{0,40}… → euro/)
    expect((await makeDocument(ledger, { ...header, budget: 3_000 })).markdown).toContain(`${question} → euro`)
  })
})

describe('a rule', () => {
  const refusal = {
    ...said('prefer small commits to large ones', 5, ['prefer small commits to large ones']),
    refused: 'Edit src/a/b.ts',
  }
  const tagOf = (one: Instruction) =>
    sectionOf(compose(ledgerOf({ instructions: [one] }), header), 'constraints')!.items[0]!.tag
  test('is about a file when its words name one', () => {
    expect(tagOf(said('x', 5, ['The list in src/area/view.ts must only load ten rows.']))).toBe('ruleForFile')
  })
  test('and not when only the call that was refused with it does', () => {
    expect(tagOf(refusal)).toBeUndefined()
  })
})

describe('the last words of the assistant', () => {
  const ending = { state: 'interrupted', id: 9 } as const
  const request = {
    lastRequest: { text: 'Wire up the export page', id: 2 },
    instructions: [said('Wire up the export page', 2)],
  }
  test('are not told again where the next step quotes all of them', () => {
    const ledger = ledgerOf({
      ending,
      ...request,
      lastWords: { text: 'The table is done, the button is missing.', id: 8 },
    })
    expect(texts(ledger, 'next')[0]).toContain('the button is missing')
    expect(texts(ledger, 'context').join()).not.toContain('the button is missing')
  })
  test('and are told once where it quotes their end', async () => {
    const long = `The table has ${'a column for each month, '.repeat(30)}.\n\nNow the button, which is missing from every page of the export so far.`
    const ledger = ledgerOf({ ending, ...request, lastWords: { text: long, id: 8 } })
    const { markdown } = await makeDocument(ledger, { ...header, budget: 2_000 })
    expect(markdown.split('The table has a column for each month')).toHaveLength(2)
  })
  test('that ended the work are told once: their end with the next step, the rest under what was done', async () => {
    const text =
      'The export page works; it has a table and a button.\n\nShould the need arise, a chart could be added later on, too.'
    const ledger = ledgerOf({ ending: { state: 'answered', id: 9 }, ...request, lastWords: { text, id: 8 } })
    const { markdown } = await makeDocument(ledger, { ...header, budget: 2_000 })
    for (const part of ['it has a table and a button', 'a chart could be added'])
      expect(markdown.split(part)).toHaveLength(2)
  })
  test('of an earlier turn are not told as done where they only ask', () => {
    const replies = [
      { text: 'What would you like to know about the sequence of the steps?', id: 3 },
      { text: 'The parser reads all three formats now, and is tested.', id: 6 },
    ]
    const told = texts(ledgerOf({ ...request, replies }), 'done').join()
    expect(told).toContain('all three formats')
    expect(told).not.toContain('sequence of the steps')
  })
})

describe('the next steps that an anchor notes', () => {
  const noted = { id: 20, name: 'phase-1', state: { summary: 'done', next_steps: 'Write the exporter for receipts' } }
  const request = { lastRequest: { text: 'Build the importer', id: 2 }, instructions: [said('Build the importer', 2)] }
  const answered = { state: 'answered', id: 22 } as const
  test('come first, also where the agent said afterwards that it had noted them', () => {
    const words = { lastWords: { text: 'I have noted where the work stands.', id: 22 } }
    expect(texts(ledgerOf({ noted, ending: answered, ...request, ...words }), 'next')).toEqual([
      'Write the exporter for receipts',
    ])
  })
  test('and are past once work was done or something was asked', () => {
    const worked = ledgerOf({ noted, ending: answered, ...request, files: [changed('src/export.ts', { lastId: 21 })] })
    const asked = ledgerOf({ noted, ending: answered, lastRequest: { text: 'Now the footer', id: 21 } })
    for (const ledger of [worked, asked]) expect(texts(ledger, 'next').join()).not.toContain('exporter')
  })
})

test('a todo that the first step is about is no second step', () => {
  const todos = [
    { text: 'Migrate the invoices', status: 'in_progress', id: 6 },
    { text: 'Migrate the receipts', status: 'pending', id: 6 },
  ] as const
  const steps = texts(ledgerOf({ todos: [...todos], ending: { state: 'interrupted', id: 9 } }), 'next')
  expect(steps.filter((step) => step.includes('invoices'))).toHaveLength(1)
})

describe('at 500 tokens', () => {
  const ledger = ledgerOf({
    ending: { state: 'interrupted', id: 90, during: 'npm run migrate' },
    goal: { text: 'Move the shop to the new billing engine', id: 1 },
    lastRequest: { text: 'Now migrate the invoices of last year', id: 80 },
    instructions: [
      said('Move the shop to the new billing engine', 1),
      said('Amounts are always in cents.', 3, ['Amounts are always in cents.']),
      ...Array.from({ length: 40 }, (_, at) => said(`Have a look at what report number ${at} says about it`, 4 + at)),
      said('Now migrate the invoices of last year', 80),
    ],
    failures: [
      failed('npm test', 'AssertionError: expected 1 to be 2'),
      failed('npm run lint', 'error: unused import'),
    ],
    todos: [{ text: 'Write the rollback', status: 'pending', id: 70 }],
    files: Array.from({ length: 50 }, (_, at) => changed(`src/billing/part${at}.ts`, { lastId: at })),
    decisions: Array.from({ length: 40 }, (_, rank) => ({
      text: `The engine number ${rank} keeps its own books, because auditors want that.`,
      by: 'assistant' as const,
      source: 'said' as const,
      id: 9,
      rank,
    })),
  })
  test('the state, the next step, what binds and the names of open failures are there', async () => {
    const { markdown, tokens } = await makeDocument(ledger, { ...header, budget: 500 })
    expect(tokens).toBeLessThanOrEqual(500)
    for (const fact of [
      'Interrupted in the middle of `npm run migrate`',
      'migrate the invoices of last year',
      'Amounts are always in cents.',
    ])
      expect(markdown).toContain(fact)
    for (const fact of ['`npm test` exit 1', '`npm run lint` exit 1', 'Write the rollback', 'src/billing/: part'])
      expect(markdown).toContain(fact)
    expect(markdown).not.toContain('AssertionError')
  })
  test('and with more room, what the failures said', async () => {
    const { markdown } = await makeDocument(ledger, { ...header, budget: 3_000 })
    expect(markdown).toContain('AssertionError: expected 1 to be 2')
  })
})
