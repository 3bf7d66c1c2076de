// Whether a shell script succeeded. Its exit status is believed where it can vouch for every program that ran; a pipe, a
// `;` or `|| true` hides a failure, and then the output decides. Output of programs that only read files decides nothing.

import { answersWithOne, onlyReads, readCheck, type Check } from './checks.ts'
import { programOf } from './file-effects.ts'
import type { ShellOutput } from '../tools/output.ts'
import { readScript, type Step } from './steps.ts'
import { readSummary, type Summary } from './test-summary.ts'
import { clip } from '../tools/tool-calls.ts'

/** What is kept of a step once its outcome is known. */
export interface StepRun {
  /** The words of the step, to recognise its repetition. */
  readonly key: string
  /** The program and its verb: what the same command with other arguments has in common with it. */
  readonly family: string
  readonly check: Check | undefined
  /** The success of the step proves nothing about the work. */
  readonly reads: boolean
  /** It only looks: what it prints is neither a failure nor a success of the work. */
  readonly looks: boolean
}

export interface CommandOutcome {
  readonly ok: boolean
  /** Programs that may have failed, or that succeeded for certain. */
  readonly runs: readonly StepRun[]
  /** Index of the step that failed, as far as can be told: the steps behind it with `&&` did not run. */
  readonly culprit: number | undefined
  readonly summary: Summary | undefined
  readonly test: StepRun | undefined
  readonly message: string | undefined
}

export function readOutcome(
  steps: readonly Step[],
  runs: readonly StepRun[],
  output: ShellOutput,
  isError: boolean,
): CommandOutcome {
  const works: number[] = []
  for (const [index, step] of steps.entries()) if (!runs[index]?.looks && !step.background) works.push(index)
  const text = output.head === output.tail ? output.head : `${output.head}\n${output.tail}`
  const failedByStatus = (output.exit !== undefined && output.exit !== 0) || isError || output.timedOut
  const tests = works.filter((index) => runs[index]?.check?.test)
  const summary = works.some((index) => mayTest(steps[index], runs[index]))
    ? readSummary(text, tests.length > 0 ? runs[tests.at(-1) ?? 0]?.check?.runner : undefined)
    : undefined
  const suspects = works.filter((index) => output.exit === undefined || steps[index]?.hidden)
  const trusted = suspects.length === 0

  if (failedByStatus && isAnswer(steps, output)) return done(true, undefined)
  if (failedByStatus) {
    const deciding = works.filter((index) => steps[index]?.decides)
    const tested = summary && !summary.ok ? tests.at(-1) : undefined
    const checked = checkThatFailed(deciding.filter((index) => runs[index]?.check))
    const culprit = tested ?? checked ?? deciding.at(-1) ?? lastDeciding(steps)
    return done(false, culprit)
  }
  if (summary && !summary.ok) return done(false, tests.at(-1) ?? suspects.at(-1) ?? works.at(-1))
  if (!trusted && !summary && hasFailed(text)) {
    return done(false, suspects.find((index) => runs[index]?.check) ?? suspects.at(-1))
  }
  return done(true, undefined)

  function done(ok: boolean, culprit: number | undefined): CommandOutcome {
    const test = tests.at(-1) ?? (summary === undefined ? undefined : ok ? works.at(-1) : culprit)
    const shown = test !== undefined && (summary !== undefined || !ok || !steps[test]?.hidden)
    const seen = (index: number): StepRun[] => {
      const run = index === test ? named(runs[index], summary, text) : runs[index]
      return run && !run.reads ? [run] : []
    }
    return {
      ok,
      runs: works.filter((index) => (ok ? proven(index) : mayHaveFailed(index, culprit))).flatMap(seen),
      culprit,
      summary,
      test: shown ? seen(test)[0] : undefined,
      message: ok ? undefined : messageOf(output, text, summary),
    }
  }

  /** Of checks joined by `&&` only those up to the failing one ran: the last one that the output names, else the first. */
  function checkThatFailed(checks: readonly number[]): number | undefined {
    if (checks.length < 2) return checks[0]
    const words = new Set(text.split(/[^\w:-]+/))
    return checks.findLast((index) => words.has(runs[index]?.check?.runner.split(' ').at(-1) ?? '')) ?? checks[0]
  }

  /** Nothing speaks against its success, and its output would have shown it. */
  function proven(index: number): boolean {
    const step = steps[index]
    if (!step?.sure) return false
    if (!step.hidden) return true
    return step.outputs.length === 0 && !step.filtered && (summary !== undefined || !runs[index]?.check?.test)
  }

  /** With a culprit that is a check, it alone failed; otherwise any that decides may have. */
  function mayHaveFailed(index: number, culprit: number | undefined): boolean {
    if (index === culprit || culprit === undefined) return true
    return !runs[culprit]?.check && steps[index]?.decides === true && index < culprit
  }
}

/** Scripts of the project run something that their output names: `> vitest run`, or the style of the summary. */
function named(run: StepRun | undefined, summary: Summary | undefined, text: string): StepRun | undefined {
  if (!run) return undefined
  const { check } = run
  if (!check) {
    if (!summary) return undefined
    return {
      ...run,
      check: { runner: summary.runner, test: true, cwd: '', selection: [run.key], filters: [], script: false },
    }
  }
  if (!check.script) return run
  const banner = bannerIn(text)
  const inner = banner
    ? readScript(banner, check.cwd)
        .steps.map(readCheck)
        .findLast((found) => found !== undefined && !found.script)
    : undefined
  if (inner && (!summary || inner.test)) {
    return {
      ...run,
      check: {
        ...inner,
        test: inner.test || summary !== undefined,
        selection: [...new Set([...inner.selection, ...check.selection])].sort(),
        filters: [...new Set([...inner.filters, ...check.filters])].sort(),
      },
    }
  }
  return summary ? { ...run, check: { ...check, runner: summary.runner, test: true } } : run
}

/** npm prints the line that it runs: `> name@1.0.0 test` and `> vitest run src`. */
function bannerIn(text: string): string | undefined {
  return /^> \S+@\S+ \S+.*\n> (.+)$/m.exec(text)?.[1] ?? /^\$ (.+)$/m.exec(text)?.[1]
}

/** The checks that a script of the project ran, as its output names them. */
export function checksNamed(text: string, { cwd }: Check): StepRun[] {
  const banner = bannerIn(text)
  if (banner === undefined) return []
  return readScript(banner, cwd).steps.flatMap((step) => {
    const run = toRun(step)
    return run.check && !run.check.script ? [run] : []
  })
}

export function toRun(step: Step): StepRun {
  if (onlyReads(step)) return lookingRun
  const program = programOf(step)
  const words = [step.cwd ?? '?', program]
  for (const { text } of step.args) words.push(text ?? '$')
  return {
    key: clip(words.join(' '), 500),
    family: familyOf(program, step),
    check: readCheck(step),
    reads: trivialPrograms.has(program),
    looks: false,
  }
}

function familyOf(program: string, { args }: Step): string {
  const verb = args[0]?.text
  return verb !== undefined && /^[a-z][a-z-]*$/.test(verb) ? `${program} ${verb}` : program
}

const lookingRun: StepRun = { key: '', family: '', check: undefined, reads: true, looks: true }

/** Programs that are known to run no tests. */
const neverTests = new Set(
  'git cp mv rm curl wget tar unzip docker ssh scp rsync apt apt-get brew pip pip3 chmod ln patch apply_patch'.split(
    ' ',
  ),
)

function mayTest(step: Step | undefined, run: StepRun | undefined): boolean {
  if (!step || !run || run.reads) return false
  return run.check ? run.check.test || run.check.script : !neverTests.has(programOf(step))
}

/** Programs whose success proves nothing and whose failure shows in a later command. */
const trivialPrograms = new Set(
  'mkdir touch cd chmod export set source . sleep trap umask alias unset ulimit'.split(' '),
)

function lastDeciding(steps: readonly Step[]): number | undefined {
  const index = steps.findLastIndex((step) => step.decides)
  return index < 0 ? undefined : index
}

/** `grep` found nothing: status 1, and nothing on the way complained. */
function isAnswer(steps: readonly Step[], output: ShellOutput): boolean {
  if (output.exit !== 1) return false
  const last = steps.findLast((step) => step.decides && step.program !== '')
  if (!last || !answersWithOne(last)) return false
  return !/No such file|not a git repository|command not found|Permission denied|invalid option/i.test(output.tail)
}

/** Signs of failure that programs of all kinds print; a count of zero is none. */
const failureSigns: readonly RegExp[] = [
  /^Traceback \(most recent call last\):/m,
  /\berror TS\d+:/,
  /^npm (?:ERR!|error)/m,
  /\bELIFECYCLE\b/,
  /^thread '.*' panicked at|^panic: |^fatal error: /m,
  /^error(?:\[E\d+\])?: /m,
  /^fatal: /m,
  /\bBUILD FAILED\b|^FAILURE: Build failed/m,
  /^make(?:\[\d+\])?: \*\*\* /m,
  /^✖ [1-9]\d* problems? \([1-9]\d* errors?/m,
  /^Found [1-9]\d* errors?\b/m,
  /^(?:Uncaught |Unhandled )?(?:\w+Error|\w+Exception)(?: \[\w+\])?: /m,
  /: command not found$|^sh: .*: not found$/m,
  /^(?:Segmentation fault|Bus error|Killed|Aborted)\b/m,
  /^\s*(?:FAIL|FAILED)\b(?!.*\b0 )/m,
  /\b[1-9]\d* (?:tests? )?failed\b|\b[1-9]\d* failing\b/i,
  /^ERROR: .*(?:failed|error)/im,
  /\bcompilation terminated\b|\bsyntax error near\b/,
]

function hasFailed(text: string): boolean {
  return failureSigns.some((sign) => sign.test(text))
}

const tellingLine =
  /\b(?:error|exception|failed|failure|fatal|panic(?:ked)?|cannot|can't|not found|no such|denied|refused|assert\w*|unexpected|undefined|timed out)\b|Error:|FAIL|✖|×|ERR!|错误|失败|エラー|Fehler|ошибка/i

/** A line that says where: `src/a.ts(3,1): error …`, `main.go:12:4: undefined: x`. */
const placedError = /^[^\s:(]*[\w/\\-]\.\w{1,5}(?::\d+|\(\d+)[^\n]*\s\S/
/** What a test wanted and what it got. */
const assertion =
  /^(?:E\s+)?(?:\w*(?:Assertion|Expectation)\w*\b.*|assert\b.*|(?:error|message): ['"`]?.*(?:expect|equal|actual).*|.*\bexpected\b.*\b(?:to|but|got|received|actual|found)\b.*)/i

/** What failed: the tests by name with the first assertion, else the first error with its place, else the line that says most. */
function messageOf(output: ShellOutput, text: string, summary: Summary | undefined): string {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  if (summary !== undefined && summary.failing.length > 0) {
    const why = lines.find((line) => assertion.test(line))
    return clip(`${summary.failing.slice(0, 3).join(', ')}${why === undefined ? '' : `: ${why}`}`, 300)
  }
  const placed = lines.find((line) => placedError.test(line))
  if (placed !== undefined) return clip(placed, 300)
  const python = lines.findLast((line) => /^(?:[\w.]*(?:Error|Exception|Interrupt|Exit))(?::|$)/.test(line))
  const telling =
    python ??
    lines.find((line) => tellingLine.test(line) && !/\b0 (?:errors?|failed|failures?)\b/.test(line)) ??
    lines.at(-1)
  const status = output.timedOut ? 'timed out' : output.exit === undefined ? 'failed' : `exit status ${output.exit}`
  return telling === undefined ? status : telling.slice(0, 300)
}

/** The end of an output, for the document. */
export function tailOf(text: string): string {
  const lines = text.trimEnd().split('\n')
  const tail = lines.slice(-15).join('\n')
  return tail.length <= 1_500 ? tail : `…${tail.slice(-1_499).replace(/^[\uDC00-\uDFFF]/, '')}`
}
