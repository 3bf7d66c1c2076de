// Tapes: `tape.ts` is one, `context.ts` builds what a model is given, `fork.ts`, `lineage.ts` and `reference.ts` tell where a tape
// came from and how to point into it. Nothing here knows an agent.

export { type Hit, latestAnchor, type SearchQuery } from './query.ts'
export { type BlobPart, isBlob } from './blob.ts'
export { type Context, type ContextQuery, type Format, type Formats } from './context.ts'
export { type Omitted } from './fit.ts'
export { type CountTokens, estimateTokens, tokenCounter } from './tokens.ts'
export { type ForkOptions, type Intention, type MergeOptions } from './fork.ts'
export {
  ancestors,
  descendants,
  type Edge,
  givenDocument,
  type How,
  readEdges,
  recordEdge,
  recordGiven,
} from './lineage.ts'
export {
  entriesAt,
  findAnchor,
  formatUri,
  nearest,
  parseUri,
  type Place,
  resolve,
  type Resolved,
  type TapeUri,
} from './reference.ts'
export { type HandoffOptions, type Info, type OpenOptions, openTape, type RecordedMessage, Tape } from './tape.ts'
export { type MessagePayload, type Part, type ToolCall, type ToolResult } from '../store/index.ts'
export { exportTape, importTape } from './export.ts'
export { blobIfLarge, isHeavy, keepText, readBlob, readJsonBlob, spill, spillBytes, wholeCharacter } from './blob.ts'
export { sessionStart } from './context.ts'
export { withBase64 } from './media.ts'
export { forkOf } from './fork.ts'
export { edgeTo, familyOf } from './lineage.ts'
export { agentName, isReserved, ownerDraft, ownerKey, ownerOf, passOwnership } from './owner.ts'
export { toolName } from './pairing.ts'
export { contentText, type Item, contextKinds, itemsOf, outputText, pieceText } from './content.ts'
export { parseExportLine } from './export.ts'
export { stepDrafts, usageKey } from './step.ts'
