import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compose } from '../../../../src/handoff/document/write/compose.ts'
import { diffDocuments, renderDiff } from '../../../../src/handoff/document/check/diff.ts'
import { anyDocument } from '../documents.ts'
import { busy, changed } from '../ledgers.ts'

describe('two documents', () => {
  const header = { tape: 'main', created: '2026-01-22T14:30:00Z' }
  const before = compose(busy, header)
  const after = compose(
    {
      ...busy,
      files: [
        ...busy.files.slice(1),
        changed('src/auth/token.ts', { added: 150, removed: 3, lastId: 890 }),
        changed('src/new.ts'),
      ],
      failures: [],
      todos: busy.todos.map((todo) =>
        todo.text === 'Remove the old endpoint' ? { ...todo, text: 'Remove the old login endpoint' } : todo,
      ),
    },
    { ...header, contextUsage: 40 },
  )

  test('are compared section by section [H15]', () => {
    const diff = diffDocuments(before, after)
    expect(diff.header).toEqual([{ field: 'contextUsage', to: 40 }])
    const of = (key: string) => diff.sections.find((section) => section.section === key)!
    expect(of('files').added.map((item) => item.text)).toEqual(['src/new.ts'])
    expect(of('files').changed.map(({ to }) => to.text)).toEqual(['src/auth/token.ts'])
    expect(of('pending').changed.map(({ from, to }) => [from.text, to.text])).toEqual([
      ['Remove the old endpoint', 'Remove the old login endpoint'],
    ])
    expect(of('failures').removed).toHaveLength(1)
    expect(renderDiff(diff)).toContain('~ edited src/auth/token.ts +120 -3\n  → edited src/auth/token.ts +150 -3')
    expect(renderDiff(diff)).toContain('+ edited src/new.ts')
  })

  test('that are the same have no difference [H15]', () => {
    fc.assert(
      fc.property(anyDocument, (document) => {
        const diff = diffDocuments(document, document)
        expect(diff.sections).toEqual([])
        expect(renderDiff(diff)).toBe('No difference')
      }),
    )
  })
})
