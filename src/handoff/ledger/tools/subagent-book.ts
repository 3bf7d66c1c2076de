// Subagents that were started, whether they have come back, and the files that they changed: their work is work of the session
// that started them.

import type { Subagent, FileFact, Ledger } from '../facts.ts'
import type { Output } from './output.ts'
import type { Call } from './tool-calls.ts'
import { countFiles } from '../files/file-table.ts'
import { below, joinPath } from '../files/paths.ts'

type Started = Call & { kind: 'subagent' }

interface Known {
  fact: Subagent
  readonly handle: string | undefined
}

export class SubagentBook {
  readonly #all: Known[] = []
  readonly #running = new Set<Known>()

  settle(call: Started, startId: number, output: Output, id: number): void {
    const handle = handlePattern.exec(output.head)?.[1]
    const detached = call.background || output.head.startsWith('Async agent launched')
    const running = !output.isError && detached && handle !== undefined
    const fact: Subagent = {
      ...started(call, startId),
      status: running ? 'running' : output.isError ? 'failed' : 'done',
      ...(!running && { resultId: id }),
    }
    const known: Known = { fact, handle }
    this.#all.push(known)
    if (running) this.#running.add(known)
  }

  end(handle: string, status: 'done' | 'failed', id: number): void {
    for (const agent of this.#running) {
      if (agent.handle !== handle) continue
      agent.fact = { ...agent.fact, status, resultId: id }
      this.#running.delete(agent)
      return
    }
  }

  /** An answer to waiting for several names those that are done. */
  heard(output: Output, id: number): void {
    if (!output.head.includes('completed')) return
    for (const { handle } of this.#running) {
      if (handle !== undefined && output.head.includes(handle)) this.end(handle, 'done', id)
    }
  }

  facts(): Subagent[] {
    return this.#all.map(({ fact }) => fact)
  }
}

/** A subagent whose call has no result yet. */
export function started({ task, type }: Started, id: number): Subagent {
  return { task, type, status: 'running', id }
}

const handlePattern = /\b(?:agentId|agent_id|task_id|Task ID|agent ID)["']?:\s*["']?([\w-]+)/i

/** The ledger with the files that its subagents changed. What the session itself says of a file stands. */
export function withSubagentFiles(ledger: Ledger, subagents: readonly Ledger[]): Ledger {
  const files = new Map(ledger.files.map((file) => [file.path, file]))
  for (const { files: theirs, git } of subagents) {
    for (const file of theirs) {
      if (file.state !== 'changed' || file.folder === true) continue
      const name = (path: string) => below(ledger.git?.cwd, joinPath(git?.cwd ?? '', path))
      const path = name(file.path)
      const known = files.get(path)
      if (known !== undefined && known.state !== 'read') continue
      // Entries of another tape: their numbers mean nothing on this one.
      const { firstId: _first, lastId: _last, from, ...fact } = file
      files.set(path, {
        ...fact,
        path,
        ...(from !== undefined && { from: name(from) }),
        reads: known?.reads ?? 0,
      } satisfies FileFact)
    }
  }
  const all = [...files.values()]
  return all.length === ledger.files.length && all.every((file, index) => file === ledger.files[index])
    ? ledger
    : { ...ledger, files: all, counts: { ...ledger.counts, ...countFiles(all) } }
}
