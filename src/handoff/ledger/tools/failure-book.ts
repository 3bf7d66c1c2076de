// What failed and whether it was put right. Only a later success that covers a failure resolves it: the same command, or
// the same program on at least the same part of the work.

import { covers, type Check, impliedRunners, isGlob, isInside } from '../shell/checks.ts'
import type { Closed, Failure, Quote } from '../facts.ts'
import { type StepRun, toRun } from '../shell/outcome.ts'
import { readScript } from '../shell/steps.ts'
import { line } from './tool-calls.ts'

interface Open {
  fact: { -readonly [key in keyof Failure]: Failure[key] }
  /** What still has to succeed. */
  waiting: Need[]
  attempt: Attempt
  /** Why it is of no concern, although nothing has put it right. */
  closed?: Closed
}

/** How the failed command can be told from the same one with other arguments. */
interface Attempt {
  readonly families: readonly string[]
  /** It complained in a line or two, naming no place in a file. */
  readonly isBrief: boolean
  /** What of it failed, where its output tells all of that. */
  readonly failed?: FailedParts
}

/** The part of a test run that failed: files or packages, and tests by name. Either list is complete or empty. */
export interface FailedParts {
  readonly runner: string
  readonly paths: readonly string[]
  readonly tests: readonly string[]
  /** The tests that the message names, each with where it stands. */
  readonly named: readonly { readonly test: string; readonly path: string }[]
}

/** So many of the newest failures are compared, part by part, with every run that passes. */
const mostInParts = 500

const noAttempt: Attempt = { families: [], isBrief: false }

/** A run that must succeed, or something done about one of these subjects: either will do. */
interface Need {
  readonly run?: StepRun
  readonly subjects?: readonly string[]
}

export class FailureBook {
  readonly #open = new Map<string, Open>()
  readonly #resolved: Failure[] = []
  /** Where to look when something succeeds: subjects, words of runs and programs, each with the failures that wait for it. */
  readonly #waiting = new Map<string, Set<string>>()
  /** By program and verb: the failures that the same command with other arguments would replace. */
  readonly #replaceable = new Map<string, Set<Open>>()
  /** The failures of which it is known what failed, as far as they are compared with what passes. */
  readonly #inParts = new Set<string>()

  fail(
    key: string,
    failure: Omit<Failure, 'times' | 'firstId' | 'resolvedBy' | 'closed'>,
    needs: readonly Need[],
    attempt: Attempt = noAttempt,
  ): void {
    const known = this.#open.get(key)
    const { firstId = failure.lastId, times = 0 } = known?.fact ?? {}
    const open: Open = { fact: { ...failure, firstId, times: times + 1 }, waiting: [...needs], attempt }
    this.#open.set(key, open)
    for (const mark of needs.flatMap(marksOf)) addTo(this.#waiting, mark, key)
    if (failure.role !== 'check' || attempt.isBrief)
      for (const family of attempt.families) addTo(this.#replaceable, family, open)
    if (known) this.#keep(known)
    if (attempt.failed === undefined) return void this.#inParts.delete(key)
    this.#inParts.add(key)
    if (this.#inParts.size > mostInParts) for (const oldest of this.#inParts) return void this.#inParts.delete(oldest)
  }

  /** A file was changed. */
  changed(id: number): void {
    this.#lastChange = Math.max(this.#lastChange, id)
  }

  /** The entry of the last change of a file; 0: none. */
  get lastChange(): number {
    return this.#lastChange
  }
  #lastChange = 0

  /** Books a success. */
  succeed(runs: readonly StepRun[], subjects: readonly string[], id: number): void {
    if (this.#open.size === 0) return
    this.#replace(runs, id)
    for (const subject of subjects) this.#settle(subject, runs, subjects, id)
    for (const run of runs) for (const mark of marksSettledBy(run)) this.#settle(mark, runs, subjects, id)
  }

  /** Tests passed that are a part of what failed: once all that failed has passed, the rest had passed before. */
  passedPart({ check }: StepRun, id: number): void {
    if (check === undefined) return
    for (const key of this.#inParts) {
      const open = this.#open.get(key)
      const failed = open?.attempt.failed
      if (open === undefined || failed?.runner !== check.runner) continue
      const paths = failed.paths.filter((path) => !(check.filters.length === 0 && isSelected(path, check)))
      const tests = failed.tests.filter((test) => !check.filters.some((filter) => namesTest(filter, test)))
      if (paths.length === failed.paths.length && tests.length === failed.tests.length) continue
      open.attempt = { ...open.attempt, failed: { ...failed, paths, tests } }
      const isPassed = (now: readonly string[], before: readonly string[]) => now.length === 0 && before.length > 0
      if (isPassed(paths, failed.paths) || isPassed(tests, failed.tests)) this.#resolve(key, open, id)
      else nameOnly(open, failed, check)
    }
  }

  /** The same checks failed with the same message while the work was put aside: they failed before it. */
  failedBefore(runs: readonly StepRun[], message: string | undefined, id: number): void {
    for (const open of this.#open.values()) {
      const isSame = open.waiting.every(
        ({ run }) => run && runs.some((each) => settles(each, run) || isAlike(each, run)),
      )
      if (isSame && open.fact.message === message) open.closed = { reason: 'before', id }
    }
  }

  /** Unresolved and resolved, in the order in which they first failed. */
  facts(): Failure[] {
    const open = [...this.#open.values()].map(({ fact, closed }): Failure => (closed ? { ...fact, closed } : fact))
    return [...this.#resolved, ...open].sort((a, b) => a.firstId - b.firstId)
  }

  /**
   * The same program succeeded with other arguments while no file was changed: the failure was about the arguments. A check
   * that reported on the work, rather than complained about its arguments, needs more than that.
   */
  #replace(runs: readonly StepRun[], id: number): void {
    for (const { family } of runs) {
      for (const open of this.#replaceable.get(family) ?? []) {
        if (open.closed === undefined && this.#lastChange <= open.fact.lastId) open.closed = { reason: 'replaced', id }
      }
      // A file that was changed behind a failure stays changed: whatever was not closed now never will be.
      this.#replaceable.delete(family)
    }
  }

  /** Nothing can replace it any more. */
  #keep(open: Open): void {
    for (const family of open.attempt.families) this.#replaceable.get(family)?.delete(open)
  }

  #settle(mark: string, runs: readonly StepRun[], subjects: readonly string[], id: number): void {
    const holders = this.#waiting.get(mark)
    if (!holders) return
    for (const key of holders) {
      const open = this.#open.get(key)
      if (open) {
        open.waiting = open.waiting.filter(
          (need) =>
            !need.subjects?.some((subject) => subjects.includes(subject)) &&
            !(need.run && runs.some((run) => settles(run, need.run!))),
        )
        if (open.waiting.length > 0) continue
        this.#resolve(key, open, id)
      }
      holders.delete(key)
    }
    if (holders.size === 0) this.#waiting.delete(mark)
  }

  #resolve(key: string, open: Open, id: number): void {
    this.#open.delete(key)
    this.#inParts.delete(key)
    this.#keep(open)
    const { tail: _, ...fact } = open.fact
    const unchanged = this.#lastChange <= fact.lastId && { unchanged: true as const }
    this.#resolved.push({ ...fact, resolvedBy: id, closed: { reason: 'passed', id, ...unchanged } })
  }
}

function addTo<Item>(index: Map<string, Set<Item>>, name: string, item: Item): void {
  const items = index.get(name)
  if (items) items.add(item)
  else index.set(name, new Set([item]))
}

function marksOf({ run, subjects = [] }: Need): readonly string[] {
  if (run === undefined) return subjects
  const { key, check } = run
  if (!check) return [...subjects, `run ${key}`]
  const marks = [`run ${key}`, `check ${check.runner}`]
  for (const filter of check.filters) marks.push(`filter ${check.runner} ${filter}`)
  // A part is covered by itself and by each folder above it; one part is enough to be found by.
  for (
    let path = check.selection[0] ?? check.cwd;
    path !== '';
    path = path.slice(0, Math.max(0, path.search(/(?:\/|::?)[^/:]*$/)))
  ) {
    marks.push(`check ${check.runner} ${path}`)
  }
  return marks
}

/** Where the failures are that the success of a run may put right. */
function marksSettledBy({ key, check }: StepRun): readonly string[] {
  const own = `run ${key}`
  if (!check) return [own]
  // What is limited by a filter covers only what is limited by it, too.
  const [filter] = check.filters
  const marked = (runner: string) => (filter === undefined ? `check ${runner}` : `filter ${runner} ${filter}`)
  const isWhole = check.selection.length === 0 || check.selection.some(isGlob)
  const selected = check.selection.map((path) => `check ${check.runner} ${path}`)
  return [own, ...impliedRunners(check).map(marked), ...(isWhole ? [marked(check.runner)] : selected)]
}

/** Takes the tests that passed since out of what a failure names; how the run ended that named them is of the past, too. */
function nameOnly(open: Open, failed: FailedParts, check: Check): void {
  const isPassed = ({ test, path }: FailedParts['named'][number]) =>
    check.filters.length === 0 ? isSelected(path, check) : check.filters.some((filter) => namesTest(filter, test))
  const named = failed.named.filter((each) => !isPassed(each))
  if (named.length === 0 || named.length === failed.named.length) return
  const { tail: _, ...fact } = open.fact
  open.fact = { ...fact, message: named.map(({ test }) => test).join(', ') }
  open.attempt = { ...open.attempt, failed: { ...open.attempt.failed!, named } }
}

/** A package of Go is named with its module, which a command leaves out. */
function isSelected(path: string, { selection }: Check): boolean {
  return selection.some((each) => isInside(path, each) || (each !== '' && path.endsWith(`/${each}`)))
}

/** `-run TestLogin`, `-t 'signs in'`, `net::dns`: the filter of a run, and a test by its whole name. */
function namesTest(filter: string, test: string): boolean {
  const wanted = filter.replace(/^-\S+ /, '').replaceAll(/^\^|\$$/g, '')
  return wanted.length >= 4 && test.includes(wanted)
}

/** Whether both are the same program, on whatever part of the work: what it complains about tells the rest. */
function isAlike(one: StepRun, other: StepRun): boolean {
  return one.check !== undefined && one.check.runner === other.check?.runner
}

function settles(success: StepRun, failure: StepRun): boolean {
  if (success.key === failure.key) return true
  return success.check !== undefined && failure.check !== undefined && covers(success.check, failure.check)
}

/** Commands that failed, found by what would put them right: a long session has thousands of them, and of those that succeeded. */
export class FailedCommands {
  readonly #byMark = new Map<string, Set<FailedCommand>>()

  constructor(failures: readonly Pick<Failure, 'what' | 'lastId'>[]) {
    for (const { what, lastId } of failures) {
      const runs = runsIn(what)
      const [run] = runs
      for (const mark of run === undefined ? [] : marksOf({ run })) addTo(this.#byMark, mark, { what, runs, lastId })
    }
  }

  /** Those which a success of that command says would succeed too, as far as their texts tell. */
  includedIn(passed: string): FailedCommand[] {
    if (this.#byMark.size === 0) return []
    const found = runsIn(passed)
    return found
      .flatMap(marksSettledBy)
      .flatMap((mark) => [...(this.#byMark.get(mark) ?? [])])
      .filter(({ runs }) => runs.every((each) => found.some((run) => settles(run, each))))
  }
}

interface FailedCommand {
  readonly what: string
  readonly runs: readonly StepRun[]
  readonly lastId: number
}

function runsIn(script: string): StepRun[] {
  return readScript(script, '')
    .steps.map(toRun)
    .filter(({ looks }) => !looks)
}

/** Names a failure by what failed, so that failing again is the same failure. */
export function failureKey(runs: readonly StepRun[], command: string): string {
  const [only] = runs
  return runs.length === 1 && only ? (only.check ? checkKey(only.check) : only.key) : command
}

export function checkKey({ runner, cwd, selection, filters }: Check): string {
  return [runner, cwd, selection.join(' '), filters.join(' ')].join('\u0000')
}

/** Lines of programs that stopped because of an error. */
const stoppedLine =
  /^(?:.*\s)?(?:fatal: |##\[error\]|error: |ERROR:? |panic: |npm (?:ERR!|error) |remote: (?:error|Permission)\b|\w*(?:Error|Exception): |FAIL(?:ED)?[ \t]|curl: \(\d+\))|\bexit(?:ed)? (?:with )?(?:code|status) [1-9]\d*\b/

/** A paste has several lines; one line of an error within a sentence is part of a question. */
const leastLines = 3

/**
 * A failure that the user pasted: the log of a server, the output of a command that they ran themselves. Nothing on the tape
 * shows whether it was put right, except that something was changed since.
 */
export function reportedFailure({ text, id }: Quote): Failure | undefined {
  if (text.length > 100_000) return undefined
  const lines = text.split('\n').filter((each) => each.trim() !== '')
  if (lines.length < leastLines) return undefined
  const found = lines.filter((each) => stoppedLine.test(each.trim()))
  const [first] = found
  if (first === undefined) return undefined
  // The line that says why stands before the one that says that it ended.
  const why = found.find((each) => !/\bexit(?:ed)? (?:with )?(?:code|status)\b/.test(each)) ?? first
  const message = line(why)
  return {
    what: 'Reported by the user',
    kind: 'command',
    role: 'report',
    message,
    times: 1,
    firstId: id,
    lastId: id,
  }
}
