// The shell calls of a phase, from the script to what it amounted to: commands, tests, failures, files, background tasks.

import { BackgroundBook } from './background-book.ts'
import { CommandBook, type Command } from './command-book.ts'
import { asksServer, commitLine, deletesBranch, isOutward, PublishedBook, serverPassed } from './published.ts'
import type { Effect } from '../files/effect.ts'
import type { BackgroundTask, CommandFact, Deed, FailureRole, InFlight, TestFact } from '../facts.ts'
import { checkKey, failureKey, type FailedParts, type FailureBook } from '../tools/failure-book.ts'
import type { FileTable } from '../files/file-table.ts'
import { fileEffects, gitVerb, programOf } from './file-effects.ts'
import { cutByBaton, readShellOutput, type Output, type ShellOutput } from '../tools/output.ts'
import type { WorkingFolder } from '../files/working-folder.ts'
import { joinPath } from '../files/paths.ts'
import { readScript, type Step } from './steps.ts'
import { failingPathsIn } from './test-summary.ts'
import { checksNamed, readOutcome, tailOf, toRun, type StepRun, type CommandOutcome } from './outcome.ts'
import { clip, line, type ShellCall } from '../tools/tool-calls.ts'

/** A script without its here-documents: what it would do to files was taken from them already. */
export interface Script {
  readonly command: string
  readonly cwd: string | undefined
  readonly after: string | undefined
  readonly steps: readonly Step[]
  readonly runs: readonly StepRun[]
  readonly effects: readonly (readonly Effect[])[]
  /** It only looks at things. */
  readonly looks: boolean
  /** What a success of it changes, for failures that wait for that. */
  readonly subjects: readonly string[]
}

export interface ShellTurn {
  readonly id: number
  readonly callId: string
  readonly name: string
  readonly call: ShellCall
  readonly script: Script
}

const maxRemembered = 500
const maxRememberedLength = 500

export class ShellBook {
  readonly #commands = new CommandBook()
  readonly #background = new BackgroundBook()
  readonly #published = new PublishedBook()
  readonly #interrupted = new Map<string, InFlight>()
  /** What each script of the project runs, by the check that it is. */
  readonly #scripts = new Map<string, readonly StepRun[]>()
  /** Scripts that run in the background, by their handle. */
  readonly #waiting = new Map<string, { script: Script; command: Command }>()
  /** Agents repeat themselves: short scripts that were read before, by folder and text. */
  readonly #remembered = new Map<string | undefined, Map<string, Script>>()
  /** Where a shell that stays open is; `''`: in the session's folder. */
  #folder: string | undefined = ''
  readonly #place: WorkingFolder
  readonly #files: FileTable
  readonly #failures: FailureBook

  constructor(place: WorkingFolder, files: FileTable, failures: FailureBook) {
    this.#place = place
    this.#files = files
    this.#failures = failures
  }

  /** `here` is the folder of the call, where its entry names it. */
  read(call: ShellCall, here: string | undefined): Script {
    const cwd = call.cwd !== undefined ? this.#place.name(call.cwd) : (here ?? (call.keepsFolder ? this.#folder : ''))
    const { command } = call
    if (command.length > maxRememberedLength) return this.#readScript(command, cwd)
    // Named relative to a folder that is known by now: what was read before that is read again.
    if (this.#rememberedFor !== this.#place.folder) this.#remembered.clear()
    this.#rememberedFor = this.#place.folder
    let scripts = this.#remembered.get(cwd)
    const known = scripts?.get(command)
    if (known) return known
    const script = this.#readScript(command, cwd)
    if (!scripts || scripts.size >= maxRemembered) {
      if (this.#remembered.size >= maxRemembered) this.#remembered.clear()
      scripts = new Map<string, Script>()
      this.#remembered.set(cwd, scripts)
    }
    scripts.set(command, script)
    return script
  }
  #rememberedFor: string | undefined

  #readScript(command: string, cwd: string | undefined): Script {
    const { steps, cwd: after } = readScript(command, cwd)
    const runs = steps.map(toRun)
    const effects = steps.map((step) => fileEffects(step).map((effect) => this.#place.named(effect)))
    return {
      command: command.trim(),
      cwd,
      after,
      steps: steps.map((step) => (step.input === undefined ? step : { ...step, input: messageIn(step) })),
      runs,
      looks: runs.every(({ reads }) => reads) && !effects.some((each) => each.some(({ action }) => action !== 'read')),
      effects,
      subjects: effects.flatMap((effects) => effects.flatMap(subjectOf)),
    }
  }

  /** Whether it succeeded; undefined while it runs, or when it was interrupted. */
  settle(turn: ShellTurn, output: Output, id: number): boolean | undefined {
    const { call, script } = turn
    const answer = readShellOutput(output, call.marksFailure)
    const command = this.#commands.begin(script.command, script.cwd, turn.id, script.looks)
    if (this.#interrupted.size > 0) this.#interrupted.delete(script.command)
    if (call.keepsFolder) this.#moved(script, output.isError, answer)
    if (answer.running !== undefined || (call.background && answer.exit === undefined && !output.isError)) {
      this.#bookEffects(script, undefined, answer, turn.id)
      if (answer.running !== undefined) this.#waiting.set(answer.running, { script, command })
      const ended = (ok: boolean | undefined, endId: number) => {
        if (ok !== undefined) this.#commands.end(command, ok, undefined, '', endId)
      }
      // What a script of the project does is not known by its name, unless that says that it tests.
      const checks = script.runs.some(({ check }) => check !== undefined && (check.test || !check.script))
      this.#background.start(script.command, answer.running, turn.id, ended, checks)
    } else if (answer.interrupted) {
      const { callId, name: tool, id } = turn
      const what = script.command === '' ? tool : line(script.command)
      const by = answer.head === cutByBaton ? { by: 'baton' as const } : {}
      this.#interrupted.set(script.command, { callId, tool, what, id, interrupted: true, ...by })
    } else {
      const outcome = this.#outcome(script, command, answer, output.isError, id)
      this.#bookEffects(script, outcome, answer, turn.id)
      if (!outcome.ok) return false
      this.#background.book(script.steps, answer.head, turn.id)
      this.#readGit(script.steps, answer, id)
      return true
    }
    return undefined
  }

  /** Books what a subagent's script did to files and to the repository. Whether its commands failed was its own concern. */
  settleAside({ call, script, id }: ShellTurn, output: Output, resultId: number): void {
    const answer = readShellOutput(output, call.marksFailure)
    if (answer.interrupted) return
    const outcome = readOutcome(script.steps, script.runs, answer, output.isError)
    this.#bookEffects(script, outcome, answer, id)
    if (outcome.ok) this.#readGit(script.steps, answer, resultId)
  }

  /** Books a script that ran, without anything that says how it ended: what it did to files is uncertain. */
  ran(script: Script, id: number): void {
    this.#commands.begin(script.command, script.cwd, id, script.looks)
    for (const [index, step] of script.steps.entries()) {
      if (step.sure) for (const effect of script.effects[index] ?? []) this.#files.book(effect, { id, uncertain: true })
    }
  }

  /** A look at something in the background; whether it has ended, and how. */
  polled(handle: string, output: Output, id: number): 'done' | 'failed' | undefined {
    const answer = readShellOutput(output, false)
    const status = /<status>(\w+)<\/status>/.exec(output.head)?.[1]
    if (answer.running !== undefined || status === 'running') {
      this.#background.seen(handle, id)
      return undefined
    }
    if (answer.exit === undefined && !/^(?:completed|failed|killed|stopped)$/.test(status ?? '')) return undefined
    const task = this.#waiting.get(handle)
    this.#waiting.delete(handle)
    if (task && status !== 'killed') {
      const exit = answer.exit ?? (status === 'failed' ? 1 : 0)
      this.#outcome(task.script, task.command, { ...answer, exit }, false, id)
    }
    this.#background.end(handle, undefined, id)
    return status === 'failed' ? 'failed' : 'done'
  }

  /** Books the end of a background task that a notice reports. */
  ended(handle: string, ok: boolean | undefined, id: number): void {
    this.#waiting.delete(handle)
    this.#background.end(handle, ok, id)
  }

  facts(): {
    commands: CommandFact[]
    tests: TestFact[]
    deeds: Deed[]
    background: BackgroundTask[]
    interrupted: InFlight[]
  } {
    return {
      ...this.#commands.facts(),
      deeds: this.#published.facts(),
      background: this.#background.facts(),
      interrupted: [...this.#interrupted.values()],
    }
  }

  #moved(script: Script, isError: boolean, answer: ShellOutput): void {
    if (!isError) this.#folder = script.after
    const reset = answer.tail.includes('Shell cwd was reset')
      ? /^Shell cwd was reset to (.+)$/m.exec(answer.tail.slice(-400))?.[1]
      : undefined
    if (reset !== undefined) this.#folder = this.#place.name(reset)
  }

  #outcome(script: Script, command: Command, answer: ShellOutput, isError: boolean, id: number): CommandOutcome {
    const outcome = readOutcome(script.steps, script.runs, answer, isError)
    this.#commands.end(command, outcome.ok, answer.exit, answer.tail, id)
    if (this.#isPutAside(script, answer)) {
      if (!outcome.ok) this.#failures.failedBefore(outcome.runs, outcome.message, id)
      return outcome
    }
    this.#commands.tested(outcome, script.command, id)
    if (outcome.ok) {
      const subjects = saysAllPassed(script.steps, answer) ? [...script.subjects, serverSubject] : script.subjects
      this.#failures.succeed([...outcome.runs, ...this.#inner(outcome.runs, answer)], subjects, id)
      // A filter that fits no test passes as well.
      if (outcome.test !== undefined && (outcome.summary?.passed ?? 1) > 0) this.#failures.passedPart(outcome.test, id)
    }
    // Looking for something that is not there is no failure of the work.
    else if (outcome.runs.length > 0) this.#failed(outcome, script, answer, id)
    return outcome
  }

  /** Whether the script ran a check while the work was stashed: that says nothing about the work. */
  #isPutAside({ steps, runs }: Script, { head, tail }: ShellOutput): boolean {
    let found = false
    for (const [index, step] of steps.entries()) {
      if (this.#isStashed && runs[index]?.check !== undefined) found = true
      if (programOf(step) !== 'git') continue
      const { verb, rest } = gitVerb(step)
      if (verb !== 'stash') continue
      const [how = 'push'] = rest.map(({ text }) => text ?? '')
      if (how === 'pop' || how === 'apply') this.#isStashed = false
      else if (/^(?:push|save|-)/.test(how)) this.#isStashed = !`${head}\n${tail}`.includes('No local changes to save')
    }
    return found
  }
  #isStashed = false

  /** What the scripts of the project ran: as their output says, now or when they ran before. */
  #inner(runs: readonly StepRun[], { head, tail }: ShellOutput): StepRun[] {
    return runs.flatMap((run) => {
      if (run.check?.script !== true) return []
      const told = checksNamed(head === tail ? head : `${head}\n${tail}`, run.check)
      if (told.length > 0) this.#scripts.set(checkKey(run.check), told)
      return this.#scripts.get(checkKey(run.check)) ?? []
    })
  }

  #failed(outcome: CommandOutcome, { command, subjects, steps }: Script, answer: ShellOutput, id: number): void {
    const role = roleOf(outcome, steps, answer)
    const settledBy = role === 'ci' ? [...subjects, serverSubject] : subjects
    const test = outcome.test?.check?.test === true && outcome.runs.some(({ key }) => key === outcome.test?.key)
    this.#failures.fail(
      failureKey(outcome.runs, command),
      {
        what: clip(command, 500),
        kind: test ? 'test' : 'command',
        message: outcome.message ?? 'failed',
        tail: tailOf(answer.tail),
        ...(answer.exit !== undefined && { exit: answer.exit }),
        role,
        lastId: id,
      },
      // Whoever gets the file there by other means has done what the command was for.
      outcome.runs.map((run) => (run.check || settledBy.length === 0 ? { run } : { run, subjects: settledBy })),
      {
        families: outcome.runs.map(({ family }) => family),
        isBrief: outcome.summary === undefined && isBrief(answer),
        ...(test && { failed: failedParts(outcome, answer) }),
      },
    )
  }

  /** Books what the steps did to files, as far as they ran. */
  #bookEffects({ steps, effects }: Script, outcome: CommandOutcome | undefined, answer: ShellOutput, id: number): void {
    const culprit = outcome?.ok === false ? outcome.culprit : undefined
    for (const [index, step] of steps.entries()) {
      const own = effects[index] ?? []
      if (own.length === 0 || !step.sure) continue
      // Behind a failure, what stands with `&&` did not run.
      if (culprit !== undefined && index > culprit && step.decides && steps[culprit]?.decides === true) continue
      const failed = index === culprit || complained(programOf(step), answer)
      for (const effect of own) {
        // A redirection takes place even if the program fails.
        const redirected = (effect.action === 'write' || effect.action === 'append') && step.outputs.length > 0
        if (failed && !redirected) continue
        this.#files.book(effect, { id })
        if (effect.action !== 'read') this.#failures.changed(id)
      }
    }
  }

  #readGit(steps: readonly Step[], output: ShellOutput, id: number): void {
    const { head, tail } = output
    for (const step of steps) {
      if (step.sure) this.#published.book(step, output, id)
      if (step.sure && deletesBranch(step)) this.#place.left()
      if (programOf(step) !== 'git') continue
      const { verb } = gitVerb(step)
      if (verb === 'commit') {
        const [, branch, commit] = commitLine.exec(tail) ?? commitLine.exec(head) ?? []
        if (branch !== undefined && branch !== 'detached') this.#place.switched(branch, id)
        if (commit !== undefined) this.#place.committed(commit, id)
        else this.#place.movedOn()
      } else if (verb === 'checkout' || verb === 'switch') {
        const branch = /^Switched to (a new )?branch '([^']+)'/m.exec(tail)
        if (branch !== null && branch[1] === undefined) this.#place.movedOn()
        if (branch !== null) this.#place.switched(branch[2]!, id)
      } else if (verb === 'push') {
        const [, commit, pushed] = /^ +[0-9a-f]+\.\.([0-9a-f]{7,40})\s+(\S+) -> /m.exec(tail) ?? []
        if (commit !== undefined && this.#place.isOn(pushed!)) this.#place.committed(commit, id)
      } else if (movingVerbs.has(verb) && !/^Already up to date/m.test(tail)) this.#place.movedOn()
    }
  }
}

/** They put the branch on another commit, and rarely say on which one. */
const movingVerbs = new Set(['pull', 'merge', 'rebase', 'reset', 'cherry-pick', 'revert', 'am'])

/** Of what a step reads, only the subject of a commit is kept. */
function messageIn(step: Step): string | undefined {
  if (programOf(step) !== 'git' || gitVerb(step).verb !== 'commit') return undefined
  return step.input?.trimStart().split('\n')[0]?.slice(0, 200)
}

/** A server found its port taken: another one still runs on this machine, which says nothing about the work. */
const portTaken = /EADDRINUSE|address already in use/i

/** What the failed command was for. */
function roleOf(
  { runs, culprit, test }: CommandOutcome,
  steps: readonly Step[],
  { tail, timedOut }: ShellOutput,
): FailureRole {
  const step = culprit === undefined ? undefined : steps[culprit]
  if (test === undefined && portTaken.test(tail)) return 'step'
  if (step !== undefined && isOutward(step)) return 'publish'
  if (step !== undefined && asksServer(step)) return 'ci'
  if (runs.some(({ check }) => check !== undefined)) return 'check'
  // A program that nobody stopped in time, such as a server, has not failed.
  return step !== undefined && runsProject(step) && !timedOut ? 'check' : 'step'
}

/** What of a test run failed. An output that was cut does not name all of it. */
function failedParts({ test, summary }: CommandOutcome, { head, tail }: ShellOutput): FailedParts {
  const { runner = '', cwd = '' } = test?.check ?? {}
  const isWhole = head === tail
  const { failed, failing = [] } = summary ?? {}
  return {
    runner,
    paths: isWhole ? failingPathsIn(head).map((path) => joinPath(cwd, path)) : [],
    tests: failed === failing.length ? failing : [],
    named: failing.map((name) => ({ test: name, path: joinPath(cwd, /^\S*/.exec(name)![0]) })),
  }
}

/** What a failure on a server waits for, whichever way the server is asked. */
const serverSubject = 'server checks'

function saysAllPassed(steps: readonly Step[], { head, tail }: ShellOutput): boolean {
  return steps.some((step) => asksServer(step) && serverPassed(step, head === tail ? head : `${head}\n${tail}`))
}

/** A program of the project is run, by its path or by an interpreter, or a service is asked and has to answer well. */
function runsProject(step: Step): boolean {
  const program = programOf(step)
  const first = step.args.find(({ text }) => text === undefined || !text.startsWith('-'))?.text
  if (/^(?:node|bun|deno|tsx|ts-node|python[\d.]*|ruby|perl|php|bash|sh|zsh)$/.test(program))
    return first !== undefined && /^(?!\/tmp\/)[\w./@-]+\.\w+$/.test(first) && !isInline(step)
  if (program === 'curl') return step.args.some(({ text }) => /^-[a-zA-Z]*f|^--fail\b/.test(text ?? ''))
  return /^\.\.?\/(?!\.)/.test(step.program)
}

function isInline({ args }: Step): boolean {
  return args.some(({ text }) => /^(?:-e|-c|-p|--eval|--print|-)$/.test(text ?? ''))
}

/** A complaint about the command rather than a report about the work: a line or two that name no place in a file. */
function isBrief({ head, tail }: ShellOutput): boolean {
  const lines = (head === tail ? head : `${head}\n${tail}`).split('\n').filter((each) => each.trim() !== '')
  return lines.length <= 3 && !lines.some((each) => /\.\w{1,5}(?::\d+|\(\d+)/.test(each))
}

export function subjectOf(effect: Effect): string[] {
  if (!('path' in effect) || /^(?:read|mkdir|touch)$/.test(effect.action)) return []
  return [`file ${'to' in effect ? effect.to : effect.path}`]
}

/** A program that says it could not do it: `rm: cannot remove 'x'`. */
function complained(program: string, { head, tail }: ShellOutput): boolean {
  if (program === '' || !(head.includes(`${program}: `) || tail.includes(`${program}: `))) return false
  const name = program.replaceAll(/[^\w-]/g, '.')
  const pattern = new RegExp(
    `^(?:\\S+/)?${name}: .*(?:cannot|can't|No such file|not a directory|Permission denied|are the same|unknown option|invalid)`,
    'im',
  )
  return pattern.test(head) || pattern.test(tail)
}
