// Who may append to a tape. Baton's own tapes are written by Baton alone. A tape without an owner is everybody's; one that
// was handed over belongs to the agent it was handed to. An agent that opens a tape as itself writes only while the owner is
// what it saw, so that one who has just lost the tape cannot slip in one more entry.

import { BatonError, InvalidError } from '../../errors.ts'
import type { AppendOptions, Draft, Entry, Store } from '../../store/index.ts'

/** Whether a tape is one of Baton's own, which only Baton writes. */
export function isReserved(name: string): boolean {
  return name === 'lineage' || /^(task|relay|session|server)\//.test(name)
}

export function checkOpen(name: string): void {
  if (!isReserved(name)) return
  throw new InvalidError(`${name} is one of Baton's own tapes`, {
    hint: 'It can be read, but only Baton appends to it.',
  })
}

export const ownerKey = 'owner'

interface OwnerData {
  readonly agent: string
  readonly from?: string
  readonly message?: string
}

/** `agent:worker-1` and `worker-1` are the same agent. */
export function agentName(name: string): string {
  return name.startsWith('agent:') ? name.slice('agent:'.length) : name
}

/** The owner of a tape; undefined while it has none. */
export async function ownerOf(store: Store, tape: string): Promise<string | undefined> {
  return (await newestOf(store, tape)).owner
}

/**
 * The owner, and the entry that says so; 0 if there is none. Anybody can append an entry under this key, so it may name
 * nobody.
 */
async function newestOf(store: Store, tape: string): Promise<{ owner: string | undefined; id: number }> {
  const entry = await store.latest(tape, ownerKey)
  const { agent } = (entry?.payload as { data?: Partial<OwnerData> } | undefined)?.data ?? {}
  return { owner: typeof agent === 'string' ? agent : undefined, id: entry?.id ?? 0 }
}

/** Makes an agent the owner of a tape, once per message; only the owner can, or anyone while there is none. */
export async function passOwnership(
  store: Store,
  tape: string,
  { from, to, message }: { from: string; to: string; message: string },
): Promise<void> {
  const { owner, id } = await newestOf(store, tape)
  if (owner === agentName(to)) return
  if (owner !== undefined && owner !== agentName(from)) throw notYours(tape, from, owner)
  const draft = ownerDraft({ agent: agentName(to), from: agentName(from), message })
  // What was passed on and came back in the meantime is not passed on again.
  const once = { ...draft, meta: { ...draft.meta, idempotency: `owner:${message}` } }
  await store.append(tape, [once], { expect: { key: ownerKey, id } })
}

export function ownerDraft(data: OwnerData): Draft {
  return { kind: 'event', payload: { name: 'owner', data }, meta: { key: ownerKey, context: false } }
}

/** What to append with so that it only succeeds while the tape is this agent's. */
export async function asOwner(
  store: Store,
  tape: string,
  agent: string,
  options: AppendOptions = {},
): Promise<AppendOptions> {
  const { owner, id } = await newestOf(store, tape)
  if (owner !== undefined && owner !== agentName(agent)) throw notYours(tape, agent, owner)
  // With an expectation of the caller's own, the owner is as it was a moment ago.
  return options.expect === undefined ? { expect: { key: ownerKey, id } } : options
}

/** Appends as an agent: refused when the tape is another's, also when it became so in this very moment. */
export async function appendAs(
  store: Store,
  tape: string,
  agent: string,
  drafts: readonly Draft[],
  options: AppendOptions = {},
): Promise<Entry[]> {
  for (;;) {
    try {
      return await store.append(tape, drafts, await asOwner(store, tape, agent, options))
    } catch (error) {
      if (!BatonError.is(error) || error.code !== 'conflict') throw error
      // Either the owner has changed, which the next check shows, or something that the caller expected.
      await asOwner(store, tape, agent)
      if (options.expect !== undefined) throw error
    }
  }
}

function notYours(tape: string, agent: string, owner: string): BatonError {
  return new BatonError('refused', `${tape} is ${owner}'s now; ${agentName(agent)} cannot append to it`, {
    hint: `Ask ${owner} to hand it over, fork it, or open it as ${owner} if that is who you are.`,
  })
}
