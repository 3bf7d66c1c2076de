// Subagents that were started, and whether they have come back.

import type { Subagent } from '../facts.ts'
import type { Output } from './output.ts'
import type { Call } from './tool-calls.ts'

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
