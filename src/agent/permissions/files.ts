// Which files a script plainly reads or writes: those that its commands name, redirect from or to.

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { parseGlob } from './glob.ts'
import { programName, commandsOf } from './running.ts'

export interface NamedFiles {
  readonly reads: readonly string[]
  readonly writes: readonly string[]
}

/** These say something about a file or print their arguments; none shows what is in it. */
const lookers = new Set(
  'echo printf ls stat test [ [[ basename dirname realpath mkdir cd pushd popd chmod chown du find which type true false export set unset read kill sleep pwd'.split(
    ' ',
  ),
)
/** The first operand is a pattern or a program, not a file. */
const patternFirst = new Set('grep egrep fgrep rg ag ack sed awk gawk jq yq perl'.split(' '))
const codeReaders = new Set('python node deno bun perl ruby php lua'.split(' '))
/** All operands are written, moved or removed. */
const writers = new Set('tee touch rm rmdir unlink shred truncate mkdir chmod chown'.split(' '))
/** The last operand is written, the others are read. */
const copiers = new Set('cp mv install ln rsync scp'.split(' '))

/** Absolute paths, with `cd` taken into account where it is plain. */
export function filesNamed(script: string, cwd: string): NamedFiles {
  const reads: string[] = []
  const writes: string[] = []
  const folders = [cwd]
  for (const { words, reads: from, writes: to } of commandsOf(script).commands) {
    const [program = '', ...rest] = words
    const name = programName(program)
    const all = (file: string) => folders.flatMap((folder) => expanded(file, folder))
    reads.push(...from.flatMap(all))
    writes.push(...to.flatMap(all))
    if (name === 'cd' || name === 'pushd') {
      if (rest[0] !== undefined) folders.push(...all(rest[0]))
      continue
    }
    if (codeReaders.has(name))
      reads.push(
        ...rest
          .filter((word) => /[\s'"(]/.test(word))
          .flatMap((code) => code.split(/[\s'"`(),;=<>|&]+/))
          .filter((part) => part !== '')
          .flatMap(all),
      )
    const operands = rest.flatMap(operandsOf)
    const shown =
      patternFirst.has(name) && !rest.some((word) => /^-[ef]|^--(?:regexp|file|expression)/.test(word))
        ? operands.slice(1)
        : operands
    const files = shown.flatMap(all)
    if (writers.has(name)) writes.push(...files)
    else if (copiers.has(name)) {
      const last = operands.at(-1)
      writes.push(...(last === undefined ? [] : all(last)))
      if (name === 'mv') writes.push(...files)
      reads.push(...operands.slice(0, -1).flatMap(all))
    } else if (!lookers.has(name)) {
      reads.push(...files)
      if (name === 'sed' && rest.some((word) => /^-[a-z]*i|^--in-place/.test(word))) writes.push(...files)
      if (name === 'dd')
        writes.push(...rest.filter((word) => word.startsWith('of=')).flatMap((word) => all(word.slice(3))))
      if (
        name === 'git' &&
        /^(?:checkout|restore|rm|mv|clean|add)$/.test(rest.find((word) => !word.startsWith('-')) ?? '')
      )
        writes.push(...files)
    }
  }
  return { reads: [...new Set(reads)], writes: [...new Set(writes)] }
}

/** The files that an argument may name: `.env`, `--env-file=.env`, `file=@.env`, `HEAD:.env`. */
function operandsOf(word: string): string[] {
  if (word === '-' || word === '--') return []
  if (word.startsWith('-')) {
    const value = /^--?[\w-]+=(.+)$/s.exec(word)?.[1]
    return value === undefined ? [] : [value]
  }
  const parts = [word]
  const at = word.lastIndexOf('@')
  if (at >= 0) parts.push(word.slice(at + 1))
  const colon = word.indexOf(':')
  if (colon > 0) parts.push(word.slice(0, colon), word.slice(colon + 1))
  const equals = word.indexOf('=')
  if (equals > 0) parts.push(word.slice(equals + 1))
  return parts.filter((part) => part !== '')
}

/** As an absolute path; a pattern as the files that it matches now. */
function expanded(word: string, folder: string): string[] {
  if (word.includes('\0') || word.length > 4_096) return []
  const home = word
    .replace(/^~(?=\/|$)/, os.homedir())
    .replace(/^\$HOME(?=\/|$)/, os.homedir())
    .replace(/^\$PWD(?=\/|$)/, folder)
  const braces = /^(.*?)\{([^{}]*,[^{}]*)\}(.*)$/s.exec(home)
  if (braces !== null)
    return braces[2]!.split(',').flatMap((choice) => expanded(braces[1]! + choice + braces[3]!, folder))
  const file = path.resolve(folder, home)
  if (!/[*?[]/.test(home)) return [file]
  const matches = parseGlob(path.basename(file))
  try {
    const parent = path.dirname(file)
    return fs
      .readdirSync(parent)
      .filter((name) => matches(name) && (!name.startsWith('.') || path.basename(file).startsWith('.')))
      .map((name) => path.join(parent, name))
  } catch {
    return [file] // no such folder: then the pattern stays as it is written, as in a shell
  }
}
