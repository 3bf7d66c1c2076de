// The facts of a phase, as plain JSON. Each names the entry it was taken from, so that a reader of the document can look
// behind it. Lists are in the order in which their facts first appeared on the tape; what to show first is the document's.

export interface Ledger {
  /** The first and last entry that was read, whatever its kind; undefined for an empty phase. */
  readonly range: { readonly from: number; readonly to: number } | undefined
  /** Dates of the first and the last entry, as they stand on the tape. */
  readonly span: { readonly from: string; readonly to: string } | undefined
  readonly counts: Counts
  /** How the work stands at the last entry. */
  readonly ending: Ending
  /** What the user asked for first, and last: the same fact when there was only one. */
  readonly goal: Quote | undefined
  readonly lastRequest: Quote | undefined
  /** Every message in the user's own words, word for word. */
  readonly instructions: readonly Instruction[]
  /** What the assistant said last. Its words, not a fact: the document may quote it, never rely on it. */
  readonly lastWords: Quote | undefined
  /** What the assistant said last before each of the user's messages, the newest of them. Its words, like `lastWords`. */
  readonly replies: readonly Reply[]
  readonly files: readonly FileFact[]
  /** What left the working folder, or the commits it was put into. */
  readonly deeds: readonly Deed[]
  readonly commands: readonly CommandFact[]
  /** The last result of each test run that could be told apart. */
  readonly tests: readonly TestFact[]
  /** Unresolved ones and resolved ones; see `resolvedBy`. */
  readonly failures: readonly Failure[]
  /** The latest list, as the agent wrote it. */
  readonly todos: readonly Todo[]
  readonly decisions: readonly Decision[]
  /** Asked of the user and not answered. */
  readonly questions: readonly Question[]
  /** Started in the background and not seen to end. */
  readonly background: readonly BackgroundTask[]
  readonly subagents: readonly Subagent[]
  /** Calls that have no result. */
  readonly inFlight: readonly InFlight[]
  /** Tools whose calls the vocabulary cannot read. */
  readonly unknownTools: readonly UnknownTool[]
  /** What was handed over before: the anchor that opened the phase, or the summary a compaction left. */
  readonly inherited: Inherited | undefined
  /** The last plain anchor since then: a name, and a state that somebody noted there. */
  readonly noted: Inherited | undefined
  readonly git: GitFact | undefined
}

/**
 * `answered`: the turn ended with the assistant's reply. `asks`: it waits for the user's answer. `interrupted`: it stopped in the
 * middle, by the user's hand or by a supervisor where `by` says so. `error`: an error stopped it. `requested`: the user spoke last and nothing was done
 * yet. `silent`: the last command succeeded, and the turn has no closing words. `empty`: nothing was said at all.
 */
export interface Ending {
  readonly state: 'answered' | 'asks' | 'interrupted' | 'error' | 'requested' | 'silent' | 'empty'
  readonly by?: 'user' | 'baton'
  /** The call it stopped at, whose result is unknown, or the last one that was answered. */
  readonly during?: string
  /** The error. */
  readonly message?: string
  readonly id?: number
}

interface Counts {
  readonly entries: number
  readonly userMessages: number
  readonly assistantMessages: number
  readonly toolCalls: number
  readonly toolErrors: number
  readonly filesRead: number
  readonly filesChanged: number
  readonly failuresUnresolved: number
  readonly failuresResolved: number
}

export interface Quote {
  readonly text: string
  readonly id: number
  /** The text was too long for the tape: this is its preview, the whole is in the blob of this sha256. */
  readonly blob?: string
}

export interface Instruction extends Quote {
  /** Sentences of it that bind what follows, letter for letter: they were neither carried out nor answered nor replaced. */
  readonly standing: readonly string[]
  /** The command, file or plan that the user refused with these words. */
  readonly refused?: string
  /** Entry of the later message that says anew what this one said. It is kept and marked, never dropped. */
  readonly supersededBy?: number
  /** Sentences of it that a later message says anew, while the rest still holds. */
  readonly amended?: readonly { readonly text: string; readonly by: number }[]
  /** Entry of the assistant's question that this message answers. */
  readonly answers?: number
  /** The assistant took notice of it, and did nothing for it in its turn. */
  readonly noted?: true
  /** Typed while the assistant worked, or on refusing a call: it adds to the request that is being carried out. */
  readonly within?: true
}

/** What the assistant said last before the user spoke. `cut`: it was not the end of the turn, which was stopped in the middle. */
export interface Reply extends Quote {
  readonly cut?: true
}

export type FileAction = 'read' | 'created' | 'edited' | 'renamed' | 'deleted'

export interface FileFact {
  /** Relative to the session's folder where it lies below it, with `/`; otherwise as the agent wrote it. */
  readonly path: string
  /** What the phase amounts to for this file: created and then edited is `created`. */
  readonly action: FileAction
  /** The former path of a renamed file. */
  readonly from?: string
  /**
   * `changed` counts as work done; `read` was only looked at; `undone` is again as it was at the start; `scratch` was
   * created and is gone.
   */
  readonly state: 'changed' | 'read' | 'undone' | 'scratch'
  /** Lines; only where they are known, from the edits on the tape or from git. */
  readonly added?: number
  readonly removed?: number
  readonly reads: number
  /** Calls that changed it. */
  readonly edits: number
  /** Undefined when only git knows of the change. */
  readonly firstId?: number
  readonly lastId?: number
  /** `git`: found by git, not on the tape. */
  readonly source: 'tape' | 'git'
  /** Git was asked, and its answer agrees with `action`, `state` and the line counts. */
  readonly verified?: boolean
  /** The only call that changed it was never answered: it may not have happened. */
  readonly uncertain?: boolean
  /** A folder; named only where the agent created, renamed or deleted one. */
  readonly folder?: boolean
}

/** Commits, tags, pushes, pull requests, releases, deployments: whoever goes on must not do them again. */
export interface Deed {
  /** `commit` and `history` stay in the repository; `outward` reached others. */
  readonly kind: 'commit' | 'history' | 'outward'
  readonly text: string
  readonly id: number
}

export interface CommandFact {
  /** Without wrappers such as `bash -lc`; cut when very long (`cut`), the whole is in its entry. */
  readonly command: string
  readonly cut?: boolean
  /** Folder it ran in, where that differs from the session's. */
  readonly cwd?: string
  /** Of the last run; undefined where the agent does not say. */
  readonly exit?: number
  /** Of the last run, judged by its output as well as its exit status; undefined while it runs. */
  readonly ok: boolean | undefined
  /** It only looks: nothing is different after it. */
  readonly looks?: boolean
  /** Runs, and how many of them failed. */
  readonly times: number
  readonly failed: number
  readonly firstId: number
  readonly lastId: number
  /** Entry of the result of the last run that ended. */
  readonly endId?: number
  /** What the last run printed, if it succeeded and printed little: a fact to remember rather than a report to look at. */
  readonly printed?: string
  /** The end of the output of the last failed run. */
  readonly failureTail?: string
  /** Entry of the result of the last failed run. */
  readonly failureId?: number
}

export interface TestFact {
  /** E.g. `vitest`, `pytest`, `go test`; the program's name when it is not a known runner. */
  readonly runner: string
  readonly command: string
  /** Undefined where the output does not say. */
  readonly passed?: number
  readonly failed?: number
  readonly skipped?: number
  readonly ok: boolean
  /** Names of failing tests, as printed; at most a handful. */
  readonly failing?: readonly string[]
  /** Runs so far. */
  readonly times: number
  /** Entry of the last result. */
  readonly id: number
}

export interface Failure {
  /** The command line, or the tool with its path, that failed. */
  readonly what: string
  readonly kind: 'command' | 'test' | 'tool' | 'error'
  /** One line that says what went wrong. */
  readonly message: string
  readonly tail?: string
  readonly exit?: number
  /** How often it failed in the same way. */
  readonly times: number
  readonly firstId: number
  /** Entry of the last failing result. */
  readonly lastId: number
  /** What the command was for; see `FailureRole`. */
  readonly role: FailureRole
  /** Entry of the later success that covers it. */
  readonly resolvedBy?: number
  /** Why it is of no concern any more; undefined: it is open. */
  readonly closed?: Closed
}

/**
 * `check`: tests, builds or lints the project, or runs a program of it. `ci`: asks a server whether it does. `publish`: brings
 * the work to others. `task`: the user named the command. `report`: the user pasted the failure. `step`: anything else, such as
 * a probe or a wrong guess, which is only open while the work stands still at it.
 */
export type FailureRole = 'check' | 'ci' | 'publish' | 'task' | 'report' | 'step'

/**
 * `passed`: the same check, or one that includes it, succeeded. `replaced`: the same program succeeded with other arguments while
 * nothing was changed. `before`: it failed in the same way while the work was stashed. `published`: the work was committed or sent out since. `changed`: what the user reported was worked on
 * since. `left`: a step on the way that nobody came back to. `said`: a model found words that say so. `unchanged`: no file is known
 * to have changed in between.
 */
export interface Closed {
  readonly reason: 'passed' | 'replaced' | 'before' | 'published' | 'changed' | 'left' | 'said'
  readonly id?: number
  readonly unchanged?: true
}

export interface Todo {
  readonly text: string
  readonly status: 'pending' | 'in_progress' | 'completed' | 'cancelled'
  /** Entry of the list it was taken from. */
  readonly id: number
  /** Of an open one: what the user said about it after the list was written, for or against it. */
  readonly mentioned?: string
}

export interface Decision {
  readonly text: string
  /** Of an answer: what was asked, and what was said to it. */
  readonly answered?: { readonly question: string; readonly answer: string }
  readonly why?: string
  readonly ruledOut?: string
  readonly by: 'user' | 'assistant'
  /** `said`: in the assistant's text; the others were confirmed by a person or recorded as state. */
  readonly source: 'said' | 'answer' | 'plan' | 'anchor'
  readonly id: number
  /** Of what was `said`: 0 tells the most that nothing else tells, 1 the most of what is left, and so on. */
  readonly rank?: number
}

export interface Question {
  readonly text: string
  readonly options?: readonly string[]
  /** What it is about, where that is not what the assistant said before it: the plan to approve. */
  readonly about?: string
  /** `tool`: asked with a tool made for it; `text`: the assistant's last words end in a question. */
  readonly source: 'tool' | 'text'
  readonly id: number
  /** What the user said instead of an answer that can be recognised as one: nobody waits for it any more. */
  readonly passedOver?: string
}

export interface BackgroundTask {
  readonly command: string
  /** It checks the work: what it ends with is wanted, unlike that of a server. */
  readonly checks?: true
  /** The agent's own handle on it: a shell id, a session id, a pid. */
  readonly handle?: string
  readonly startedId: number
  /** Last entry in which it was seen running. */
  readonly lastId: number
}

export interface Subagent {
  readonly task: string
  readonly type?: string
  readonly status: 'done' | 'failed' | 'running'
  readonly id: number
  readonly resultId?: number
}

export interface InFlight {
  readonly callId: string
  readonly tool: string
  /** The command, path or task of the call, in a line. */
  readonly what: string
  readonly id: number
  /** The conversation went on without its result: it was interrupted rather than still running. */
  readonly interrupted: boolean
  /** A supervisor stopped it to hand over: nobody was against it. */
  readonly by?: 'baton'
}

export interface UnknownTool {
  readonly name: string
  readonly times: number
  readonly errors: number
  readonly firstId: number
  readonly lastId: number
}

export interface Inherited {
  readonly id: number
  /** Name of the anchor, or `compaction`. */
  readonly name: string
  /** The anchor's state, or the text of the document or the summary. */
  readonly state: unknown
  /** The file that holds the document, where the session was only told to read it. */
  readonly path?: string
  /** What the agent summed up since, when its context was full; the document still holds. */
  readonly summary?: { readonly id: number; readonly state: unknown }
}

export interface GitFact {
  /** The session's folder. */
  readonly cwd: string
  readonly branch?: string
  /** Commit the phase ended at, where known; with `reconcile`, HEAD now. */
  readonly commit?: string
  /** Commit the session began at, when git was asked. */
  readonly base?: string
  /** Changed against HEAD or untracked; only when git was asked. */
  readonly dirty?: readonly DirtyFile[]
  /** Entry that named the folder or branch; undefined when the caller did. */
  readonly id?: number
  /** Git was asked on this machine. */
  readonly checked: boolean
}

export interface DirtyFile {
  readonly path: string
  /** As `git status` prints it: two letters, `??` for untracked. */
  readonly status: string
}
