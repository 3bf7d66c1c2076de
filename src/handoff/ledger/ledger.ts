// The ledger: facts of a phase, taken from its entries by code. It reads each entry once, keeps facts and not entries, and
// gives the same answer for the same entries. A call is booked when its result arrives; until then it is in flight.

import type { Entry } from '../../store/index.ts'
import { BackgroundBook } from './background-book.ts'
import { CommandBook } from './command-book.ts'
import { answered, decisionsOfState, decisionsSaid, planTitle, readAnswers } from './decisions.ts'
import type { Effect } from './effect.ts'
import type {
  Decision,
  FileFact,
  InFlight,
  Inherited,
  Ledger,
  Question,
  Quote,
  Subagent,
  UnknownTool,
} from './facts.ts'
import { FailureBook, failureKey } from './failure-book.ts'
import { FileTable, type Booking } from './file-table.ts'
import { footprint, gitVerb, programOf } from './footprint.ts'
import { InstructionBook } from './instructions.ts'
import { readOutput, readShellOutput, type Output, type ShellOutput } from './output.ts'
import { below, isAbsolute, joinPath } from './paths.ts'
import { readScript, type Step } from './steps.ts'
import { TodoList } from './todo-list.ts'
import { judge, tailOf, type Verdict } from './verdict.ts'
import { clip, isFields, line, readCall, readTodos, type Asked, type Call, type ShellCall } from './vocabulary.ts'
import { hear, type Notice } from './words.ts'

export interface LedgerOptions {
  /** The session's folder, where the tape does not name it. */
  readonly cwd?: string
}

/** The facts of the entries, in their order on the tape. */
export function ledger(entries: Iterable<Entry>, options?: LedgerOptions): Ledger
export function ledger(entries: AsyncIterable<Entry>, options?: LedgerOptions): Promise<Ledger>
export function ledger(
  entries: Iterable<Entry> | AsyncIterable<Entry>,
  options: LedgerOptions = {},
): Ledger | Promise<Ledger> {
  const builder = new LedgerBuilder(options)
  if (Symbol.asyncIterator in entries) {
    return (async () => {
      for await (const entry of entries) builder.add(entry)
      return builder.finish()
    })()
  }
  for (const entry of entries) builder.add(entry)
  return builder.finish()
}

interface Pending {
  readonly id: number
  readonly callId: string
  readonly name: string
  readonly call: Call
  readonly shell?: PendingShell
}

/** A script without its here-documents: what it would do to files was taken from them already. */
interface PendingShell {
  readonly call: ShellCall
  readonly cwd: string | undefined
  readonly after: string | undefined
  readonly steps: readonly Step[]
  readonly effects: readonly (readonly Effect[])[]
}

type Fields = Readonly<Record<string, unknown>>

export class LedgerBuilder {
  private first: Entry | undefined
  private last: Entry | undefined
  private readonly counts = { entries: 0, userMessages: 0, assistantMessages: 0, toolCalls: 0, toolErrors: 0 }
  private readonly pending = new Map<string, Pending[]>()
  private readonly files = new FileTable()
  private readonly commands = new CommandBook()
  private readonly failures = new FailureBook()
  private readonly background = new BackgroundBook()
  private readonly instructions = new InstructionBook()
  private readonly todos = new TodoList()
  private readonly decisions: Decision[] = []
  private readonly unknown = new Map<string, { -readonly [key in keyof UnknownTool]: UnknownTool[key] }>()
  private readonly subagents: { fact: { -readonly [key in keyof Subagent]: Subagent[key] }; handle?: string }[] = []
  private readonly interrupted = new Map<string, InFlight>()
  private questions: Question[] = []
  private lastWords: Quote | undefined
  private lastSpokenId = 0
  /** The user's last words, and those before. */
  private answeredId = 0
  private settledId = 0
  private inherited: Inherited | undefined
  private folder: string | undefined
  /** Where a shell that stays open is; `''`: in the session's folder. */
  private shellFolder: string | undefined = ''
  private git: { branch?: string; commit?: string; base?: string; id?: number } = {}

  constructor({ cwd }: LedgerOptions = {}) {
    if (cwd !== undefined) this.folder = joinPath('', cwd)
  }

  add(entry: Entry): void {
    this.first ??= entry
    this.last = entry
    this.counts.entries += 1
    const payload: Fields = isFields(entry.payload) ? entry.payload : {}
    if (isFields(entry.meta)) this.readPlace(entry.meta, entry.id)
    switch (entry.kind) {
      case 'message':
        this.message(payload, entry)
        return
      case 'tool_call':
        if (Array.isArray(payload['calls'])) for (const call of payload['calls'] as unknown[]) this.call(call, entry)
        return
      case 'tool_result':
        if (Array.isArray(payload['results']))
          for (const result of payload['results'] as unknown[]) this.result(result, entry)
        return
      case 'anchor':
        this.anchor(payload, entry)
        return
      case 'event':
        this.event(payload, entry)
        return
      case 'error':
        this.error(payload, entry)
    }
  }

  /** The facts so far; adding may go on afterwards. */
  finish(): Ledger {
    const files = this.files.facts((path) => this.folder !== undefined && isAbsolute(path) && TEMPORARY.test(path))
    const failures = this.failures.facts()
    const all = [...this.pending.values()].flat()
    // What was cut off before the user's last words but one is of no concern any more: work has moved on since.
    const open = all.filter(({ id }) => id > this.settledId)
    const todos = this.latestTodos(open)
    const goal = this.instructions.first
    const lastRequest = this.instructions.last
    const unresolved = failures.filter(({ resolvedBy }) => resolvedBy === undefined).length
    return {
      range: this.first && this.last && { from: this.first.id, to: this.last.id },
      span: this.first && this.last && { from: this.first.date, to: this.last.date },
      counts: {
        ...this.counts,
        ...countFiles(files),
        failuresUnresolved: unresolved,
        failuresResolved: failures.length - unresolved,
      },
      goal: goal && quoteOf(goal),
      lastRequest: lastRequest && quoteOf(lastRequest),
      instructions: this.instructions.facts(),
      lastWords: this.lastWords,
      files,
      ...this.commands.facts(),
      failures,
      todos,
      decisions: [...this.decisions],
      questions: this.openQuestions(open),
      background: this.background.facts(),
      subagents: [
        ...this.subagents.map(({ fact }) => ({ ...fact })),
        ...open.flatMap(({ call, id }): Subagent[] =>
          call.kind === 'subagent'
            ? [{ task: call.task, ...(call.type && { type: call.type }), status: 'running', id }]
            : [],
        ),
      ],
      inFlight: [
        ...[...this.interrupted.values()].filter(({ id }) => id > this.settledId),
        ...open.map(({ callId, name, call, id }) => ({
          callId,
          tool: name,
          what: line(call.what),
          id,
          interrupted: id < this.lastSpokenId,
        })),
      ].sort((a, b) => a.id - b.id),
      unknownTools: [...this.unknown.values()].map((tool) => ({ ...tool })),
      inherited: this.inherited,
      git:
        this.folder === undefined && this.git.branch === undefined
          ? undefined
          : { cwd: this.folder ?? '', ...this.git, checked: false },
    }
  }

  private message(payload: Fields, { id, meta }: Entry): void {
    const role = payload['role']
    const { text, blob } = textOf(payload['content'])
    if (role === 'assistant') {
      this.counts.assistantMessages += 1
      this.lastSpokenId = id
      this.failures.succeed([], ['turn'], id)
      if (text.trim() === '') return
      this.lastWords = { text: text.length > 8_000 ? `…${text.slice(-7_999)}` : text, id }
      this.decide(decisionsSaid(text), id)
      return
    }
    if (role !== 'user') return
    if (payload['customType'] === 'handoff' || meta?.['isCompactSummary'] === true) {
      this.inherited = { id, name: payload['customType'] === 'handoff' ? 'handoff' : 'compaction', state: text }
      return
    }
    if (payload['customType'] !== undefined || meta?.['isMeta'] === true || meta?.['isSidechain'] === true) return
    const heard = hear(text)
    for (const notice of heard.notices) this.notice(notice, id)
    if (heard.kind === 'inherited') {
      const name = heard.text.startsWith('<handoff-context>') ? 'handoff' : 'compaction'
      this.inherited = { id, name, state: heard.text }
    } else if (heard.kind === 'words') {
      this.counts.userMessages += 1
      this.userSaid({ text: heard.text, id, ...(blob !== undefined && { blob }) })
    }
    if (heard.kind !== 'nothing' || heard.interrupted) this.lastSpokenId = id
  }

  private userSaid(quote: Quote): void {
    const asked = this.lastWords && questionIn(this.lastWords.text) !== undefined ? this.lastWords.id : undefined
    this.instructions.add(quote, asked)
    // Whatever was asked, the user has spoken since.
    this.questions = []
    this.lastSpokenId = quote.id
    this.settledId = this.answeredId
    this.answeredId = quote.id
  }

  private call(value: unknown, { id, meta }: Entry): void {
    if (!isFields(value)) return
    const name = typeof value['name'] === 'string' ? value['name'] : 'unknown'
    const callId = typeof value['id'] === 'string' ? value['id'] : ''
    this.counts.toolCalls += 1
    this.failures.succeed([], ['turn'], id)
    const call = readCall(name, value['arguments'] ?? value['input'] ?? value['args'])
    const here = typeof meta?.['cwd'] === 'string' ? below(this.folder, joinPath('', meta['cwd'])) : undefined
    const shell = call.kind === 'shell' ? this.readShell(call, here) : undefined
    const pending: Pending = {
      id,
      callId,
      name,
      call: call.kind === 'files' ? { ...call, effects: call.effects.map((effect) => this.placed(effect, '')) } : call,
      ...(shell && { shell }),
    }
    if (call.kind === 'unknown') {
      const known = this.unknown.get(name)
      if (known) {
        known.times += 1
        known.lastId = id
      } else this.unknown.set(name, { name, times: 1, errors: 0, firstId: id, lastId: id })
    }
    const queue = this.pending.get(callId)
    if (queue) queue.push(pending)
    else this.pending.set(callId, [pending])
  }

  private readShell(call: ShellCall, here: string | undefined): PendingShell {
    const start =
      call.cwd !== undefined
        ? below(this.folder, joinPath('', call.cwd))
        : (here ?? (call.keepsFolder ? this.shellFolder : ''))
    const { steps, cwd: after } = readScript(call.command, start)
    const effects = steps.map((step) => footprint(step).map((effect) => this.placed(effect, '')))
    return {
      call,
      cwd: start,
      after,
      steps: steps.map((step) => (step.input === undefined ? step : { ...step, input: undefined })),
      effects,
    }
  }

  /** The effect with its paths as facts name them. */
  private placed(effect: Effect, base: string): Effect {
    if (!('path' in effect)) return effect
    const place = (path: string): string => below(this.folder, joinPath(base, path))
    return 'to' in effect
      ? { ...effect, path: place(effect.path), to: place(effect.to) }
      : { ...effect, path: place(effect.path) }
  }

  private result(value: unknown, { id }: Entry): void {
    if (!isFields(value)) return
    const output = readOutput(value['output'], value['is_error'] === true)
    if (output.isError) this.counts.toolErrors += 1
    const callId = typeof value['call_id'] === 'string' ? value['call_id'] : ''
    const queue = this.pending.get(callId)
    const pending = queue?.shift()
    if (queue?.length === 0) this.pending.delete(callId)
    if (!pending) return
    if (isRejected(pending.call, output)) this.rejected(pending, output, id)
    else this.settle(pending, output, id)
  }

  /** A person said no: nothing was run. What they said about it comes with Claude Code's own words around it. */
  private rejected({ call, name }: Pending, output: Output, id: number): void {
    if (call.kind === 'questions') {
      this.ask(call.questions, id)
      return
    }
    this.decide(
      [
        {
          text: `Rejected: ${call.kind === 'shell' ? line(call.command) : call.kind === 'plan' ? `plan ${planTitle(call.text)}`.trim() : line(call.what || name)}`,
          by: 'user',
          source: 'answer',
        },
      ],
      id,
    )
    const said = /(?:the user said|user feedback|with the following feedback|reason):\s*\n?([\s\S]+)$/i
      .exec(output.isError ? output.head : '')?.[1]
      ?.trim()
    if (said && output.head.startsWith("The user doesn't want to proceed")) {
      this.counts.userMessages += 1
      this.userSaid({ text: said.replace(/\n\nNote: The user's next message may contain[\s\S]*$/, '').trim(), id })
    }
  }

  private settle(pending: Pending, output: Output, id: number): void {
    const { call } = pending
    switch (call.kind) {
      case 'files':
        this.changed(pending, call.effects, output, id)
        return
      case 'shell':
        if (pending.shell) this.ran(pending, pending.shell, output, id)
        return
      case 'poll':
        this.polled(call.handle, output, id)
        return
      case 'stop':
        if (!output.isError) {
          this.background.end(call.handle, undefined, id)
          this.endSubagent(call.handle, 'failed', id)
        }
        return
      case 'todos':
        if (!output.isError) this.todos.replace(call.todos, pending.id)
        return
      case 'todo-add':
        if (!output.isError) this.todos.add(call.text, output.head.slice(0, 200), pending.id)
        return
      case 'todo-set':
        if (!output.isError) this.todos.set(call, pending.id)
        return
      case 'questions': {
        const answers = readAnswers(call.questions, output)
        this.decide(
          call.questions.flatMap((asked, index) =>
            answers[index] === undefined ? [] : [answered(asked, answers[index])],
          ),
          id,
        )
        this.ask(
          call.questions.filter((_, index) => answers[index] === undefined),
          pending.id,
        )
        return
      }
      case 'plan': {
        const plan = call.text || (/## Approved Plan[^\n]*\n([\s\S]+)/.exec(output.head)?.[1] ?? '')
        const title = planTitle(plan)
        if (!output.isError)
          this.decide(
            [{ text: title === '' ? 'Approved the plan' : `Approved plan: ${title}`, by: 'user', source: 'plan' }],
            id,
          )
        return
      }
      case 'subagent':
        this.subagent(call, pending.id, output, id)
        return
      case 'look':
        return
      case 'unknown': {
        const known = this.unknown.get(pending.name)
        const subjects =
          call.subjects.length > 0 ? call.subjects.map((subject) => `${pending.name} ${subject}`) : [pending.name]
        if (!output.isError) this.failures.succeed([], [...subjects, pending.name], id)
        else {
          if (known) known.errors += 1
          this.failTool(`tool ${call.what}`, line(call.what), subjects, output, id)
        }
      }
    }
  }

  private changed(pending: Pending, effects: readonly Effect[], output: Output, id: number): void {
    const changes = effects.filter(({ action }) => action !== 'read')
    const failed = output.isError || (changes.length > 0 && FAILED_EDIT.test(output.head.slice(0, 300)))
    const subjects = changes.flatMap((effect) =>
      'path' in effect ? [`file ${'to' in effect ? effect.to : effect.path}`] : [],
    )
    if (failed) {
      if (changes.length > 0 || effects.length === 0) {
        this.failTool(
          subjects.join(' ') || pending.call.what,
          line(pending.call.what),
          subjects.length > 0 ? subjects : [pending.call.what],
          output,
          id,
        )
      }
      return
    }
    const head = output.head.slice(0, 300)
    const told = /\b(?:created|new file)\b/i.test(head)
      ? 'created'
      : /\b(?:updated|overwrote|overwritten)\b/i.test(head)
        ? 'updated'
        : undefined
    const booking: Booking = { id: pending.id, ...(told && { told }) }
    for (const effect of effects) this.files.book(effect, booking)
    if (subjects.length > 0) this.failures.succeed([], subjects, id)
  }

  private failTool(key: string, what: string, subjects: readonly string[], output: Output, id: number): void {
    const message = line(
      output.head
        .replaceAll(/<\/?\w+>/g, ' ')
        .split('\n')
        .find((row) => row.trim() !== '') ?? 'failed',
    )
    this.failures.fail(key, { what, kind: 'tool', message, tail: tailOf(output.tail.slice(-3_000)), lastId: id }, [
      { subjects },
    ])
  }

  private ran(pending: Pending, shell: PendingShell, output: Output, id: number): void {
    const { call } = shell
    const answer = readShellOutput(output, call.marksFailure)
    const command = call.command.trim()
    this.commands.begin(command, shell.cwd, pending.id)
    if (this.interrupted.size > 0) this.interrupted.delete(command)
    if (call.keepsFolder && !output.isError) this.shellFolder = shell.after
    const reset = call.keepsFolder ? /^Shell cwd was reset to (.+)$/m.exec(answer.tail.slice(-400))?.[1] : undefined
    if (reset !== undefined) this.shellFolder = below(this.folder, joinPath('', reset))
    if (answer.running !== undefined || (call.background && answer.exit === undefined && !output.isError)) {
      this.bookEffects(shell, undefined, true, pending.id, answer)
      this.background.start(command, answer.running, pending.id, (ok, endId) => {
        if (ok !== undefined) this.commands.end(command, shell.cwd, ok, undefined, '', endId)
      })
      this.waiting.set(answer.running ?? '', shell)
      return
    }
    if (answer.interrupted) {
      this.interrupted.set(command, {
        callId: pending.callId,
        tool: pending.name,
        what: call.command === '' ? pending.name : line(command),
        id: pending.id,
        interrupted: true,
      })
      return
    }
    this.outcome(shell, command, answer, output.isError, pending.id, id)
  }
  /** Scripts that run in the background, by their handle. */
  private readonly waiting = new Map<string, PendingShell>()

  private outcome(
    shell: PendingShell,
    command: string,
    answer: ShellOutput,
    isError: boolean,
    callId: number,
    id: number,
  ): void {
    const verdict = judge(shell.steps, answer, isError)
    this.commands.end(command, shell.cwd, verdict.ok, answer.exit, answer.tail, id)
    this.commands.tested(verdict, command, id)
    this.bookEffects(shell, verdict, verdict.ok, callId, answer)
    if (verdict.ok) {
      this.background.book(shell.steps, answer.head, callId)
      const subjects = shell.effects
        .flat()
        .flatMap((effect) =>
          'path' in effect && effect.action !== 'read' ? [`file ${'to' in effect ? effect.to : effect.path}`] : [],
        )
      this.failures.succeed(verdict.runs, subjects, id)
      this.readGit(shell.steps, answer, id)
    } else this.failed(verdict, command, answer, id)
  }

  private failed(verdict: Verdict, command: string, answer: ShellOutput, id: number): void {
    // Looking for something that is not there is no failure of the work.
    if (verdict.runs.length === 0) return
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
      verdict.runs.map((run) => ({ run })),
    )
  }

  /** Books what the steps did to files, as far as they ran. */
  private bookEffects(
    shell: PendingShell,
    verdict: Verdict | undefined,
    ok: boolean,
    id: number,
    answer: ShellOutput,
  ): void {
    const culprit = verdict?.culprit
    for (const [index, step] of shell.steps.entries()) {
      const effects = shell.effects[index]
      if (!effects || effects.length === 0 || !step.sure) continue
      const skipped =
        !ok && culprit !== undefined && index > culprit && step.decides && shell.steps[culprit]?.decides === true
      if (skipped) continue
      const failed = (!ok && index === culprit) || complained(programOf(step), answer)
      for (const effect of effects) {
        // A redirection takes place even if the program fails.
        const redirected =
          'path' in effect && (effect.action === 'write' || effect.action === 'append') && step.outputs.length > 0
        if (!failed || redirected) this.files.book(effect, { id })
      }
    }
  }

  private readGit(steps: readonly Step[], answer: ShellOutput, id: number): void {
    for (const step of steps) {
      if (programOf(step) !== 'git') continue
      const { verb } = gitVerb(step)
      const text = `${answer.head.slice(0, 3_000)}\n${answer.tail.slice(-3_000)}`
      const commit = verb === 'commit' ? /^\[([^\s\]]+)(?: \(root-commit\))? ([0-9a-f]{7,40})\]/m.exec(text) : undefined
      const branch =
        verb === 'checkout' || verb === 'switch'
          ? /^Switched to (?:a new )?branch '([^']+)'/m.exec(text)?.[1]
          : commit?.[1]
      if (branch !== undefined && branch !== 'detached') this.git = { ...this.git, branch, id }
      if (commit?.[2] !== undefined) this.git = { ...this.git, commit: commit[2], id }
    }
  }

  private polled(handle: string, output: Output, id: number): void {
    const answer = readShellOutput(output, false)
    const status = /<status>(\w+)<\/status>/.exec(output.head.slice(0, 2_000))?.[1]
    const still = answer.running !== undefined || status === 'running'
    const ended = !still && (answer.exit !== undefined || /^(?:completed|failed|killed|stopped)$/.test(status ?? ''))
    if (still) this.background.seen(handle, id)
    else if (ended) {
      const shell = this.waiting.get(handle)
      this.waiting.delete(handle)
      if (shell && this.background.has(handle) && status !== 'killed') {
        const exit = answer.exit ?? (status === 'failed' ? 1 : 0)
        this.outcome(shell, shell.call.command.trim(), { ...answer, exit }, false, id, id)
      }
      this.background.end(handle, undefined, id)
    }
    for (const agent of this.subagents) {
      if (agent.fact.status !== 'running' || agent.handle === undefined) continue
      if (
        (agent.handle === handle && ended) ||
        (agent.handle !== handle && output.head.includes(agent.handle) && /completed/.test(output.head))
      ) {
        this.endSubagent(agent.handle, status === 'failed' ? 'failed' : 'done', id)
      }
    }
  }

  private notice({ handle, status }: Notice, id: number): void {
    const ok = status === 'completed' ? true : status === 'failed' ? false : undefined
    this.waiting.delete(handle)
    this.background.end(handle, ok, id)
    this.endSubagent(handle, ok === true ? 'done' : 'failed', id)
  }

  private subagent(call: Call & { kind: 'subagent' }, startId: number, output: Output, id: number): void {
    const handle = /\b(?:agentId|agent_id|task_id|Task ID|agent ID)["']?:\s*["']?([\w-]+)/i.exec(
      output.head.slice(0, 2_000),
    )?.[1]
    const running =
      !output.isError && (call.background || output.head.startsWith('Async agent launched')) && handle !== undefined
    const fact = {
      task: call.task,
      ...(call.type && { type: call.type }),
      status: running ? ('running' as const) : output.isError ? ('failed' as const) : ('done' as const),
      id: startId,
      ...(!running && { resultId: id }),
    }
    this.subagents.push({ fact, ...(handle !== undefined && { handle }) })
  }

  private endSubagent(handle: string, status: 'done' | 'failed', id: number): void {
    const agent = this.subagents.find(({ fact, handle: own }) => own === handle && fact.status === 'running')
    if (agent) Object.assign(agent.fact, { status, resultId: id })
  }

  private anchor(payload: Fields, { id }: Entry): void {
    const name = typeof payload['name'] === 'string' ? payload['name'] : ''
    const state = payload['state']
    if (isFields(state)) {
      this.readPlace(state, id)
      const todos = readTodos(state['todos'])
      if (todos && todos.length > 0 && this.todos.empty) this.todos.replace(todos, id)
    }
    if (name === 'session/start') return
    this.decide(decisionsOfState(state), id)
    this.inherited = { id, name, state: state ?? null }
  }

  private event(payload: Fields, { id }: Entry): void {
    const data = payload['data']
    if (!isFields(data)) return
    this.readPlace(data, id)
    if (isFields(data['payload'])) this.readPlace(data['payload'], id)
    if (/^todos?$/.test(String(payload['name']))) {
      const todos = readTodos(data['todos'] ?? data['items'])
      if (todos) this.todos.replace(todos, id)
    }
  }

  private error(payload: Fields, { id }: Entry): void {
    const kind = typeof payload['kind'] === 'string' ? payload['kind'] : 'error'
    const message = typeof payload['message'] === 'string' ? payload['message'] : kind
    if (/cancel|abort|interrupt/i.test(kind)) return
    this.failures.fail(`error ${kind}`, { what: kind, kind: 'error', message: line(message), lastId: id }, [
      { subjects: ['turn'] },
    ])
  }

  /** Folder, branch and commit, wherever an importer or a session's start put them. */
  private readPlace(fields: Fields, id: number): void {
    const { cwd } = fields
    if (typeof cwd === 'string' && cwd !== '' && this.folder === undefined) {
      this.folder = joinPath('', cwd)
      this.git = { ...this.git, id }
    }
    const git = isFields(fields['git']) ? fields['git'] : fields
    const branch = git['branch'] ?? git['gitBranch'] ?? git['git_branch']
    if (typeof branch === 'string' && branch !== '' && branch !== this.git.branch)
      this.git = { ...this.git, branch, id }
    const commit = git['commit'] ?? git['commit_hash'] ?? git['head']
    if (typeof commit === 'string' && /^[0-9a-f]{7,64}$/.test(commit)) {
      if (this.git.base === undefined) this.git = { ...this.git, base: commit, commit, id }
      else if (this.git.commit !== commit) this.git = { ...this.git, commit, id }
    }
  }

  private decide(found: readonly Omit<Decision, 'id'>[], id: number): void {
    for (const decision of found) {
      if (!this.decisions.some(({ text }) => text === decision.text)) this.decisions.push({ ...decision, id })
    }
  }

  private ask(asked: readonly Asked[], id: number): void {
    for (const { text, options } of asked)
      this.questions.push({ text, ...(options && { options }), source: 'tool', id })
  }

  private openQuestions(open: readonly Pending[]): Question[] {
    const asked = open.flatMap(({ call, id }): Question[] =>
      call.kind === 'questions' && id > this.answeredId
        ? call.questions.map(({ text, options }) => ({ text, ...(options && { options }), source: 'tool', id }))
        : [],
    )
    const last = this.lastWords
    const spoken = last && last.id > this.answeredId ? questionIn(last.text) : undefined
    const said: Question[] = last && spoken !== undefined ? [{ text: spoken, source: 'text', id: last.id }] : []
    return [...this.questions, ...asked, ...said]
  }

  /** A list that was written but not yet answered is still what the agent plans. */
  private latestTodos(open: readonly Pending[]): Ledger['todos'] {
    const latest = open.findLast(({ call }) => call.kind === 'todos')
    if (latest?.call.kind !== 'todos') return this.todos.facts()
    return latest.call.todos.map((todo) => ({ ...todo, id: latest.id }))
  }
}

export function countFiles(files: readonly FileFact[]): { filesRead: number; filesChanged: number } {
  return {
    filesRead: files.filter(({ reads }) => reads > 0).length,
    filesChanged: files.filter(({ state, folder }) => state === 'changed' && folder !== true).length,
  }
}

/** Folders for what is thrown away; only meant for paths outside the session's folder. */
const TEMPORARY = /^(?:\/private)?\/(?:tmp|var\/tmp|var\/folders|dev\/shm)\//
const REJECTED =
  /^(?:<tool_use_error>)?(?:The user doesn't want to (?:proceed|take)|The user rejected|User rejected|rejected by user|\[Operation Cancelled\]|User denied)/i
/** Codex and Gemini CLI do not mark it as an error. */
const REJECTED_UNMARKED = /^(?:(?:exec command|patch) )?rejected by user\b|^\[Operation Cancelled\] Reason: User/

/** Only for tools whose errors the agent itself words: what a server, a page or a subagent says is not a person's no. */
function isRejected(call: Call, { isError, head, exit }: Output): boolean {
  if (call.kind === 'unknown' || call.kind === 'subagent' || call.kind === 'look' || call.kind === 'poll') return false
  if (isError) return REJECTED.test(head)
  const marked = call.kind === 'shell' && call.marksFailure
  return !marked && exit === undefined && head.length < 300 && REJECTED_UNMARKED.test(head)
}

const FAILED_EDIT =
  /^(?:<tool_use_error>|apply_patch verification failed|Failed to (?:edit|write|apply|find)|Error(?: editing| writing|:)|Could not find|No changes (?:made|to make)|String to replace not found)/i

/** A program that says it could not do it: `rm: cannot remove 'x'`. */
function complained(program: string, { head, tail }: ShellOutput): boolean {
  if (program === '' || !(head.includes(`${program}: `) || tail.includes(`${program}: `))) return false
  const pattern = new RegExp(
    `^(?:\\S+/)?${program.replaceAll(/[^\w-]/g, '.')}: .*(?:cannot|can't|No such file|not a directory|Permission denied|are the same|unknown option|invalid)`,
    'im',
  )
  return pattern.test(head) || pattern.test(tail)
}

function quoteOf({ text, id, blob }: Quote): Quote {
  return { text, id, ...(blob !== undefined && { blob }) }
}

/** The text of a message: its text parts, or the preview where the text lies in a blob. */
function textOf(content: unknown): { text: string; blob?: string } {
  if (typeof content === 'string') return { text: content }
  if (!Array.isArray(content)) return { text: '' }
  const texts: string[] = []
  let blob: string | undefined
  let image = false
  for (const part of content as unknown[]) {
    if (!isFields(part)) continue
    if (part['type'] === 'blob' && part['of'] === undefined && typeof part['preview'] === 'string') {
      texts.push(part['preview'])
      if (typeof part['sha256'] === 'string') blob = part['sha256']
    } else if (part['type'] === 'image' || part['of'] !== undefined) image = true
    else if (/^(?:text|input_text|output_text)$/.test(String(part['type'])) && typeof part['text'] === 'string')
      texts.push(part['text'])
  }
  const text = texts.join('\n')
  return { text: text === '' && image ? '[image]' : text, ...(blob !== undefined && { blob }) }
}

/** The question that a text ends with, in any script. */
function questionIn(text: string): string | undefined {
  const last = text.slice(-800).trimEnd()
  const mark = Math.max(last.lastIndexOf('?'), last.lastIndexOf('？'), last.lastIndexOf('؟'))
  // Only closing marks, stars of Markdown and pictures may follow.
  if (mark < 0 || !/^[*_)"'»”」\s\p{Extended_Pictographic}\uFE0F]*$/u.test(last.slice(mark + 1))) return undefined
  const end = last.slice(0, mark + 1)
  const stops = [...end.slice(0, -1).matchAll(/[.!?？。！؟](?=\s|\p{Script=Han})/gu)].map(({ index }) => index)
  return end.slice(Math.max(end.lastIndexOf('\n'), stops.at(-1) ?? -1) + 1).trim()
}

export type { Ledger } from './facts.ts'
