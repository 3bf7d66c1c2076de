// What test runners print at the end, as a table: how many passed, failed and were skipped, and which runner says so.

export interface Summary {
  readonly runner: string
  readonly passed?: number
  readonly failed?: number
  readonly skipped?: number
  readonly ok: boolean
  readonly failing: readonly string[]
}

interface Style {
  readonly runner: string
  /** One of these is in every such output: looking for it is far cheaper than for the sign. */
  readonly hints: readonly string[]
  readonly sign: RegExp
  readonly passed?: RegExp
  readonly failed?: RegExp
  readonly skipped?: RegExp
  /** Says that the run failed whatever the counts are. */
  readonly broken?: RegExp
  readonly failing?: RegExp
  /** Where the details are missing, the list of results still names what failed. */
  readonly listed?: RegExp
}

const summaryStyles: readonly Style[] = [
  {
    runner: 'vitest',
    hints: ['Test Files', 'Tests  ', 'No test files'],
    sign: /^\s*Test Files\s+\d+ .*\(\d+\)|^\s*Tests\s{2,}\d+ .*\(\d+\)|^No test files found/m,
    passed: /^\s*Tests\s.*?(\d+) passed/gm,
    failed: /^\s*Tests\s.*?(\d+) failed/gm,
    skipped: /^\s*Tests\s.*?(\d+) skipped/gm,
    broken: /^\s*Test Files\s.*?[1-9]\d* failed|^\s*Errors\s+[1-9]\d* errors?|^No test files found/m,
    failing: /^\s*FAIL\s+(.+)$/gm,
  },
  {
    runner: 'jest',
    hints: ['Tests:'],
    sign: /^Tests:\s+.*\d+ total$/m,
    passed: /^Tests:\s.*?(\d+) passed/gm,
    failed: /^Tests:\s.*?(\d+) failed/gm,
    skipped: /^Tests:\s.*?(\d+) (?:skipped|todo)/gm,
    broken: /^Test Suites:\s.*?[1-9]\d* failed/m,
    failing: /^\s*● (.+)$/gm,
    listed: /^\s*[✕✗] (.+?)(?: \(\d+ m?s\))?$/gm,
  },
  {
    runner: 'pytest',
    hints: ['ed in ', 'error in ', 'errors in ', 'warning in ', 'warnings in '],
    sign: /^=*\s*(?:\d+ (?:passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?|subtests passed)(?:, )?)+ in [\d.]+s/m,
    passed: /^=*\s*.*?(\d+) passed.* in [\d.]+s/gm,
    failed: /^=*\s*(?:.*?, )?(\d+) (?:failed|errors?)\b.* in [\d.]+s/gm,
    skipped: /^=*\s*.*?(\d+) skipped.* in [\d.]+s/gm,
    failing: /^(?:FAILED|ERROR) (\S+)/gm,
  },
  {
    runner: 'unittest',
    hints: ['Ran '],
    sign: /^Ran \d+ tests? in [\d.]+s$/m,
    passed: /^Ran (\d+) tests? in/gm,
    failed: /^FAILED \((?:.*?(?:failures|errors)=(\d+))/gm,
    skipped: /^(?:OK|FAILED) \(.*?skipped=(\d+)/gm,
    broken: /^FAILED \(/m,
    failing: /^(?:FAIL|ERROR): (\S+)/gm,
  },
  {
    runner: 'cargo test',
    hints: ['test result:'],
    sign: /^test result: (?:ok|FAILED)\. \d+ passed/m,
    passed: /^test result: .*?(\d+) passed/gm,
    failed: /^test result: .*?(\d+) failed/gm,
    skipped: /^test result: .*?(\d+) ignored/gm,
    broken: /^test result: FAILED/m,
    failing: /^test (\S+) \.\.\. FAILED/gm,
  },
  {
    runner: 'go test',
    hints: ['ok ', 'ok\t', 'FAIL', '? '],
    sign: /^(?:ok|FAIL|---\sFAIL:|\?)\s+\S+.*(?:\d+(?:\.\d+)?s|\(cached\)|\[build failed\]|\[setup failed\]|\[no test files\])/m,
    broken: /^(?:FAIL\b|--- FAIL:)/m,
    failing: /^\s*--- FAIL: (\S+)/gm,
  },
  {
    runner: 'node --test',
    hints: ['pass '],
    sign: /^(?:#|ℹ) pass \d+$/m,
    passed: /^(?:#|ℹ) pass (\d+)$/gm,
    failed: /^(?:#|ℹ) fail (\d+)$/gm,
    skipped: /^(?:#|ℹ) skipped (\d+)$/gm,
    failing: /^\s*(?:not ok \d+ - |✖ )(.+?)(?: \([\d.]+ms\))?$/gm,
  },
  {
    runner: 'mocha',
    hints: ['passing'],
    sign: /^\s+\d+ passing\b/m,
    passed: /^\s+(\d+) passing\b/gm,
    failed: /^\s+(\d+) failing\b/gm,
    skipped: /^\s+(\d+) pending\b/gm,
    failing: /^\s+\d+\) (.+)$/gm,
  },
  {
    runner: 'bun test',
    hints: ['pass\n'],
    sign: /^\s*\d+ pass\n\s*\d+ fail$/m,
    passed: /^\s*(\d+) pass$/gm,
    failed: /^\s*(\d+) fail$/gm,
    skipped: /^\s*(\d+) skip$/gm,
    failing: /^\(fail\) (.+?)(?: \[[\d.]+ms\])?$/gm,
  },
  {
    runner: 'deno test',
    hints: ['passed |', 'passed ('],
    sign: /^(?:ok|FAILED) \| \d+ passed/m,
    passed: /^(?:ok|FAILED) \| (\d+) passed/gm,
    failed: /^(?:ok|FAILED) \|.*? (\d+) failed/gm,
    skipped: /^(?:ok|FAILED) \|.*? (\d+) ignored/gm,
    failing: /^(.+?) \.\.\. FAILED/gm,
  },
  {
    runner: 'rspec',
    hints: ['example'],
    sign: /^\d+ examples?, \d+ failures?/m,
    passed: /^(\d+) examples?,/gm,
    failed: /^\d+ examples?, (\d+) failures?/gm,
    skipped: /^\d+ examples?.*?(\d+) pending/gm,
    failing: /^rspec (\S+)/gm,
    listed: /^\s+\d+\) (.+)$/gm,
  },
  {
    runner: 'minitest',
    hints: ['assertions'],
    sign: /^\d+ (?:runs|tests), \d+ assertions, \d+ failures/m,
    passed: /^(\d+) (?:runs|tests), \d+ assertions/gm,
    failed: /^\d+ (?:runs|tests), \d+ assertions, (\d+) failures/gm,
    skipped: /^\d+ (?:runs|tests),.*?(\d+) skips/gm,
    broken: /^\d+ (?:runs|tests),.*? [1-9]\d* errors/m,
  },
  {
    runner: 'phpunit',
    hints: ['Tests: ', 'OK ('],
    sign: /^(?:OK \(\d+ tests?,|Tests: \d+, Assertions: \d+)/m,
    passed: /^(?:OK \(|Tests: )(\d+)/gm,
    failed: /^Tests: \d+,.*?(?:Failures|Errors): (\d+)/gm,
    skipped: /^Tests: \d+,.*?Skipped: (\d+)/gm,
    failing: /^\d+\) (\S+::\S+)/gm,
  },
  {
    runner: 'junit',
    hints: ['Tests run: '],
    sign: /Tests run: \d+, Failures: \d+, Errors: \d+/,
    passed: /^(?:\[\w+\] )?Tests run: (\d+), Failures: \d+, Errors: \d+, Skipped: \d+$/gm,
    failed: /^(?:\[\w+\] )?Tests run: \d+, Failures: (\d+), Errors: \d+, Skipped: \d+$/gm,
    skipped: /^(?:\[\w+\] )?Tests run: \d+, Failures: \d+, Errors: \d+, Skipped: (\d+)$/gm,
    broken: /Tests run: \d+, (?:Failures: [1-9]|Failures: \d+, Errors: [1-9])|BUILD FAILURE/,
  },
  {
    runner: 'gradle',
    hints: ['tests completed'],
    sign: /^\d+ tests completed, \d+ failed/m,
    passed: /^(\d+) tests completed/gm,
    failed: /^\d+ tests completed, (\d+) failed/gm,
  },
  {
    runner: 'dotnet test',
    hints: ['ed!'],
    sign: /^(?:Passed|Failed)!\s+- Failed:\s+\d+/m,
    passed: /Passed:\s+(\d+)/g,
    failed: /!\s+- Failed:\s+(\d+)/g,
    skipped: /Skipped:\s+(\d+)/g,
  },
  {
    runner: 'playwright',
    hints: ['passed (', 'failed\n'],
    sign: /^\s+\d+ passed \([\d.]+m?s\)$|^\s+\d+ failed\n\s+\[/m,
    passed: /^\s+(\d+) passed\b/gm,
    failed: /^\s+(\d+) failed$/gm,
    skipped: /^\s+(\d+) skipped$/gm,
    failing: /^\s{4}\[\S+\] › (.+)$/gm,
  },
  {
    runner: 'ctest',
    hints: ['tests passed'],
    sign: /^\d+% tests passed, \d+ tests failed out of \d+/m,
    passed: /tests failed out of (\d+)/g,
    failed: /^\d+% tests passed, (\d+) tests failed/gm,
  },
  {
    runner: 'swift test',
    hints: ['Executed '],
    sign: /Executed \d+ tests?, with \d+ failures?/,
    passed: /Executed (\d+) tests?, with/g,
    failed: /Executed \d+ tests?, with (\d+) failures?/g,
  },
]

/** Runners whose first count is the total, not what passed. */
const totalStyles = new Set(['unittest', 'rspec', 'minitest', 'phpunit', 'junit', 'gradle', 'ctest', 'swift test'])
/** The last line speaks for the whole; earlier ones are parts of it. */
const lastLineCounts = new Set(['junit', 'swift test', 'pytest', 'vitest', 'jest'])
const handful = 5

/** `runner` is what the command says it runs; its style is tried first. */
export function readSummary(text: string, runner?: string): Summary | undefined {
  // The result stands at the end.
  const end = text.slice(-nearEnd)
  if (!anyHint.test(end)) return undefined
  const own = runner === undefined ? undefined : summaryStyles.find((style) => style.runner === runner)
  const found =
    (own && partOf(end, own)) ??
    summaryStyles.reduce<Part | undefined>((found, style) => found ?? partOf(end, style), undefined)
  return found && count(text, found.text, found.style)
}

const nearEnd = 3_000

/** Most outputs are no results: one look tells, instead of one for each style. */
const anyHint = new RegExp(
  summaryStyles
    .flatMap(({ hints }) => hints)
    .map((hint) => hint.replaceAll(/[?()|]/g, String.raw`\$&`))
    .join('|'),
)

interface Part {
  readonly style: Style
  readonly text: string
}

/** The part of an output that shows a result in that style. */
function partOf(text: string, style: Style): Part | undefined {
  let first = -1
  for (const hint of style.hints) {
    const at = text.indexOf(hint)
    if (at >= 0 && (first < 0 || at < first)) first = at
  }
  if (first < 0) return undefined
  // From two lines above on: what comes before says nothing about the result.
  const part = text.slice(Math.max(0, text.lastIndexOf('\n', text.lastIndexOf('\n', first) - 1)))
  return style.sign.test(part) ? { style, text: part } : undefined
}

function count(text: string, part: string, style: Style): Summary {
  const { runner } = style
  const sum = (pattern: RegExp | undefined): number | undefined => {
    if (!pattern) return undefined
    const counts = [...part.matchAll(pattern)].map((match) => Number(match[1]))
    if (counts.length === 0) return undefined
    return lastLineCounts.has(runner) ? counts.at(-1) : counts.reduce((sum, count) => sum + count, 0)
  }
  const first = sum(style.passed)
  const counted = sum(style.failed)
  const skipped = sum(style.skipped)
  const broken = style.broken?.test(part) ?? false
  const names = broken || (counted ?? 0) > 0 ? failingIn(text, style) : []
  const failed = counted ?? (broken && names.length > 0 && runner === 'go test' ? names.length : undefined)
  const passed =
    first !== undefined && totalStyles.has(runner) ? Math.max(0, first - (failed ?? 0) - (skipped ?? 0)) : first
  return {
    runner,
    passed,
    ...(failed !== undefined ? { failed } : passed !== undefined && !broken && { failed: 0 }),
    ...(skipped !== undefined && { skipped }),
    ok: !broken && (failed ?? 0) === 0,
    failing: names,
  }
}

/** Files and packages that runners name in front of what failed in them: of Vitest and Jest, pytest, RSpec, Go. */
const failingPaths: readonly RegExp[] = [
  /^\s*FAIL\s+(?!\|)(\S+\.\w{1,5})(?=\s|$)/gm,
  /^(?:FAILED|ERROR) ([^\s:]+(?:::\S+)?)/gm,
  /^rspec (?:\.\/)?(\S+)/gm,
  /^FAIL\t(\S+)\t/gm,
]

/** The files, packages or single tests in them that failed, by all that the output names. */
export function failingPathsIn(text: string): string[] {
  const found = failingPaths.flatMap((pattern) => [...text.matchAll(pattern)].map(([, path = '']) => path))
  return [...new Set(found)]
}

function failingIn(text: string, { failing, listed }: Style): string[] {
  const named = (pattern: RegExp | undefined) =>
    pattern === undefined ? [] : [...text.matchAll(pattern)].map((match) => (match[1] ?? '').trim().slice(0, 200))
  const names = named(failing)
  return [...new Set(names.length > 0 ? names : named(listed))].slice(0, handful)
}
