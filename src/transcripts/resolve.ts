// Which session is meant: an id, the beginning of one, or the path of a transcript, whose agent is told by its content.

import fs from 'node:fs'
import path from 'node:path'
import { InvalidError, NotFoundError } from '../errors.ts'
import { nearest } from '../tape/index.ts'
import { type AgentName, agentNames, type SessionFile } from './agent.ts'
import { agentNamed, agents } from './agents.ts'
import { fields, isFields, json } from './fields.ts'
import { realPath } from './folder.ts'
import { linesOf } from './lines.ts'
import { listSessions, type Session } from './sessions.ts'
import { count, emptyTally } from './tally.ts'

export interface ResolveOptions {
  readonly env?: NodeJS.ProcessEnv
  readonly agent?: AgentName | undefined
  readonly cwd?: string
}

export function resolveSession(ref: string, options: ResolveOptions = {}): SessionFile {
  const { cwd = process.cwd() } = options
  const file = path.resolve(cwd, ref)
  if (/[/\\]|\.(jsonl?|zst)$/.test(ref) && fs.statSync(file, { throwIfNoEntry: false })?.isFile() === true) {
    return fileAt(realPath(file) ?? file, options.agent)
  }
  const named = /^([a-z]+):(.+)$/.exec(ref)
  const agent = agentNames.find((name) => name === named?.[1]) ?? options.agent
  const id = agent !== undefined && named?.[1] === agent ? named[2]! : ref
  const all = listSessions({ ...options, agent, subagents: true })
  const exact = all.filter((session) => session.id === id)
  const begins = all.filter((session) => session.id.startsWith(id))
  // Who gives a beginning means a session rather than one of its subagents.
  const own = begins.filter((session) => session.parent === undefined)
  const found = exact.length > 0 ? exact : own.length > 0 ? own : begins
  if (found.length === 1) return sessionFile(found[0]!)
  if (found.length > 1) {
    const names = found.slice(0, 5).map((session) => `${session.agent}:${session.id}`)
    throw new InvalidError(
      `"${ref}" fits ${found.length} sessions: ${names.join(', ')}${found.length > 5 ? ', …' : ''}`,
      {
        hint: 'Write more of the id, or give the path of the transcript.',
      },
    )
  }
  const close = nearest(
    id,
    all.map((session) => session.id),
  )
  const help = close.length > 0 ? { nearest: close } : { hint: 'See "baton ls", or give the path of a transcript.' }
  throw new NotFoundError(`There is no session "${ref}"`, help)
}

/** The session that was active last in a folder or below it. */
export function newestSession(folder: string, options: Omit<ResolveOptions, 'cwd'> = {}): Session | undefined {
  return listSessions({ ...options, below: folder })[0]
}

export function sessionFile({ agent, path: file, id, parent, bytes, updated }: Session): SessionFile {
  const changed = Date.parse(updated)
  return { agent, path: file, id, bytes, changed, ...(parent === undefined ? {} : { parent }) }
}

/** A transcript wherever it lies. */
export function fileAt(file: string, as?: AgentName): SessionFile {
  const stat = fs.statSync(file)
  const first = firstLines(file)
  const agent = as ?? agents.find((each) => first.some((line) => each.recognises(line)))?.name ?? byName(file)
  if (agent === undefined || agent === 'opencode') {
    const hint = `Say whose it is with --agent: ${agentNames.filter((name) => name !== 'opencode').join(', ')}.`
    throw new InvalidError(`${file} is no transcript of an agent that Baton knows`, { hint })
  }
  return { agent, path: file, id: idOf(file, agent, first), bytes: stat.size, changed: stat.mtimeMs }
}

function byName(file: string): AgentName | undefined {
  return file.endsWith('.zst') ? 'codex' : undefined
}

const looked = 20

function firstLines(file: string): Readonly<Record<string, unknown>>[] {
  if (file.endsWith('.json')) return [fields(json(fs.readFileSync(file, 'utf8')))]
  if (file.endsWith('.zst')) return []
  const lines: Readonly<Record<string, unknown>>[] = []
  const fd = fs.openSync(file, 'r')
  try {
    for (const { text, number } of linesOf(fd)) {
      const value = json(text)
      if (isFields(value)) lines.push(value)
      if (number >= looked) break
    }
  } finally {
    fs.closeSync(fd)
  }
  return lines
}

/** As the name says it, where it follows the agent's custom; else as the lines do. */
function idOf(file: string, agent: AgentName, first: readonly Readonly<Record<string, unknown>>[]): string {
  const stem = path.basename(file).replace(/\.jsonl?(\.zst)?$/, '')
  const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(stem)?.[0]
  if (uuid !== undefined) return uuid
  const parser = agentNamed(agent).parser()
  const tally = emptyTally()
  for (const line of first) for (const fact of parser.facts(line)) count(tally, fact)
  return (agent === 'claude' && stem.startsWith('agent-') ? stem : tally.session) ?? stem
}
