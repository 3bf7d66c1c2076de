// A context handed from one agent to another: a message that says why, what for and where on a tape, in the inbox of
// its receiver. With `ownership: transfer` the tape is the receiver's from then on. The message comes first, for a tape
// that changed hands without one would be nobody's; whoever receives it completes what a crash left undone.

import { randomUUID } from 'node:crypto'
import * as z from 'zod'
import { checked } from '../config/checked.ts'
import { BatonError, InvalidError } from '../errors.ts'
import type { Entry, Store } from '../store/index.ts'
import { agentName, ownerOf, passOwnership } from '../tape/owner.ts'
import { isReserved } from '../tape/tape.ts'
import { entriesAt, resolve, type Resolved } from '../tape/resolve.ts'

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
  /** What `tape_ref` points at; every reader of a tape takes it. */
  readonly at: Resolved
}

const inboxOf = (name: string) => `relay/to/${agentName(name)}`
const cursorKey = 'received'

/** Delivers a message; durable when resolved. Its reference must lead somewhere, and a transfer needs the owner. */
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

/** The place that a reference names, with something there. */
async function target(store: Store, reference: string): Promise<Resolved> {
  if (!reference.startsWith('tape://')) {
    throw new InvalidError(`content.tape_ref must be a tape:// reference, not "${reference}"`, {
      path: 'content.tape_ref',
      hint: 'tape.uri({ entry: 12 }) makes one.',
    })
  }
  const at = await resolve(store, reference)
  await entriesAt(store, at).next() // or it throws
  return at
}

async function checkOwner(store: Store, tape: string, from: string): Promise<void> {
  if (isReserved(tape)) {
    const path = 'content.ownership'
    throw new InvalidError(`${tape} is one of Baton's own tapes; it can be shared, not handed over`, { path })
  }
  const owner = await ownerOf(store, tape)
  if (owner === undefined || owner.agent === agentName(from)) return
  throw new BatonError('refused', `${tape} is ${owner.agent}'s: ${agentName(from)} cannot hand it over`, {
    hint: 'Share it instead, or ask its owner.',
  })
}

async function transfer(store: Store, id: string, { from, to, content }: ContextHandoff, at: Resolved): Promise<void> {
  if (content.ownership === 'share') return
  const owner = await ownerOf(store, at.tape)
  // It was passed on since: what this message gave away is no longer its sender's.
  const isDone = owner?.agent === agentName(to) || (owner !== undefined && owner.agent !== agentName(from))
  if (!isDone) await passOwnership(store, at.tape, { from, to, message: id })
}
