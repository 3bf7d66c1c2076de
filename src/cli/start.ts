// What the file `baton` runs: it starts the program from its bundle. Compiling the code takes longer than most commands run,
// so what V8 compiled for a command is kept for the next time: beside the bundle, or where that cannot be written, in the
// user's cache folder. What is kept may be deleted.

import fs from 'node:fs'
import { createRequire } from 'node:module'
import os from 'node:os'
import path from 'node:path'
import v8 from 'node:v8'
import vm from 'node:vm'
import { withoutPassword } from './base/without-password.ts'

/** Names the bundles: V8 itself only compares the length of the source. Set by the build. */
declare const BUNDLE_HASH: string

interface KeptCode {
  readonly code: Buffer
  /** How much code was compiled when it was kept. */
  readonly compiled: number
}

/** Code is kept again when a run has compiled so much more of the program than those before it. */
const growth = 1.1
const trailerBytes = 8
/** To look how much was compiled takes 2 ms, so most runs do not. */
const isLookedAt = process.pid % 8 === 0

/** The commands that have a script without the others (scripts/build.mjs). */
const scripts = new Map([
  ['handoff', 'handoff.js'],
  ['continue', 'handoff.js'],
  ['home', 'sessions.js'],
  ['ls', 'sessions.js'],
  ['log', 'sessions.js'],
  ['import', 'sessions.js'],
  ['follow', 'sessions.js'],
  ['tape', 'tape.js'],
  ['show', 'tape.js'],
  ['lineage', 'tape.js'],
  ['hook', 'hook.js'],
])

/** What those commands that read transcripts load of Node. */
const usedOfNode = [
  'node:child_process',
  'node:crypto',
  'node:fs/promises',
  'node:net',
  'node:perf_hooks',
  'node:process',
  'node:stream/consumers',
  'node:tty',
  'node:zlib',
]

hidePasswords(process.argv)
const command = commandOf(process.argv)
const bundle = path.join(__dirname, scripts.get(command) ?? 'program.js')
const readsTranscripts = /^(?:handoff|sessions)\.js$/.test(path.basename(bundle))
const name = `${BUNDLE_HASH}-${process.version}-${process.arch}-${command}`
const folders = [path.join(__dirname, 'compiled'), path.join(userCache(), 'baton', 'compiled')]

const require = createRequire(bundle)
// These read transcripts once, or a list of thousands, and end: what V8 would optimise for later runs of a loop costs a third of their time. Only the
// V8 of Node 20 has this flag; every later one would print that it does not know it.
if (process.version.startsWith('v20.') && readsTranscripts) {
  // Node's own modules are compiled ahead, but V8 accepts that only with the options it had then: they are loaded first.
  for (const name of usedOfNode) require(name)
  v8.setFlagsFromString('--interrupt-budget=1000000')
  // Much is made at once and little of it lives: the space for what is new reaches its size at once.
  v8.setFlagsFromString('--semi-space-growth-factor=16')
  // Expressions are compiled once, not first for the interpreter and then again.
  v8.setFlagsFromString('--no-regexp-tier-up')
}
const kept = readKept()
const script = new vm.Script(fs.readFileSync(bundle, 'latin1'), {
  filename: bundle,
  ...(kept && { cachedData: kept.code }),
})
const before = script.cachedDataRejected === false && kept !== undefined ? kept.compiled : 0
process.on('exit', (code) => {
  // A command that failed has seen too little of the program.
  if (code === 0 && (before === 0 || isLookedAt) && compiledBytes() > before * growth) keep()
})
const main = script.runInThisContext() as (...given: readonly unknown[]) => void
main({}, require, {}, bundle, __dirname)

/** Everybody on the machine sees the arguments of a process: from here on, not the password in an address among them. */
function hidePasswords(args: readonly string[]): void {
  const shown = args.map(withoutPassword)
  if (shown.some((arg, at) => arg !== args[at])) process.title = shown.join(' ')
}

function commandOf([, , word, ...more]: readonly string[]): string {
  if (word === undefined) return 'home'
  // As src/cli/main.ts has it: anything less is a call by a person.
  if (word === 'hook' && more.length < 2) return 'other'
  return /^[a-z]+$/.test(word) ? word : 'other'
}

function userCache(): string {
  const { XDG_CACHE_HOME, HOME } = process.env
  return XDG_CACHE_HOME || path.join(HOME || os.homedir(), '.cache')
}

function readKept(): KeptCode | undefined {
  for (const folder of folders) {
    let fd: number
    try {
      fd = fs.openSync(path.join(folder, name), 'r')
    } catch {
      continue // nothing was kept here
    }
    try {
      if (!isTrusted(fs.fstatSync(fd))) continue
      const bytes = fs.readFileSync(fd)
      if (bytes.length <= trailerBytes) continue
      const end = bytes.length - trailerBytes
      return { code: bytes.subarray(0, end), compiled: bytes.readDoubleLE(end) }
    } finally {
      fs.closeSync(fd)
    }
  }
  return undefined
}

/** Kept code is run like the program: nobody may have written it but the user, and whoever installed the program. */
function isTrusted({ uid, mode }: fs.Stats): boolean {
  return (uid === process.getuid?.() || uid === fs.statSync(bundle).uid) && (mode & 0o022) === 0
}

function compiledBytes(): number {
  return v8.getHeapCodeStatistics().bytecode_and_metadata_size
}

function keep(): void {
  const trailer = Buffer.alloc(trailerBytes)
  trailer.writeDoubleLE(compiledBytes())
  const bytes = Buffer.concat([script.createCachedData(), trailer])
  folders.some((folder) => {
    try {
      fs.mkdirSync(folder, { recursive: true, mode: 0o755 })
      const part = path.join(folder, `${name}.${process.pid}`)
      fs.rmSync(part, { force: true })
      fs.writeFileSync(part, bytes, { mode: 0o644, flag: 'wx' })
      fs.renameSync(part, path.join(folder, name))
      return true
    } catch {
      return false // nobody is hurt if it cannot be kept: the next start takes as long as this one
    }
  })
}
