// Artifacts are files of the project, named by their path in it and identified by their hash. They are never read into
// memory whole.

import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { InvalidError } from '../errors.ts'
import type { TaskArtifact, ArtifactType, ArtifactWaiver, GivenHandoff, TaskState } from './schema.ts'

/** How many files are read at a time. */
const together = 16
const chunkBytes = 64 * 1024
/** How many new files are listed. */
const mostNew = 100

type Given = GivenHandoff['artifacts'][number]

export interface Drift {
  /** The content is not what was handed over. */
  readonly changed: readonly string[]
  readonly missing: readonly string[]
  /** Files beside the artifacts, written since the handoff, that nobody handed over; the first hundred. */
  readonly new: readonly string[]
}

/** An artifact that is not as it was handed over. */
export interface DriftedArtifact {
  readonly path: string
  readonly exists: boolean
  /** The hash of the file as it is now; missing if the file is gone or cannot be read. */
  readonly content_hash?: string
}

/** The files that an agent hands over, as references with the hash that they have now. */
export async function takeArtifacts(
  project: string,
  given: readonly Given[],
  hashes = new FileHashes(),
): Promise<TaskArtifact[]> {
  const root = fs.realpathSync(project)
  return inParallel(given, async (each, i) => {
    const field = `artifacts[${i}].path`
    const name = projectPath(project, each.path, field)
    const real = realFile(root, path.join(project, name), name, field)
    const { hash, bytes } = await hashes.of(real)
    if (each.content_hash !== undefined && each.content_hash !== hash) {
      throw new InvalidError(`${name} has changed: its hash is ${hash}, not ${each.content_hash}`, {
        path: `artifacts[${i}].content_hash`,
        hint: 'Leave out content_hash to hand over the file as it is.',
      })
    }
    const { path: _path, artifact_type = typeOf(name), content_hash: _hash, size_bytes: _size, ...more } = each
    // The fields are always in this order, which keeps ten thousand of these objects quick to process.
    return { path: name, artifact_type, content_hash: hash, size_bytes: bytes, ...more }
  })
}

/** The path within the project, with slashes; a path that leads out of it is refused. */
export function projectPath(project: string, given: string, field: string): string {
  const name = path.relative(project, path.resolve(project, given))
  if (name !== '' && name !== '..' && !name.startsWith(`..${path.sep}`) && !path.isAbsolute(name)) {
    return name.split(path.sep).join('/')
  }
  throw outside(given, project, field)
}

function realFile(root: string, file: string, name: string, field: string): string {
  let real: string
  try {
    real = fs.realpathSync(file)
  } catch {
    throw new InvalidError(`There is no file ${name} to hand over`, {
      path: field,
      hint: `Paths are relative to the project folder, ${root}.`,
    })
  }
  if (!real.startsWith(root === path.sep ? root : root + path.sep)) throw outside(name, root, field)
  if (fs.statSync(real).isFile()) return real
  throw new InvalidError(`${name} is not a file`, { path: field, hint: 'Hand over files, one by one.' })
}

function outside(given: string, project: string, field: string): InvalidError {
  return new InvalidError(`${given} lies outside the project folder ${project}`, {
    path: field,
    hint: 'Only files of the project can be handed over.',
  })
}

/** The files that are not as they were handed over. */
export async function findDrift(project: string, state: TaskState, hashes = new FileHashes()): Promise<Drift> {
  const drifted = await driftedArtifacts(project, state.artifacts, hashes)
  return {
    changed: drifted.filter(({ exists }) => exists).map(({ path }) => path),
    missing: drifted.filter(({ exists }) => !exists).map(({ path }) => path),
    new: findNew(project, state),
  }
}

/** The artifacts that are not as they were handed over, by path. */
export async function driftedArtifacts(
  project: string,
  artifacts: readonly TaskArtifact[],
  hashes: FileHashes,
): Promise<DriftedArtifact[]> {
  const found: DriftedArtifact[] = []
  await inParallel(artifacts, async ({ path: name, content_hash: recorded }) => {
    const now = await hashes.ifReadable(path.join(project, name))
    if (now.hash === recorded) return
    found.push({ path: name, exists: now.exists, ...(now.hash === undefined ? {} : { content_hash: now.hash }) })
  })
  return found.sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** The artifacts that no waiver covers: one covers a file for as long as it stays as it was then. */
export function withoutWaived(
  drifted: readonly DriftedArtifact[],
  waivers: readonly ArtifactWaiver[],
): DriftedArtifact[] {
  return drifted.filter(({ path, content_hash }) => {
    return !waivers.some((each) => each.path === path && each.content_hash === content_hash)
  })
}

/** A file that changed this recently may change again without looking different; some file systems count in whole seconds. */
const settledMs = { fine: 100, coarse: 2_500 }

/** The hashes of files, remembered for as long as a file looks untouched: a task may hold thousands. */
export class FileHashes {
  readonly #known = new Map<string, { signature: string; hash: string; bytes: number }>()

  async of(file: string): Promise<{ hash: string; bytes: number }> {
    const { ino, size, mtimeNs, ctimeNs, ctimeMs } = fs.statSync(file, { bigint: true })
    const signature = [ino, size, mtimeNs, ctimeNs].join(' ')
    const known = this.#known.get(file)
    if (known?.signature === signature) return known
    const isCoarse = ctimeNs % 1_000_000_000n === 0n
    const isSettled = Number(ctimeMs) < Date.now() - (isCoarse ? settledMs.coarse : settledMs.fine)
    const found = size <= chunkBytes ? hashSmall(file) : await hashFile(file)
    if (isSettled) this.#known.set(file, { signature, ...found })
    return found
  }

  /** No hash if it is not a file that can be read. */
  async ifReadable(file: string): Promise<{ exists: boolean; hash?: string }> {
    const stat = fs.statSync(file, { throwIfNoEntry: false })
    if (stat === undefined) return { exists: false }
    if (!stat.isFile()) return { exists: true }
    try {
      return { exists: true, hash: (await this.of(file)).hash }
    } catch {
      return { exists: true } // a file that cannot be read counts as changed
    }
  }
}

function findNew(project: string, state: TaskState): string[] {
  const since = Date.parse(state.handoff_timestamp)
  const known = new Set(state.artifacts.map((each) => each.path))
  const folders = new Set(state.artifacts.map((each) => path.posix.dirname(each.path)))
  const found: string[] = []
  for (const folder of [...folders].sort()) {
    const at = path.join(project, folder)
    if (!fs.existsSync(at)) continue
    for (const entry of fs.readdirSync(at, { withFileTypes: true })) {
      const name = path.posix.join(folder, entry.name)
      if (!entry.isFile() || entry.name.startsWith('.') || known.has(name)) continue
      const stat = fs.statSync(path.join(at, entry.name), { throwIfNoEntry: false })
      if (stat !== undefined && stat.mtimeMs > since) found.push(name)
      if (found.length >= mostNew) return found.sort()
    }
  }
  return found.sort()
}

/** In one go: for thousands of small files, each wait would take longer than reading. */
function hashSmall(file: string): { hash: string; bytes: number } {
  const content = fs.readFileSync(file)
  return { hash: createHash('sha256').update(content).digest('hex'), bytes: content.length }
}

async function hashFile(file: string): Promise<{ hash: string; bytes: number }> {
  const hash = createHash('sha256')
  const handle = await fs.promises.open(file)
  try {
    const chunk = Buffer.allocUnsafe(chunkBytes)
    let bytes = 0
    for (;;) {
      const { bytesRead } = await handle.read(chunk, 0, chunk.length)
      if (bytesRead === 0) return { hash: hash.digest('hex'), bytes }
      hash.update(chunk.subarray(0, bytesRead))
      bytes += bytesRead
    }
  } finally {
    await handle.close()
  }
}

/** Guesses the type of a file from its name. */
function typeOf(name: string): ArtifactType {
  const base = path.posix.basename(name)
  if (/(^|\/)(tests?|__tests__|spec)\//.test(name) || /([._-](test|spec)\.\w+|^test_\w+\.py)$/.test(base)) return 'test'
  if (/\.(md|mdx|rst|adoc|txt|pdf)$/i.test(base) || /(^|\/)docs?\//.test(name)) return 'doc'
  if (
    /\.(json|ya?ml|toml|ini|cfg|conf|env|lock|properties)$/i.test(base) ||
    /^(Dockerfile|Makefile|\..*)$/.test(base)
  ) {
    return 'config'
  }
  return 'source'
}

async function inParallel<T, R>(items: readonly T[], work: (item: T, i: number) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  let next = 0
  const worker = async () => {
    for (let i = next++; i < items.length; i = next++) results[i] = await work(items[i]!, i)
  }
  await Promise.all(Array.from({ length: Math.min(together, items.length) }, worker))
  return results
}
