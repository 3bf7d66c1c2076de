// The handoff to a new session, in an order that a crash cannot break: the document on the old tape, the new tape whole,
// the lineage, and last the closing anchor on the old tape. Until that anchor the old session is the active one.

import { BatonError, CancelledError, ConflictError } from '../errors.ts'
import type { Draft, Store } from '../store/index.ts'
import { edgeTo, recordEdge } from '../tape/lineage.ts'
import { type OpenOptions, openTape, type RecordedMessage, Tape } from '../tape/index.ts'
import { sessionStart } from '../tape/context.ts'
import { formatUri } from '../tape/uri.ts'
import { wrapDocument } from './safety/wrap.ts'
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
  wentOn: 'somebody went on with the session while its document was written; hand off again',
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

export async function handoffSession(tape: Tape, options: SessionHandoffOptions = {}): Promise<SessionHandoff> {
  try {
    if (options.isStreaming?.() === true) throw new ConflictError(texts.streaming, { actual: 0 })
    if (!(await hasMessages(tape))) return { status: 'empty', message: texts.empty }
    const seen = (await tape.store.info(tape.name))?.lastId ?? 0
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

async function moveOn(
  tape: Tape,
  markdown: string,
  written: Written,
  seen: number,
  options: SessionHandoffOptions,
): Promise<{ child: string; document: SavedDocument }> {
  const { store, name } = tape
  await demandRest(store, name, seen)
  const document = await saveDocument(store, name, markdown, written.note)
  const child = options.into ?? (await freeName(store, name))
  const before = await continuedIn(store, name)
  const intent = { child, document: document.id, ...(before === undefined ? {} : { before }) }
  await declare(store, name, { ...intent, state: 'started' })
  try {
    await store.create(child, [newSession(tape, markdown, document, written, options.queued ?? [])])
    await demandRest(store, name, seen)
  } catch (error) {
    await declare(store, name, { ...intent, state: 'dropped' })
    throw error
  }
  await close(store, name, { ...intent, state: 'closed' })
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

async function declare(store: Store, tape: string, intent: Intent): Promise<void> {
  await store.append(tape, [
    { kind: 'event', payload: { name: intentKey, data: intent }, meta: { key: intentKey, context: false } },
  ])
}

async function close(store: Store, tape: string, intent: Intent): Promise<void> {
  const anchor = `handoff/${intent.child}`
  if ((await edgeTo(store, intent.child, 'handoff')) === undefined) {
    await recordEdge(store, { parent: tape, child: intent.child, how: 'handoff', anchor })
  }
  const state = { continued_in: intent.child, document: `${tape}#${intent.document}` }
  await store.append(tape, [
    { kind: 'anchor', payload: { name: anchor, state } },
    { kind: 'event', payload: { name: 'handoff', data: { name: anchor, state } } },
    { kind: 'event', payload: { name: intentKey, data: intent }, meta: { key: intentKey, context: false } },
  ])
}

/** Opens a session where its work goes on: on that tape, or on the one it was handed over to. */
export async function openSession(name: string, options: OpenOptions = {}): Promise<Tape> {
  const tape = await openTape(name, options)
  const active = await resumeHandoff(tape.store, name)
  return active === name ? tape : new Tape(tape.store, active, () => tape.close())
}

/**
 * Completes or drops a handoff that was cut short, and tells which tape is the active one. To be called when a session is
 * opened, before anything is appended to it.
 */
export async function resumeHandoff(store: Store, tape: string): Promise<string> {
  const entry = await store.latest(tape, intentKey)
  const intent = (entry?.payload as { data: Intent } | undefined)?.data
  if (entry !== undefined && intent?.state === 'started') {
    const arrived = (await isHeir(store, tape, intent)) && !(await wentOn(store, tape, entry.id))
    if (arrived) await close(store, tape, { ...intent, state: 'closed' })
    else await declare(store, tape, { ...intent, state: 'dropped' })
  }
  const next = await continuedIn(store, tape)
  return next === undefined ? tape : resumeHandoff(store, next)
}

/** The tape that this one was handed over to, if it was. */
async function continuedIn(store: Store, tape: string): Promise<string | undefined> {
  const entry = await store.latest(tape, intentKey)
  const intent = (entry?.payload as { data: Intent } | undefined)?.data
  return intent?.state === 'closed' ? intent.child : intent?.before
}

/** Whether the new tape is there, and is the one that was made for this document. */
async function isHeir(store: Store, tape: string, intent: Intent): Promise<boolean> {
  const [start] = await store.anchors(intent.child, { name: sessionStart, limit: 1 })
  const { handoff } = (start?.state ?? {}) as { handoff?: unknown }
  return handoff === formatUri({ workspace: store.workspace, tape, place: { type: 'entry', id: intent.document } })
}

async function demandRest(store: Store, tape: string, after: number): Promise<void> {
  if (await wentOn(store, tape, after)) throw new ConflictError(texts.wentOn, { actual: after })
}

/** Whether somebody worked on the old tape after all: their words are not in the document. */
async function wentOn(store: Store, tape: string, after: number): Promise<boolean> {
  for await (const _ of store.read(tape, { after, kinds: ['message', 'tool_call', 'tool_result'], limit: 1 }))
    return true
  return false
}
