import { expect, test } from 'vitest'
import { StorageError } from '../../../src/errors.ts'
import type { Store } from '../../../src/store/index.ts'
import { Slots } from '../../../src/supervisor/cycle/slots.ts'
import { temporaryStore } from '../../support/workspace.ts'

/** A store whose next appends fail: before they are written, or after. */
async function failing() {
  const store = await temporaryStore()
  let next: 'before' | 'after' | undefined
  const append: Store['append'] = async (...given) => {
    const when = next
    next = undefined
    if (when === 'before') throw new StorageError('no space')
    const entries = await store.append(...given)
    if (when === 'after') throw new StorageError('no answer')
    return entries
  }
  const fail = (when: typeof next) => (next = when)
  return {
    fail,
    slots: new Slots(new Proxy(store, { get: (of, key) => (key === 'append' ? append : bound(of, key)) })),
  }
}

function bound(store: Store, key: string | symbol): unknown {
  const value: unknown = Reflect.get(store, key, store)
  return typeof value === 'function' ? value.bind(store) : value
}

test.each(['before', 'after'] as const)(
  'a slot is free again after it could not be taken or released: the write failed %s it was durable [C7, C11]',
  async (when) => {
    const { slots, fail } = await failing()
    fail(when)
    await expect(slots.take(1, 0)).rejects.toThrow(StorageError)
    const free = await slots.take(1, 0)
    expect(free).toBeDefined()
    expect(await slots.take(1, 0)).toBeUndefined()
    fail(when)
    await free!()
    const again = await slots.take(1, 0)
    expect(again).toBeDefined()
    expect(await slots.take(1, 0)).toBeUndefined()
    await again!()
  },
)
