// Every command that ran, once per distinct text and folder, with how often and how it ended last.

import type { CommandFact, TestFact } from '../facts.ts'
import { checkKey } from '../tools/failure-book.ts'
import { clip } from '../tools/tool-calls.ts'
import { tailOf, type CommandOutcome } from './outcome.ts'

const maxCommand = 2_000
/** A longer output is a report to look at, not a fact to remember. */
const maxPrinted = 300

export type Command = { -readonly [key in keyof CommandFact]: CommandFact[key] }

export class CommandBook {
  /** By folder, then by text. */
  readonly #folders = new Map<string | undefined, Map<string, Command>>()
  readonly #commands: Command[] = []
  readonly #tests = new Map<string, TestFact>()

  /** A run has begun; its outcome, if any, is booked later. */
  begin(command: string, cwd: string | undefined, id: number, looks = false): Command {
    const known = this.#find(command, cwd)
    if (known) {
      known.times += 1
      known.lastId = id
      known.ok = undefined
      delete known.exit
      delete known.printed
      return known
    }
    const fact: Command = {
      command: clip(command, maxCommand),
      ...(command.length > maxCommand && { cut: true }),
      ...(cwd !== undefined && cwd !== '' && { cwd }),
      ...(looks && { looks }),
      ok: undefined,
      times: 1,
      failed: 0,
      firstId: id,
      lastId: id,
    }
    this.#commands.push(fact)
    let folder = this.#folders.get(cwd)
    if (!folder) {
      folder = new Map<string, Command>()
      this.#folders.set(cwd, folder)
    }
    folder.set(identity(command), fact)
    return fact
  }

  end(known: Command, ok: boolean, exit: number | undefined, output: string, id: number): void {
    known.ok = ok
    known.endId = id
    if (exit !== undefined) known.exit = exit
    const printed = output.trim()
    if (ok && printed !== '' && printed.length <= maxPrinted) known.printed = printed
    if (ok) return
    known.failed += 1
    known.failureTail = tailOf(output)
    known.failureId = id
  }

  tested(outcome: CommandOutcome, command: string, id: number): void {
    const { summary, test } = outcome
    const check = test?.check
    if (!check?.test) return
    const key = checkKey(check)
    const { passed, failed, skipped, failing } = summary ?? {}
    const times = (this.#tests.get(key)?.times ?? 0) + 1
    this.#tests.set(key, {
      runner: check.runner,
      command: clip(command, maxCommand),
      passed,
      failed,
      skipped,
      ok: outcome.ok,
      ...(failing !== undefined && failing.length > 0 && !outcome.ok && { failing }),
      times,
      id,
    })
  }

  facts(): { commands: CommandFact[]; tests: TestFact[] } {
    return { commands: this.#commands.map((command) => ({ ...command })), tests: [...this.#tests.values()] }
  }

  #find(command: string, cwd: string | undefined): Command | undefined {
    return this.#folders.get(cwd)?.get(identity(command))
  }
}

/** Long commands are told apart by their ends and length: enough for a count. */
function identity(command: string): string {
  return command.length <= maxCommand
    ? command
    : `${command.length}\u0000${command.slice(0, 1_000)}${command.slice(-1_000)}`
}
