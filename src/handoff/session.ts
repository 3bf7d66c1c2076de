// The handoff to a new session, in an order that a crash cannot break: the document on the old tape, the new tape whole,
// the lineage, and last the closing anchor on the old tape. Until that anchor the old session is the active one.

import { BatonError, CancelledError, ConflictError } from '../errors.ts'
import type { Draft, Store } from '../store/index.ts'
import { edgeTo, ownerDraft, recordEdge } from '../tape/index.ts'
import { type OpenOptions, openTape, type RecordedMessage, Tape } from '../tape/index.ts'
import { sessionStart } from '../tape/index.ts'
import { formatUri } from '../tape/index.ts'
import { wrapDocument } from './agent-prompts.ts'
import { saveDocument, type SavedDocument } from './saved.ts'
import { type WriteOptions, writeDocument, type Written } from './writer.ts'

export interface SessionHandoffOptions extends WriteOptions {
  /** The new tape; named after the old one unless given. */
  into?: string
  /** What the user typed meanwhile; it comes first in the new session. */
  queued?: readonly RecordedMessage[]
  /** Whether a response is being written on the old tape right now. */
  isStreaming?: () => boolean
  /** Lets a person change the document before it is used. */
  edit?: (markdown: string) => Promise<string>
}

export type SessionHandoff =
  | {
      readonly status: 'done'
      readonly message: string
      readonly tape: string
      readonly document: SavedDocument
      readonly markdown: string
    }
  | { readonly status: 'cancelled'; readonly message: string }
  | { readonly status: 'empty'; readonly message: string }
  | { readonly status: 'failed'; readonly message: string; readonly error: unknown }

const texts = {
  done: 'New session started with handoff context',
  cancelled: 'Handoff cancelled',
  empty: 'Nothing to hand off (no messages yet)',
  streaming: 'a response is still being written; wait for it or cancel it, then hand off',
  wentOn: 'somebody continued the session while its document was written; hand off again',
} as const

/** The key under which an old tape says which new one it is handing over to, and later that it has. */
const intentKey = 'session_handoff'

interface Intent {
  readonly child: string
  readonly document: number
  readonly state: 'started' | 'closed' | 'dropped'
  /** Where the tape had been continued before, which holds if this handoff is dropped. */
  readonly before?: string
}

/**
 * Hands the session on a tape over to a new tape that starts with a handoff document. How it went is the `status` of the
 * result.
 */
export async function handoffSession(tape: Tape, options: SessionHandoffOptions = {}): Promise<SessionHandoff> {
  try {
    if (options.isStreaming?.() === true) throw new ConflictError(texts.streaming, { actual: 0 })
    if (!(await hasMessages(tape))) return { status: 'empty', message: texts.empty }
    await demandUnclosed(tape)
    await tape.demandOwner()
    const seen = {
      id: (await tape.store.info(tape.name))?.lastId ?? 0,
      intent: (await declaredOn(tape.store, tape.name))?.id ?? 0,
    }
    const written = await writeDocument(tape, options)
    const markdown = (await options.edit?.(written.markdown)) ?? written.markdown
    if (options.signal?.aborted === true) throw new CancelledError(texts.cancelled)
    // From here on nothing waits for a model or a person: the handoff runs to its end.
    const { child, document } = await moveOn(tape, markdown, written, seen, options)
    return { status: 'done', message: texts.done, tape: child, document, markdown }
  } catch (error) {
    if (options.signal?.aborted === true || (BatonError.is(error) && error.code === 'cancelled')) {
      return { status: 'cancelled', message: texts.cancelled }
    }
    return {
      status: 'failed',
      message: `Handoff failed: ${error instanceof Error ? error.message : String(error)}`,
      error,
    }
  }
}

async function hasMessages(tape: Tape): Promise<boolean> {
  let messages = 0
  for await (const _ of tape.entries({ kinds: ['message'], limit: 2 })) messages++
  return messages >= 2
}

/** A session that was handed over has nothing left to hand over, unless somebody went on with it all the same. */
async function demandUnclosed({ store, name }: Tape): Promise<void> {
  const { id, intent } = (await declaredOn(store, name)) ?? {}
  if (id === undefined || intent?.state !== 'closed' || (await wentOn(store, name, id))) return
  const active = await resumeHandoff(store, name)
  throw new ConflictError(`${name} was handed over to ${active} already, and nobody has said anything on it since`, {
    actual: id,
    hint: `Hand off ${active} instead.`,
  })
}

async function moveOn(
  tape: Tape,
  markdown: string,
  written: Written,
  seen: { readonly id: number; readonly intent: number },
  options: SessionHandoffOptions,
): Promise<{ child: string; document: SavedDocument }> {
  const { store, name } = tape
  if (await wentOn(store, name, seen.id)) throw goneOn(seen.id)
  const document = await saveDocument(
    store,
    name,
    markdown,
    written.note,
    markdown === written.markdown ? written.document : undefined,
  )
  const child = options.into ?? (await freeName(store, name))
  const before = await continuedIn(store, name)
  const intent = { child, document: document.id, ...(before === undefined ? {} : { before }) }
  const started = await declare(store, name, { ...intent, state: 'started' }, seen.intent)
  if (started === undefined) throw goneOn(seen.id)
  try {
    const owner = await tape.owner()
    const opening = newSession(tape, markdown, document, written, options.queued ?? [])
    await store.create(child, [[...opening, ...(owner === undefined ? [] : [ownerDraft({ agent: owner })])]])
    if (await wentOn(store, name, seen.id, started)) throw goneOn(seen.id)
  } catch (error) {
    await declare(store, name, { ...intent, state: 'dropped' }, started)
    throw error
  }
  if ((await close(store, name, intent, started)) === 'dropped') throw goneOn(started)
  return { child, document }
}

/** `main` is followed by `main-2`, that by `main-3`. */
async function freeName(store: Store, name: string): Promise<string> {
  const base = /^(.*?)(?:-\d+)?$/.exec(name)![1]!
  for (let n = Number(/-(\d+)$/.exec(name)?.[1] ?? 1) + 1; ; n++) {
    const candidate = `${base}-${n}`
    if ((await store.info(candidate)) === undefined && (await store.archives(candidate)).length === 0) return candidate
  }
}

function newSession(
  tape: Tape,
  markdown: string,
  document: SavedDocument,
  written: Written,
  queued: readonly RecordedMessage[],
): Draft[] {
  const from = tape.uri({ entry: document.id })
  const start = { name: sessionStart, state: { owner: 'human', handoff: from } }
  const message: RecordedMessage = {
    role: 'user',
    content: wrapDocument(markdown),
    customType: 'handoff',
    display: true,
  }
  const drafts: Draft[] = [
    { kind: 'anchor', payload: start, meta: { key: sessionStart } },
    { kind: 'message', payload: message, meta: { origin: from } },
  ]
  if (written.ledger.todos.length > 0) {
    const value = written.ledger.todos.map(({ text, status }) => ({ text, status }))
    drafts.push({ kind: 'event', payload: { name: 'set', data: { key: 'todos', value } }, meta: { key: 'set:todos' } })
  }
  return [...drafts, ...queued.map((each): Draft => ({ kind: 'message', payload: each }))]
}

/** Records the state of the handoff; resolves with that entry's id, or undefined when another process recorded one after `behind`. */
async function declare(store: Store, tape: string, intent: Intent, behind: number): Promise<number | undefined> {
  try {
    const [entry] = await store.append(tape, [intentDraft(intent)], { expect: { key: intentKey, id: behind } })
    return entry!.id
  } catch (error) {
    if (isConflict(error)) return undefined
    throw error
  }
}

function intentDraft(intent: Intent): Draft {
  return { kind: 'event', payload: { name: intentKey, data: intent }, meta: { key: intentKey, context: false } }
}

/**
 * Ends the old session. Nothing can come between the last look and the closing anchor: what somebody appends meanwhile
 * is carried over to the new tape first. `dropped`: somebody went on with the old session, or handed it over elsewhere.
 */
async function close(
  store: Store,
  tape: string,
  what: Omit<Intent, 'state'>,
  started: number,
): Promise<Intent['state']> {
  const { child, document } = what
  const intent = { ...what, state: 'closed' } as const
  const name = `handoff/${child}`
  const state = { continued_in: child, document: `${tape}#${document}` }
  for (let carried = started; ;) {
    const last = (await store.info(tape))?.lastId ?? 0
    const declared = await declaredOn(store, tape)
    if (declared?.id !== started) return declared?.intent.child === child ? declared.intent.state : 'dropped'
    await carryOver(store, tape, child, carried, last)
    carried = last
    if ((await edgeTo(store, child, 'handoff')) === undefined) {
      await recordEdge(store, { parent: tape, child, how: 'handoff', anchor: name })
    }
    const closing: Draft[] = [
      { kind: 'anchor', payload: { name, state } },
      { kind: 'event', payload: { name: 'handoff', data: { name, state } } },
      intentDraft(intent),
    ]
    try {
      await store.append(tape, closing, { expect: last })
      return 'closed'
    } catch (error) {
      if (!isConflict(error)) throw error
    }
  }
}

/** Copies to the new tape what was appended to the old one after the document was written. */
async function carryOver(store: Store, tape: string, child: string, after: number, last: number): Promise<void> {
  for await (const { id, kind, payload, meta } of store.read(tape, { after, before: last + 1, kinds: talk })) {
    const origin = formatUri({ workspace: store.workspace, tape, place: { type: 'entry', id } })
    const { run_id } = meta
    await store.append(child, [{ kind, payload, meta: { origin, ...(run_id === undefined ? {} : { run_id }) } }])
  }
}

function isConflict(error: unknown): boolean {
  return BatonError.is(error) && error.code === 'conflict'
}

/** Opens a session where its work goes on: on that tape, or on the one it was handed over to. */
export async function openSession(name: string, options: OpenOptions = {}): Promise<Tape> {
  const tape = await openTape(name, options)
  const active = await resumeHandoff(tape.store, name)
  return active === name ? tape : new Tape(tape.store, active, () => tape.close(), options.as)
}

/**
 * Completes or drops a handoff that was cut short, and tells which tape is the active one. To be called when a session is
 * opened, before anything is appended to it.
 */
export async function resumeHandoff(store: Store, tape: string): Promise<string> {
  const { id, intent } = (await declaredOn(store, tape)) ?? {}
  if (id !== undefined && intent?.state === 'started') {
    const arrived = (await isHeir(store, tape, intent)) && !(await wentOn(store, tape, id))
    if (arrived) await close(store, tape, intent, id)
    else await declare(store, tape, { ...intent, state: 'dropped' }, id)
  }
  const next = await continuedIn(store, tape)
  return next === undefined ? tape : resumeHandoff(store, next)
}

/** The last recorded state of a handoff of this tape to a new one. */
async function declaredOn(store: Store, tape: string): Promise<{ id: number; intent: Intent } | undefined> {
  const entry = await store.latest(tape, intentKey)
  return entry === undefined ? undefined : { id: entry.id, intent: (entry.payload as { data: Intent }).data }
}

/** The tape that this one was handed over to, if it was. */
async function continuedIn(store: Store, tape: string): Promise<string | undefined> {
  const { intent } = (await declaredOn(store, tape)) ?? {}
  return intent?.state === 'closed' ? intent.child : intent?.before
}

/** Whether the new tape is there, and is the one that was made for this document. */
async function isHeir(store: Store, tape: string, intent: Intent): Promise<boolean> {
  const [start] = await store.anchors(intent.child, { name: sessionStart, limit: 1 })
  const { handoff } = (start?.state ?? {}) as { handoff?: unknown }
  return handoff === formatUri({ workspace: store.workspace, tape, place: { type: 'entry', id: intent.document } })
}

function goneOn(after: number): ConflictError {
  return new ConflictError(texts.wentOn, { actual: after })
}

const talk = ['message', 'tool_call', 'tool_result']

/** Whether somebody worked on the old tape after all: their words are not in the document. */
async function wentOn(store: Store, tape: string, after: number, before?: number): Promise<boolean> {
  const until = before === undefined ? {} : { before }
  for await (const _ of store.read(tape, { after, ...until, kinds: talk, limit: 1 })) return true
  return false
}
