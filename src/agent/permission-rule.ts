// A rule as people write it: the name of a tool, then what it may touch. `fs.write docs/**`, `bash npm test`, `fs.*`.

import os from 'node:os'
import path from 'node:path'
import { allAllowed, mayRun } from './permission-command.ts'
import { type Glob, literalGlob, parseGlob } from './permission-glob.ts'
import type { Access } from './tool.ts'

export interface Rule {
  readonly text: string
  readonly tool: RegExp
  /** Empty: everything the tool does, within the workspace. */
  readonly pattern: string
  /** A command is allowed with these words and no more. */
  readonly exactly: boolean
  readonly paths: Glob
  /** The same for a file system that minds neither case nor how letters are composed. */
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
  return { text: text.trim(), tool: toolGlob, pattern, exactly, paths: parseGlob(glob), likePaths }
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

/** Whether a rule that denies or asks is about this call; `given` also as it was written, `real` as it is. */
export function concerns(rule: Rule, tool: string, access: Access, real: readonly string[]): boolean {
  if (!rule.tool.test(tool)) return false
  if (rule.pattern === '') return true
  if (access.kind === 'command') return mayRun(access.command, rule.pattern)
  if (access.kind === 'none') return false
  // Rather one too many: on some systems `.ENV` is `.env`.
  return [...access.paths, ...real].some((file) => rule.paths(file) || rule.likePaths(file))
}

function folded(file: string): string {
  return file.normalize('NFC').toLowerCase()
}

/** Without the spaces that a shell skips; all others are letters to it. */
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
