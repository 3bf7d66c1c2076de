// What the user said before a phase. A plain anchor starts a fresh context with whatever state it was given, which may be none at all;
// what the user asked for and forbade holds all the same. It is taken from the tape: the newest handoff document, which tells what
// came before it, and the user's messages since; on a fork, those of the tape it was made from too.

import type { AnchorRef, Damage, Entry, EntryOf, Store } from '../../store/index.ts'
import { contentText, type Item } from '../content/content.ts'
import { withoutMiddle } from './fit.ts'
import { forkOf } from '../lineage/fork.ts'
import { parseUri } from '../reference.ts'

/** How much of one message is repeated, and of all together: about 3,000 tokens. */
const eachChars = 2_000
const allChars = 12_000
/** How far back messages are looked for, in entries: the cost of a context must not depend on the length of the tape. */
const lookBack = 2_000
const lookBackAnchors = 50

type MessageEntry = EntryOf<'message'>

interface Said {
  readonly ref: string
  readonly text: string
}

export interface UserWords {
  /** The words as one message; undefined where the user had said nothing else. */
  readonly item: Item | undefined
  /** What was being answered when the phase began: whole, as it was said. */
  readonly prompts: readonly Entry[]
}

export async function wordsBefore(
  store: Store,
  tape: string,
  anchor: AnchorRef,
  onDamage: (damage: Damage) => void,
): Promise<UserWords> {
  const before = Math.min(anchor.from ?? anchor.id, anchor.id)
  const runId = before < anchor.id ? await runAt(store, tape, anchor.id) : undefined
  const prompts: Entry[] = []
  const said: Said[] = []
  let room = allChars
  let place: { tape: string; before: number } | undefined = { tape, before }
  let document: MessageEntry | undefined
  let isWhole = true
  while (place !== undefined && document === undefined && isWhole) {
    document = await lastDocument(store, place.tape, place.before)
    const after = Math.max(document?.id ?? 0, place.before - lookBack)
    const range = { after, before: place.before, kinds: ['message'], reverse: true, onDamage }
    for await (const entry of store.read(place.tape, range)) {
      if (!isPrompt(entry)) continue
      if (runId !== undefined && entry.meta.run_id === runId) {
        prompts.unshift(entry)
        continue
      }
      const one = told(place.tape, entry)
      room -= one.text.length
      isWhole = room >= 0
      if (!isWhole) break
      said.unshift(one)
    }
    isWhole &&= after === (document?.id ?? 0)
    if (document === undefined && !isWhole) {
      const first = await firstPrompt(store, place.tape, onDamage)
      if (first !== undefined) said.unshift(told(place.tape, first))
    }
    place = document === undefined && isWhole ? await forkedAt(store, place.tape) : undefined
  }
  return { item: asItem(before, said, document, isWhole), prompts }
}

function isPrompt(entry: Entry): entry is MessageEntry {
  return (
    entry.kind === 'message' &&
    entry.payload.role === 'user' &&
    entry.payload.customType === undefined &&
    entry.meta.context !== false
  )
}

function told(tape: string, { id, payload }: MessageEntry): Said {
  return { ref: `${tape}#${id}`, text: withoutMiddle(contentText(payload.content).text.trim(), eachChars) }
}

async function runAt(store: Store, tape: string, id: number): Promise<string | undefined> {
  for await (const entry of store.read(tape, { after: id - 1, before: id + 1 })) return entry.meta.run_id
  return undefined
}

/** Found through the anchors, whose state names the document that follows them. */
async function lastDocument(store: Store, tape: string, before: number): Promise<MessageEntry | undefined> {
  const anchors = await store.anchors(tape, { before, limit: lookBackAnchors })
  for (const { id, state } of anchors.toReversed()) {
    if (typeof state !== 'object' || state === null || !('document' in state || 'handoff' in state)) continue
    for await (const entry of store.read(tape, { after: id, before, kinds: ['message'], limit: 1 })) {
      if (entry.kind === 'message' && entry.payload.customType === 'handoff') return entry
    }
  }
  return undefined
}

async function firstPrompt(
  store: Store,
  tape: string,
  onDamage: (damage: Damage) => void,
): Promise<MessageEntry | undefined> {
  for await (const entry of store.read(tape, { kinds: ['message'], limit: 10, onDamage })) {
    if (isPrompt(entry)) return entry
  }
  return undefined
}

/** Where the entries of a fork were copied from: what came before them was said on that tape. */
async function forkedAt(store: Store, tape: string): Promise<{ tape: string; before: number } | undefined> {
  if ((await forkOf(store, tape)) === undefined) return undefined
  for await (const { meta } of store.read(tape, { limit: 1 })) {
    if (meta.origin === undefined) return undefined
    const { workspace, tape: parent, place } = parseUri(meta.origin)
    if (workspace === store.workspace && place.type === 'entry') return { tape: parent, before: place.id }
  }
  return undefined
}

function asItem(
  id: number,
  said: readonly Said[],
  document: MessageEntry | undefined,
  isWhole: boolean,
): Item | undefined {
  const earlier = document === undefined ? '' : contentText(document.payload.content).text.trim()
  if (said.length === 0 && earlier === '') return undefined
  const lines = said.map(({ ref, text }) => `[${ref}] ${text.replaceAll(/<(\/?user-words)/g, '&lt;$1')}`)
  const gap = isWhole ? '' : ' Some of it is left out; the tape holds all of it.'
  const words = `<user-words>\nWhat the user said before this phase, oldest first. What they asked for and ruled out still holds.${gap}\n${lines.join('\n')}\n</user-words>`
  const text = [earlier, said.length === 0 ? '' : words].filter((each) => each !== '').join('\n\n')
  return { type: 'user', id, pieces: [{ type: 'text', text }], keep: 'words' }
}
