// The agents whose sessions Baton reads, behind one interface: where they keep them, how to tell them, how to read them.

import type { Fields } from './fields.ts'
import type { MakeParser } from './parser.ts'

export const agentNames = ['claude', 'codex', 'pi', 'gemini', 'opencode'] as const

export type AgentName = (typeof agentNames)[number]

/** A session as it lies on disk: a file, or a row in one. */
export interface SessionFile {
  readonly agent: AgentName
  /** With every link resolved; below the agent's folder. */
  readonly path: string
  readonly bytes: number
  /** When it was written last, in milliseconds. */
  readonly changed: number
  /** As the name of the file says it. */
  readonly id: string
  /** The session that this subagent works for. */
  readonly parent?: string
}

/** One step of a session that is not kept as lines: `place` tells where to go on, and grows from step to step. */
export interface Record {
  readonly value: Fields
  readonly place: string
}

interface Hints {
  /** The folder that it was made in. */
  readonly cwd?: string
  /** Of the models that the agent is set up with, by name. */
  readonly windows?: Readonly<globalThis.Record<string, number>>
}

export interface Agent {
  readonly name: AgentName
  /** As its makers call it. */
  readonly label: string
  /** The folders that hold its sessions, whether they exist or not. */
  folders(env: NodeJS.ProcessEnv): string[]
  /** The sessions in one of those folders, from names and sizes alone where they are files. */
  find(folder: string): SessionFile[]
  /** Whether a parsed line, one of the first of a file, was written by this agent. */
  recognises(line: Fields): boolean
  readonly parser: MakeParser
  /** For a session that is not kept as lines of JSON. Those up to `after`, a place, need not be read. */
  records?(file: SessionFile, after?: string): Iterable<Record> | undefined
  /** Of several sessions in one file, enough to list them: cheaper than reading each. */
  outlines?(path: string, ids: ReadonlySet<string>): ReadonlyMap<string, readonly Fields[]>
  /** What lies beside the file and says more about it. */
  hints?(file: SessionFile): Hints
}
