// Vitest's own summary is made for people; CI reads one plain line, "N passed, N failed", as the last one printed.
import type { Reporter, TestModule } from 'vitest/node'

export default class PlainSummary implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const count = { passed: 0, failed: unhandledErrors.length, skipped: 0, pending: 0 }
    for (const module of modules) {
      const tests = [...module.children.allTests()]
      for (const test of tests) count[test.result().state] += 1
      // A file that cannot be loaded has no tests to count, and is a failure all the same.
      if (module.state() === 'failed' && !tests.some((test) => test.result().state === 'failed')) count.failed += 1
    }
    const skipped = count.skipped + count.pending
    const seed = process.env['BATON_TEST_SEED'] ?? ''
    const again = count.failed > 0 ? `BATON_TEST_SEED=${seed} npm test tries the same sample again\n` : ''
    const line = `${count.passed} passed, ${count.failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
    process.once('exit', () => process.stdout.write(`${again}${line}\n`))
  }
}
