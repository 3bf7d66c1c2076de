// Tapes: `tape.ts` is one, `content/` is what entries say, `context/` builds what a model is given, `lineage/` knows forks, where a
// tape came from and whose it is, and `reference.ts` points into it. Nothing here knows an agent.

export { type Hit, latestAnchor, type SearchQuery } from './query.ts'
export { type BlobPart, isBlob } from './content/blob.ts'
export { type Context, type ContextQuery, type Format, type Formats } from './context/context.ts'
export { type Omitted } from './context/fit.ts'
export { type CountTokens, estimateTokens, tokenCounter } from './tokens.ts'
export { type ForkOptions, type Intention, type MergeOptions } from './lineage/fork.ts'
export {
  ancestors,
  descendants,
  type Edge,
  givenDocument,
  type How,
  readEdges,
  recordEdge,
  recordGiven,
} from './lineage/lineage.ts'
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
  tapeMeant,
} from './reference.ts'
export { type HandoffOptions, type Info, type OpenOptions, openTape, type RecordedMessage, Tape } from './tape.ts'
export { type MessagePayload, type Part, type ToolCall, type ToolResult } from '../store/index.ts'
export { exportTape, importTape } from './export.ts'
export {
  blobIfLarge,
  isHeavy,
  keepText,
  readBlob,
  readJsonBlob,
  spill,
  spillBytes,
  wholeCharacter,
} from './content/blob.ts'
export { sessionStart } from './context/context.ts'
export { withBase64 } from './content/media.ts'
export { forkOf } from './lineage/fork.ts'
export { edgeTo, familyOf } from './lineage/lineage.ts'
export { agentName, isReserved, ownerDraft, ownerKey, ownerOf, passOwnership } from './lineage/owner.ts'
export { toolName } from './context/pairing.ts'
export { contentText, type Item, contextKinds, itemsOf, outputText, pieceText } from './content/content.ts'
export { parseExportLine } from './export.ts'
export { stepDrafts, usageKey } from './content/step.ts'
