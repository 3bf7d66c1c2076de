// Makes a TypeScript program runnable, since Node reads none yet: one file beside its source, so that import.meta means the
// same in both, with the packages left where they are.
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import * as esbuild from 'esbuild'

/** The command in front of one that is to have a network with only loopback in it; empty where the kernel gives none. */
const wrapper = ['unshare', '-rn', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh']
export const alone = spawnSync(wrapper[0] ?? '', [...wrapper.slice(1), 'true']).status === 0 ? wrapper : []

/** @param {string} entry @param {esbuild.BuildOptions} [more] @returns {Promise<string>} the file, to be removed after use */
export async function bundle(entry, more = {}) {
  const name = `.${basename(entry, '.ts')}-${process.pid}-${Math.random().toString(36).slice(2)}.mjs`
  const outfile = join(dirname(entry), name)
  await esbuild.build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    packages: 'external',
    logLevel: 'warning',
    ...more,
  })
  return outfile
}

/** Runs it to its end in place of this process. @param {string[]} before @param {string} entry @param {string[]} args */
export async function runBundled(before, entry, args, more = {}) {
  const file = await bundle(entry, more)
  const [program = '', ...rest] = [...before, process.execPath, '--enable-source-maps', file, ...args]
  const { status } = spawnSync(program, rest, { stdio: 'inherit' })
  rmSync(file, { force: true })
  process.exit(status ?? 1)
}
