// Artifacts are files of the project: named by their path in it, known by their hash, never read into memory whole.

import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { InvalidError } from '../errors.ts'
import type { Artifact, ArtifactType, GivenHandoff, TaskState } from './schema.ts'

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

/** What an agent names as its work, as references with the hash that it has now. */
export async function takeArtifacts(project: string, given: readonly Given[]): Promise<Artifact[]> {
  const root = fs.realpathSync(project)
  return inParallel(given, async (each, i) => {
    const field = `artifacts[${i}].path`
    const name = projectPath(project, each.path, field)
    const real = realFile(root, path.join(project, name), name, field)
    const { hash, bytes } = await hashFile(real)
    if (each.content_hash !== undefined && each.content_hash !== hash) {
      throw new InvalidError(`${name} has changed: its hash is ${hash}, not ${each.content_hash}`, {
        path: `artifacts[${i}].content_hash`,
        hint: 'Leave out content_hash to hand over the file as it is.',
      })
    }
    const { path: _path, artifact_type = typeOf(name), content_hash: _hash, size_bytes: _size, ...more } = each
    // In one order, so that ten thousand of them are quick to go through.
    return { path: name, artifact_type, content_hash: hash, size_bytes: bytes, ...more }
  })
}

/** The path within the project, with slashes; one that leads out of it is refused. */
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

/** What is not as it was handed over. */
export async function findDrift(project: string, state: TaskState): Promise<Drift> {
  const changed: string[] = []
  const missing: string[] = []
  await inParallel(state.artifacts, async (artifact) => {
    const file = path.join(project, artifact.path)
    const stat = fs.statSync(file, { throwIfNoEntry: false })
    if (stat === undefined) missing.push(artifact.path)
    else if (!stat.isFile() || stat.size !== artifact.size_bytes || !(await isSame(file, artifact))) {
      changed.push(artifact.path)
    }
  })
  return { changed: changed.sort(), missing: missing.sort(), new: findNew(project, state) }
}

async function isSame(file: string, artifact: Artifact): Promise<boolean> {
  try {
    return (await hashFile(file)).hash === artifact.content_hash
  } catch {
    return false // it cannot be read any more
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

/** What a file most likely is, by its name. */
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
