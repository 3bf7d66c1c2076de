// The ledger: facts of a phase, taken from its entries by code. It reads each entry once, keeps facts and not entries, and
// gives the same answer for the same entries. shell/ reads commands, files/ keeps what happened to files, words/ reads
// what people and the assistant say, tools/ the calls that are open, and the other ones.

import type { Entry } from '../../store/index.ts'
import { EndingBook } from './ending-book.ts'
import { askedPathIn, documentPathIn, isBatonPrompt } from '../agent-prompts.ts'
import { Handover } from './handover.ts'
import { InheritedBook } from './inherited-book.ts'
import { withUnansweredEdits } from './files/unanswered-edits.ts'
import { Conversation, doesOf } from './words/conversation.ts'
import { DecisionBook, decisionsOfState, planTitle, rejected } from './words/decisions.ts'
import type { Failure, Ledger, Quote } from './facts.ts'
import { FailureBook, reportedFailure } from './tools/failure-book.ts'
import { judgeFailures } from './tools/open-failures.ts'
import { type OpenCall, OpenCalls } from './tools/open-calls.ts'
import { countFiles, FileTable } from './files/file-table.ts'
import {
  cutByBaton,
  commentOf,
  isCancelled,
  isRefused,
  isRejected,
  type Output,
  readOutput,
  readShellOutput,
} from './tools/output.ts'
import { WorkingFolder } from './files/working-folder.ts'
import { ShellBook } from './shell/shell-book.ts'
import { ReplyBook, messageText } from './words/message-text.ts'
import { started, SubagentBook } from './tools/subagent-book.ts'
import { TodoList, withMentions } from './tools/todo-list.ts'
import { ToolBook } from './tools/tool-book.ts'
import { isFields, line, readCall, readTodos, type Asked, type Call } from './tools/tool-calls.ts'
import { userCommandIn, type UserCommand, type UserWords, readUserWords, type Notice } from './words/user-words.ts'

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

/** The event that a supervisor puts on the tape of a session right before it interrupts the agent. */
export const interruptEvent = 'baton/interrupt'

type Fields = Readonly<Record<string, unknown>>

export class LedgerBuilder {
  #first: Entry | undefined
  #last: Entry | undefined
  readonly #counts = { entries: 0, userMessages: 0, assistantMessages: 0, toolCalls: 0, toolErrors: 0 }
  readonly #openCalls = new OpenCalls()
  readonly #workingFolder: WorkingFolder
  readonly #files = new FileTable()
  readonly #failures = new FailureBook()
  readonly #shell: ShellBook
  readonly #conversation = new Conversation()
  readonly #todos = new TodoList()
  readonly #decisions = new DecisionBook()
  readonly #tools = new ToolBook(this.#files, this.#failures)
  readonly #subagents = new SubagentBook()
  #lastWords: Quote | undefined
  readonly #replies = new ReplyBook()
  readonly #ending = new EndingBook()
  /** The command of the user whose output comes next. */
  #userCommand: { readonly command: string; readonly id: number } | undefined
  #lastCommand: { command: string; ok: boolean | undefined } | undefined
  /** The last failure that the user pasted. */
  #reported: Failure | undefined
  #lastSpokenId = 0
  /** Entries of the user's last message, and of the one before it. */
  #answeredId = 0
  #settledId = 0
  /** Where a supervisor last interrupted the agent: what the agent says of calls before it is not the user's word. */
  #cutId = 0
  readonly #inherited = new InheritedBook()
  /** Calls without a result that are not about the work. */
  readonly #beside = new Set<string>()
  readonly #handover = new Handover((words) => this.#assistantSaid(words))

  constructor({ cwd }: LedgerOptions = {}) {
    this.#workingFolder = new WorkingFolder(cwd)
    this.#shell = new ShellBook(this.#workingFolder, this.#files, this.#failures)
  }

  add(entry: Entry): void {
    this.#first ??= entry
    this.#last = entry
    this.#counts.entries += 1
    const payload: Fields = isFields(entry.payload) ? entry.payload : {}
    if (isFields(entry.meta)) this.#workingFolder.read(entry.meta, entry.id)
    switch (entry.kind) {
      case 'message':
        this.#message(payload, entry)
        return
      case 'tool_call':
        if (Array.isArray(payload['calls'])) for (const call of payload['calls'] as unknown[]) this.#call(call, entry)
        return
      case 'tool_result':
        if (Array.isArray(payload['results']))
          for (const result of payload['results'] as unknown[]) this.#result(result, entry)
        return
      case 'anchor':
        this.#anchor(payload, entry)
        return
      case 'event':
        this.#event(payload, entry)
        return
      case 'error':
        this.#error(payload, entry)
        return
      default:
    }
  }

  /** The facts so far; adding may go on afterwards. */
  finish(): Ledger {
    const { interrupted, ...shell } = this.#shell.facts()
    const standpoint = {
      settledId: this.#settledId,
      answeredId: this.#answeredId,
      lastSpokenId: this.#lastSpokenId,
      cutId: this.#cutId,
    }
    const open = this.#openCalls.since(this.#settledId)
    const files = withUnansweredEdits(
      this.#files.facts((path) => this.#workingFolder.isScratch(path)),
      open,
      this.#lastSpokenId,
    )
    const todos = this.#todos.factsWith(open)
    const { goal, lastRequest, instructions, questions, decisions } = this.#conversation.facts({
      calls: open,
      lastWords: this.#lastWords,
      answeredId: this.#answeredId,
      todos,
      decisions: this.#decisions.facts(),
    })
    const ending = this.#ending.fact({
      open: this.#openCalls.waitedFor(standpoint),
      questions: questions.filter(({ passedOver }) => passedOver === undefined),
      lastWords: this.#lastWords,
      lastCommand: this.#lastCommand,
    })
    const failures = judgeFailures([...this.#failures.facts(), ...(this.#reported ? [this.#reported] : [])], {
      deeds: shell.deeds,
      instructions,
      replies: [...this.#replies.facts(), ...(this.#lastWords ? [this.#lastWords] : [])],
      lastChange: this.#failures.lastChange,
      ending,
    })
    const unresolved = failures.filter(({ closed }) => closed === undefined).length
    return {
      range: this.#first && this.#last && { from: this.#first.id, to: this.#last.id },
      span: this.#first && this.#last && { from: this.#first.date, to: this.#last.date },
      counts: {
        ...this.#counts,
        ...countFiles(files),
        failuresUnresolved: unresolved,
        failuresResolved: failures.length - unresolved,
      },
      ending,
      goal: goal && quoteOf(goal),
      lastRequest: lastRequest && quoteOf(lastRequest),
      instructions,
      lastWords: this.#lastWords,
      replies: this.#replies.facts(),
      files,
      ...shell,
      failures,
      todos: withMentions(todos, instructions),
      decisions,
      questions,
      subagents: [
        ...this.#subagents.facts(),
        ...open.flatMap(({ call, id }) => (call.kind === 'subagent' ? [started(call, id)] : [])),
      ],
      inFlight: [...interrupted.filter(({ id }) => id > this.#settledId), ...this.#openCalls.inFlight(standpoint)].sort(
        (a, b) => a.id - b.id,
      ),
      unknownTools: this.#tools.facts(),
      ...this.#inherited.facts(),
      git: this.#workingFolder.fact(),
    }
  }

  #message(payload: Fields, { id, meta }: Entry): void {
    const role = payload['role']
    if (meta?.['isSidechain'] === true) return
    const { text, blob } = messageText(payload['content'])
    if (role === 'assistant') {
      this.#ending.stoppedBy('user')
      this.#counts.assistantMessages += 1
      this.#lastSpokenId = id
      this.#failures.succeed([], ['turn'], id)
      const isSaid = text.trim() !== '' && meta?.['isMeta'] !== true
      if (this.#handover.said(isSaid ? { text, id } : undefined)) return
      if (isSaid) this.#assistantSaid({ text, id })
      else this.#ending.see(text.trim() === '' ? 'thought' : 'words', id)
      return
    }
    if (role !== 'user') return
    if (payload['customType'] === 'handoff' || meta?.['isCompactSummary'] === true) {
      this.#inherited.add(payload['customType'] === 'handoff' ? 'handoff' : 'compaction', text, id)
      return
    }
    const ran = userCommandIn(text)
    if (ran !== undefined) this.#userRan(ran, id)
    if (ran !== undefined || payload['customType'] !== undefined || meta?.['isMeta'] === true) return
    const path = documentPathIn(text.trimStart())
    if (path !== undefined) this.#inherited.toRead(path, id)
    const heard = readUserWords(text)
    this.#saidToWriter(text, heard)
    // A compaction that keeps messages puts them on the tape a second time.
    if (meta?.['kept'] === true && heard.kind === 'words' && this.#conversation.has(heard.text)) return
    for (const notice of heard.notices) this.#notice(notice, id)
    if (heard.kind === 'inherited') {
      this.#inherited.add(heard.name, heard.text, id)
    }
    const words = heard.kind === 'words' ? heard.text : heard.kind === 'inherited' ? (heard.words ?? '') : ''
    if (words !== '') {
      this.#counts.userMessages += 1
      const quote = { text: words, id, ...(heard.kind === 'words' && { blob }) }
      if (meta?.['queued'] === true) this.#userAdded(quote)
      else this.#userSaid(quote)
    }
    if (heard.kind === 'nothing' && heard.interrupted) {
      if (!this.#isOverButForDocument) this.#ending.see('stopped', id)
      this.#conversation.turnEnded('cut')
    }
    if (heard.kind !== 'nothing' || heard.interrupted) this.#lastSpokenId = id
  }

  #assistantSaid({ text, id }: Quote): void {
    this.#ending.see('words', id)
    this.#lastWords = { text: text.length > 8_000 ? `…${text.slice(-7_999)}` : text, id }
    this.#conversation.assistantSaid({ text, id })
  }

  /** The work was over before a document was asked for, and nothing but that was done since. */
  get #isOverButForDocument(): boolean {
    return this.#handover.isWriting && this.#ending.isOver
  }

  /** What is said to an agent that writes a handoff document, or that is to write one now. */
  #saidToWriter(text: string, heard: UserWords): void {
    const asked = askedPathIn(text)
    if (asked !== undefined) {
      const { isOver } = this.#ending
      this.#handover.asked(asked, !isOver)
      if (isOver) this.#ending.aside()
    } else if (isBatonPrompt(text)) this.#handover.ended()
    else if (heard.kind !== 'nothing' || heard.interrupted) this.#handover.heard()
  }

  /** Commands of the user belong to no turn: how the work stands does not change by them, what is broken does. */
  #userRan({ command, output }: UserCommand, id: number): void {
    if (command !== undefined) this.#userCommand = { command, id }
    if (output === undefined || this.#userCommand === undefined) return
    const { command: run, id: runId } = this.#userCommand
    this.#userCommand = undefined
    // The exit status is in the output, if anywhere.
    const call = { kind: 'shell', command: run, background: false, keepsFolder: false, marksFailure: false } as const
    const script = this.#shell.read(call, this.#workingFolder.here)
    this.#shell.settle({ id: runId, callId: '', name: 'user', call, script }, readOutput(output, false), id)
  }

  #userSaid(quote: Quote, refused?: string): void {
    const before = this.#lastWords && this.#lastWords.id > this.#answeredId ? this.#lastWords : undefined
    if (before) this.#replies.add(before, this.#ending.isCut)
    const decision = this.#conversation.userSaid(quote, before, this.#todos.facts(), refused)
    if (decision) this.#decisions.add([decision], quote.id)
    this.#ending.see('request', quote.id)
    this.#reported = reportedFailure(quote) ?? this.#reported
    this.#lastSpokenId = quote.id
    this.#settledId = this.#answeredId
    this.#answeredId = quote.id
  }

  /** Words typed while the assistant worked answer nothing that it said, and the turn goes on. */
  #userAdded(quote: Quote): void {
    this.#conversation.userAdded(quote, this.#todos.facts())
    this.#ending.see('request', quote.id)
    this.#reported = reportedFailure(quote) ?? this.#reported
    this.#lastSpokenId = quote.id
  }

  #call(value: unknown, { id, meta }: Entry): void {
    if (!isFields(value)) return
    const name = typeof value['name'] === 'string' ? value['name'] : 'unknown'
    const callId = typeof value['id'] === 'string' ? value['id'] : ''
    this.#counts.toolCalls += 1
    this.#failures.succeed([], ['turn'], id)
    const input = value['arguments'] ?? value['input'] ?? value['args']
    if (meta?.['wraps'] !== undefined) {
      if (meta['isSidechain'] !== true) this.#calling(callId, this.#handover.called(input, 'looks'), id)
      this.#openCalls.addWrapping(callId, name, meta['wraps'], id)
      return
    }
    const call = readCall(name, input)
    const here = typeof meta?.['cwd'] === 'string' ? this.#workingFolder.name(meta['cwd']) : this.#workingFolder.here
    const aside = meta?.['isSidechain'] === true
    // Of a subagent, what it did to files counts, and what it committed: its plans and questions are its own.
    if (aside && call.kind !== 'files' && call.kind !== 'shell') return
    const script = call.kind === 'shell' ? this.#shell.read(call, here) : undefined
    const beside = !aside && this.#handover.called(input, doesOf(call, script))
    if (!aside) this.#calling(callId, beside, id)
    const open: OpenCall = {
      id,
      callId,
      name,
      aside,
      beside,
      call:
        call.kind === 'files'
          ? { ...call, effects: call.effects.map((effect) => this.#workingFolder.named(effect, here)) }
          : call,
      ...(script && { script }),
    }
    if (call.kind === 'unknown') this.#tools.called(name, id)
    if (!aside && !beside) this.#conversation.called(call, input, script)
    this.#openCalls.add(open)
  }

  /** `beside`: it is not about the work, and neither is its result. */
  #calling(callId: string, beside: boolean, id: number): void {
    if (!beside) return this.#ending.see('call', id)
    this.#beside.add(callId)
    this.#ending.goesOn()
  }

  #result(value: unknown, { id, meta }: Entry): void {
    if (!isFields(value)) return
    const output = readOutput(value['output'], value['is_error'] === true)
    if (output.isError) this.#counts.toolErrors += 1
    const callId = typeof value['call_id'] === 'string' ? value['call_id'] : ''
    const pending = this.#openCalls.answer(callId)
    const isBeside = this.#beside.delete(callId)
    if (meta?.['isSidechain'] !== true && !isBeside) this.#answered(pending, output, id)
    if (!pending) return
    if (value['unknown'] === true) {
      if (pending.script) this.#shell.ran(pending.script, pending.id)
      return
    }
    if (isCancelled(output) || isRefused(pending.call, output)) return
    this.#inherited.wasRead(pending.call.what, value['output'], id)
    const isRejection = isRejected(pending.call, output)
    const { call } = pending
    const isCut = () => isRejection || (call.kind === 'shell' && readShellOutput(output, call.marksFailure).interrupted)
    if (pending.id < this.#cutId && isCut()) {
      if (call.kind === 'shell') this.#settle(pending, { ...output, head: cutByBaton, tail: cutByBaton }, id)
    } else if (isRejection) this.#rejected(pending, output, id)
    else this.#settle(pending, output, id)
  }

  #answered(pending: OpenCall | undefined, output: Output, id: number): void {
    const call = pending?.call
    if (call?.kind === 'result' && !output.isError) {
      this.#lastWords = { text: call.text, id }
      this.#ending.see('answer', id)
    } else this.#ending.see('result', id)
  }

  /** A person said no: nothing was run. */
  #rejected({ call, name }: OpenCall, output: Output, id: number): void {
    if (call.kind === 'questions') {
      this.#answeredDialog(call.questions, output, id, id)
      return
    }
    const refused = this.#named(call, name)
    if (call.kind === 'files') this.#conversation.refused(call.what)
    const said = commentOf(output)
    if (said === undefined) return this.#decisions.reject(refused, id)
    this.#decisions.add([{ text: rejected(refused), why: said, by: 'user', source: 'answer' }], id)
    this.#counts.userMessages += 1
    this.#userSaid({ text: said, id }, call.kind === 'plan' ? undefined : refused)
  }

  /** A call in a line, by which it is known again. */
  #named(call: Call, name: string): string {
    if (call.kind === 'shell') return line(call.command)
    if (call.kind === 'plan') return `plan ${planTitle(call.text)}`.trim()
    const home = `${this.#workingFolder.folder ?? ''}/`
    return line((call.what || name).replaceAll(home, (found) => (found === '/' ? found : '')))
  }

  #settle(pending: OpenCall, output: Output, id: number): void {
    const { call, name } = pending
    const does =
      call.kind === 'shell' || (call.kind === 'files' && call.effects.some(({ action }) => action !== 'read'))
    if (does && !output.isError) this.#decisions.allowed(this.#named(call, name), call.kind === 'files')
    switch (call.kind) {
      case 'files':
        if (pending.aside && output.isError) return
        this.#tools.changed(call, { id: pending.id, output, resultId: id })
        return
      case 'shell':
        if (pending.script && pending.aside)
          this.#shell.settleAside({ ...pending, call, script: pending.script }, output, id)
        else if (pending.script) {
          const ok = this.#shell.settle({ ...pending, call, script: pending.script }, output, id)
          this.#lastCommand = { command: line(call.command), ok }
        }
        return
      case 'poll':
        this.#polled(call.handle, output, id)
        return
      case 'stop':
        if (!output.isError) {
          this.#shell.ended(call.handle, undefined, id)
          this.#subagents.end(call.handle, 'failed', id)
        }
        return
      case 'todos':
      case 'todo-add':
      case 'todo-list':
      case 'todo-set':
        this.#todos.settle(call, output, pending.id, id)
        return
      case 'questions':
        this.#answeredDialog(call.questions, output, pending.id, id)
        return
      case 'plan':
        if (!output.isError) this.#decisions.approve(call.text, output, id)
        return
      case 'subagent':
        this.#subagents.settle(call, pending.id, output, id)
        return
      case 'look':
      case 'result':
        return
      case 'unknown':
        this.#tools.settle(pending.name, call, output, id)
    }
  }

  #answeredDialog(asked: readonly Asked[], output: Output, askedId: number, id: number): void {
    const { askedBack, left } = this.#decisions.answer(asked, output, id)
    this.#conversation.askedBack(askedBack, askedId)
    this.#conversation.dialogLeft(left, askedId)
  }

  #polled(handle: string, output: Output, id: number): void {
    const ended = this.#shell.polled(handle, output, id)
    if (ended) this.#subagents.end(handle, ended, id)
    this.#subagents.heard(output, id)
  }

  #notice({ handle, status }: Notice, id: number): void {
    const ok = status === 'completed' ? true : status === 'failed' ? false : undefined
    this.#shell.ended(handle, ok, id)
    this.#subagents.end(handle, ok === true ? 'done' : 'failed', id)
  }

  #anchor(payload: Fields, { id }: Entry): void {
    const name = typeof payload['name'] === 'string' ? payload['name'] : ''
    const state = payload['state']
    if (isFields(state)) {
      this.#workingFolder.read(state, id)
      const todos = readTodos(state['todos'])
      if (todos && todos.length > 0 && this.#todos.empty) this.#todos.replace(todos, id)
    }
    if (name === 'session/start') return
    this.#decisions.add(decisionsOfState(state), id)
    if (name === 'compaction') this.#inherited.add(name, state ?? null, id)
    else this.#inherited.note(name, state ?? null, id)
  }

  #event(payload: Fields, { id }: Entry): void {
    const data = payload['data']
    if (!isFields(data)) return
    const status = data['status']
    if (/(?:^|\/)turn_started$/.test(String(payload['name']))) this.#ending.began()
    if (/^turn_(?:ended|closed)$/.test(String(payload['name']))) {
      this.#openCalls.turnEnded()
      if (!this.#handover.ended()) {
        this.#ending.ended(status === 'done' ? 'done' : status === 'failed' ? 'failed' : 'aborted')
        this.#conversation.turnEnded(status === 'done' ? 'done' : 'cut')
      }
    }
    if (payload['name'] === interruptEvent) {
      this.#cutId = id
      this.#ending.stoppedBy('baton')
    }
    this.#workingFolder.read(data, id)
    if (payload['name'] === 'session' && typeof data['cwd'] === 'string') this.#workingFolder.moved(data['cwd'])
    if (isFields(data['payload'])) this.#workingFolder.read(data['payload'], id)
    if (/^todos?$/.test(String(payload['name']))) {
      const todos = readTodos(data['todos'] ?? data['items'])
      if (todos) this.#todos.replace(todos, id)
    }
  }

  #error(payload: Fields, { id }: Entry): void {
    const kind = typeof payload['kind'] === 'string' ? payload['kind'] : 'error'
    const message = typeof payload['message'] === 'string' ? payload['message'] : kind
    if (/cancel|abort|interrupt/i.test(kind)) return
    if (!this.#isOverButForDocument) this.#ending.failed(line(message), id)
    const failure = { what: kind, kind: 'error', role: 'step', message: line(message), lastId: id } as const
    this.#failures.fail(`error ${kind}`, failure, [{ subjects: ['turn'] }])
  }
}

function quoteOf({ text, id, blob }: Quote): Quote {
  return { text, id, blob }
}

export type { Ledger } from './facts.ts'
