// What the agent may do without a question, after a question, or not at all. In the workspace, reading is allowed; writing and
// running commands need an answer. Outside of it, reading needs an answer and writing is denied. Git's history, Baton's own
// folder and the file with these rules are closed to writes. A command that was allowed can do all that the person can: the
// rules about paths bind the file tools, they are no sandbox for a shell.

import fs from 'node:fs'
import path from 'node:path'
import * as z from 'zod'
import { InvalidError } from '../../errors.ts'
import { nearest } from '../../tape/index.ts'
import { kindsOf } from './command.ts'
import { literalGlob } from './glob.ts'
import { isPathInside, realTarget } from './path.ts'
import { concerns, coveredBy, parseRule, type Rule, trimmed } from './rule.ts'
import type { Access, AgentTool, Decision, Permissions } from '../tools/tool.ts'

const rule = z
  .string()
  .regex(
    /^\s*[\w.*-]+(?:\s|$)/,
    'a rule is a tool and what it may touch, such as "fs.write docs/**" or "bash npm test"',
  )
const rules = z.array(rule)

/** `agent.permissions` of `baton.config.json`. */
export const permissionsSchema = z.strictObject({
  allow: rules.default([]).describe('calls that need no question'),
  ask: rules.default([]).describe('calls that a person is asked about'),
  deny: rules.default([]).describe('calls that are refused; this wins over the others'),
})

export type PermissionSettings = z.input<typeof permissionsSchema>

export interface PolicyOptions extends PermissionSettings {
  /** The workspace that the tools are bound to. */
  cwd: string
  /** Allow what would be asked about; what is denied stays denied. */
  yes?: boolean
  /** If given, a rule about a tool that is not among them is refused as a mistake. */
  tools?: readonly AgentTool[]
}

/** Names that no write may touch, anywhere in a path, unless a rule names them. */
const closed = ['.git', '.baton', 'baton.config.json']

/** Decides by rules about each call of a tool: allow it, deny it, or ask. */
export function permissionPolicy(options: PolicyOptions): PermissionPolicy {
  return new PermissionPolicy(options)
}

export class PermissionPolicy implements Permissions {
  readonly #cwd: string
  readonly #yes: boolean
  readonly #allow: readonly Rule[]
  readonly #ask: readonly Rule[]
  readonly #deny: readonly Rule[]
  readonly #always: Rule[] = []

  constructor({ cwd, yes = false, tools, ...settings }: PolicyOptions) {
    const { allow, ask, deny } = permissionsSchema.parse(settings)
    this.#cwd = realTarget(path.resolve(cwd))
    this.#yes = yes
    const parse = (text: string) => {
      const parsed = parseRule(text, this.#cwd)
      if (tools !== undefined) checkTool(parsed, tools)
      return parsed
    }
    this.#allow = allow.map(parse)
    this.#ask = ask.map(parse)
    this.#deny = deny.map(parse)
  }

  decide(tool: AgentTool, _input: unknown, access: Access): Decision {
    const real = access.kind === 'read' || access.kind === 'write' ? access.paths.map(realTarget) : []
    const denied = this.#deny.find((rule) => concerns(rule, tool.name, access, real))
    if (denied !== undefined) return { deny: `The rule "${denied.text}" denies it.` }
    const closedTo = access.kind === 'write' ? this.#closedTo(tool.name, real) : undefined
    if (closedTo !== undefined) return { deny: closedTo }
    if (coveredBy(this.#always, tool.name, access, real)) return 'allow'
    if (this.#ask.some((rule) => concerns(rule, tool.name, access, real))) return this.#asked()
    if (coveredBy(this.#allow, tool.name, access, real)) return 'allow'
    switch (access.kind) {
      case 'none':
        return 'allow'
      case 'command':
        return this.#asked()
      case 'read':
        return real.every((file) => isPathInside(this.#cwd, file)) ? 'allow' : this.#asked()
      case 'write':
        return this.#asked()
    }
  }

  /** The person said "always": the rule holds for the lifetime of this policy. */
  remember(tool: AgentTool, _input: unknown, access: Access): void {
    const rules = this.#rulesFor(tool, access)
    this.#always.push(...rules.map(({ text, exactly }) => parseRule(text, this.#cwd, exactly)))
  }

  /** What "always" would allow, for the person to see before they say it. */
  always(tool: AgentTool, _input: unknown, access: Access): readonly string[] {
    return this.#rulesFor(tool, access).map(({ text, exactly }) => (exactly ? `${text} (just so)` : text))
  }

  #asked(): Decision {
    return this.#yes ? 'allow' : 'ask'
  }

  /** Why one of the files is closed to writes, whatever the person would answer; undefined if none is. */
  #closedTo(tool: string, real: readonly string[]): string | undefined {
    const open = [...this.#allow, ...this.#always].filter((rule) => rule.pattern !== '' && rule.tool.test(tool))
    for (const file of real) {
      const fits = open.filter((rule) => rule.paths(file))
      const name = closedName(isPathInside(this.#cwd, file) ? path.relative(this.#cwd, file) : file)
      if (name !== undefined && !fits.some((rule) => rule.pattern.split('/').includes(name)))
        return `${file} is closed to writes, as everything in ${name} is. ${this.#howTo(tool, file)}`
      if (!isPathInside(this.#cwd, file) && fits.length === 0)
        return `${file} is outside the workspace ${this.#cwd}. ${this.#howTo(tool, file)}`
    }
    return undefined
  }

  #howTo(tool: string, file: string): string {
    const named = literalGlob(isPathInside(this.#cwd, file) ? path.relative(this.#cwd, file) : file)
    return `To allow it, a person can add "${tool} ${named}" to agent.permissions.allow in baton.config.json.`
  }

  #rulesFor({ name }: AgentTool, access: Access): { text: string; exactly: boolean }[] {
    if (access.kind === 'none') return [{ text: name, exactly: false }]
    if (access.kind === 'command') {
      const kinds = kindsOf(access.command) ?? [{ words: trimmed(access.command), exactly: true }]
      const rules = new Map(kinds.map(({ words, exactly }) => [words, { text: `${name} ${words}`, exactly }]))
      return [...rules.values()]
    }
    return [...new Set(access.paths.map(realTarget))].map((file) => {
      // In the workspace, "always" covers the file's folder; elsewhere, only the file.
      const isOneFile = !isFolder(file) && !isPathInside(this.#cwd, file)
      const place = isOneFile ? literalGlob(file) : this.#allIn(isFolder(file) ? file : path.dirname(file))
      return { text: `${name} ${place}`, exactly: false }
    })
  }

  #allIn(folder: string): string {
    if (folder === this.#cwd) return '**'
    return `${literalGlob(isPathInside(this.#cwd, folder) ? path.relative(this.#cwd, folder) : folder)}/**`
  }
}

/** A rule that can never apply is a mistake, and the person should see it. */
function checkTool({ text, tool }: Rule, tools: readonly AgentTool[]): void {
  const names = tools.map(({ name }) => name)
  if (names.some((name) => tool.test(name))) return
  const [asked = ''] = text.split(/\s/)
  const near = nearest(asked, names)
  throw new InvalidError(`The rule "${text}" in agent.permissions is about "${asked}", which is no tool`, {
    path: 'agent.permissions',
    hint: near.length > 0 ? `Did you mean ${near.join(' or ')}?` : `The tools are ${names.join(', ')}.`,
  })
}

/** Compares as a file system does that ignores case and invisible characters. */
function closedName(file: string): string | undefined {
  const names = file.split('/').map((name) =>
    name
      .normalize('NFKC')
      .replaceAll(/\p{Cf}/gu, '')
      .toLowerCase(),
  )
  return closed.find((name) => names.includes(name))
}

function isFolder(file: string): boolean {
  try {
    return fs.statSync(file).isDirectory()
  } catch {
    return false // not there, or out of reach
  }
}
