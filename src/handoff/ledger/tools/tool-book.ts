// Calls that are no commands: what they changed, which of them failed, and which tools nobody here knows.

import type { UnknownTool } from '../facts.ts'
import type { FailureBook } from './failure-book.ts'
import type { Booking, FileTable } from '../files/file-table.ts'
import type { Output } from './output.ts'
import { subjectOf } from '../shell/shell-book.ts'
import { tailOf } from '../shell/outcome.ts'
import { type Call, line } from './tool-calls.ts'

type CallOf<K extends Call['kind']> = Extract<Call, { kind: K }>

export class ToolBook {
  readonly #files: FileTable
  readonly #failures: FailureBook
  readonly #unknown = new Map<string, { -readonly [key in keyof UnknownTool]: UnknownTool[key] }>()

  constructor(files: FileTable, failures: FailureBook) {
    this.#files = files
    this.#failures = failures
  }

  facts(): UnknownTool[] {
    return [...this.#unknown.values()].map((tool) => ({ ...tool }))
  }

  /** A tool that nobody here knows was called. */
  called(name: string, id: number): void {
    const known = this.#unknown.get(name)
    if (known) {
      known.times += 1
      known.lastId = id
    } else this.#unknown.set(name, { name, times: 1, errors: 0, firstId: id, lastId: id })
  }

  /** Books the result of a call of such a tool. */
  settle(name: string, call: CallOf<'unknown'>, output: Output, id: number): void {
    const subjects = call.subjects.length > 0 ? call.subjects.map((subject) => `${name} ${subject}`) : [name]
    if (!output.isError) {
      this.#failures.succeed([], [...subjects, name], id)
      return
    }
    const known = this.#unknown.get(name)
    if (known) known.errors += 1
    this.#fail(`tool ${call.what}`, line(call.what), subjects, output, id)
  }

  /** A call that reads or changes files was answered. */
  changed(call: CallOf<'files'>, { id, output, resultId }: { id: number; output: Output; resultId: number }): void {
    const { effects, what } = call
    const changes = effects.filter(({ action }) => action !== 'read')
    const head = output.head.slice(0, 300)
    const subjects = changes.flatMap(subjectOf)
    if (output.isError || (changes.length > 0 && failedEdit.test(head))) {
      if (changes.length > 0 || effects.length === 0)
        this.#fail(subjects.join(' ') || what, line(what), subjects.length > 0 ? subjects : [what], output, resultId)
      return
    }
    const told = toldBy(head)
    const booking: Booking = { id, ...(told && { told }) }
    for (const effect of effects) this.#files.book(effect, booking)
    if (changes.length > 0) this.#failures.changed(id)
    if (subjects.length > 0) this.#failures.succeed([], subjects, resultId)
  }

  #fail(key: string, what: string, subjects: readonly string[], output: Output, id: number): void {
    const message = line(
      output.head
        .replaceAll(/<\/?\w+>/g, ' ')
        .split('\n')
        .find((row) => row.trim() !== '') ?? 'failed',
    )
    this.#failures.fail(
      key,
      { what, kind: 'tool', role: 'step', message, tail: tailOf(output.tail.slice(-3_000)), lastId: id },
      [{ subjects }],
    )
  }
}

/** Whether the tool says that the file is new. */
function toldBy(head: string): Booking['told'] {
  if (/\b(?:created|new file)\b/i.test(head)) return 'created'
  return /\b(?:updated|overwrote|overwritten)\b/i.test(head) ? 'updated' : undefined
}

const failedEdit =
  /^(?:<tool_use_error>|apply_patch verification failed|Failed to (?:edit|write|apply|find)|Error(?: editing| writing|:)|Could not find|No changes (?:made|to make)|String to replace not found)/i
