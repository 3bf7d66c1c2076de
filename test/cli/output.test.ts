import { expect, test } from 'vitest'
import { Output, width } from '../../src/cli/base/output.ts'
import { ioOf } from './cli.ts'

const rows = [
  ['NAME', 'ENTRIES', 'ABOUT'],
  [
    'a-rather-long-name-of-a-task-of-ours',
    '12,345',
    'words that need more than the terminal has, 一些宽字符也在这里，它们占两列',
  ],
  ['short', '1', 'fits'],
]

function table(columns: number | undefined): string[] {
  const io = ioOf(import.meta.dirname)
  const terminal = columns === undefined ? {} : { isTTY: true, columns }
  const stdout = Object.assign(io.stdout, terminal)
  new Output({ io: { ...io, stdout } }).table(rows, [1])
  return stdout.text.split('\n').slice(0, -1)
}

test.for([120, 80, 60, 40])('a table stays within %i columns, and cuts nothing', (columns) => {
  const lines = table(columns)
  expect(Math.max(...lines.map(width))).toBeLessThanOrEqual(columns)
  const letters = (texts: readonly string[]) => Array.from(texts.join('').replaceAll(/\s+/g, '')).toSorted().join('')
  expect(letters(lines)).toBe(letters(rows.flat()))
  expect(lines.at(-1)).toMatch(/^short +1 +fits$/)
})

test('in a pipe a record of a table is one line, however long', () => {
  expect(table(undefined)).toHaveLength(rows.length)
})
