// Whether a run gets anywhere: what its check says, what has changed in the project, and what the agent has done that it had not
// done before.
// Writing and reading handoff documents is not progress.

import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { runCommand } from '../../../system/index.ts'

/** Folders that hold nothing of the work, in a project without git. */
const skipped: ReadonlySet<string> = new Set(['.git', '.baton', '.handoffs', 'node_modules'])
/** A project with more files than this is stamped by the first so many. */
const most = 20_000
/** A larger file is known by its size and time alone. */
const largest = 1 << 20
const timeoutMs = 20_000

/**
 * Differs whenever files or commits of the project do. With git, files that it ignores do not count. Undefined where it cannot
 * be told. `left`: the folder of the handoff documents.
 */
export async function projectStamp(cwd: string, left: string, signal: AbortSignal): Promise<string | undefined> {
  const changed = await changedInGit(cwd, signal)
  const hash = createHash('sha256')
  try {
    for (const { file, line } of changed ?? filesBelow(cwd)) {
      const at = path.resolve(cwd, file)
      if (at === left || at.startsWith(`${left}${path.sep}`)) continue
      hash.update(`${line}\0${contentStamp(at, changed !== undefined)}\0`)
    }
    return hash.digest('hex')
  } catch {
    return undefined // the folder is gone, or changes while it is looked at
  }
}

interface Listed {
  readonly file: string
  readonly line: string
}

/** The last commit, and every file that differs from it; undefined without git. */
async function changedInGit(cwd: string, signal: AbortSignal): Promise<Listed[] | undefined> {
  const git = async (...args: string[]) => {
    const run = await runCommand(['git', '-C', cwd, ...args], {
      keptBytes: 32 << 20,
      timeoutMs,
      signal,
      env: { ...process.env, GIT_OPTIONAL_LOCKS: '0' },
      leftovers: 'end-group',
    })
    return { ok: run.end === 'exit' && run.code === 0, text: run.output.whole().toString('utf8') }
  }
  const status = await git('status', '--porcelain', '-z', '--no-renames', '--untracked-files=all', '--', '.').catch(
    () => undefined,
  )
  if (status?.ok !== true) return undefined
  const prefix = await git('rev-parse', '--show-prefix')
  const head = await git('rev-parse', '--verify', '-q', 'HEAD')
  const files = status.text.split('\0').filter((line) => line !== '')
  const up = path.resolve(
    cwd,
    ...prefix.text
      .trim()
      .split('/')
      .filter(Boolean)
      .map(() => '..'),
  )
  return [
    { file: '', line: head.text },
    ...files.slice(0, most).map((line) => ({ file: path.resolve(up, line.slice(3)), line })),
  ]
}

function* filesBelow(folder: string, depth = 0, seen = { count: 0 }): Generator<Listed> {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    if (seen.count >= most || depth > 20) return
    const file = path.join(folder, entry.name)
    if (entry.isDirectory() && !skipped.has(entry.name)) yield* filesBelow(file, depth + 1, seen)
    else if (entry.isFile()) {
      seen.count++
      yield { file, line: file }
    }
  }
}

function contentStamp(file: string, read: boolean): string {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false })
  if (stat === undefined) return 'gone'
  if (!stat.isFile()) return 'other'
  if (!read || stat.size > largest) return `${stat.size} ${stat.mtimeMs}`
  return createHash('sha256').update(fs.readFileSync(file)).digest('base64')
}

/** How long something took, and when it was done, differ each time that the same is done again. */
function withoutTimes(output: string): string {
  return output.replaceAll(
    /\d+(?::\d\d)+(?:[.,]\d+)?|\d+(?:[.,]\d+)? ?(?:[mµn]?s|sec|seconds?|minutes?)\b|\d+[.,]\d+/g,
    '…',
  )
}

/** In characters. Agents keep at least twice as much of either end of an output. */
const endLength = 2_000

/**
 * An output as it is whenever the same is done again: without times, and of a long one only its two ends. Agents cut out the middle, and
 * where they cut depends on how many digits the times have.
 */
export function comparable(output: string): string {
  const plain = withoutTimes(output)
  return plain.length <= 2 * endLength ? plain : `${plain.slice(0, endLength)}…${plain.slice(-endLength)}`
}

/** What the agent has done in its contexts so far, call by call, to tell new work from the same again. */
export class WorkDone {
  readonly #known: Set<string>
  readonly #contexts = new Map<string, ReadonlySet<string>>()

  constructor(known: readonly string[] = []) {
    this.#known = new Set(known)
  }

  see(session: string | undefined, work: ReadonlySet<string>): void {
    if (session !== undefined) this.#contexts.set(session, work)
  }

  /** Whether anything was done in that context that was not done in one before; undefined: nobody saw the context. */
  isNew(session: string | undefined): boolean | undefined {
    const work = session === undefined ? undefined : this.#contexts.get(session)
    return work === undefined ? undefined : [...work].some((each) => !this.#known.has(each))
  }

  /** That context has been left: what was done in it is known from now on. */
  leave(session: string | undefined): void {
    const work = session === undefined ? undefined : this.#contexts.get(session)
    for (const each of work ?? []) this.#known.add(each)
    if (session !== undefined) this.#contexts.delete(session)
  }

  /** The newest of it together with that context, for whoever takes up the session. */
  recordWith(session: string | undefined): readonly string[] {
    return [...this.#known, ...(this.#contexts.get(session ?? '') ?? [])].slice(-kept)
  }
}

const kept = 500

export interface CheckResult {
  /** Undefined: it was stopped, or could not be started. */
  readonly code: number | undefined
  /** The end of what it printed. */
  readonly output: string
  /** The same for two checks that differ in nothing but how long something took. */
  readonly plain: string
}

const keptCharacters = 4_000
const checkMs = 600_000

/** Runs the command of `until` in the project. It is a person's own command line, so a shell reads it. */
export async function runCheck(command: string, cwd: string, signal: AbortSignal): Promise<CheckResult> {
  try {
    const { end, code, output } = await runCommand(['/bin/sh', '-c', command], {
      cwd,
      timeoutMs: checkMs,
      signal,
      keptBytes: 16 * keptCharacters,
      leftovers: 'end-group',
    })
    const text = output.whole().toString('utf8')
    return {
      code: end === 'exit' && typeof code === 'number' ? code : undefined,
      output: text.slice(-keptCharacters),
      // Cut last: where a text is cut from its end must not depend on how many digits a time has.
      plain: withoutTimes(text).slice(-keptCharacters),
    }
  } catch (error) {
    const { message } = error as Error
    return { code: undefined, output: message, plain: message }
  }
}
