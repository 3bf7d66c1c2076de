// Sessions of the agents people already use: found, listed, imported and followed, and never written to. What is
// particular to one agent is in src/agents; nothing here asks which agent it is.

export { sessionEntries } from './facts-to-entries.ts'
export { follow, type Followed, LiveSession } from './follow.ts'
export { type ImportedSession, importSession } from './import-session.ts'
export { type Imported, importFile, type ImportOptions, markOf } from './import.ts'
export { type Cost, type Meter, meterOf } from './meter.ts'
export { meterHistory } from './meter-history.ts'
export { TranscriptReader } from './transcript-reader.ts'
export { newestSession, resolveSession, type ResolveOptions, sessionFile } from './resolve.ts'
export { addFact, emptyStats } from './session-stats.ts'
export { statsOfTape } from './tape-stats.ts'
export { isListed, listSessions, type ListOptions, type Session } from './sessions.ts'
export { type State, stateOf } from './state.ts'
