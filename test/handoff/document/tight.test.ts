import { expect, test } from 'vitest'
import { makeDocument } from '../../../src/handoff/document/make.ts'
import { parseDocument } from '../../../src/handoff/document/parse.ts'
import { changed, ledgerOf } from './ledgers.ts'

test('in a small budget, wishes about single files do not crowd out rules, files and what is open [H13]', async () => {
  const wishes = Array.from({ length: 60 }, (_, i) => ({
    text: `The list in src/area${i}/view.ts must only load ${i} rows at a time.`,
    id: 10 + i,
    kind: 'constraint' as const,
  }))
  const rule = { text: 'Never touch the public API.', id: 2, kind: 'constraint' as const }
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
  expect(markdown).toMatch(/src\/\{?area\d\/\{part\d+,/)
  const told = document.sections.find((section) => section.key === 'files')!
  expect(told.items.length).toBeGreaterThan(25)
  expect(told.items.length + (told.omitted?.count ?? 0)).toBe(40)
  expect(parseDocument(markdown)).toEqual(document)
})
