// A rule as people write it: the name of a tool, then what it may touch. `fs.write docs/**`, `bash npm test`, `fs.*`.

import os from 'node:os'
import path from 'node:path'
import { allAllowed, wordsOf } from './command.ts'
import { mayRun } from './denied.ts'
import { filesNamed } from './files.ts'
import { type Glob, literalGlob, parseGlob } from './glob.ts'
import { realTarget } from './path.ts'
import type { Access } from '../tools/tool.ts'

export interface Rule {
  readonly text: string
  readonly tool: RegExp
  /** If empty, the rule is about everything the tool does within the workspace. */
  readonly pattern: string
  /** What a relative path in the rule is relative to. */
  readonly cwd: string
  /** The rule allows a command with exactly these words and no further ones. */
  readonly exactly: boolean
  readonly paths: Glob
  /** The same glob for a file system that ignores case and how letters are composed. */
  readonly likePaths: Glob
}

/** `cwd` is what a relative path in a rule is relative to: the real path of the workspace. */
export function parseRule(text: string, cwd: string, exactly = false): Rule {
  const [, tool = '', pattern = ''] = /^\s*(\S+)[ \t\n]*(.*?)[ \t\n]*$/s.exec(text) ?? []
  // Names have dots where paths have slashes.
  const toolGlob = new RegExp(`^${tool.replaceAll(/[\\^$.|+()[\]{}?]/g, String.raw`\$&`).replaceAll('*', '.*')}$`, 'i')
  const glob = absoluteGlob(pattern || '**', cwd)
  const like = parseGlob(folded(glob))
  const likePaths: Glob = (file) => like(folded(file))
  return { text: text.trim(), tool: toolGlob, pattern, cwd, exactly, paths: parseGlob(glob), likePaths }
}

function absoluteGlob(pattern: string, cwd: string): string {
  if (/^~(?=\/|$)/.test(pattern)) return withAllBelow(path.join(literalGlob(os.homedir()), pattern.slice(1)))
  if (path.isAbsolute(pattern)) return withAllBelow(path.normalize(pattern))
  let folder = cwd
  let rest = pattern.replace(/^(?:\.\/)+/, '')
  while (/^\.\.(?=\/|$)/.test(rest)) {
    folder = path.dirname(folder)
    rest = rest.replace(/^\.\.\/?/, '')
  }
  return withAllBelow(path.join(literalGlob(folder), rest))
}

/** A rule that names a folder is about what is in it. */
function withAllBelow(glob: string): string {
  const name = glob.replace(/\/+$/, '')
  return /[*?\]}][^/]*$/.test(name) ? name : `${name}/**`
}

/** Whether a rule that denies or asks is about this call. Paths count as they were written and as they are with links followed. */
export function concerns(rule: Rule, tool: string, access: Access, real: readonly string[]): boolean {
  if (access.kind === 'command' && rule.pattern !== '') {
    if (isAboutFiles(rule)) return namesFile(rule, access.command)
    return rule.tool.test(tool) && mayRun(access.command, wordsOf(rule.pattern))
  }
  if (!rule.tool.test(tool)) return false
  if (rule.pattern === '') return true
  if (access.kind === 'none' || access.kind === 'command') return false
  // On some systems `.ENV` is `.env`: here it is better to match too much.
  return [...access.paths, ...real].some((file) => rule.paths(file) || rule.likePaths(file))
}

/** `* **\/.env` and `fs.read secrets/**` are about files, whoever touches them; `bash git push` is about a command. */
function isAboutFiles({ tool }: Rule): boolean {
  return tool.test('fs.read') || tool.test('fs.write') || tool.test('fs.edit')
}

/** Whether the command plainly reads or writes one of the rule's files: a rule about reading holds for what is read. */
function namesFile({ tool, paths, likePaths, cwd }: Rule, command: string): boolean {
  const { reads, writes } = filesNamed(command, cwd)
  const files = [
    ...(tool.test('fs.read') ? reads : []),
    ...(tool.test('fs.write') || tool.test('fs.edit') ? writes : []),
  ]
  return files.some((file) => [file, reachedBy(file)].some((each) => paths(each) || likePaths(each)))
}

function reachedBy(file: string): string {
  try {
    return realTarget(file)
  } catch {
    return file // a circle of links leads to no file
  }
}

function folded(file: string): string {
  return file.normalize('NFC').toLowerCase()
}

/** Removes the white space that a shell skips; all other space characters are letters to it. */
export function trimmed(script: string): string {
  return script.replaceAll(/^[ \t\n]+|[ \t\n]+$/g, '')
}

/** Whether the rules together allow all that the call would touch. */
export function coveredBy(rules: readonly Rule[], tool: string, access: Access, real: readonly string[]): boolean {
  const mine = rules.filter((rule) => rule.tool.test(tool))
  if (access.kind === 'command') {
    const isWhole = ({ pattern }: Rule) => pattern === '' || pattern === trimmed(access.command)
    if (mine.some(isWhole)) return true
    const kinds = mine.map(({ pattern, exactly }) => ({ words: pattern, exactly }))
    return allAllowed(access.command, kinds)
  }
  if (access.kind === 'none') return mine.length > 0
  return real.length > 0 && real.every((file) => mine.some((rule) => rule.paths(file)))
}
