import { expect, test } from 'vitest'
import { fileLines, readFileLine } from '../../../../src/handoff/document/markdown/file-lines.ts'
import type { FileNote } from '../../../../src/handoff/document/document.ts'

const file = (text: string, note: Partial<FileNote> = {}) => ({
  text,
  status: 'verified' as const,
  refs: [],
  file: { action: 'edited' as const, ...note },
})

test('files of a folder share a line, each by its whole name [H13]', () => {
  const items = ['src/shop/cart.ts', 'src/shop/order.ts', 'src/shop/tax/vat.ts', 'README.md'].map((path) => file(path))
  expect(fileLines(items, undefined, false).split('\n')).toEqual([
    '- edited src/shop/: cart.ts, order.ts, tax/vat.ts',
    '- edited README.md',
  ])
})

test('a file that shares no folder stands with its whole path, and a rename with both [H13]', () => {
  const items = [file('Makefile'), file('lib/new.go', { action: 'renamed', from: 'lib/old.go' })]
  expect(fileLines(items, undefined, false)).toBe('- edited Makefile\n- renamed lib/old.go → lib/new.go')
})

test('the braces of documents that older versions wrote are still read [H13]', () => {
  const paths = (line: string) => readFileLine(line, undefined, 'verified')?.map(({ text }) => text)
  expect(paths('edited src/{a/{x,y},b/z}.ts')).toEqual(['src/a/x.ts', 'src/a/y.ts', 'src/b/z.ts'])
  expect(paths('edited {a.ts,b.md}')).toEqual(['a.ts', 'b.md'])
  expect(paths('edited src/{a,b')).toBeUndefined()
})
