// The shell calls of a phase, from the script to what it amounted to: commands, tests, failures, files, background tasks.

import { BackgroundBook } from './background-book.ts'
import { CommandBook, type Command } from './command-book.ts'
import { COMMITTED, DeedBook } from './deeds.ts'
import type { Effect } from './effect.ts'
import type { BackgroundTask, CommandFact, Deed, InFlight, TestFact } from './facts.ts'
import { checkKey, failureKey, type FailureBook } from './failure-book.ts'
import type { FileTable } from './file-table.ts'
import { footprint, gitVerb, programOf } from './footprint.ts'
import { readShellOutput, type Output, type ShellOutput } from './output.ts'
import type { Place } from './place.ts'
import { readScript, type Step } from './steps.ts'
import { checksNamed, judge, tailOf, toRun, type Run, type Verdict } from './verdict.ts'
import { clip, line, type ShellCall } from './vocabulary.ts'

/** A script without its here-documents: what it would do to files was taken from them already. */
export interface Script {
  readonly command: string
  readonly cwd: string | undefined
  readonly after: string | undefined
  readonly steps: readonly Step[]
  readonly runs: readonly Run[]
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

const MAX_REMEMBERED = 500
const MAX_REMEMBERED_LENGTH = 500

export class ShellBook {
  private readonly commands = new CommandBook()
  private readonly background = new BackgroundBook()
  private readonly deeds = new DeedBook()
  private readonly interrupted = new Map<string, InFlight>()
  /** What each script of the project runs, by the check that it is. */
  private readonly scripts = new Map<string, readonly Run[]>()
  /** Scripts that run in the background, by their handle. */
  private readonly waiting = new Map<string, { script: Script; command: Command }>()
  /** Agents repeat themselves: short scripts that were read before, by folder and text. */
  private readonly remembered = new Map<string | undefined, Map<string, Script>>()
  /** Where a shell that stays open is; `''`: in the session's folder. */
  private folder: string | undefined = ''
  private readonly place: Place
  private readonly files: FileTable
  private readonly failures: FailureBook

  constructor(place: Place, files: FileTable, failures: FailureBook) {
    this.place = place
    this.files = files
    this.failures = failures
  }

  /** `here` is the folder of the call, where its entry names it. */
  read(call: ShellCall, here: string | undefined): Script {
    const cwd = call.cwd !== undefined ? this.place.name(call.cwd) : (here ?? (call.keepsFolder ? this.folder : ''))
    const { command } = call
    if (command.length > MAX_REMEMBERED_LENGTH) return this.readScript(command, cwd)
    // Named relative to a folder that is known by now: what was read before that is read again.
    if (this.rememberedFor !== this.place.folder) this.remembered.clear()
    this.rememberedFor = this.place.folder
    let scripts = this.remembered.get(cwd)
    const known = scripts?.get(command)
    if (known) return known
    const script = this.readScript(command, cwd)
    if (!scripts || scripts.size >= MAX_REMEMBERED) {
      if (this.remembered.size >= MAX_REMEMBERED) this.remembered.clear()
      scripts = new Map<string, Script>()
      this.remembered.set(cwd, scripts)
    }
    scripts.set(command, script)
    return script
  }
  private rememberedFor: string | undefined

  private readScript(command: string, cwd: string | undefined): Script {
    const { steps, cwd: after } = readScript(command, cwd)
    const runs = steps.map(toRun)
    const effects = steps.map((step) => footprint(step).map((effect) => this.place.named(effect)))
    return {
      command: command.trim(),
      cwd,
      after,
      steps: steps.map((step) => (step.input === undefined ? step : { ...step, input: undefined })),
      runs,
      looks: runs.every(({ reads }) => reads) && !effects.some((each) => each.some(({ action }) => action !== 'read')),
      effects,
      subjects: effects.flatMap((effects) => effects.flatMap(subjectOf)),
    }
  }

  settle(turn: ShellTurn, output: Output, id: number): void {
    const { call, script } = turn
    const answer = readShellOutput(output, call.marksFailure)
    const command = this.commands.begin(script.command, script.cwd, turn.id, script.looks)
    if (this.interrupted.size > 0) this.interrupted.delete(script.command)
    if (call.keepsFolder) this.moved(script, output.isError, answer)
    if (answer.running !== undefined || (call.background && answer.exit === undefined && !output.isError)) {
      this.bookEffects(script, undefined, answer, turn.id)
      if (answer.running !== undefined) this.waiting.set(answer.running, { script, command })
      this.background.start(script.command, answer.running, turn.id, (ok, endId) => {
        if (ok !== undefined) this.commands.end(command, ok, undefined, '', endId)
      })
    } else if (answer.interrupted) {
      const { callId, name: tool, id } = turn
      const what = script.command === '' ? tool : line(script.command)
      this.interrupted.set(script.command, { callId, tool, what, id, interrupted: true })
    } else {
      const verdict = this.outcome(script, command, answer, output.isError, id)
      this.bookEffects(script, verdict, answer, turn.id)
      if (!verdict.ok) return
      this.background.book(script.steps, answer.head, turn.id)
      this.readGit(script.steps, answer, id)
    }
  }

  /** A look at something in the background; whether it has ended, and how. */
  polled(handle: string, output: Output, id: number): 'done' | 'failed' | undefined {
    const answer = readShellOutput(output, false)
    const status = /<status>(\w+)<\/status>/.exec(output.head)?.[1]
    if (answer.running !== undefined || status === 'running') {
      this.background.seen(handle, id)
      return undefined
    }
    if (answer.exit === undefined && !/^(?:completed|failed|killed|stopped)$/.test(status ?? '')) return undefined
    const task = this.waiting.get(handle)
    this.waiting.delete(handle)
    if (task && status !== 'killed') {
      const exit = answer.exit ?? (status === 'failed' ? 1 : 0)
      this.outcome(task.script, task.command, { ...answer, exit }, false, id)
    }
    this.background.end(handle, undefined, id)
    return status === 'failed' ? 'failed' : 'done'
  }

  /** Somebody says that it has ended. */
  ended(handle: string, ok: boolean | undefined, id: number): void {
    this.waiting.delete(handle)
    this.background.end(handle, ok, id)
  }

  facts(): {
    commands: CommandFact[]
    tests: TestFact[]
    deeds: Deed[]
    background: BackgroundTask[]
    interrupted: InFlight[]
  } {
    return {
      ...this.commands.facts(),
      deeds: this.deeds.facts(),
      background: this.background.facts(),
      interrupted: [...this.interrupted.values()],
    }
  }

  private moved(script: Script, isError: boolean, answer: ShellOutput): void {
    if (!isError) this.folder = script.after
    const reset = answer.tail.includes('Shell cwd was reset')
      ? /^Shell cwd was reset to (.+)$/m.exec(answer.tail.slice(-400))?.[1]
      : undefined
    if (reset !== undefined) this.folder = this.place.name(reset)
  }

  private outcome(script: Script, command: Command, answer: ShellOutput, isError: boolean, id: number): Verdict {
    const verdict = judge(script.steps, script.runs, answer, isError)
    this.commands.end(command, verdict.ok, answer.exit, answer.tail, id)
    this.commands.tested(verdict, script.command, id)
    if (verdict.ok) this.failures.succeed([...verdict.runs, ...this.inner(verdict.runs, answer)], script.subjects, id)
    // Looking for something that is not there is no failure of the work.
    else if (verdict.runs.length > 0) this.failed(verdict, script, answer, id)
    return verdict
  }

  /** What the scripts of the project ran: as their output says, now or when they ran before. */
  private inner(runs: readonly Run[], { head, tail }: ShellOutput): Run[] {
    return runs.flatMap((run) => {
      if (run.check?.script !== true) return []
      const told = checksNamed(head === tail ? head : `${head}\n${tail}`, run.check)
      if (told.length > 0) this.scripts.set(checkKey(run.check), told)
      return this.scripts.get(checkKey(run.check)) ?? []
    })
  }

  private failed(verdict: Verdict, { command, subjects }: Script, answer: ShellOutput, id: number): void {
    const test = verdict.test?.check?.test === true && verdict.runs.some(({ key }) => key === verdict.test?.key)
    this.failures.fail(
      failureKey(verdict.runs, command),
      {
        what: clip(command, 500),
        kind: test ? 'test' : 'command',
        message: verdict.message ?? 'failed',
        tail: tailOf(answer.tail),
        ...(answer.exit !== undefined && { exit: answer.exit }),
        lastId: id,
      },
      // Whoever gets the file there by other means has done what the command was for.
      verdict.runs.map((run) => (run.check || subjects.length === 0 ? { run } : { run, subjects })),
    )
  }

  /** Books what the steps did to files, as far as they ran. */
  private bookEffects({ steps, effects }: Script, verdict: Verdict | undefined, answer: ShellOutput, id: number): void {
    const culprit = verdict?.ok === false ? verdict.culprit : undefined
    for (const [index, step] of steps.entries()) {
      const own = effects[index] ?? []
      if (own.length === 0 || !step.sure) continue
      // Behind a failure, what stands with `&&` did not run.
      if (culprit !== undefined && index > culprit && step.decides && steps[culprit]?.decides === true) continue
      const failed = index === culprit || complained(programOf(step), answer)
      for (const effect of own) {
        // A redirection takes place even if the program fails.
        const redirected = (effect.action === 'write' || effect.action === 'append') && step.outputs.length > 0
        if (!failed || redirected) this.files.book(effect, { id })
      }
    }
  }

  private readGit(steps: readonly Step[], output: ShellOutput, id: number): void {
    const { head, tail } = output
    for (const step of steps) {
      if (step.sure) this.deeds.book(step, output, id)
      if (programOf(step) !== 'git') continue
      const { verb } = gitVerb(step)
      if (verb === 'commit') {
        const [, branch, commit] = COMMITTED.exec(tail) ?? COMMITTED.exec(head) ?? []
        if (branch !== undefined && branch !== 'detached') this.place.switched(branch, id)
        if (commit !== undefined) this.place.committed(commit, id)
      } else if (verb === 'checkout' || verb === 'switch') {
        const branch = /^Switched to (?:a new )?branch '([^']+)'/m.exec(tail)?.[1]
        if (branch !== undefined) this.place.switched(branch, id)
      }
    }
  }
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
