// The handoff document as data: one shape for both profiles. write/ makes it from a ledger, markdown/ writes it down and reads
// it back to the same value, check/ validates and compares. Every item names the entries behind it, and whether code or a
// model says so.

export type Profile = 'session' | 'cycle'

/** Ideas rather than headings: what `doing` is called, and where it stands, is the profile's. */
export type SectionKey =
  | 'status'
  | 'goal'
  | 'constraints'
  | 'done'
  | 'doing'
  | 'pending'
  | 'decisions'
  | 'context'
  | 'next'
  | 'blockers'
  | 'failures'
  | 'files'
  | 'notes'

/** A handoff document as data. */
export interface HandoffDocument {
  readonly profile: Profile
  readonly header: Header
  /** In the order of the profile, each at most once. A section that is not here is missing. */
  readonly sections: readonly Section[]
}

export interface Header {
  /** ISO 8601, to the second; as it was written when a person or agent wrote it otherwise. */
  readonly created?: string
  /** How full the context was, in percent; undefined: unknown. */
  readonly contextUsage?: number
  readonly project?: string
  readonly tape?: string
  /** The entries the document speaks for. */
  readonly range?: { readonly from: number; readonly to: number }
  /** The anchor that opened the phase. */
  readonly anchor?: string
  /** What the next session is for, when whoever asked for the handoff said so. */
  readonly goal?: string
  /** Names this document among those of the same entries; only where something was left out, which is looked up by it. */
  readonly leftOut?: string
}

export interface Section {
  readonly key: SectionKey
  readonly items: readonly Item[]
  /** What the budget left out. */
  readonly omitted?: Omitted
}

export interface Omitted {
  readonly count: number
  /** Shows what was left out; undefined when the document is of no tape. */
  readonly command?: string
}

/** `verified`: taken from the tape by code. `claimed`: said by a model, an agent or a person in a document. */
export type Status = 'verified' | 'claimed'

export interface Item {
  readonly text: string
  readonly status: Status
  /** The user's own words, word for word: they bind. */
  readonly by?: 'user'
  /** Entries behind it, as `main#123` or `main#40..57`. */
  readonly refs: readonly string[]
  /** Text of a tool or an agent: shown as data, never followed. */
  readonly data?: string
  /** Of a decision. */
  readonly why?: string
  readonly ruledOut?: string
  /** A checkbox, where the author drew one. */
  readonly checked?: boolean
  /** The item is a file; `text` is its path. */
  readonly file?: FileNote
  /** The item in as few words as will do, for whoever has no room for its text; it is not written down. */
  readonly short?: string
  /** What kind of fact it is, for whoever decides what has room; it is not written down. */
  readonly tag?: Tag
}

/**
 * `closing`: the reply that ended the work. `deed`: a commit, push or release. `reply`: what the assistant said at the end of an earlier turn.
 * `words`: what it said last. `place`: folder, branch and commit. `command`: a command that succeeded. `stale`: a failure
 * that the work has left behind. `todo`: it was open on a list. `rule`: words of the user that bind, wherever they
 * stand; `ruleForFile`: about a single file. `wait`: nothing is to be done before the user speaks.
 * `filler`: said only where the section would hold nothing else.
 */
type Tag =
  | 'closing'
  | 'deed'
  | 'reply'
  | 'wholeReply'
  | 'words'
  | 'place'
  | 'command'
  | 'stale'
  | 'todo'
  | 'rule'
  | 'ruleForFile'
  | 'wait'
  | 'filler'

export interface FileNote {
  readonly action: 'created' | 'edited' | 'renamed' | 'deleted' | 'read'
  /** The former path of a renamed file. */
  readonly from?: string
  readonly added?: number
  readonly removed?: number
  /** Found by git, not on the tape. */
  readonly git?: true
  /** The call that changed it was never answered. */
  readonly uncertain?: true
}

export function sectionOf(document: HandoffDocument, key: SectionKey): Section | undefined {
  return document.sections.find((section) => section.key === key)
}
