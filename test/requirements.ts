// What Baton must do, by id. Tests cite ids in their titles, as in "ids go on after a reset [T16]"; an id of a delivered
// area without a test fails `requirements.test.ts`.

export interface Requirement {
  readonly id: string
  readonly text: string
  /** False until the area that brings it is delivered. */
  readonly delivered: boolean
}

const tape: Record<string, string> = {
  T1: 'entries one a line; unknown kinds and fields, signatures and images survive',
  T2: 'a handoff is an anchor and an event, atomic, with real ids',
  T3: 'entries are immutable and ordered; the latest anchor wins',
  T4: 'state is any JSON; what cannot be stored is refused before anything is written',
  T5: 'context after the last anchor, a named one, or in full; within a number of tokens',
  T6: "the anchor's state opens the context as one fenced message",
  T7: 'calls and results are paired in every slice, for every provider',
  T8: 'anchors, between, after and from the last, each by kinds',
  T9: 'search in any script, newest first, in payload and meta, by date',
  T10: 'info without a tokenizer',
  T11: 'bootstrap exactly once when a session is opened',
  T12: 'fork copies from an anchor on, isolated, with an intention',
  T13: 'lineage of every fork, merge, handoff, import and continuation',
  T14: "a child's completion reaches the parent once",
  T15: "merge brings the child's new entries once, its anchors as events",
  T16: 'reset archives, ids go on, racing appends land whole; purge deletes',
  T17: 'the layout, and names that cannot leave the folder',
  T18: 'tape:// references parse, print and resolve, archived too',
  T25: 'large content is a blob with a preview and pages',
  T26: 'settings that no anchor hides, read without a scan',
}

const agent: Record<string, string> = {
  H1: '/handoff is taken before the prompt reaches the model',
  H12: 'automatic handoff: threshold, cooldown, never twice for the same growth',
  T19: 'comma commands',
  T20: 'the tape.handoff tool',
  T21: 'the loop records each step before the next',
  T22: 'context contract and automatic handoff',
  T23: 'recovery after a crash',
}

const handoff: Record<string, string> = {
  H2: 'fewer than two messages, or a response that streams: a clear refusal',
  H3: 'the prompt asks for the fixed sections and the focus, and is never expanded',
  H4: 'generation shows progress and can be cancelled',
  H5: 'the document is the text of that very generation',
  H6: 'outcomes and their texts; the old session stays as it was',
  H7: 'the order of a session handoff, and what a crash leaves',
  H8: 'the document is the only history of the new session',
  H9: 'queued messages and todos come along',
  H10: 'structure is checked per profile, repaired once, then filled and marked',
  H11: 'a context larger than the window is condensed in parts; a compacted one stays compacted',
  H13: 'the facts are complete, referenced, and within the budget',
  H14: 'secrets are redacted, fences hold, the words of the user bind',
  H15: 'documents are saved, listed, shown, compared and edited',
}

const relay: Record<string, string> = { T24: 'context_handoff messages between agents' }

const task: Record<string, string> = {
  S1: 'the state: every field, enum and unknown field, as JSON Schema too',
  S2: 'a summary of at most 500 tokens whatever the state, ending in the state file',
  S3: 'a context summary of the last five decisions and 2,000 characters, cut at a word',
  S4: 'saves are atomic, durable and locked; a stale or equal version is a conflict',
  S5: 'a handoff loads, applies, counts on, saves and returns the command',
  S6: 'what is received is validated, and what drifted is listed',
  S7: 'gates: completeness, artifacts of the phase, a person, commands',
  S8: 'phases follow a declared graph',
  S9: 'specifications, dependencies without circles, ready tasks',
  S10: 'history, diff, the state at any version, the state file',
  S11: 'many processes on one task: no corruption, no lost update',
  S12: 'bounds that name the field, growth linear in what changes',
}

function area(texts: Record<string, string>, delivered: boolean): Requirement[] {
  return Object.entries(texts).map(([id, text]) => ({ id, text, delivered }))
}

export const requirements: readonly Requirement[] = [
  ...area(tape, true),
  ...area(handoff, true),
  ...area(agent, false),
  ...area(relay, false),
  ...area(task, true),
]
