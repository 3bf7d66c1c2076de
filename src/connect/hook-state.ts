// What hooks remember between two calls, in the user's own folder: a small file for each session, the jobs that wait for the
// worker, what the status line shows, and the log. Hooks load this file, so it needs nothing but Node.

import fs from 'node:fs'
import path from 'node:path'
import { stateFolder } from '../config/index.ts'
import { makeFolder, replaceFile } from '../system/index.ts'

/** What the hooks know of a session. Only hooks write it. */
export interface HookSession {
  /** The session began with an empty context, and nothing was said in it yet. */
  readonly fresh?: boolean
  /** A compaction that the model was not told of yet, and the file with the document of what stood before it. */
  readonly compacted?: string
}

/** Work that takes longer than a hook may, done by the worker. */
export interface Job {
  readonly agent: string
  readonly session: string
  readonly cwd: string
  /** As the agent gives it; the session is looked up by its id where it gives none. */
  readonly transcript?: string
  /** `turn`: bring the tape and the meters up to date. `document`: also write what stood at `bytes`, as `file`. */
  readonly work: 'turn' | 'document'
  readonly why?: 'compact' | 'clear'
  /** How far the transcript went when the hook ran. */
  readonly bytes?: number
  readonly file?: string
  /** Write it only if the context is so full that the agent will compact. */
  readonly ifFull?: boolean
}

/** What the status line shows of a session, beyond what it gets from the agent itself. */
export interface Gauge {
  readonly percent?: number
  readonly quotas?: readonly { readonly name: string; readonly usedPercent: number }[]
  /** How many questions wait for the person in this workspace. */
  readonly waiting?: number
  /** In milliseconds. */
  readonly at: number
}

export class HookState {
  readonly folder: string

  constructor(env: NodeJS.ProcessEnv) {
    this.folder = path.join(stateFolder(env), 'hooks')
  }

  session(agent: string, session: string): HookSession | undefined {
    return read(this.#file('sessions', agent, session))
  }

  remember(agent: string, session: string, known: HookSession): void {
    this.#write(this.#file('sessions', agent, session), known)
  }

  gauge(agent: string, session: string): Gauge | undefined {
    return read(this.#file('gauges', agent, session)) as Gauge | undefined
  }

  setGauge(agent: string, session: string, gauge: Gauge): void {
    this.#write(this.#file('gauges', agent, session), gauge)
  }

  addJob(job: Job): void {
    const name = `${Date.now()}-${process.pid}-${process.hrtime.bigint()}.json`
    this.#write(path.join(this.folder, 'jobs', name), job)
  }

  /** The jobs that wait, oldest first, each with what removes it. */
  jobs(): { readonly job: Job | undefined; readonly done: () => void }[] {
    const folder = path.join(this.folder, 'jobs')
    let names: string[]
    try {
      names = fs.readdirSync(folder)
    } catch {
      return [] // no hook ever ran
    }
    return names
      .filter((name) => name.endsWith('.json') && !name.startsWith('.'))
      .sort()
      .map((name) => {
        const file = path.join(folder, name)
        return { job: read(file) as Job | undefined, done: () => fs.rmSync(file, { force: true }) }
      })
  }

  get logFile(): string {
    return path.join(this.folder, 'hook.log')
  }

  /** Tells trouble to whoever looks for it: the agent must not notice. */
  log(text: string): void {
    try {
      makeFolder(this.folder)
      const { size = 0 } = fs.statSync(this.logFile, { throwIfNoEntry: false }) ?? {}
      if (size > mostLog) fs.renameSync(this.logFile, `${this.logFile}.1`)
      fs.appendFileSync(this.logFile, `${new Date().toISOString()} ${text.replaceAll(/\s+/g, ' ')}\n`, { mode: 0o600 })
    } catch {
      // Nothing is left to report to: not even the log can be written.
    }
  }

  #file(kind: string, agent: string, session: string): string {
    return path.join(this.folder, kind, `${fileName(agent)}-${fileName(session)}.json`)
  }

  #write(file: string, value: object): void {
    makeFolder(path.dirname(file))
    replaceFile(file, JSON.stringify(value), { durable: false })
  }
}

const mostLog = 1_000_000

/** Ids of sessions come from outside: none may leave the folder. */
export function fileName(id: string): string {
  return id.replaceAll(/[^\w-]/g, '_').slice(0, 120)
}

/** Undefined for a file that is not there or was cut by a crash: everything here can be done without. */
function read(file: string): object | undefined {
  try {
    const value: unknown = JSON.parse(fs.readFileSync(file, 'utf8'))
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
