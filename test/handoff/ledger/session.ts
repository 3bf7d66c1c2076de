// Writes entries as agents leave them on a tape, for tests of the ledger.

import { type Ledger, ledger, type LedgerOptions } from '../../../src/handoff/ledger/ledger.ts'
import { type Entry, entryFrom } from '../../../src/store/index.ts'

export class Session {
  readonly entries: Entry[] = []
  private calls = 0
  readonly #start: number

  /** `start`: when it begins, in milliseconds. */
  constructor(start = Date.UTC(2026, 0, 1)) {
    this.#start = start
  }

  /** The id of the entry. */
  add(kind: string, payload: unknown, meta: Entry['meta'] = {}): number {
    const id = this.entries.length + 1
    const date = new Date(this.#start + id * 1_000).toISOString()
    this.entries.push(entryFrom({ kind, payload, meta }, id, date))
    return id
  }

  user(content: unknown, meta?: Entry['meta']): number {
    return this.add('message', { role: 'user', content }, meta)
  }

  assistant(content: unknown): number {
    return this.add('message', { role: 'assistant', content })
  }

  /** What the user and the assistant say in turns, the user first. */
  talk(...words: string[]): void {
    for (const [at, text] of words.entries()) {
      if (at % 2 === 0) this.user(text)
      else this.assistant(text)
    }
  }

  /** A list of things to do as Claude Code writes it; the id of the result's entry. */
  todos(list: Readonly<Record<string, 'pending' | 'in_progress' | 'completed'>>): number {
    return this.tool('TodoWrite', { todos: todoList(list) }, 'ok')
  }

  /** A call without its result; returns the id of the call, not of the entry. */
  call(name: string, args: unknown): string {
    const id = `call_${(this.calls += 1)}`
    this.add('tool_call', { calls: [{ id, name, arguments: args }] })
    return id
  }

  result(callId: string, output: unknown, isError?: boolean): number {
    const result = { call_id: callId, name: 'tool', output, ...(isError !== undefined && { is_error: isError }) }
    return this.add('tool_result', { results: [result] })
  }

  /** A call and its result; the id of the result's entry. */
  tool(name: string, args: unknown, output: unknown = '', isError?: boolean): number {
    return this.result(this.call(name, args), output, isError)
  }

  /** Claude Code's shell: a failure is marked and begins with its exit code. */
  bash(command: string, output = '', exit = 0): number {
    return exit === 0
      ? this.tool('Bash', { command }, output)
      : this.tool('Bash', { command }, `Exit code ${exit}\n${output}`, true)
  }

  ledger(options?: LedgerOptions): Ledger {
    return ledger(this.entries, options)
  }
}

/** A session in which the user and the assistant speak in turns, the user first. */
export function conversation(...words: string[]): Session {
  const session = new Session()
  session.talk(...words)
  return session
}

export function todoList(list: Readonly<Record<string, string>>) {
  return Object.entries(list).map(([content, status]) => ({ content, status, activeForm: content }))
}

/** What a session amounts to, file by file: `edited a.ts`, `renamed b.ts < a.ts`. */
export function changes({ files }: Ledger): string[] {
  return files
    .filter(({ state }) => state === 'changed')
    .map(({ action, path, from }) => (from === undefined ? `${action} ${path}` : `${action} ${path} < ${from}`))
    .sort()
}

export function unresolved({ failures }: Ledger): string[] {
  return failures.filter(({ resolvedBy }) => resolvedBy === undefined).map(({ what }) => what)
}
