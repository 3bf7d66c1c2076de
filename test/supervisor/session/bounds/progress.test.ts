import { expect, test } from 'vitest'
import { temporaryFolder } from '../../../support/workspace.ts'
import { comparable, runCheck } from '../../../../src/supervisor/session/bounds/progress.ts'

/** What a test runner prints, with the times of that run. */
function report(times: readonly number[]): string {
  const tests = Array.from(
    { length: 200 },
    (_, i) => `ok ${i} - the test of shelf ${i}\n  duration_ms: ${times[i % times.length]}`,
  )
  return [...tests, '# pass 199', '# fail 1', `# duration_ms ${times[0]}`].join('\n')
}

/** As agents shorten an output for their model. */
function shortened(output: string): string {
  const cut = output.length - 10_000
  return `${output.slice(0, 5_000)}\n... [${cut} characters truncated] ...\n${output.slice(-5_000)}`
}

test('the same tests, run again, are no progress, wherever an agent cuts their output [C10]', () => {
  const [first, second] = [report([0.1, 12.25]), report([0.13455, 1.5, 2.125])]
  expect(shortened(first)).not.toBe(shortened(second))
  expect(comparable(shortened(first))).toBe(comparable(shortened(second)))
  expect(comparable(shortened(first))).not.toBe(comparable(shortened(first.replace('# fail 1', '# fail 2'))))
})

test('a check that fails in the same way is recognised, however long it took and however much it prints [C19]', async () => {
  const cwd = temporaryFolder()
  const print = (step: number) =>
    runCheck(
      `awk 'BEGIN { for (i = 0; i < 9000; i++) print "test", i, i * ${step} "ms"; exit 1 }'`,
      cwd,
      AbortSignal.timeout(60_000),
    )
  const [first, second] = [await print(1), await print(1.5)]
  expect(first).toMatchObject({ code: 1, output: expect.stringContaining('test 8999 8999ms') })
  expect(second.output).not.toBe(first.output)
  expect(second.plain).toBe(first.plain)
})
