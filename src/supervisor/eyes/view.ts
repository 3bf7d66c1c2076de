// What a transcript says to a supervisor: the last words of the person, what was read, what runs, what has no answer yet.

import { LedgerBuilder } from '../../handoff/ledger/ledger.ts'
import path from 'node:path'
import type { ToolCall, ToolResult } from '../../tape/index.ts'
import { type Fact, GrowingSession, type SessionFile } from '../../transcripts/index.ts'

export interface Words {
  readonly text: string
  readonly at?: string
}

/** How many of the person's words are kept to tell a session by. */
const remembered = 20

export class View {
  readonly session: GrowingSession
  /** The newest is the last. */
  readonly prompts: Words[] = []
  /** Calls without a result: what each does. */
  readonly calls = new Map<string, string>()
  /** The last thing that was said was an error. */
  failed = false
  error = ''
  /** The last words of the agent. */
  reply = ''
  /** Tokens of the context after its first reply. */
  fresh: number | undefined
  /** When it was seen to grow last, in milliseconds. */
  changed: number | undefined
  readonly #cwd: string
  #ledger: LedgerBuilder
  #facts: { read: readonly string[]; background: readonly string[] } | undefined
  #entries = 0
  #heard: string | undefined

  constructor(file: SessionFile, cwd: string) {
    this.session = new GrowingSession(file)
    this.#cwd = cwd
    this.#ledger = new LedgerBuilder({ cwd })
    this.changed = file.changed
  }

  /** By the name of its file, or as the agent itself calls it. */
  isOf(session: string | undefined): boolean {
    return session === this.file.id || session === this.session.tally.session
  }

  get file(): SessionFile {
    return this.session.file
  }

  /** Reads on; whether there was anything new. */
  grow(now: number): boolean {
    const { facts, anew } = this.session.read()
    if (anew) this.#forget()
    for (const fact of facts) this.#take(fact)
    // A database tells what its sessions are each time it is read.
    const news = facts.some(({ type }) => type !== 'about')
    if (news && !anew) this.changed = now
    return news
  }

  get read(): readonly string[] {
    return this.#ledgerFacts().read
  }

  get background(): readonly string[] {
    return this.#ledgerFacts().background
  }

  close(): void {
    this.session.close()
  }

  #take(fact: Fact): void {
    if (fact.type === 'cleared') this.#forget()
    if (fact.type === 'used' && fact.aside !== true) this.fresh ??= fact.tokens
    if (fact.type === 'turn') {
      if (fact.to === 'asked') this.#asked(this.#heard ?? '', fact.date)
      if (fact.to !== 'idle') this.failed = false
      // What was asked of a turn that is over gets no answer any more.
      else this.calls.clear()
    }
    if (fact.type !== 'said') return
    const { draft } = fact
    const payload = fieldsOf(draft.payload)
    if (draft.kind === 'message' || draft.kind === 'tool_call') this.failed = false
    if (draft.kind === 'message') {
      const words = wordsOf(payload.content)
      if (payload.role === 'user') this.#heard = words
      else if (words !== '') this.reply = words
    } else if (draft.kind === 'tool_call') {
      for (const call of payload.calls as ToolCall[]) this.calls.set(call.id, deedOf(call))
    } else if (draft.kind === 'tool_result') {
      for (const { call_id } of payload.results as ToolResult[]) this.calls.delete(call_id)
    } else if (draft.kind === 'error') {
      this.failed = true
      this.error = String(payload.message ?? payload.kind ?? 'error')
    } else if (payload.name === 'claude/attachment') {
      // Words that were typed during a turn, and given to the model within it.
      const { type, prompt } = fieldsOf(fieldsOf(payload.data).attachment)
      if (type === 'queued_command' && typeof prompt === 'string') this.#asked(prompt, draft.date)
    }
    const id = ++this.#entries
    const date = draft.date ?? ''
    this.#ledger.add({ ...draft, id, meta: draft.meta ?? {}, date })
    this.#facts = undefined
  }

  #asked(text: string, at: string | undefined): void {
    this.prompts.push({ text, ...(at === undefined ? {} : { at }) })
    // The first one stays: a session is known by it.
    if (this.prompts.length > remembered) this.prompts.splice(1, 1)
  }

  #forget(): void {
    this.prompts.length = 0
    this.calls.clear()
    this.failed = false
    this.reply = ''
    this.fresh = undefined
    this.#ledger = new LedgerBuilder({ cwd: this.#cwd })
    this.#facts = undefined
  }

  #ledgerFacts(): { read: readonly string[]; background: readonly string[] } {
    if (this.#facts === undefined) {
      const { files, background } = this.#ledger.finish()
      this.#facts = {
        read: files.filter(({ reads }) => reads > 0).map((file) => path.resolve(this.#cwd, file.path)),
        background: background.map(({ command }) => command),
      }
    }
    return this.#facts
  }
}

/** The command or the file of a call, else its tool. */
function deedOf({ name, arguments: given }: ToolCall): string {
  const { command, cmd, file_path, path: file } = fieldsOf(given)
  const said = [command, cmd, file_path, file].find((each) => typeof each === 'string' || Array.isArray(each))
  return said === undefined ? name : (Array.isArray(said) ? said.join(' ') : String(said)).split('\n')[0]!
}

function wordsOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return (content as { type?: unknown; text?: unknown }[])
    .flatMap((part) => (part.type === 'text' && typeof part.text === 'string' ? [part.text] : []))
    .join('\n')
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}
