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
  readonly paths: Glob
}

/** `cwd` is what a relative path in a rule is relative to: the real path of the workspace. */
export function parseRule(text: string, cwd: string): Rule {
  const [, tool = '', pattern = ''] = /^\s*(\S+)\s*(.*?)\s*$/s.exec(text) ?? []
  // Names have dots where paths have slashes.
  const toolGlob = new RegExp(`^${tool.replaceAll(/[\\^$.|+()[\]{}?]/g, String.raw`\$&`).replaceAll('*', '.*')}$`, 'i')
  return { text: text.trim(), tool: toolGlob, pattern, paths: parseGlob(absoluteGlob(pattern || '**', cwd)) }
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
  return [...access.paths, ...real].some((file) => rule.paths(file))
}

/** Whether the rules together allow all that the call would touch. */
export function coveredBy(rules: readonly Rule[], tool: string, access: Access, real: readonly string[]): boolean {
  const mine = rules.filter((rule) => rule.tool.test(tool))
  if (access.kind === 'command') {
    if (mine.some((rule) => rule.pattern === '')) return true
    const prefixes = mine.map((rule) => rule.pattern)
    return prefixes.length > 0 && (prefixes.includes(access.command.trim()) || allAllowed(access.command, prefixes))
  }
  if (access.kind === 'none') return mine.length > 0
  return real.length > 0 && real.every((file) => mine.some((rule) => rule.paths(file)))
}
