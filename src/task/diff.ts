// What differs between two versions of a task, by its parts.

import type { Artifact, Decision, Issue, TaskState } from './schema.ts'

export interface TaskDiff {
  readonly task_id: string
  readonly from: number
  readonly to: number
  readonly fields: Readonly<Record<string, { readonly from?: unknown; readonly to?: unknown }>>
  readonly artifacts: {
    readonly added: readonly Artifact[]
    readonly changed: readonly { readonly from: Artifact; readonly to: Artifact }[]
    readonly removed: readonly Artifact[]
  }
  readonly decisions_made: { readonly added: readonly Decision[]; readonly removed: readonly Decision[] }
  readonly blocking_issues: { readonly added: readonly Issue[]; readonly removed: readonly Issue[] }
}

const parts = new Set(['version', 'artifacts', 'decisions_made', 'blocking_issues'])

export function diffStates(from: TaskState, to: TaskState): TaskDiff {
  const fields: Record<string, { from?: unknown; to?: unknown }> = {}
  for (const field of new Set([...Object.keys(from), ...Object.keys(to)])) {
    if (parts.has(field) || text(from[field]) === text(to[field])) continue
    fields[field] = {
      ...(from[field] === undefined ? {} : { from: from[field] }),
      ...(to[field] === undefined ? {} : { to: to[field] }),
    }
  }
  const before = new Map(from.artifacts.map((each) => [each.path, each]))
  const after = new Set(to.artifacts.map(({ path }) => path))
  return {
    task_id: to.task_id,
    from: from.version,
    to: to.version,
    fields,
    artifacts: {
      added: to.artifacts.filter(({ path }) => !before.has(path)),
      changed: to.artifacts
        .map((each) => ({ from: before.get(each.path), to: each }))
        .filter((pair): pair is { from: Artifact; to: Artifact } => {
          return pair.from !== undefined && text(pair.from) !== text(pair.to)
        }),
      removed: from.artifacts.filter(({ path }) => !after.has(path)),
    },
    decisions_made: compare(from.decisions_made, to.decisions_made),
    blocking_issues: compare(from.blocking_issues, to.blocking_issues),
  }
}

function compare<T>(from: readonly T[], to: readonly T[]): { added: T[]; removed: T[] } {
  const before = new Set(from.map(text))
  const after = new Set(to.map(text))
  return { added: to.filter((each) => !before.has(text(each))), removed: from.filter((each) => !after.has(text(each))) }
}

function text(value: unknown): string {
  return JSON.stringify(value) ?? ''
}
