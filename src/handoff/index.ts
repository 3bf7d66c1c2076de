// The handoff document. `ledger/` takes the facts from a tape, `document/` composes, fits, renders and checks what is read,
// `writer.ts` does both for a tape, with a model's narrative where there is one, `session.ts` hands over to a new tape,
// `safety/` keeps secrets out, and `agent-prompts.ts` holds every sentence that Baton says to an agent.

export {
  askText,
  childTaskText,
  compactedText,
  continueText,
  cutTurnText,
  documentPathIn,
  errorText,
  injectedText,
  isBatonPrompt,
  lateText,
  interruptedText,
  limitText,
  longContextText,
  restartText,
  resumeText,
  samePrompt,
  shortResumeText,
  taskText,
  untilText,
  withDocumentText,
} from './agent-prompts.ts'
export { type HandoffDocument, type Profile } from './document/document.ts'
export { diffDocuments, type DocumentDiff } from './document/check/diff.ts'
export { parseDocument } from './document/markdown/parse.ts'
export { renderMarkdown } from './document/markdown/render.ts'
export { type Problem, validate } from './document/check/validate.ts'
export { type Closed, type Ledger } from './ledger/facts.ts'
export { interruptEvent, ledger } from './ledger/ledger.ts'
export { type Progress } from './narrative.ts'
export { type SavedDocument, savedDocuments } from './saved.ts'
export {
  handoffSession,
  openSession,
  resumeHandoff,
  type SessionHandoff,
  type SessionHandoffOptions,
} from './session.ts'
export { writeDocument, writeHandoff, type WriteHandoffOptions, type WriteOptions, type Written } from './writer.ts'
export { isPrinted } from './document/phrases.ts'
export { lookUpText } from './look-up.ts'
export { renderDiff } from './document/check/diff.ts'
export { type SectionKey } from './document/document.ts'
export { parseClaims } from './document/markdown/parse.ts'
export { LedgerBuilder } from './ledger/ledger.ts'
export { readUserWords } from './ledger/words/user-words.ts'
export { isTooLong } from './narrative.ts'
export { redactValue } from './safety/redact.ts'
export { documentPaths, documentsFolder, ownFolder, projectDocument, projectedFile } from './document-files.ts'
export { documentText, saveDocument, savedAt, savedItems, savedWhole } from './saved.ts'
export { PhaseFacts } from './phase.ts'
export { phaseLedger } from './writer.ts'
