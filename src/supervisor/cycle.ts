// The cycle: trigger, document, clear, resume, verify. A pure step: what is seen goes in; the next state, and what is to be
// done, come out. A state says what was *meant* before it is done, and only what is seen afterwards proves it: a supervisor
// that died in between looks again before it does anything twice. No state from `documented` on exists without a stored
// document, so that nothing is cleared without one.

import type {
  Asked,
  Author,
  Clearing,
  Cycle,
  Documented,
  Done,
  Effect,
  Failed,
  Health,
  Policy,
  Resuming,
  Seen,
  Sight,
  Stepped,
  Stored,
  Trigger,
  Verifying,
  Watching,
} from './cycle-state.ts'
import type { Observation } from './eyes.ts'
import { askText, resumeText } from './prompts.ts'
import { again, isWorking, mayType, obstacle, pursue, typing } from './pursuit.ts'

export const atRest: Cycle = { at: 'watching' }

/** Behind a cycle that is over; an interrupt that did not help is not forgotten. */
export function restAfter({ interrupted }: Done | Failed): Cycle {
  return interrupted === undefined ? atRest : { at: 'watching', interrupted }
}

/** How long a turn may take to end after an interrupt before a person is told. */
const interruptMs = 30_000
/** Before a document that could not be stored is tried again. */
const storeMs = 10_000

export function step(cycle: Cycle, seen: Seen, policy: Policy, now: number): Stepped {
  const held = seen.seen === 'session' ? heldUp(cycle, seen, now) : undefined
  if (held !== undefined) return held
  switch (cycle.at) {
    case 'watching':
      return watching(cycle, seen, policy, now)
    case 'asked':
      return asked(cycle, seen, policy, now)
    case 'documented':
      return documented(cycle, seen, policy, now)
    case 'clearing':
      return clearing(cycle, seen, policy, now)
    case 'resuming':
      return resuming(cycle, seen, policy, now)
    case 'verifying':
      return verifying(cycle, seen, policy, now)
    case 'done':
    case 'failed':
      return wait(cycle, 'the next cycle')
  }
}

/** Who waits for a person or for the end of a limit is not late. */
function heldUp(cycle: Cycle, { look, screen }: Sight, now: number): Stepped | undefined {
  const unhurried = 'since' in cycle ? { ...cycle, since: now } : cycle
  if (look.dialog !== undefined || screen.is === 'dialog') {
    // Only the screen tells when it is answered.
    return wait(unhurried, 'an answer to its question', now + 2 * again)
  }
  // What is said then is a try whether the limit still holds.
  const tries = cycle.at === 'watching' && cycle.say !== undefined
  if (look.state.state !== 'limited' || tries) return undefined
  const { until } = look.state
  if (until === undefined) return wait(unhurried, 'the end of a limit', now + 60 * again)
  return wait(unhurried, `the end of a limit at ${until}`, Math.max(Date.parse(until), now + again))
}

function watching(cycle: Watching, seen: Seen, policy: Policy, now: number): Stepped {
  const { say } = cycle
  if (seen.seen === 'say' && say === undefined) {
    return act({ ...cycle, say: typing(seen.text, now) }, { do: 'say', text: seen.text })
  }
  if (say !== undefined) {
    const { say: _said, ...rest } = cycle
    const told = pursue(say, seen, 'say', policy, now)
    if (told.is === 'again') return act({ ...cycle, say: told.prompt }, { do: 'say', text: told.prompt.text })
    if (told.is === 'waiting') return wait({ ...cycle, say: told.prompt }, told.waits.for, told.waits.until)
    if (told.is === 'heard') return wait(rest, 'the threshold')
    return act(rest, health('prompt', 'warning', `It did not take the prompt "${say.text}"`, 'attach'))
  }
  if (seen.seen !== 'session') return wait(cycle, 'the threshold')
  const trigger = due(seen, policy, now)
  // An interrupt is over with the turn that it was for.
  const rest: Watching =
    isWorking(seen) && cycle.interrupted ? { at: 'watching', interrupted: cycle.interrupted } : { at: 'watching' }
  if (trigger === undefined) return wait(rest, 'the threshold')
  if (policy.hold !== undefined) return wait(rest, policy.hold, now + again)
  if (isWorking(seen)) return toTurnEnd(cycle, seen, policy, now)
  if (!mayType(seen)) return wait(cycle, `a chance to type (${obstacle(seen)})`, now + again)
  const text = askText({ ...trigger, path: policy.path, project: policy.project })
  const from = seen.look.session
  return act(
    {
      at: 'asked',
      n: policy.n,
      trigger,
      ...(from === undefined ? {} : { from }),
      since: now,
      path: policy.path,
      asks: 1,
      prompt: typing(text, now),
    },
    { do: 'ask', text },
  )
}

/** Past the threshold, wanted by a person, or at the end of a turn that the next one would carry past it. */
function due(sight: Sight, policy: Policy, now: number): Trigger | undefined {
  const { percent, growth = 0, window } = sight.look.meter
  const at = percent === undefined ? {} : { percent }
  if (policy.wanted) return { ...at, why: 'person', at: now }
  if (percent === undefined) return undefined
  const share = percent / 100
  if (share >= policy.threshold) return { ...at, why: 'threshold', at: now }
  const next = window === undefined ? share : share + growth / window
  // A mean says little about one turn: a context that has much room left is not given up for it.
  const foreseen = policy.predict && !isWorking(sight) && next > policy.threshold && share >= policy.threshold * 0.75
  return foreseen ? { ...at, why: 'prediction', at: now } : undefined
}

/** A turn is left to end by itself until the deadline, or the brink of the agent's own compaction. */
function toTurnEnd(cycle: Watching, { look }: Sight, policy: Policy, now: number): Stepped {
  const over = cycle.over ?? now
  const overdue = now - over >= policy.turnMs || (look.meter.percent ?? 0) / 100 >= policy.brink
  if (overdue && cycle.interrupted === undefined) {
    return act({ at: 'watching', over, interrupted: now }, { do: 'interrupt' })
  }
  return wait({ ...cycle, over }, 'the end of its turn', overdue ? undefined : over + policy.turnMs)
}

function asked(cycle: Asked, seen: Seen, policy: Policy, now: number): Stepped {
  if (seen.seen === 'stored') {
    const { asks: _asks, prompt: _prompt, without: _w, ready: _r, storing: _s, notBefore: _n, ...rest } = cycle
    const { snapshot = false } = cycle
    const begun = { ...rest, at: 'documented' as const, since: now, document: seen.document, snapshot }
    // Begun with the storing of a document that is the last word of its turn.
    if (cycle.storing !== 'ledger') return wait(begun, 'a chance to clear', now)
    return act(begun, { do: 'snapshot' })
  }
  if (seen.seen === 'snapshot') return wait({ ...cycle, snapshot: true }, 'the document to be stored')
  if (seen.seen === 'refused' && seen.what === 'store') return notStored(cycle, seen.reason, now)
  if (cycle.storing !== undefined) return wait(cycle, 'the document to be stored')
  if (seen.seen === 'session') {
    const arrived = arrival(cycle, seen, policy, now)
    if (arrived !== undefined) return arrived
  }
  const heard = cycle.prompt.state === 'heard' ? undefined : pursue(cycle.prompt, seen, 'ask', policy, now)
  if (heard?.is === 'waiting') return wait({ ...cycle, prompt: heard.prompt }, heard.waits.for, heard.waits.until)
  if (heard?.is === 'again') return act({ ...cycle, prompt: heard.prompt }, { do: 'ask', text: heard.prompt.text })
  if (heard?.is === 'lost') return silent(cycle, 'it did not take the prompt', policy, now)
  if (heard?.is === 'heard') return wait({ ...cycle, prompt: heard.prompt }, 'the document', now + policy.documentMs)
  if (seen.seen !== 'session') return wait(cycle, 'the document', cycle.prompt.at + policy.documentMs)
  return isWorking(seen) ? writing(cycle, policy, now) : withoutDocument(cycle, seen, policy, now)
}

/** The document is there. It is taken when the turn is over, for until then it may change. */
function arrival(cycle: Asked, sight: Sight, policy: Policy, now: number): Stepped | undefined {
  if (sight.found.is !== 'valid') return undefined
  if (cycle.notBefore !== undefined && now < cycle.notBefore)
    return wait(cycle, 'room for the document', cycle.notBefore)
  if (!isWorking(sight)) return store(cycle, 'agent')
  const ready = cycle.ready ?? now
  const deadline = ready + policy.backgroundMs
  if (now < deadline) return wait({ ...cycle, ready }, 'the end of the turn that wrote the document', deadline)
  return interruptOnce({ ...cycle, ready }, now)
}

/** It works, and there is no document yet. */
function writing(cycle: Asked, policy: Policy, now: number): Stepped {
  const deadline = Math.max(cycle.prompt.at, cycle.since) + policy.documentMs
  if (now < deadline) return wait(cycle, 'the document', deadline)
  if (cycle.interrupted === undefined) return act({ ...cycle, interrupted: now }, { do: 'interrupt' })
  if (now - cycle.interrupted < interruptMs) return wait(cycle, 'the end of its turn', cycle.interrupted + interruptMs)
  return silent(cycle, 'it works on and cannot be interrupted', policy, now)
}

/** The turn is over, and there is no valid document: asked once more, then it is done without. */
function withoutDocument(cycle: Asked, sight: Sight, policy: Policy, now: number): Stepped {
  const { found } = sight
  const without = cycle.without ?? now
  const waiting = { ...cycle, without }
  if (now - without < policy.graceMs) return wait(waiting, 'the document', without + policy.graceMs)
  const reason =
    found.is === 'incomplete'
      ? found.problems.slice(0, 3).join('; ')
      : found.is === 'refused'
        ? found.reason
        : 'there is no document'
  if (cycle.asks === 2) {
    if (found.is !== 'incomplete') return silent(waiting, reason, policy, now)
    if (cycle.notBefore !== undefined && now < cycle.notBefore)
      return wait(cycle, 'room for the document', cycle.notBefore)
    return store(waiting, 'repaired')
  }
  if (!mayType(sight)) return wait(waiting, `a chance to type (${obstacle(sight)})`, now + again)
  const text = askText({ ...cycle.trigger, path: cycle.path, project: policy.project, reason })
  const { without: _without, ready: _ready, interrupted: _interrupted, ...rest } = cycle
  return act(
    { ...rest, asks: 2, since: now, prompt: typing(text, now) },
    health('handoff', 'warning', `Asked for its document again: ${reason}`, 'logs'),
    { do: 'ask', text },
  )
}

/** No document will come. */
function silent(cycle: Asked, reason: string, policy: Policy, now: number): Stepped {
  if (cycle.notBefore !== undefined && now < cycle.notBefore)
    return wait(cycle, 'room for the document', cycle.notBefore)
  if (policy.onSilence === 'ask') return fail(cycle, `No document: ${reason}`, 'attach', now)
  const told = health('handoff', 'warning', `The document is written from the ledger: ${reason}`, 'logs')
  const { cycle: storing, effects } = store(cycle, 'ledger')
  return { cycle: storing, effects: [told, ...effects], waits: { for: 'the document to be stored' } }
}

/** The agent has come to an end with its own document: what it left uncommitted is kept at the same time. */
function store(cycle: Asked, by: Author): Stepped {
  const { path, trigger, snapshot } = cycle
  const effect: Effect = { do: 'store', by, path, trigger }
  const also: Effect[] = by === 'ledger' || snapshot === true ? [] : [{ do: 'snapshot' }]
  return { cycle: { ...cycle, storing: by }, effects: [effect, ...also], waits: { for: 'the document to be stored' } }
}

function notStored(cycle: Asked | Documented, reason: string, now: number): Stepped {
  const { storing: _storing, ...rest } = cycle
  const told = health(
    'handoff',
    'critical',
    `The document could not be stored, so nothing is cleared: ${reason}`,
    'disk',
  )
  const later = { ...rest, notBefore: now + storeMs }
  return { cycle: later, effects: [told], waits: { for: 'room for the document', until: now + storeMs } }
}

function documented(cycle: Documented, seen: Seen, policy: Policy, now: number): Stepped {
  if (seen.seen === 'snapshot') return wait({ ...cycle, snapshot: true }, 'a chance to clear', now)
  if (seen.seen === 'stored') {
    const { storing: _storing, notBefore: _notBefore, ...rest } = cycle
    return wait({ ...rest, document: seen.document }, 'a chance to clear', now)
  }
  if (seen.seen === 'refused' && seen.what === 'store') return notStored(cycle, seen.reason, now)
  if (seen.seen !== 'session') return wait(cycle, 'a chance to clear', now + again)
  if (cycle.storing !== undefined) return wait(cycle, 'the document to be stored')
  if (cycle.notBefore !== undefined && now < cycle.notBefore)
    return wait(cycle, 'room for the document', cycle.notBefore)
  if (isWorking(seen)) {
    const deadline = cycle.since + policy.turnMs
    return now < deadline ? wait(cycle, 'the end of its turn', deadline) : interruptOnce(cycle, now)
  }
  const { document, trigger, path } = cycle
  const late = document.by === 'ledger' && seen.found.is === 'valid'
  if (late || seen.look.turns > document.turns) {
    const by = late ? 'agent' : document.by
    const effect: Effect = { do: 'store', by, path, trigger }
    return { cycle: { ...cycle, storing: by }, effects: [effect], waits: { for: 'the document to be stored' } }
  }
  if (!cycle.snapshot) return wait(cycle, 'the snapshot of uncommitted work')
  const { background } = seen.look
  const patient = cycle.since + policy.backgroundMs
  if (background.length > 0 && now < patient)
    return wait(cycle, `commands in the background (${background[0]})`, patient)
  if (!mayType(seen)) return wait(cycle, `a chance to clear (${obstacle(seen)})`, now + again)
  const { snapshot: _snapshot, path: _path, interrupted: _interrupted, ...rest } = cycle
  return act({ ...rest, at: 'clearing', since: now, clears: cycle.clears ?? 1, state: 'typing' }, { do: 'clear' })
}

function clearing(cycle: Clearing, seen: Seen, policy: Policy, now: number): Stepped {
  if (seen.seen === 'done' && seen.what === 'clear') {
    if (!policy.clearShows) return resume(cycle, cycle.clears, now)
    return wait({ ...cycle, state: 'typed', since: now }, 'a fresh context', now + policy.clearMs)
  }
  if (seen.seen === 'refused' && seen.what === 'clear') {
    return wait({ ...cycle, state: 'refused', since: now }, `a chance to clear (${seen.reason})`, now + again)
  }
  if (seen.seen !== 'session') return wait(cycle, 'a fresh context', cycle.since + policy.clearMs)
  if (isFresh(seen.look, cycle.from)) return resume(cycle, cycle.clears, now)
  if (cycle.state === 'typing') return wait(cycle, 'a clear that is being typed')
  const patient = cycle.since + (cycle.state === 'refused' ? again : policy.clearMs)
  if (now < patient) return wait(cycle, 'a fresh context', patient)
  // The next prompt will show whether it was heeded.
  if (policy.clearShows === 'usually' && cycle.state === 'typed') return resume(cycle, cycle.clears, now)
  if (!mayType(seen)) return wait(cycle, `a chance to clear (${obstacle(seen)})`, now + again)
  if (cycle.state === 'refused') return act({ ...cycle, state: 'typing', since: now }, { do: 'clear' })
  if (cycle.clears === 1) return act({ ...cycle, clears: 2, state: 'typing', since: now }, { do: 'clear' })
  return fail(cycle, 'It ignored the clear twice: its context is as full as before', 'clear', now)
}

function isFresh({ session }: Observation, from: string | undefined): boolean {
  return from !== undefined && session !== from
}

function resume(cycle: Clearing | Resuming | Verifying, clears: 1 | 2, now: number, tries: 1 | 2 = 1): Stepped {
  const { n, trigger, from, document } = cycle
  const text = resumeText(document.path, tries + clears - 1)
  const begun = { n, trigger, ...(from === undefined ? {} : { from }), document }
  return act({ ...begun, at: 'resuming', since: now, clears, tries, prompt: typing(text, now) }, { do: 'resume', text })
}

function resuming(cycle: Resuming, seen: Seen, policy: Policy, now: number): Stepped {
  if (cycle.prompt.state !== 'heard') {
    const told = pursue(cycle.prompt, seen, 'resume', policy, now)
    if (told.is === 'waiting') return wait({ ...cycle, prompt: told.prompt }, told.waits.for, told.waits.until)
    if (told.is === 'again') return act({ ...cycle, prompt: told.prompt }, { do: 'resume', text: told.prompt.text })
    if (told.is === 'lost')
      return fail(cycle, 'Its context is fresh, but it did not take the prompt to resume', 'resume', now)
    cycle = { ...cycle, prompt: told.prompt }
  }
  if (seen.seen !== 'session') return wait(cycle, 'a fresh context')
  const { look } = seen
  if (cycle.from === undefined || look.session !== cycle.from) {
    const { prompt: _prompt, ...rest } = cycle
    return wait({ ...rest, at: 'verifying', since: now }, 'it to read the document', now + policy.verifyMs)
  }
  // It heard in the old context: the clear was ignored.
  if (cycle.clears === 2)
    return fail(cycle, 'It ignored the clear twice: its context is as full as before', 'clear', now)
  // Told to resume, it may have worked on: what it did belongs into the document before it is cleared again.
  const { prompt: _prompt, tries: _tries, interrupted: _interrupted, ...rest } = cycle
  const { path } = cycle.document
  return act({ ...rest, at: 'documented', since: now, clears: 2, path, snapshot: false }, { do: 'snapshot' })
}

/** The fresh context has read the document, and gone on: a reply or a call behind it. */
function verifying(cycle: Verifying, seen: Seen, policy: Policy, now: number): Stepped {
  if (seen.seen !== 'session') return wait(cycle, 'it to read the document', cycle.since + policy.verifyMs)
  const { look } = seen
  const over = look.turn === 'idle' && look.meter.tokens !== undefined && !isWorking(seen)
  const changed = look.changed ?? 0
  if (seen.read && (over || (cycle.read !== undefined && changed > cycle.read))) {
    const { clears: _clears, tries: _tries, read: _read, ...rest } = cycle
    return act({ ...rest, at: 'done', since: now }, health('handoff', 'ok', 'Handed over to a fresh context', 'logs'))
  }
  if (seen.read) return wait({ ...cycle, read: cycle.read ?? changed }, 'it to go on', changed + policy.verifyMs)
  const deadline = Math.max(cycle.since, changed) + policy.verifyMs
  const refused = over && now - Math.max(cycle.since, changed) >= policy.graceMs
  if (now < deadline && !refused) {
    return wait(cycle, 'it to read the document', over ? Math.max(cycle.since, changed) + policy.graceMs : deadline)
  }
  if (cycle.tries === 2) return fail(cycle, 'It does not read its document', 'resume', now)
  if (mayType(seen)) return resume(cycle, cycle.clears, now, 2)
  if (now < deadline + policy.verifyMs) return wait(cycle, `a chance to type (${obstacle(seen)})`, now + again)
  return fail(cycle, 'It has been silent since it was told to resume', 'attach', now)
}

function interruptOnce(cycle: Asked | Documented | Resuming, now: number): Stepped {
  if (cycle.interrupted === undefined) return act({ ...cycle, interrupted: now }, { do: 'interrupt' })
  const until = cycle.interrupted + interruptMs
  if (now < until) return wait(cycle, 'the end of its turn', until)
  const told = health('handoff', 'critical', 'It works on and cannot be interrupted', 'attach')
  return { cycle, effects: [told], waits: { for: 'the end of its turn', until: now + interruptMs } }
}

function fail(cycle: Exclude<Cycle, Watching>, reason: string, advice: string, now: number): Stepped {
  const { n, trigger, from, interrupted } = cycle
  const document: Stored | undefined = 'document' in cycle ? cycle.document : undefined
  const failed: Failed = {
    at: 'failed',
    n,
    trigger,
    ...(from === undefined ? {} : { from }),
    since: now,
    step: cycle.at,
    reason,
    advice,
    ...(document === undefined ? {} : { document }),
    ...(interrupted === undefined ? {} : { interrupted }),
  }
  return act(failed, health('handoff', 'critical', reason, advice))
}

function act(cycle: Cycle, ...effects: Effect[]): Stepped {
  return { cycle, effects }
}

function wait(cycle: Cycle, what: string, until?: number): Stepped {
  return { cycle, effects: [], waits: { for: what, ...(until === undefined ? {} : { until }) } }
}

function health(check: Health['check'], status: Health['status'], what: string, advice: string): Health {
  return { do: 'health', check, status, what, advice }
}
