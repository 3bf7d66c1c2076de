// Subagents that were started, and whether they have come back.

import type { Subagent } from '../facts.ts'
import type { Output } from './output.ts'
import type { Call } from './tool-calls.ts'

type Started = Call & { kind: 'subagent' }

export class SubagentBook {
  readonly #all: { fact: Subagent; handle: string | undefined }[] = []

  settle(call: Started, startId: number, output: Output, id: number): void {
    const handle = handlePattern.exec(output.head)?.[1]
    const detached = call.background || output.head.startsWith('Async agent launched')
    const running = !output.isError && detached && handle !== undefined
    const fact: Subagent = {
      ...started(call, startId),
      status: running ? 'running' : output.isError ? 'failed' : 'done',
      ...(!running && { resultId: id }),
    }
    this.#all.push({ fact, handle })
  }

  end(handle: string, status: 'done' | 'failed', id: number): void {
    const agent = this.#all.find(({ fact, handle: own }) => own === handle && fact.status === 'running')
    if (agent) agent.fact = { ...agent.fact, status, resultId: id }
  }

  /** An answer to waiting for several names those that are done. */
  heard(output: Output, id: number): void {
    if (!output.head.includes('completed')) return
    for (const { fact, handle } of this.#all) {
      if (fact.status === 'running' && handle !== undefined && output.head.includes(handle))
        this.end(handle, 'done', id)
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
