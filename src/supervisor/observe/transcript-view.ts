// A digest of a transcript for the supervisor: the last prompts, the files that were read, what runs in the background, and
// the tool calls without a result.

import { createHash } from 'node:crypto'
import { LedgerBuilder } from '../../handoff/index.ts'
import path from 'node:path'
import { StorageError } from '../../errors.ts'
import { entryFrom } from '../../store/index.ts'
import { contentText, type ToolCall, type ToolResult } from '../../tape/index.ts'
import { agentNamed, type Fact, type SessionFile } from '../../agents/index.ts'
import type { Models } from '../../config/index.ts'
import { LiveSession, type Meter } from '../../transcripts/index.ts'
import { comparable } from '../session/bounds/progress.ts'

export interface PromptText {
  readonly text: string
  readonly at?: string
}

/** The name of a handoff document, in a path or a command. */
const documentName = /handoff-\d{4}-\d\d-\d\d-\d\d-\d\d/

/** How many prompts are kept to recognise a session by. */
const remembered = 20

export class TranscriptView {
  readonly session: LiveSession
  /** The newest is the last. */
  readonly prompts: PromptText[] = []
  /** Calls without a result: what each does. */
  readonly #calls = new Map<string, string>()
  /** A short stamp of every call with its result; those about handoff documents are left out. */
  readonly work = new Set<string>()
  readonly #called = new Map<string, string>()
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
  /** The folder of its subagents' transcripts, which may not be there. */
  readonly subagentsFolder: string | undefined
  readonly #subagents: LiveSession[] = []
  /** What was looked at to find them. */
  readonly #judged = new Set<string>()
  #entries = 0
  #heard: string | undefined

  constructor(file: SessionFile, cwd: string) {
    this.session = new LiveSession(file)
    this.#cwd = cwd
    this.#ledger = new LedgerBuilder({ cwd })
    this.changed = file.changed
    this.subagentsFolder = agentNamed(file.agent).subagentsFolder?.(file)
  }

  /** Whether this is the session with that id, by the name of its file or by the agent's own name for it. */
  isOf(session: string | undefined): boolean {
    return session === this.file.id || session === this.session.stats.session
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
    this.#growSubagents()
    return news
  }

  /** Whether `grow` would find anything; this only looks at sizes and times. */
  hasNews(): boolean {
    if (this.session.hasNews()) return true
    // Where all sessions share a file, it would have changed.
    if (agentNamed(this.file.agent).sharesFile === true) return false
    return this.#findSubagents() || this.#subagents.some((each) => each.hasNews())
  }

  /** The meter of its context, with what its subagents cost. */
  meter(models: Models): Meter {
    const meter = this.session.meter(models)
    const costs = this.#subagents.flatMap((each) => each.meter(models).cost ?? [])
    if (costs.length === 0) return meter
    const all = [...(meter.cost === undefined ? [] : [meter.cost]), ...costs]
    const lacks = [...new Set(all.flatMap((each) => each.lacks ?? []))]
    const usd = all.reduce((sum, each) => sum + each.usd, 0)
    return { ...meter, cost: { ...all[0]!, usd, ...(lacks.length === 0 ? {} : { lacks }) } }
  }

  #growSubagents(): void {
    this.#findSubagents()
    for (const subagent of this.#subagents) subagent.read()
  }

  /** Whether there are new ones. */
  #findSubagents(): boolean {
    const found = agentNamed(this.file.agent).subagents?.(this.file, this.#judged) ?? []
    this.#subagents.push(...found.map((file) => new LiveSession(file)))
    return found.length > 0
  }

  /** What the calls do that have not ended. */
  get doing(): readonly string[] {
    const read = [...this.#calls.values()]
    try {
      return agentNamed(this.file.agent).runningCalls?.(this.file).map(deedOf) ?? read
    } catch (error) {
      // Somebody is writing the file: what was read before has to do.
      if (error instanceof StorageError) return read
      throw error
    }
  }

  get read(): readonly string[] {
    return this.#ledgerFacts().read
  }

  get background(): readonly string[] {
    return this.#ledgerFacts().background
  }

  close(): void {
    this.session.close()
    for (const subagent of this.#subagents) subagent.close()
  }

  #take(fact: Fact): void {
    if (fact.type === 'cleared') this.#forget()
    if (fact.type === 'used' && fact.aside !== true) this.fresh ??= fact.tokens
    if (fact.type === 'turn') {
      if (fact.to === 'asked') this.#asked(this.#heard ?? '', fact.date)
      if (fact.to !== 'idle') this.failed = false
      // Calls of a turn that is over get no result any more.
      else this.#calls.clear()
    }
    if (fact.type === 'queued') this.#asked(fact.text, fact.date)
    if (fact.type !== 'said') return
    const { draft } = fact
    const payload = fieldsOf(draft.payload)
    if (draft.kind === 'message' || draft.kind === 'tool_call') this.failed = false
    if (draft.kind === 'message') {
      const { text: words } = contentText(payload.content)
      if (payload.role === 'user') this.#heard = words
      else if (words !== '') this.reply = words
    } else if (draft.kind === 'tool_call') {
      for (const call of payload.calls as ToolCall[]) {
        this.#calls.set(call.id, deedOf(call))
        this.#called.set(call.id, `${call.name} ${JSON.stringify(call.arguments)}`)
      }
    } else if (draft.kind === 'tool_result') {
      for (const { call_id, output } of payload.results as ToolResult[]) {
        this.#calls.delete(call_id)
        this.#worked(call_id, output)
      }
    } else if (draft.kind === 'error') {
      this.failed = true
      this.error = String(payload.message ?? payload.kind ?? 'error')
    }
    this.#ledger.add(entryFrom(draft, ++this.#entries, draft.date ?? ''))
    this.#facts = undefined
  }

  #worked(call: string, output: unknown): void {
    const called = this.#called.get(call) ?? ''
    this.#called.delete(call)
    if (called === '' || documentName.test(called)) return
    const stamp = createHash('sha256').update(`${called}\0${comparable(JSON.stringify(output) ?? '')}`)
    this.work.add(stamp.digest('base64url').slice(0, 10))
  }

  #asked(text: string, at: string | undefined): void {
    this.prompts.push({ text, ...(at === undefined ? {} : { at }) })
    // The first prompt is always kept, because a session is recognised by it.
    if (this.prompts.length > remembered) this.prompts.splice(1, 1)
  }

  #forget(): void {
    this.prompts.length = 0
    this.#calls.clear()
    this.work.clear()
    this.#called.clear()
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

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}
