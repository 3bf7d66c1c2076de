import { expect, test } from 'vitest'
import { AnswerBlock } from '../../src/cli/chat/screen/answer-block.ts'
import { themeOf } from '../../src/cli/chat/screen/theme.ts'
import { ToolBlock } from '../../src/cli/chat/screen/tool-block.ts'

const theme = themeOf(false)

function block(name: string, input: unknown, folded = true): ToolBlock {
  return new ToolBlock(name, input, { folded }, theme)
}

function lines(drawn: { render(width: number): string[] }): string[] {
  // oxlint-disable-next-line no-control-regex
  return drawn.render(60).map((line) => line.replaceAll(/\u001b\[[\d;]*m/g, '').trimEnd())
}

test('an edit shows what it changed, also while it is folded', () => {
  const edit = block('fs.edit', { path: 'a.ts', old_string: 'one\ntwo\nthree', new_string: 'one\n2\nthree' })
  edit.end('Edited a.ts at line 1', false)
  expect(lines(edit)).toEqual(['● fs.edit a.ts · 1 line', '  - two', '  + 2'])
})

test('a file that was written shows its first lines', () => {
  const write = block('fs.write', {
    path: 'a.txt',
    content: Array.from({ length: 40 }, (_, i) => `line ${i}`).join('\n'),
  })
  write.end('Wrote a.txt', false)
  expect(lines(write)).toHaveLength(18)
  expect(lines(write).at(-1)).toBe('  … 24 more lines (ctrl+o shows them)')
})

test('a command shows the end of its output while it runs', () => {
  const run = block('bash', { command: 'make' })
  for (let i = 1; i <= 9; i += 1) run.stream(`step ${i}\n`)
  expect(lines(run)).toEqual(['◌ bash make · 9 lines', '  step 5', '  step 6', '  step 7', '  step 8', '  step 9'])
})

test('lines are those of the command, and those that were left out are not counted', () => {
  const run = block('bash', { command: 'ls' })
  run.end('Exit code: 0\nWall time: 0.1 s\nOutput:\na\nb', false)
  expect(lines(run)).toEqual(['● bash ls · 2 lines'])
  const long = block('bash', { command: 'seq 1 5000' })
  long.end(
    'Exit code: 0\nWall time: 0.1 s\nOutput:\n1\n[… 9 of 99 bytes left out; all of it: blob.read sha256=x …]\n5000',
    false,
  )
  expect(lines(long)).toEqual(['● bash seq 1 5000 · more than 6 lines'])
})

test('the reason of a failed command is not a notice of npm', () => {
  const run = block('bash', { command: 'npm test' })
  const said =
    'Exit code: 1\nWall time: 2 s\nOutput:\n✗ adds numbers\n2 tests failed\nnpm notice New version of npm\nnpm notice'
  run.end(said, false)
  expect(lines(run)[0]).toBe('● bash npm test · exit 1: 2 tests failed')
})

test.each([
  ['one paragraph', '', 'word '],
  ['one block of code', '```ts\n', 'const a = 1\n'],
])(
  'an answer of 290 kB in %s is drawn as it comes, in seconds',
  (_, first, unit) => {
    const answer = new AnswerBlock(theme)
    answer.append(first)
    const text = unit.repeat(Math.floor(290_000 / unit.length))
    for (let at = 0; at < text.length; at += 5_000) {
      answer.append(text.slice(at, at + 5_000))
      answer.render(80)
    }
    const drawn = lines(answer)
    expect(drawn.filter((line) => line.includes('```')).length).toBeLessThanOrEqual(2)
    expect(
      drawn
        .join(' ')
        .split(/\s+/)
        .filter((word) => word === unit.trim().split(' ')[0]).length,
    ).toBeGreaterThan(20_000)
  },
  30_000,
)
