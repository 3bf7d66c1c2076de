// The ledger: facts of a phase, taken from its entries by code. It reads each entry once, keeps facts and not entries, and
// gives the same answer for the same entries. A call is booked when its result arrives; until then it is in flight.

import type { Entry } from '../../store/index.ts'
import { withCutOff } from './cut-off.ts'
import { answered, decisionsOfState, decisionsSaid, planTitle, readAnswers } from './decisions.ts'
import type { Decision, Inherited, Ledger, Quote } from './facts.ts'
import { FailureBook } from './failure-book.ts'
import { countFiles, FileTable } from './file-table.ts'
import { InstructionBook } from './instructions.ts'
import { readOutput, type Output } from './output.ts'
import { Place } from './place.ts'
import { QuestionBook } from './question-book.ts'
import { isRejected } from './rejection.ts'
import { type Script, ShellBook } from './shell-book.ts'
import { isAnswer, questionIn, ReplyBook, textOf } from './speech.ts'
import { started, SubagentBook } from './subagent-book.ts'
import { TodoList } from './todo-list.ts'
import { ToolBook } from './tool-book.ts'
import { isFields, line, readCall, readTodos, type Call } from './vocabulary.ts'
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
  readonly script?: Script
}

type Fields = Readonly<Record<string, unknown>>

export class LedgerBuilder {
  private first: Entry | undefined
  private last: Entry | undefined
  private readonly counts = { entries: 0, userMessages: 0, assistantMessages: 0, toolCalls: 0, toolErrors: 0 }
  private readonly pending = new Map<string, Pending[]>()
  private readonly place: Place
  private readonly files = new FileTable()
  private readonly failures = new FailureBook()
  private readonly shell: ShellBook
  private readonly instructions = new InstructionBook()
  private readonly todos = new TodoList()
  private readonly decisions: Decision[] = []
  private readonly tools = new ToolBook(this.files, this.failures)
  private readonly subagents = new SubagentBook()
  private readonly questions = new QuestionBook()
  private lastWords: Quote | undefined
  private readonly replies = new ReplyBook()
  private lastSpokenId = 0
  /** The user's last words, and those before. */
  private answeredId = 0
  private settledId = 0
  private inherited: Inherited | undefined

  constructor({ cwd }: LedgerOptions = {}) {
    this.place = new Place(cwd)
    this.shell = new ShellBook(this.place, this.files, this.failures)
  }

  add(entry: Entry): void {
    this.first ??= entry
    this.last = entry
    this.counts.entries += 1
    const payload: Fields = isFields(entry.payload) ? entry.payload : {}
    if (isFields(entry.meta)) this.place.read(entry.meta, entry.id)
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
    const { interrupted, ...shell } = this.shell.facts()
    const failures = this.failures.facts()
    const all = [...this.pending.values()].flat()
    // What was cut off before the user's last words but one is of no concern any more: work has moved on since.
    const open = all.filter(({ id }) => id > this.settledId)
    const files = withCutOff(
      this.files.facts((path) => this.place.isScratch(path)),
      open,
      this.lastSpokenId,
    )
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
      replies: this.replies.facts(),
      files,
      ...shell,
      failures,
      todos,
      decisions: [...this.decisions],
      questions: this.questions.facts(open, this.lastWords, this.answeredId),
      subagents: [
        ...this.subagents.facts(),
        ...open.flatMap(({ call, id }) => (call.kind === 'subagent' ? [started(call, id)] : [])),
      ],
      inFlight: [
        ...interrupted.filter(({ id }) => id > this.settledId),
        ...open.map(({ callId, name, call, id }) => ({
          callId,
          tool: name,
          what: line(call.what),
          id,
          interrupted: id < this.lastSpokenId,
        })),
      ].sort((a, b) => a.id - b.id),
      unknownTools: this.tools.facts(),
      inherited: this.inherited,
      git: this.place.fact(),
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
    // What a compaction kept stands on the tape once more.
    if (meta?.['kept'] === true && heard.kind === 'words' && this.instructions.has(heard.text)) return
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
    if (this.lastWords && this.lastWords.id > this.answeredId) this.replies.add(this.lastWords)
    const question = this.lastWords && this.lastWords.id > this.answeredId ? questionIn(this.lastWords.text) : undefined
    this.instructions.add(quote, question === undefined ? undefined : this.lastWords?.id)
    if (question !== undefined && isAnswer(quote.text))
      this.decide([answered({ text: question }, quote.text)], quote.id)
    this.questions.settle()
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
    const here = typeof meta?.['cwd'] === 'string' ? this.place.name(meta['cwd']) : undefined
    const pending: Pending = {
      id,
      callId,
      name,
      call: call.kind === 'files' ? { ...call, effects: call.effects.map((effect) => this.place.named(effect)) } : call,
      ...(call.kind === 'shell' && { script: this.shell.read(call, here) }),
    }
    if (call.kind === 'unknown') this.tools.called(name, id)
    const queue = this.pending.get(callId)
    if (queue) queue.push(pending)
    else this.pending.set(callId, [pending])
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
      this.questions.ask(call.questions, id)
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
        this.tools.changed(call, { id: pending.id, output, resultId: id })
        return
      case 'shell':
        if (pending.script) this.shell.settle({ ...pending, call, script: pending.script }, output, id)
        return
      case 'poll':
        this.polled(call.handle, output, id)
        return
      case 'stop':
        if (!output.isError) {
          this.shell.ended(call.handle, undefined, id)
          this.subagents.end(call.handle, 'failed', id)
        }
        return
      case 'todos':
        if (!output.isError) this.todos.replace(call.todos, pending.id)
        return
      case 'todo-add':
        if (!output.isError) this.todos.add(call.text, output.head.slice(0, 200), pending.id)
        return
      case 'todo-set':
        // A toggle says which way it went.
        if (!output.isError)
          this.todos.set(
            /\bun(?:completed|done|checked)\b/i.test(output.head.slice(0, 200)) ? { ...call, status: 'pending' } : call,
            pending.id,
          )
        return
      case 'questions': {
        const answers = readAnswers(call.questions, output)
        this.decide(
          call.questions.flatMap((asked, index) =>
            answers[index] === undefined ? [] : [answered(asked, answers[index])],
          ),
          id,
        )
        this.questions.ask(
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
        this.subagents.settle(call, pending.id, output, id)
        return
      case 'look':
        return
      case 'unknown':
        this.tools.settle(pending.name, call, output, id)
    }
  }

  private polled(handle: string, output: Output, id: number): void {
    const ended = this.shell.polled(handle, output, id)
    if (ended) this.subagents.end(handle, ended, id)
    this.subagents.heard(output, id)
  }

  private notice({ handle, status }: Notice, id: number): void {
    const ok = status === 'completed' ? true : status === 'failed' ? false : undefined
    this.shell.ended(handle, ok, id)
    this.subagents.end(handle, ok === true ? 'done' : 'failed', id)
  }

  private anchor(payload: Fields, { id }: Entry): void {
    const name = typeof payload['name'] === 'string' ? payload['name'] : ''
    const state = payload['state']
    if (isFields(state)) {
      this.place.read(state, id)
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
    this.place.read(data, id)
    if (isFields(data['payload'])) this.place.read(data['payload'], id)
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

  private decide(found: readonly Omit<Decision, 'id'>[], id: number): void {
    for (const decision of found) {
      if (!this.decisions.some(({ text }) => text === decision.text)) this.decisions.push({ ...decision, id })
    }
  }

  /** A list that was written but not yet answered is still what the agent plans. */
  private latestTodos(open: readonly Pending[]): Ledger['todos'] {
    const latest = open.findLast(({ call }) => call.kind === 'todos')
    if (latest?.call.kind !== 'todos') return this.todos.facts()
    return latest.call.todos.map((todo) => ({ ...todo, id: latest.id }))
  }
}

function quoteOf({ text, id, blob }: Quote): Quote {
  return { text, id, ...(blob !== undefined && { blob }) }
}

export type { Ledger } from './facts.ts'
