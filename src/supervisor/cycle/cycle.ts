// The folder cycle/ replaces a full context by a fresh one: trigger, document, clear, resume, verify. This file decides: `step` is
// a pure function that takes the state and an event and returns the next state and the effects to carry out. A state records
// an intention before it is carried out, and only a later event proves that it was: a supervisor that died in between
// observes the session before it does anything twice. Every state from `documented` on holds a stored document, so that
// nothing is cleared without one. `cycle-runner.ts` writes the states down and carries out the effects.

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
  CycleEvent,
  Sighting,
  StepResult,
  Stored,
  Trigger,
  Verifying,
  Watching,
} from './cycle-state.ts'
import path from 'node:path'
import { mayRunCommand, type Observation } from '../observe/observation.ts'
import { askText, interruptedText, resumeText } from '../../handoff/index.ts'
import { again, hasEmptyInput, isWorking, mayType, obstacle, deliver, pending, typing } from './prompt-delivery.ts'

export const atRest: Cycle = { at: 'watching' }

/** The state after a cycle that is over; an interrupt that did not help is not forgotten. */
export function restAfter({ interrupted }: Done | Failed): Cycle {
  return interrupted === undefined ? atRest : { at: 'watching', interrupted }
}

/** How long a turn may take to end after an interrupt before a person is told. */
const interruptMs = 30_000
/** How long to wait before storing a document is tried again. */
const storeMs = 10_000

export function step(cycle: Cycle, event: CycleEvent, policy: Policy, now: number): StepResult {
  const held = event.type === 'session' ? heldUp(cycle, event, policy, now) : undefined
  if (held !== undefined) return held
  switch (cycle.at) {
    case 'watching':
      return watching(cycle, event, policy, now)
    case 'asked':
      return asked(cycle, event, policy, now)
    case 'documented':
      return documented(cycle, event, policy, now)
    case 'clearing':
      return clearing(cycle, event, policy, now)
    case 'resuming':
      return resuming(cycle, event, policy, now)
    case 'verifying':
      return verifying(cycle, event, policy, now)
    case 'done':
    case 'failed':
      return wait(cycle, 'the next cycle')
  }
}

/** While the agent waits for a person or for the end of a limit, no deadline runs. */
function heldUp(cycle: Cycle, sighting: Sighting, policy: Policy, now: number): StepResult | undefined {
  const { observation, screen } = sighting
  const unhurried = 'since' in cycle ? { ...cycle, since: now } : cycle
  if (observation.dialog !== undefined || screen.is === 'dialog') {
    if (cycle.at === 'asked' && asksAbout(cycle, sighting)) return documentDialog(cycle, policy, now)
    // Only the screen shows when the question has been answered.
    return wait(unhurried, 'an answer to its question', now + 2 * again)
  }
  // A prompt that is to be delivered now tests whether the limit still holds.
  const tries = cycle.at === 'watching' && cycle.say !== undefined
  if (observation.state.state !== 'limited' || tries) return undefined
  const { until } = observation.state
  if (until === undefined) return wait(unhurried, 'the end of a limit', now + 60 * again)
  return wait(unhurried, 'the end of a limit', Math.max(Date.parse(until), now + again))
}

/** Whether the question on the screen is about the document that Baton has asked for. */
function asksAbout({ path: file }: Asked, { screen }: Sighting): boolean {
  return screen.is === 'dialog' && screen.question.includes(path.basename(file))
}

/** A question about the document has a deadline, as silence has: then Baton withdraws its request, and the ledger writes it. */
function documentDialog(cycle: Asked, policy: Policy, now: number): StepResult {
  const deadline = Math.max(cycle.prompt.at, cycle.since) + policy.documentMs
  if (now < deadline)
    return wait(cycle, 'an answer to the question about its document', Math.min(deadline, now + 2 * again))
  if (cycle.interrupted !== undefined) return wait(cycle, 'the question about its document to close', now + 2 * again)
  return act({ ...cycle, asks: 2, interrupted: now }, { do: 'interrupt', about: path.basename(cycle.path) })
}

function watching(cycle: Watching, event: CycleEvent, policy: Policy, now: number): StepResult {
  const { say } = cycle
  if (event.type === 'say' && say === undefined) {
    return act({ ...cycle, say: typing(event.text, now) }, { do: 'say', text: event.text })
  }
  if (say !== undefined) {
    const { say: _said, ...rest } = cycle
    const told = deliver(say, event, 'say', policy, now)
    if (told.is === 'again') return act({ ...cycle, say: told.prompt }, { do: 'say', text: told.prompt.text })
    if (told.is === 'waiting') return wait({ ...cycle, say: told.prompt }, told.waits.for, told.waits.until)
    if (told.is === 'heard') return wait(rest, 'the threshold')
    const lost = health('prompt', 'warning', `The agent did not accept the prompt "${say.text}"`, 'attach')
    return { cycle: rest, effects: [lost], waits: { for: 'the threshold' } }
  }
  if (event.type === 'refused' && event.what === 'interrupt') {
    const { isCut: _isCut, ...whole } = cycle
    return wait(whole, 'the threshold')
  }
  if (event.type !== 'session') return wait(cycle, 'the threshold')
  const trigger = due(event, policy, now)
  // An interrupt is over with the turn that it was for.
  const { over: _over, full: _full, ...interrupted } = cycle
  const rest: Watching = isWorking(event) ? interrupted : { at: 'watching' }
  // The agent's own compaction, or a person, has made room meanwhile: nothing else would have it continue.
  if (trigger === undefined && cycle.isCut === true && !isWorking(event))
    return wait({ at: 'watching', say: pending(interruptedText(), now) }, 'a chance to type', now)
  if (trigger === undefined) return wait(rest, 'the threshold')
  if (policy.hold !== undefined) return wait(rest, policy.hold, now + again)
  const tooFull = policy.onSilence === 'ledger' && shareOf(event) >= policy.brink
  const asksNow = policy.asksInTurn && !tooFull && hasEmptyInput(event)
  if (isWorking(event) && !asksNow) return toTurnEnd(cycle, event, policy, now)
  if (!isWorking(event) && !mayType(event)) return wait(cycle, `a chance to type (${obstacle(event)})`, now + again)
  const text = askText({ ...trigger, path: policy.path, project: policy.project })
  const from = event.observation.session
  const begun: Asked = {
    at: 'asked',
    n: policy.n,
    trigger,
    ...(from === undefined ? {} : { from }),
    since: now,
    path: policy.path,
    asks: 1,
    prompt: typing(text, now),
  }
  if (tooFull) return silent(begun, 'its context is too full to be asked', policy, now)
  return act(begun, { do: 'ask', text })
}

function shareOf({ observation }: Sighting): number {
  return (observation.meter.percent ?? 0) / 100
}

/** Past the threshold, wanted by a person, or at the end of a turn that the next one would carry past it. */
export function due(sighting: Sighting, policy: Policy, now: number): Trigger | undefined {
  const { percent, growth = 0, window } = sighting.observation.meter
  const at = percent === undefined ? {} : { percent }
  if (policy.wanted) return { ...at, why: 'person', at: now }
  if (percent === undefined) return undefined
  const share = percent / 100
  if (share >= policy.threshold) return { ...at, why: 'threshold', at: now }
  const next = window === undefined ? share : share + growth / window
  // An average says little about one turn, so a context with much room left is kept.
  const foreseen = policy.predict && !isWorking(sighting) && next > policy.threshold && share >= policy.threshold * 0.75
  return foreseen ? { ...at, why: 'prediction', at: now } : undefined
}

/** A turn is left to end by itself until the deadline, or the brink of the agent's own compaction. */
function toTurnEnd(cycle: Watching, sighting: Sighting, policy: Policy, now: number): StepResult {
  const over = cycle.over ?? now
  const full = shareOf(sighting) >= policy.brink ? (cycle.full ?? now) : undefined
  // An agent that forgets what it did in an interrupted turn would lose more than by its own compaction.
  const overdue = policy.cutsTurns && (now - over >= policy.turnMs || full !== undefined)
  const waiting: Watching = { ...cycle, over, ...(full === undefined ? {} : { full }) }
  if (overdue && cycle.interrupted === undefined) {
    // What a command prints to an agent that was interrupted is in no transcript.
    const patient = (full ?? over) + policy.backgroundMs
    const { observation } = sighting
    if (observation.compacts === true && now < patient) return wait(waiting, 'the end of its own compaction', patient)
    if (full !== undefined && now < patient && mayRunCommand(observation, policy.callsShow, full))
      return wait(waiting, 'the end of a command', patient)
    return act({ at: 'watching', over, interrupted: now, isCut: true }, { do: 'interrupt' })
  }
  return wait(waiting, 'the end of its turn', overdue || !policy.cutsTurns ? undefined : over + policy.turnMs)
}

function asked(cycle: Asked, event: CycleEvent, policy: Policy, now: number): StepResult {
  if (event.type === 'stored') {
    const { asks: _asks, prompt: _prompt, without: _w, ready: _r, storing: _s, notBefore: _n, ...rest } = cycle
    const { snapshot = false } = cycle
    const begun = { ...rest, at: 'documented' as const, since: now, document: event.document, snapshot }
    // The snapshot was started together with the storing of the agent's own document.
    if (cycle.storing !== 'ledger') return wait(begun, 'a chance to clear', now)
    return act(begun, { do: 'snapshot' })
  }
  if (event.type === 'snapshot') return wait({ ...cycle, snapshot: true }, 'the document to be stored')
  if (event.type === 'refused' && event.what === 'store') return notStored(cycle, event.reason, now)
  if (cycle.storing !== undefined) return wait(cycle, 'the document to be stored')
  if (event.type === 'session') {
    const arrived = arrival(cycle, event, policy, now)
    if (arrived !== undefined) return arrived
  }
  // Words that were typed in the middle of a turn wait for its next step, which may be long in coming.
  const unheard = cycle.prompt.state === 'typed' && event.type === 'session' && !event.heard && isWorking(event)
  if (unheard && now - cycle.prompt.at >= policy.turnMs && cycle.interrupted === undefined)
    return act({ ...cycle, interrupted: now }, { do: 'interrupt' })
  const heard = cycle.prompt.state === 'heard' ? undefined : deliver(cycle.prompt, event, 'ask', policy, now)
  if (heard?.is === 'waiting') return wait({ ...cycle, prompt: heard.prompt }, heard.waits.for, heard.waits.until)
  if (heard?.is === 'again') return act({ ...cycle, prompt: heard.prompt }, { do: 'ask', text: heard.prompt.text })
  if (heard?.is === 'lost') return silent(cycle, 'the agent did not accept the prompt', policy, now)
  if (heard?.is === 'heard') return wait({ ...cycle, prompt: heard.prompt }, 'the document', now + policy.documentMs)
  if (event.type !== 'session') return wait(cycle, 'the document', cycle.prompt.at + policy.documentMs)
  return isWorking(event) ? writing(cycle, policy, now) : withoutDocument(cycle, event, policy, now)
}

/** The document is there. It is stored when the turn is over, because it may change until then. */
function arrival(cycle: Asked, sighting: Sighting, policy: Policy, now: number): StepResult | undefined {
  if (sighting.document.is !== 'valid') return undefined
  if (cycle.notBefore !== undefined && now < cycle.notBefore)
    return wait(cycle, 'room for the document', cycle.notBefore)
  if (!isWorking(sighting)) return store(cycle, 'agent')
  const ready = cycle.ready ?? now
  const deadline = ready + policy.backgroundMs
  if (now < deadline) return wait({ ...cycle, ready }, 'the end of the turn that wrote the document', deadline)
  return interruptOnce({ ...cycle, ready }, now)
}

/** The agent works, and there is no document yet. */
function writing(cycle: Asked, policy: Policy, now: number): StepResult {
  const deadline = Math.max(cycle.prompt.at, cycle.since) + policy.documentMs
  if (now < deadline) return wait(cycle, 'the document', deadline)
  if (cycle.interrupted === undefined) return act({ ...cycle, interrupted: now }, { do: 'interrupt' })
  if (now - cycle.interrupted < interruptMs) return wait(cycle, 'the end of its turn', cycle.interrupted + interruptMs)
  return silent(cycle, 'it keeps working and cannot be interrupted', policy, now)
}

/** The turn is over without a valid document: the agent is asked once more, then the ledger writes it. */
function withoutDocument(cycle: Asked, sighting: Sighting, policy: Policy, now: number): StepResult {
  const { document } = sighting
  const without = cycle.without ?? now
  const waiting = { ...cycle, without }
  if (now - without < policy.graceMs) return wait(waiting, 'the document', without + policy.graceMs)
  const reason =
    document.is === 'incomplete'
      ? document.problems.slice(0, 3).join('; ')
      : document.is === 'refused'
        ? document.reason
        : 'there is no document'
  const tooFull = policy.onSilence === 'ledger' && shareOf(sighting) >= policy.brink
  if (cycle.asks === 2 || tooFull) {
    if (document.is !== 'incomplete') return silent(waiting, reason, policy, now)
    if (cycle.notBefore !== undefined && now < cycle.notBefore)
      return wait(cycle, 'room for the document', cycle.notBefore)
    return store(waiting, 'repaired')
  }
  if (!mayType(sighting)) return wait(waiting, `a chance to type (${obstacle(sighting)})`, now + again)
  const text = askText({ ...cycle.trigger, path: cycle.path, project: policy.project, reason })
  const { without: _without, ready: _ready, interrupted: _interrupted, ...rest } = cycle
  return act(
    { ...rest, asks: 2, since: now, prompt: typing(text, now) },
    health('handoff', 'warning', `Asked again for the handoff document: ${reason}`, ''),
    { do: 'ask', text },
  )
}

/** No document will come. */
function silent(cycle: Asked, reason: string, policy: Policy, now: number): StepResult {
  if (cycle.notBefore !== undefined && now < cycle.notBefore)
    return wait(cycle, 'room for the document', cycle.notBefore)
  if (policy.onSilence === 'ask') return fail(cycle, `No document: ${reason}`, 'attach', now)
  const told = health(
    'handoff',
    'warning',
    `No handoff document from the agent (${reason}): Baton is writing it from the transcript`,
    'logs',
  )
  const { cycle: storing, effects } = store(cycle, 'ledger')
  return { cycle: storing, effects: [told, ...effects], waits: { for: 'the document to be stored' } }
}

/** Stores the document; where the agent has written it, a snapshot of uncommitted work is taken at the same time. */
function store(cycle: Asked, by: Author): StepResult {
  const { path, trigger, snapshot } = cycle
  const effect: Effect = { do: 'store', by, path, trigger }
  const also: Effect[] = by === 'ledger' || snapshot === true ? [] : [{ do: 'snapshot' }]
  return { cycle: { ...cycle, storing: by }, effects: [effect, ...also], waits: { for: 'the document to be stored' } }
}

function notStored(cycle: Asked | Documented, reason: string, now: number): StepResult {
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

function documented(cycle: Documented, event: CycleEvent, policy: Policy, now: number): StepResult {
  if (event.type === 'snapshot') return wait({ ...cycle, snapshot: true }, 'a chance to clear', now)
  if (event.type === 'stored') {
    const { storing: _storing, notBefore: _notBefore, ...rest } = cycle
    return wait({ ...rest, document: event.document }, 'a chance to clear', now)
  }
  if (event.type === 'refused' && event.what === 'store') return notStored(cycle, event.reason, now)
  if (event.type !== 'session') return wait(cycle, 'a chance to clear', now + again)
  if (cycle.storing !== undefined) return wait(cycle, 'the document to be stored')
  if (cycle.notBefore !== undefined && now < cycle.notBefore)
    return wait(cycle, 'room for the document', cycle.notBefore)
  if (isWorking(event)) {
    const deadline = cycle.since + policy.turnMs
    return now < deadline ? wait(cycle, 'the end of its turn', deadline) : interruptOnce(cycle, now)
  }
  const { document, trigger, path } = cycle
  const late = document.by === 'ledger' && event.document.is === 'valid'
  if (late || event.observation.turns > document.turns) {
    const by = late ? 'agent' : document.by
    const effect: Effect = { do: 'store', by, path, trigger }
    return { cycle: { ...cycle, storing: by }, effects: [effect], waits: { for: 'the document to be stored' } }
  }
  if (!cycle.snapshot) return wait(cycle, 'the snapshot of uncommitted work')
  const { background } = event.observation
  const patient = cycle.since + policy.backgroundMs
  if (background.length > 0 && now < patient)
    return wait(cycle, `commands in the background (${background[0]})`, patient)
  if (!mayType(event)) return wait(cycle, `a chance to clear (${obstacle(event)})`, now + again)
  const { snapshot: _snapshot, path: _path, interrupted: _interrupted, ...rest } = cycle
  return act({ ...rest, at: 'clearing', since: now, clears: cycle.clears ?? 1, state: 'typing' }, { do: 'clear' })
}

function clearing(cycle: Clearing, event: CycleEvent, policy: Policy, now: number): StepResult {
  if (event.type === 'done' && event.what === 'clear') {
    if (!policy.clearShows) return resume(cycle, cycle.clears, now)
    return wait({ ...cycle, state: 'typed', since: now }, 'a fresh context', now + policy.clearMs)
  }
  if (event.type === 'refused' && event.what === 'clear') {
    return wait({ ...cycle, state: 'refused', since: now }, `a chance to clear (${event.reason})`, now + again)
  }
  if (event.type !== 'session') return wait(cycle, 'a fresh context', cycle.since + policy.clearMs)
  if (isFresh(event.observation, cycle.from)) return resume(cycle, cycle.clears, now)
  if (cycle.state === 'typing') return wait(cycle, 'a clear that is being typed')
  const patient = cycle.since + (cycle.state === 'refused' ? again : policy.clearMs)
  if (now < patient) return wait(cycle, 'a fresh context', patient)
  // The next prompt will show whether the agent obeyed the clear.
  if (policy.clearShows === 'usually' && cycle.state === 'typed') return resume(cycle, cycle.clears, now)
  if (!mayType(event)) return wait(cycle, `a chance to clear (${obstacle(event)})`, now + again)
  const clears = cycle.state === 'refused' ? cycle.clears : 2
  if (cycle.state === 'typed' && cycle.clears === 2)
    return fail(cycle, 'It ignored the clear twice: its context is as full as before', 'clear', now)
  // A turn of a person came in between: what was done in it belongs in the document before the clear.
  if (event.observation.turns > cycle.document.turns) return documentAgain(cycle, clears, now)
  return act({ ...cycle, clears, state: 'typing', since: now }, { do: 'clear' })
}

/** Back to the document, which is updated with what has happened since it was stored. */
function documentAgain(cycle: Clearing | Resuming, clears: 1 | 2, now: number): StepResult {
  const { n, trigger, from, document } = cycle
  const begun = { n, trigger, ...(from === undefined ? {} : { from }), document, path: document.path }
  return act({ ...begun, at: 'documented', since: now, clears, snapshot: false }, { do: 'snapshot' })
}

function isFresh({ session }: Observation, from: string | undefined): boolean {
  return from !== undefined && session !== from
}

function resume(cycle: Clearing | Resuming | Verifying, clears: 1 | 2, now: number, tries: 1 | 2 = 1): StepResult {
  const { n, trigger, from, document } = cycle
  const text = resumeText(document.path, tries + clears - 1)
  const begun = { n, trigger, ...(from === undefined ? {} : { from }), document }
  return act({ ...begun, at: 'resuming', since: now, clears, tries, prompt: typing(text, now) }, { do: 'resume', text })
}

function resuming(cycle: Resuming, event: CycleEvent, policy: Policy, now: number): StepResult {
  if (cycle.prompt.state !== 'heard') {
    const told = deliver(cycle.prompt, event, 'resume', policy, now)
    if (told.is === 'waiting') return wait({ ...cycle, prompt: told.prompt }, told.waits.for, told.waits.until)
    if (told.is === 'again') return act({ ...cycle, prompt: told.prompt }, { do: 'resume', text: told.prompt.text })
    if (told.is === 'lost')
      return fail(cycle, 'Its context is fresh, but it did not accept the prompt to resume', 'resume', now)
    cycle = { ...cycle, prompt: told.prompt }
  }
  if (event.type !== 'session') return wait(cycle, 'a fresh context')
  const { observation } = event
  if (cycle.from === undefined || observation.session !== cycle.from) {
    const { prompt: _prompt, ...rest } = cycle
    return wait({ ...rest, at: 'verifying', since: now }, 'it to read the document', now + policy.verifyMs)
  }
  // The prompt appeared in the old context: the agent ignored the clear.
  if (cycle.clears === 2)
    return fail(cycle, 'It ignored the clear twice: its context is as full as before', 'clear', now)
  // The agent may have continued to work on that prompt: its work belongs in the document before the next clear.
  return documentAgain(cycle, 2, now)
}

/** The cycle is done when the fresh context has read the document and has replied or called a tool after that. */
function verifying(cycle: Verifying, event: CycleEvent, policy: Policy, now: number): StepResult {
  if (event.type !== 'session') return wait(cycle, 'it to read the document', cycle.since + policy.verifyMs)
  const { observation } = event
  // A turn that was killed before its first reply has failed, and leaves no usage.
  const hasEnded = observation.meter.tokens !== undefined || observation.error !== undefined
  const over = observation.turn === 'idle' && hasEnded && !isWorking(event)
  const changed = observation.changed ?? 0
  if (event.read && (over || (cycle.read !== undefined && changed > cycle.read))) {
    const { clears: _clears, tries: _tries, read: _read, ...rest } = cycle
    return act({ ...rest, at: 'done', since: now }, health('handoff', 'ok', 'Handed over to a fresh context', 'logs'))
  }
  if (event.read) return wait({ ...cycle, read: cycle.read ?? changed }, 'it to continue', changed + policy.verifyMs)
  const deadline = Math.max(cycle.since, changed) + policy.verifyMs
  const refused = over && now - Math.max(cycle.since, changed) >= policy.graceMs
  if (now < deadline && !refused) {
    return wait(cycle, 'it to read the document', over ? Math.max(cycle.since, changed) + policy.graceMs : deadline)
  }
  if (cycle.tries === 2) return fail(cycle, 'It did not read its handoff document', 'resume', now)
  if (mayType(event)) return resume(cycle, cycle.clears, now, 2)
  if (now < deadline + policy.verifyMs) return wait(cycle, `a chance to type (${obstacle(event)})`, now + again)
  return fail(cycle, 'It has been silent since it was asked to resume', 'attach', now)
}

function interruptOnce(cycle: Asked | Documented | Resuming, now: number): StepResult {
  if (cycle.interrupted === undefined) return act({ ...cycle, interrupted: now }, { do: 'interrupt' })
  const until = cycle.interrupted + interruptMs
  if (now < until) return wait(cycle, 'the end of its turn', until)
  const told = health('handoff', 'critical', 'It keeps working and cannot be interrupted', 'attach')
  return { cycle, effects: [told], waits: { for: 'the end of its turn', until: now + interruptMs } }
}

function fail(cycle: Exclude<Cycle, Watching>, reason: string, advice: string, now: number): StepResult {
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

function act(cycle: Cycle, ...effects: Effect[]): StepResult {
  return { cycle, effects }
}

function wait(cycle: Cycle, what: string, until?: number): StepResult {
  return { cycle, effects: [], waits: { for: what, ...(until === undefined ? {} : { until }) } }
}

function health(check: Health['check'], status: Health['status'], what: string, advice: string): Health {
  return { do: 'health', check, status, what, advice }
}
