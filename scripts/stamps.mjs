// What was installed and what was built last, as fingerprints kept inside node_modules: losing them costs one redo,
// never a stale start. Node built-ins only, since this runs before anything is installed.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'

export const root = fileURLToPath(new URL('..', import.meta.url))

/** Changes whenever a different set of packages would be installed. */
export function installFingerprint() {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const lock = join(root, 'package-lock.json')
  return fingerprint([
    `${process.platform}-${process.arch}`,
    JSON.stringify([dependencies, devDependencies]),
    existsSync(lock) ? readFileSync(lock) : '',
  ])
}

/** Changes whenever a source was added, removed or written since. */
export function buildFingerprint() {
  const sources = readdirSync(join(root, 'src'), { recursive: true }).map((name) => join('src', String(name)))
  const inputs = ['package.json', 'tsconfig.json', 'tsconfig.build.json', 'scripts/build.mjs', ...sources.toSorted()]
  return fingerprint(
    inputs.map((name) => {
      const stat = statSync(join(root, name))
      return stat.isDirectory() ? name : `${name} ${stat.size} ${stat.mtimeMs}`
    }),
  )
}

/** @param {'install' | 'build'} name */
export function readStamp(name) {
  const file = stampFile(name)
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}

/** @param {'install' | 'build'} name @param {string} value */
export function writeStamp(name, value) {
  writeFileSync(stampFile(name), value)
}

/** @param {'install' | 'build'} name */
export function clearStamp(name) {
  rmSync(stampFile(name), { force: true })
}

/** @param {'install' | 'build'} name */
function stampFile(name) {
  return join(root, 'node_modules', `.baton-${name}`)
}

/** @param {(string | Uint8Array)[]} parts */
function fingerprint(parts) {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part).update('\0')
  return hash.digest('hex')
}
