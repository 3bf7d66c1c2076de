// What Baton does, by id. Tests cite ids in their titles, as in "ids go on after a reset [T16]"; `requirements.test.ts` fails
// for an id without a test, and for a test that cites an id which is not here. An area is added together with its tests.

const tape = {
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

const agent = {
  H1: '/handoff is taken before the prompt reaches the model',
  H12: 'automatic handoff: threshold, cooldown, never twice for the same growth',
  T19: 'comma commands',
  T20: 'the tape.handoff tool',
  T21: 'the loop records each step before the next',
  T22: 'context contract and automatic handoff',
  T23: 'recovery after a crash',
}

const handoff = {
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

const cycle = {
  C1: 'triggers at a threshold below the point where the agent compacts; a futile one is reported, not cycled',
  C2: "usage from the agent's own numbers; unknown is unknown; reset after a cycle",
  C3: 'the prompt, and a document that is noticed at once, newer than the trigger, and valid',
  C4: 'a missing document is asked for again, then the ledger writes it or a person is told; a late one is picked up',
  C5: 'cleared at the end of a turn, verified, retried once; interrupted only past a deadline',
  C6: 'resumed, verified from the transcript, retried once, then a person is asked',
  C7: 'intent, effect, proof; a killed supervisor goes on or gives up; never cleared without a document; one lease',
  C8: 'health checks on change, and sessions, listed and kept',
  C9: 'the file of a document: its name, its sections, no collision',
  C10: 'more than one cycle in an hour: warning, raised threshold, circuit breaker',
  C11: 'many sessions: staggered, at most so many at a time, none delays another',
  C12: 'between turns, predicted from growth, a whole cycle under five minutes',
  C13: 'drivers: tmux and headless',
  C14: "Baton's own part of a cycle takes under two seconds",
  C15: 'crashes and reboots: resumed; what a person stopped stays stopped',
  C16: 'notifications by webhook and command, with retry',
  C17: 'quota: limited until, then waited for or continued in another agent',
  C18: 'uncommitted work is snapshotted before a clear, index and tree untouched',
  C19: 'bounds for unattended runs',
}

const relay = {
  T24: 'context_handoff messages between agents',
  P1: 'requests, responses and decisions: every field and enum, version and path of a mistake',
  P2: 'routes: allowed, forbidden, undeclared, each with its reason; anyone to a person',
  P3: 'limits per item, per pipeline, in time and per path, across processes and restarts',
  P4: 'the manager: validate, trace, limits, circles, route, track; a requestId is idempotent',
  P5: 'circles are seen whatever the reason says; a legitimate round is not one',
  P6: 'escalations: stored, listed, answered once days later, also for a new process',
  P7: 'assess: who can provide what is missing',
  P8: 'process: merge and retry, raise, or recover',
  P9: 'targets: a function, an inbox with leases, a person; a late answer changes nothing',
  P10: 'recovery by a policy of ordered strategies, recorded',
  P11: 'spans and metrics by the conventions; ids are never metric attributes',
  P12: 'alerts: four conditions, evaluated, listed and notified',
  P13: 'a configuration is checked as a whole',
  P14: 'several handoffs in one turn: one winner; the owner of a trace is kept',
  P15: 'provided inputs are checked against the expected types; only plain JSON is revived',
  P16: 'priorities: a flood of low never starves critical',
}

const task = {
  S1: 'the state: every field, enum and unknown field, as JSON Schema too',
  S2: 'a summary of at most 500 tokens whatever the state, ending in the state file',
  S3: 'a context summary of the last five decisions and 2,000 characters, cut at a word',
  S4: 'saves are atomic, durable and locked; a stale or equal version is a conflict',
  S5: 'a handoff loads, applies, counts on, saves and returns the command; questions to people stay',
  S6: 'what is received is validated, and what drifted is listed',
  S7: 'gates: completeness, artifacts of the phase, a person who cannot be walked around, commands',
  S8: 'phases follow a declared graph',
  S9: 'specifications, dependencies without circles, ready tasks',
  S10: 'history, diff, the state at any version, the state file',
  S11: 'many processes on one task: no corruption, no lost update',
  S12: 'bounds that name the field, growth linear in what changes',
}

const web = {
  W1: 'in five seconds: which agents run, how full they are, what was handed over, what needs me',
  W8: 'untrusted content is harmless: script, HTML, control characters, bidi marks, huge lines, in every field',
  W10: 'first run: sessions found on this machine are ready to open, and one button runs the demo',
  W4: 'lineage and relay as graphs that stay usable with thousands of nodes',
  W5: 'what waits for a person: by priority, typed fields, keyboard; an answer releases the agent',
  W6: 'tasks by phase, with decisions, artifacts and drift, gates, versions and their diff',
  W7: 'supervised sessions: start, pause, cycle, stop; screen live and read-only; cycles as step timelines; meters over time',
  W2: 'a tape of a million entries is smooth: filter, search, jump, live tail, permalinks, what the model sees now',
  W3: 'documents: verified and claimed told apart, each fact linked to its entry, diff, written now, continued',
  W9: 'keyboard, palette, dark and light, any width, no serious axe violation, every state; no request leaves the machine',
}

const doors = {
  D1: 'baton up and down: one server for a workspace, found by the second, not blocked by a dead one',
  D2: 'one table of operations, from which REST, OpenAPI and the client are made',
  D3: 'REST: the same answer for the same key, expectations, cursors, ranges, problem documents, limits',
  D4: 'live: one stream for many tapes, resumed without a gap or a duplicate, at bounded cost',
  D8: 'tokens with scopes, sign-in by a code that counts once, Host and Origin, audit',
  D9: 'a typed client on fetch alone: every operation, live streams with resume, retries that are safe',
  D5: 'MCP: few tools with names for every model, small answers, resources and prompts; nothing that approves',
  D6: 'connect and disconnect: shown, idempotent, comments kept, restored byte for byte; doctor',
  D7: 'hooks: a pending handoff opens the next session once, compactions are documented, the status line; never in the way',
  D10: 'trust: what a clone brings does nothing before baton trust; a person is a terminal outside any agent',
}

const engines = {
  E1: 'PostgreSQL keeps every promise of the store, over crashes and lost connections',
  E2: 'NATS JetStream keeps every promise that its servers give, also when a leader is killed; what it does not promise is said',
  E3: 'the promise table and the suites of other rooms run on each engine; nothing above the store knows which',
  E4: 'a store is copied from engine to engine: resumed after a cut, byte for byte, and checked',
  E5: 'several hosts share one store, also when the network of one of them breaks',
  E6: 'a store is backed up and restored, and one of an older version is migrated',
}

/** Id: what is required. */
export const requirements: Readonly<Record<string, string>> = {
  ...tape,
  ...handoff,
  ...agent,
  ...relay,
  ...cycle,
  ...task,
  ...web,
  ...doors,
  ...engines,
}
