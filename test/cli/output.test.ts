import { expect, test } from 'vitest'
import { Output, width } from '../../src/cli/base/output.ts'
import { ioOf } from './cli.ts'

const rows = [
  ['NAME', 'ABOUT'],
  [
    'a-rather-long-name-of-a-task-of-ours',
    'words that need more than the terminal has, and 一些宽字符也在这里，它们占两列',
  ],
  ['short', 'fits'],
]

function table(columns: number | undefined): string[] {
  const io = ioOf(import.meta.dirname)
  const terminal = columns === undefined ? {} : { isTTY: true, columns }
  const stdout = Object.assign(io.stdout, terminal)
  new Output({ io: { ...io, stdout } }).table(rows)
  return stdout.text.split('\n').slice(0, -1)
}

test.for([80, 60, 40])('a table stays within %i columns where it can, and cuts nothing', (columns) => {
  const lines = table(columns)
  const room = columns - 'a-rather-long-name-of-a-task-of-ours'.length - 2
  if (room >= 20) expect(Math.max(...lines.map(width))).toBeLessThanOrEqual(columns)
  expect(lines.join('').replaceAll(/\s+/g, '')).toBe(rows.flat().join('').replaceAll(/\s+/g, ''))
  expect(lines.at(-1)).toMatch(/^short +fits$/)
})

test('in a pipe a record of a table is one line, however long', () => {
  expect(table(undefined)).toHaveLength(rows.length)
})
