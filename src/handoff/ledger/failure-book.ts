// What failed and whether it was put right. Only a later success that covers a failure resolves it: the same command, or
// the same program on at least the same part of the work.

import { covers, type Check } from './checks.ts'
import type { Failure } from './facts.ts'
import type { Run } from './verdict.ts'

interface Open {
  fact: { -readonly [key in keyof Failure]: Failure[key] }
  /** What still has to succeed. */
  waiting: Need[]
}

/** A run that must succeed, or something done about one of these subjects: either will do. */
export interface Need {
  readonly run?: Run
  readonly subjects?: readonly string[]
}

export class FailureBook {
  private readonly open = new Map<string, Open>()
  private readonly resolved: Failure[] = []
  /** Where to look when something succeeds: subjects, words of runs and programs, each with the failures that wait for it. */
  private readonly waiting = new Map<string, Set<string>>()

  fail(key: string, failure: Omit<Failure, 'times' | 'firstId' | 'resolvedBy'>, needs: readonly Need[]): void {
    const known = this.open.get(key)
    if (known) {
      const { firstId, times } = known.fact
      known.fact = { ...failure, firstId, times: times + 1 }
      known.waiting = [...needs]
    } else this.open.set(key, { fact: { ...failure, firstId: failure.lastId, times: 1 }, waiting: [...needs] })
    for (const mark of needs.flatMap(marksOf)) {
      const holders = this.waiting.get(mark)
      if (holders) holders.add(key)
      else this.waiting.set(mark, new Set([key]))
    }
  }

  /** Books a success. */
  succeed(runs: readonly Run[], subjects: readonly string[], id: number): void {
    if (this.open.size === 0) return
    for (const subject of subjects) this.settle(subject, runs, subjects, id)
    for (const run of runs) {
      this.settle(`run ${run.key}`, runs, subjects, id)
      const { check } = run
      if (!check) continue
      if (check.selection.length === 0) this.settle(`check ${check.runner}`, runs, subjects, id)
      else for (const path of check.selection) this.settle(`check ${check.runner} ${path}`, runs, subjects, id)
    }
  }

  /** Unresolved and resolved, in the order in which they first failed. */
  facts(): Failure[] {
    return [...this.resolved, ...[...this.open.values()].map(({ fact }) => fact)].sort((a, b) => a.firstId - b.firstId)
  }

  private settle(mark: string, runs: readonly Run[], subjects: readonly string[], id: number): void {
    const holders = this.waiting.get(mark)
    if (!holders) return
    for (const key of holders) {
      const open = this.open.get(key)
      if (open) {
        open.waiting = open.waiting.filter(
          (need) =>
            !need.subjects?.some((subject) => subjects.includes(subject)) &&
            !(need.run && runs.some((run) => settles(run, need.run!))),
        )
        if (open.waiting.length > 0) continue
        this.open.delete(key)
        const { tail: _, ...fact } = open.fact
        this.resolved.push({ ...fact, resolvedBy: id })
      }
      holders.delete(key)
    }
    if (holders.size === 0) this.waiting.delete(mark)
  }
}

function marksOf({ run, subjects = [] }: Need): readonly string[] {
  if (run === undefined) return subjects
  const { key, check } = run
  if (!check) return [...subjects, `run ${key}`]
  const marks = [`run ${key}`, `check ${check.runner}`]
  // A part is covered by itself and by each folder above it; one part is enough to be found by.
  for (
    let path = check.selection[0] ?? check.cwd;
    path !== '';
    path = path.slice(0, Math.max(0, path.search(/(?:\/|::?)[^/:]*$/)))
  ) {
    marks.push(`check ${check.runner} ${path}`)
  }
  return marks
}

function settles(success: Run, failure: Run): boolean {
  if (success.key === failure.key) return true
  return success.check !== undefined && failure.check !== undefined && covers(success.check, failure.check)
}

/** Names a failure by what failed, so that failing again is the same failure. */
export function failureKey(runs: readonly Run[], command: string): string {
  const [only] = runs
  return runs.length === 1 && only ? (only.check ? checkKey(only.check) : only.key) : command
}

export function checkKey({ runner, cwd, selection, filters }: Check): string {
  return [runner, cwd, selection.join(' '), filters.join(' ')].join('\u0000')
}
