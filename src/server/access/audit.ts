// Who has operated what: each call that needs operate or admin is written to a tape before it is done, and its outcome after.

import { BatonError } from '../../errors.ts'
import { redactValue } from '../../handoff/index.ts'
import type { Call, Operation } from '../../operations/index.ts'
import type { Store } from '../../store/index.ts'

const auditTape = 'server/audit'

/** More of an input than this does not help to see what was done. */
const inputLength = 4_000

export class Audit {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  async around<T>({ name, scope }: Operation, input: object, { caller }: Call, work: () => Promise<T>): Promise<T> {
    const by = { name: caller.name, scope: caller.scope, person: caller.person?.via }
    const { value } = await redactValue(input)
    const text = JSON.stringify(value)
    const shown: unknown = text.length > inputLength ? `${text.slice(0, inputLength)}…` : value
    const asked = await this.record({ operation: name, scope, by, input: shown })
    try {
      const answer = await work()
      await this.record({ operation: name, asked, outcome: 'done' })
      return answer
    } catch (error) {
      await this.record({ operation: name, asked, outcome: BatonError.is(error) ? error.code : 'failed' })
      throw error
    }
  }

  /** Returns the id of the entry. */
  async record(data: Record<string, unknown>): Promise<number> {
    const [entry] = await this.#store.append(auditTape, [
      { kind: 'event', payload: { name: 'audit', data }, meta: { context: false } },
    ])
    return entry!.id
  }
}
