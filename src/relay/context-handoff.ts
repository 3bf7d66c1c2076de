// Hands a context from one agent to another: a message in the receiver's inbox says why, what for, and where on a tape the
// context is. With `ownership: transfer` the tape belongs to the receiver from then on. The message is written first, because
// a tape that was transferred without one would belong to an agent that does not know it; whoever receives the message
// completes a transfer that a crash cut off.

import { randomUUID } from 'node:crypto'
import * as z from 'zod'
import { checked } from '../config/index.ts'
import { BatonError, InvalidError } from '../errors.ts'
import type { Entry, Store } from '../store/index.ts'
import { agentName, entriesAt, isReserved, ownerOf, passOwnership, resolve, type Resolved } from '../tape/index.ts'

const agent = z
  .string()
  .regex(/^[^\s/:]+(:[^\s/:]+)*$/, 'it must name an agent, as in agent:worker-1')
  .max(120)

const contextHandoffSchema = z.strictObject({
  type: z.literal('context_handoff'),
  from: agent,
  to: agent,
  timestamp: z.iso.datetime({ offset: true }),
  content: z.strictObject({
    reason: z.string(),
    summary: z.string(),
    tape_ref: z.string().describe('tape://WORKSPACE/TAPE/entry/12 or tape://WORKSPACE/TAPE/anchor/NAME'),
    intention: z.strictObject({ next_steps: z.string().optional(), context_summary: z.string().optional() }).optional(),
    ownership: z.enum(['transfer', 'share']),
  }),
})
export type ContextHandoff = z.output<typeof contextHandoffSchema>

export interface ReceivedContext {
  readonly id: string
  readonly message: ContextHandoff
  /** What `tape_ref` points at, as the readers of tapes take it. */
  readonly at: Resolved
}

const inboxOf = (name: string) => `relay/to/${agentName(name)}`
const cursorKey = 'received'

/** Delivers a message; durable when resolved. Its reference must point at an entry, and only the owner can transfer a tape. */
export async function sendContextHandoff(store: Store, given: unknown): Promise<{ id: string }> {
  const message = checked(contextHandoffSchema, given, 'The context handoff')
  const { from, to, content } = message
  if (agentName(from) === agentName(to)) throw new InvalidError(`${to} has this context already`, { path: 'to' })
  const at = await target(store, content.tape_ref)
  if (content.ownership === 'transfer') await checkOwner(store, at.tape, from)
  const id = randomUUID()
  await store.append(inboxOf(to), [
    { kind: 'event', payload: { name: 'context_handoff', data: { id, message } }, meta: { key: id, context: false } },
  ])
  await transfer(store, id, message, at)
  return { id }
}

/** The messages that an agent has not received yet, oldest first. */
export async function contextHandoffs(store: Store, to: string): Promise<ReceivedContext[]> {
  const found: ReceivedContext[] = []
  const { after } = await cursor(store, to)
  for await (const entry of store.read(inboxOf(to), { after })) {
    const data = messageIn(entry)
    if (data !== undefined) found.push({ ...data, at: await target(store, data.message.content.tape_ref) })
  }
  return found
}

/** Takes the oldest message, once; undefined when there is none. */
export async function receiveContextHandoff(store: Store, to: string): Promise<ReceivedContext | undefined> {
  for (;;) {
    const { after, id: expected } = await cursor(store, to)
    const next = await firstMessage(store, to, after)
    if (next === undefined) return undefined
    const at = await target(store, next.data.message.content.tape_ref)
    await transfer(store, next.data.id, next.data.message, at)
    const received = { kind: 'event', payload: { name: cursorKey, data: { through: next.entry } } }
    try {
      await store.append(inboxOf(to), [{ ...received, meta: { key: cursorKey, context: false } }], {
        expect: { key: cursorKey, id: expected },
      })
      return { ...next.data, at }
    } catch (error) {
      if (!BatonError.is(error) || error.code !== 'conflict') throw error
    }
  }
}

async function cursor(store: Store, to: string): Promise<{ after: number; id: number }> {
  const entry = await store.latest(inboxOf(to), cursorKey)
  if (entry === undefined) return { after: 0, id: 0 }
  const { data } = entry.payload as { data: { through: number } }
  return { after: data.through, id: entry.id }
}

async function firstMessage(store: Store, to: string, after: number) {
  for await (const entry of store.read(inboxOf(to), { after })) {
    const data = messageIn(entry)
    if (data !== undefined) return { data, entry: entry.id }
  }
  return undefined
}

function messageIn(entry: Entry): { id: string; message: ContextHandoff } | undefined {
  const { name, data } = entry.payload as { name: string; data: { id: string; message: ContextHandoff } }
  return name === 'context_handoff' ? data : undefined
}

/** The place that a reference names; throws when there is no entry. */
async function target(store: Store, reference: string): Promise<Resolved> {
  if (!reference.startsWith('tape://')) {
    throw new InvalidError(`content.tape_ref must be a tape:// reference, not "${reference}"`, {
      path: 'content.tape_ref',
      hint: 'tape.uri({ entry: 12 }) makes one.',
    })
  }
  const at = await resolve(store, reference)
  await entriesAt(store, at).next() // throws when there is nothing
  return at
}

async function checkOwner(store: Store, tape: string, from: string): Promise<void> {
  if (isReserved(tape)) {
    const path = 'content.ownership'
    throw new InvalidError(`${tape} is one of Baton's own tapes; it can be shared, not handed over`, { path })
  }
  const owner = await ownerOf(store, tape)
  if (owner === undefined || owner === agentName(from)) return
  throw new BatonError('refused', `${tape} is ${owner}'s: ${agentName(from)} cannot hand it over`, {
    hint: 'Share it instead, or ask its owner.',
  })
}

async function transfer(store: Store, id: string, { from, to, content }: ContextHandoff, at: Resolved): Promise<void> {
  if (content.ownership === 'share') return
  const owner = await ownerOf(store, at.tape)
  // When the tape has another owner by now, it was passed on since, and this message no longer decides.
  const isDone = owner === agentName(to) || (owner !== undefined && owner !== agentName(from))
  if (!isDone) await passOwnership(store, at.tape, { from, to, message: id })
}
