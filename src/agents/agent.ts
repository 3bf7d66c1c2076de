// What Baton knows about an external agent, in one interface. An agent is a folder beside this file that exports one such
// object. Nothing outside this room asks which agent it deals with: what is particular to one is a method or a flag here.
// Whatever is optional is a capability or a quirk, and an agent that does not declare it does not have it.

import type { ToolCall } from '../tape/index.ts'
import type { AgentConnection } from './connection.ts'
import type { MakeParser } from './fact.ts'
import type { Fields } from './fields.ts'
import type { AgentName } from './names.ts'

export interface Agent extends Sessions, CommandLine, Terminal {
  /** In commands, on tapes and in the configuration. */
  readonly name: AgentName
  /** As its makers call it. */
  readonly label: string
  /** How Baton is put beside it with `baton connect`. */
  readonly connection?: AgentConnection
}

/** Where its sessions lie, and how they are read. */
interface Sessions {
  /** The folders that hold its sessions, whether they exist or not. */
  folders(env: NodeJS.ProcessEnv): string[]
  /** The sessions in one of those folders, from names and sizes alone where they are files. Says which of its places it cannot read. */
  find(folder: string, onUnreadable?: (place: string) => void): SessionFile[]
  /**
   * The folders below one of `folders` in which sessions of the project `cwd` appear between two times, the outer ones
   * first, since the inner ones appear in them. None where sessions lie in the folder itself.
   */
  projectFolders?(folder: string, cwd: string, since: number, until: number): string[]

  /** Whether a parsed line, one of the first of a file, was written by this agent; or the whole of a file that is one document. */
  recognises(line: Fields): boolean
  /** Whether a file that is no JSON, such as a packed one, is this agent's, by its first bytes. */
  recognisesBytes?(bytes: Buffer): boolean
  /** The id of a session, where the name of its file gives it in a form of this agent's own. */
  idInName?(stem: string): string | undefined
  /** Whether a session that is called `id` by its file may be the one that the agent calls `session`. */
  isSession?(id: string, session: string): boolean
  /** Only the transcript itself says the id of its session; the name of the file does not. */
  readonly idInTranscript?: boolean

  /** Turns the lines or records of a session into facts. */
  readonly parser: MakeParser
  /** Whether that file holds records, to be read with `records`, rather than lines of JSON. Its content decides. */
  recordsNotLines?(file: string): boolean
  /** The records of such a session. Those up to `after`, a place, need not be read. */
  records?(file: SessionFile, after?: string): Iterable<SessionRecord>
  /** Enough about several sessions in one file to list them, which is cheaper than reading each. */
  outlines?(path: string, ids: ReadonlySet<string>): ReadonlyMap<string, readonly Fields[]>
  /** What lies beside a session's file and says more about it. */
  hints?(file: SessionFile): Hints

  /** All its sessions lie in one file, a database: a session is a row, and the file changes for all of them. */
  readonly sharesFile?: boolean
  /** The file beside its database that holds the newest rows. */
  logOf?(file: string): string
  /**
   * The transcripts of a session's subagents, where they are not in its own. `judged` holds what was looked at before, so
   * that nothing is looked at twice: only new ones are returned.
   */
  subagents?(file: SessionFile, judged: Set<string>): SessionFile[]
  /** The folder in which they appear, where it is not one of `projectFolders`. */
  subagentsFolder?(file: SessionFile): string
  /** The tool calls that have not ended, where its records hold them only when they have. */
  runningCalls?(file: SessionFile): ToolCall[]
  /** The agent's own meter also counts what was said since the last reply, by an estimate. */
  readonly estimatesUnanswered?: boolean

  /** Files in which the agent's running programs say what they do. */
  readonly status?: StatusFiles
}

/** What an agent's running programs say of themselves, in a file for each process. */
export interface StatusFiles {
  /** The folders to watch for them, whether they exist or not; the outer ones first. */
  folders(env: NodeJS.ProcessEnv): string[]
  /** The process whose file has that name; undefined for any other file. */
  pidIn(name: string): number | undefined
  /** What the first of these processes says that says anything; a file from before `since` is of another process. */
  read(env: NodeJS.ProcessEnv, pids: readonly number[], since?: number): AgentStatus | undefined
  /** The transcript of a session that such a file names; undefined while nothing is said in it. */
  transcript(env: NodeJS.ProcessEnv, cwd: string, session: string): SessionFile | undefined
  /** Every running session by its id; undefined where this version of the agent keeps no such files. */
  running(env: NodeJS.ProcessEnv): ReadonlyMap<string, Live> | undefined
}

export interface AgentStatus {
  readonly session: string
  /** `busy`, `idle` or `waiting`; missing where it runs without a screen. */
  readonly is?: string | undefined
  /** What it waits for, in words. */
  readonly waitingFor?: string | undefined
  /** Since when, in milliseconds. */
  readonly at?: number | undefined
}

/** How it is run: arguments only, since the program may be another one by configuration. */
interface CommandLine {
  /** The program that people type. */
  readonly program: string
  /** Laid over the environment that it is run with; undefined removes. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Starts a session with a screen. */
  start(options: LaunchOptions): string[]
  /** Reopens a session with a screen. */
  resume?(session: string, options?: LaunchOptions): string[]
  /** Put before `args` when a session with a screen is supervised. */
  readonly supervisedArgs?: readonly string[]
  /** One turn without a screen: continues `session`, or starts one (named `options.session`, if it takes a name). */
  turn?(prompt: string, session: string | undefined, options?: LaunchOptions): string[]
  /** What such a turn printed. */
  outcome?(output: TurnOutput): TurnOutcome

  /** The agent gives a new session the id that it is started with. */
  readonly takesId?: boolean
  /** Files with the rules of a project that the agent reads without being told. */
  readonly ruleFiles: readonly string[]
  /**
   * Documents longer than so many bytes are given to it word for word: its tools would not show all of them to its model. 0 where
   * they read neither what git ignores nor what lies outside the project.
   */
  readonly inlineAbove?: number
  /** The tokens at which it compacts by itself, by its own settings; undefined where it never does, or nobody knows. */
  compactsAt?(query: CompactionQuery): number | undefined
}

/** What the point at which an agent compacts by itself depends on. */
export interface CompactionQuery {
  readonly window: number | undefined
  readonly model: string | undefined
  /** The project: it may have settings of its own. */
  readonly cwd: string | undefined
  readonly env: NodeJS.ProcessEnv
}

/** How it behaves in a terminal. */
export interface Terminal {
  /** What a screen of it shows. */
  readScreen?(screen: Screen): ScreenState
  /** The word that starts a fresh context, such as `/clear`. */
  readonly clear?: string
  /**
   * Whether that shows in its transcripts at once, rather than with the next prompt or reply. `usually`: it does, but
   * cannot be distinguished from what another of its kind does in the same folder.
   */
  readonly clearShows?: boolean | 'usually'
  /** Whether what is typed is lost until its screen has been drawn anew behind a clear. */
  readonly clearRedraws?: boolean
  /** Whether it draws its input before it has reopened a session, which its transcript shows: what is typed earlier goes into another. */
  readonly resumeShows?: boolean
  /** Keys that stop a turn, in tmux's names, one press after the other. Never C-c. */
  readonly interrupt?: readonly string[]
  /** Words that are typed in the middle of a turn reach the model at its next step, rather than after the turn. */
  readonly takesWordsInTurn?: boolean
  /** Milliseconds between pasted text and Enter: some take what comes right behind a paste for a part of it. */
  readonly settle?: number
  /** Whether its screen always shows that it works: a screen that does not is then at rest. */
  readonly showsWork?: boolean
  /** Whether a reply that will call a tool looks, in its transcript, like one that ends a turn: then its screen decides. */
  readonly endOnScreen?: boolean
  /** Whether an interrupt takes back the whole turn with its prompt, so that the agent forgets what it did in it. */
  readonly interruptForgets?: boolean
  /** Whether its transcript shows a call only when the call has ended: nobody sees there that a command runs. */
  readonly callsShowLate?: boolean
}

/** A session as it lies on disk: a file, or a row in one. */
export interface SessionFile {
  readonly agent: AgentName
  /** With every link resolved; below the agent's folder. */
  readonly path: string
  readonly bytes: number
  /** When it was last written, in milliseconds. */
  readonly changed: number
  /** As the name of the file gives it. */
  readonly id: string
  /** The session that this subagent works for. */
  readonly parent?: string
}

/** One step of a session that is not kept as lines. `place` says where to read on, and grows from step to step. */
export interface SessionRecord {
  readonly value: Fields
  readonly place: string
}

/** What an agent's running program says of itself; `gone`: the agent lists its running sessions, and this is none. */
export type Live = 'busy' | 'idle' | 'gone'

interface Hints {
  /** The folder that the session was started in. */
  readonly cwd?: string
  /** Context windows of the models that the agent is set up with, by name. */
  readonly windows?: Readonly<Record<string, number>>
}

export interface LaunchOptions {
  /** What the person put behind `--`. */
  readonly args?: readonly string[]
  /** The first prompt; else the agent waits for one. */
  readonly prompt?: string
  /** The id that the new session is to have, where the agent takes one. */
  readonly session?: string
  /** The folder of its handoff documents: it may write there without asking anybody. */
  readonly documents?: string
}

/** What a turn without a screen has printed so far; `code` once it has ended. */
export interface TurnOutput {
  readonly out: string
  readonly err: string
  readonly code: number | undefined
}

/** How a turn without a screen ended, by what it printed. */
export interface TurnOutcome {
  /** The agent's id of the session, as soon as it has said it. */
  readonly session: string | undefined
  /** Why it failed; exit status 0 alone is no success. */
  readonly error: string | undefined
  /** That error is a limit, of which the transcript holds nothing. */
  readonly isLimit?: boolean
  /** The turn has printed its last line, though its process may linger. */
  readonly over?: boolean
}

/** A screen as it is drawn, line by line. */
export interface Screen {
  readonly lines: readonly string[]
  /** The same lines with blanks for what is drawn faint: hints and suggestions that nobody typed. */
  readonly solid: readonly string[]
}

/** What the screen says, where only the screen can. */
export type ScreenState =
  | { readonly is: 'starting' }
  /** `draft`: somebody has typed something and not sent it. */
  | { readonly is: 'prompt'; readonly draft: string }
  /** A question to the person: never typed into. */
  | {
      readonly is: 'dialog'
      readonly question: string
      readonly about: 'permission' | 'trust' | 'limit' | 'other'
      /** What it offers to choose from, where that is more than yes or no. */
      readonly answers?: readonly string[]
    }
  /** Asks at a limit whether to keep trying: `again` are the keys for yes, in tmux's names, after which the turn continues. */
  | { readonly is: 'limited'; readonly words: string; readonly again: readonly string[] }
  /** Works, and takes words for later, unless `deaf`: what is typed now is lost. */
  | { readonly is: 'busy'; readonly draft: string; readonly deaf?: boolean }
  | { readonly is: 'unknown' }
