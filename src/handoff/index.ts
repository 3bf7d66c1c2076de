export { type HandoffDocument, type Profile } from './document/document.ts'
export { diffDocuments, type DocumentDiff } from './document/diff.ts'
export { parseDocument } from './document/parse.ts'
export { renderMarkdown } from './document/render.ts'
export { type Problem, validate } from './document/validate.ts'
export { type Ledger } from './ledger/facts.ts'
export { ledger } from './ledger/ledger.ts'
export { type Progress } from './narrative.ts'
export { writeHandoff, type WriteHandoffOptions } from './same-tape.ts'
export { type SavedDocument, savedDocuments } from './saved.ts'
export {
  handoffSession,
  openSession,
  resumeHandoff,
  type SessionHandoff,
  type SessionHandoffOptions,
} from './session.ts'
export { writeDocument, type WriteOptions, type Written } from './writer.ts'
