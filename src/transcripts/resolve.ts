// Finds the session that a person means: by its id, the beginning of it, or the path of a transcript, whose content tells the agent.

import fs from 'node:fs'
import path from 'node:path'
import { InvalidError, NotFoundError } from '../errors.ts'
import { nearest } from '../tape/index.ts'
import {
  type Agent,
  type AgentName,
  agentNamed,
  agents,
  fields,
  type Fields,
  firstBytes,
  isDocument,
  isFields,
  json,
  readJson,
  realPath,
  type SessionFile,
} from '../agents/index.ts'
import { linesOf } from './lines.ts'
import { listSessions, type Session } from './sessions.ts'
import { addFact, emptyStats } from './session-stats.ts'

export interface ResolveOptions {
  readonly env?: NodeJS.ProcessEnv
  readonly agent?: AgentName | undefined
  readonly cwd?: string
}

export function resolveSession(ref: string, options: ResolveOptions = {}): SessionFile {
  const { cwd = process.cwd() } = options
  const file = path.resolve(cwd, ref)
  if (fs.statSync(file, { throwIfNoEntry: false })?.isFile() === true) {
    const found = recognised(realPath(file) ?? file, options.agent)
    if (found !== undefined) return found
    // A word without a folder or an ending may be the id of a session, whatever file has that name.
    if (/[/\\.]/.test(ref)) throw unknownFile(file)
  } else if (/^(\.{0,2}|~)\/|\.jsonl?$/.test(ref)) throw new NotFoundError(`There is no file ${file}`)
  const named = /^([a-z]+):(.+)$/.exec(ref)
  const agent = agents.find(({ name }) => name === named?.[1])?.name ?? options.agent
  const id = agent !== undefined && named?.[1] === agent ? named[2]! : ref
  const all = listSessions({ ...options, agent, subagents: true })
  const exact = all.filter((session) => session.id === id)
  const begins = all.filter((session) => session.id.startsWith(id))
  // The beginning of an id means a session rather than one of its subagents.
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

/** A transcript anywhere on the disk. Its content says whose it is, unless the person does. */
export function fileAt(file: string, as?: AgentName): SessionFile {
  const found = recognised(file, as)
  if (found === undefined) throw unknownFile(file)
  return found
}

function recognised(file: string, as: AgentName | undefined): SessionFile | undefined {
  const stat = fs.statSync(file)
  const first = firstLines(file)
  const written = agents.find((each) => recognises(each, file, first))
  if (as !== undefined && written !== undefined && written.name !== as && !recognises(agentNamed(as), file, first))
    throw new InvalidError(`${file} is a transcript of ${written.label}, not of ${agentNamed(as).label}`, {
      hint: `Leave --agent out, or write --agent ${written.name}.`,
    })
  const agent = as === undefined ? written : agentNamed(as)
  if (agent === undefined || (agent.sharesFile === true && !recognises(agent, file, first))) return undefined
  return { agent: agent.name, path: file, id: idOf(file, agent, first), bytes: stat.size, changed: stat.mtimeMs }
}

function recognises(agent: Agent, file: string, first: readonly Fields[]): boolean {
  return first.some((line) => agent.recognises(line)) || agent.recognisesBytes?.(firstBytes(file, 64)) === true
}

function unknownFile(file: string): InvalidError {
  return new InvalidError(`${file} is not a transcript that Baton recognises`, {
    hint: `Name its agent with --agent: ${agents.map(({ name }) => name).join(', ')}.`,
  })
}

const looked = 20

/** The first objects among the lines of a file, or the one document that it consists of. */
function firstLines(file: string): Fields[] {
  if (isDocument(file)) return [fields(readJson(file))]
  const lines: Fields[] = []
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

/** The id in the name of the file if there is one, else the id in its lines. */
function idOf(file: string, agent: Agent, first: readonly Fields[]): string {
  const stem = path.basename(file).replace(/\.(?:jsonl?(?:\.zst)?|zst|txt|log)$/, '')
  const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(stem)?.[0]
  if (uuid !== undefined) return uuid
  const parser = agent.parser()
  const stats = emptyStats()
  for (const line of openingOf(file, agent, first)) for (const fact of parser.facts(line)) addFact(stats, fact)
  return agent.idInName?.(stem) ?? stats.session ?? stem
}

/** What the parser is given first: lines, or the first records of a file that has no lines. */
function openingOf(file: string, agent: Agent, first: readonly Fields[]): readonly Fields[] {
  if (agent.recordsNotLines?.(file) !== true) return first
  const records: Fields[] = []
  for (const { value } of agent.records!({ agent: agent.name, path: file, id: '', bytes: 0, changed: 0 })) {
    records.push(value)
    if (records.length >= looked) break
  }
  return records
}
