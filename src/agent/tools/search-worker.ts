// Searches files in a thread of its own: a regular expression that never comes to an end then holds up nobody, and ends with
// the thread. The function is handed over as its source text, since a thread cannot be started from TypeScript, nor from
// within the bundle of the command line: it must not use anything from outside itself.

import { Worker } from 'node:worker_threads'

export interface SearchJob {
  readonly folder: string
  readonly files: readonly string[]
  readonly source: string
  readonly flags: string
  /** Larger files are passed over, and counted. */
  readonly maxFileBytes: number
}

interface Hit {
  readonly file: string
  readonly line: number
  readonly text: string
}

type Told =
  | { readonly kind: 'hits'; readonly hits: readonly Hit[] }
  | { readonly kind: 'at'; readonly file: string }
  | { readonly kind: 'end'; readonly large: number; readonly binary: number }

function inThread(): void {
  const thread = process.getBuiltinModule('node:worker_threads')
  const fs = process.getBuiltinModule('node:fs')
  const path = process.getBuiltinModule('node:path')
  const job = thread.workerData as SearchJob
  const expression = new RegExp(job.source, job.flags)
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is for windows, not for threads
  const tell = (told: Told) => thread.parentPort!.postMessage(told)
  let large = 0
  let binary = 0
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants
  // A folder may have become a link since it was listed; git lists what it knows, not what is there.
  const sound = new Map<string, boolean>()
  const isSound = (folder: string) => {
    const known = sound.get(folder) ?? fs.realpathSync(folder) === folder
    sound.set(folder, known)
    return known
  }
  const read = (file: string): Buffer | undefined => {
    let fd: number | undefined
    try {
      const full = path.join(job.folder, file)
      if (!isSound(path.dirname(full))) return undefined
      fd = fs.openSync(full, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
      const stats = fs.fstatSync(fd)
      if (!stats.isFile()) return undefined
      if (stats.size <= job.maxFileBytes) return fs.readFileSync(fd)
      large += 1
    } catch {
      // Gone, a link, or out of reach.
    } finally {
      if (fd !== undefined) fs.closeSync(fd)
    }
    return undefined
  }
  for (const file of job.files) {
    const bytes = read(file)
    if (bytes === undefined) continue
    if (bytes.subarray(0, 8_192).includes(0)) {
      binary += 1
      continue
    }
    tell({ kind: 'at', file })
    const hits: Hit[] = []
    bytes
      .toString()
      .split('\n')
      .forEach((text, i) => {
        const match = expression.exec(text)
        if (match === null) return
        // Of a line that is one long stretch, what is around the match.
        const start = Math.max(0, Math.min(match.index - 100, text.length - 300))
        const shown = text.length <= 300 ? text : `…${text.slice(start, start + 300)}…`
        hits.push({ file, line: i + 1, text: shown.trimEnd() })
      })
    if (hits.length > 0) tell({ kind: 'hits', hits })
  }
  tell({ kind: 'end', large, binary })
}

export interface SearchEnd {
  readonly hits: Hit[]
  /** Why it did not come to the end, if it did not. */
  readonly stopped?: 'limit' | 'time'
  /** Where it was when time was up. */
  readonly at?: string
  readonly large: number
  readonly binary: number
}

export async function searchFiles(
  job: SearchJob,
  bounds: { limit: number; timeoutMs: number; signal: AbortSignal },
  mayShow: (file: string) => boolean = () => true,
): Promise<SearchEnd> {
  const worker = new Worker(`(${inThread.toString()})()`, { eval: true, workerData: job, stdout: true, stderr: true })
  const hits: Hit[] = []
  let at: string | undefined
  let timer: NodeJS.Timeout | undefined
  const cancel = new AbortController()
  try {
    return await new Promise<SearchEnd>((resolve, reject) => {
      timer = setTimeout(
        () => resolve({ hits, stopped: 'time', ...(at === undefined ? {} : { at }), large: 0, binary: 0 }),
        bounds.timeoutMs,
      )
      bounds.signal.addEventListener('abort', () => reject(bounds.signal.reason as Error), { signal: cancel.signal })
      worker.on('error', reject)
      worker.on('message', (told: Told) => {
        if (told.kind === 'at') at = told.file
        else if (told.kind === 'end') resolve({ hits, large: told.large, binary: told.binary })
        else if (mayShow(told.hits[0]!.file)) {
          hits.push(...told.hits)
          if (hits.length <= bounds.limit) return
          hits.length = bounds.limit
          resolve({ hits, stopped: 'limit', large: 0, binary: 0 })
        }
      })
    })
  } finally {
    clearTimeout(timer)
    cancel.abort()
    await worker.terminate()
  }
}
