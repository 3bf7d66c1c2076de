// Lists every session of this machine, newest first.

import path from 'node:path'
import {
  type Agent,
  type AgentName,
  agentNamed,
  agents,
  type Live,
  realPath,
  type SessionFile,
  sessionId,
  sessionKey,
} from '../agents/index.ts'
import { aboutOf, Cache, type ReadState, type SessionSummary } from './cache.ts'
import { type Meter, meterOf } from './meter.ts'
import type { Models } from '../config/index.ts'
import { isSame, TranscriptReader } from './transcript-reader.ts'
import { type State, stateOf } from './state.ts'
import { addFact, emptyStats, type SessionStats } from './session-stats.ts'

export interface Session {
  readonly agent: AgentName
  readonly id: string
  readonly path: string
  readonly bytes: number
  readonly cwd?: string
  readonly branch?: string
  readonly title?: string
  readonly model?: string
  /** The session that this subagent works for. */
  readonly parent?: string
  /** The session that `/clear` replaced by this one, as the file says, or by folder and time. */
  readonly clearedFrom?: string
  readonly started?: string
  readonly updated: string
  readonly turns: number
  readonly compactions: number
  readonly state: State
  readonly meter: Meter
  readonly damaged: number
  /** Why the session could not be read. */
  readonly unread?: string
  /** Only the beginning and the end of a large old file were read, so there are no sums. */
  readonly partial?: boolean
}

export interface ListOptions {
  readonly env?: NodeJS.ProcessEnv
  readonly agent?: AgentName | undefined
  /** Only those that were started in this folder or below. */
  readonly below?: string | undefined
  /** Include subagents. */
  readonly subagents?: boolean
  /** Include sessions in which nothing was said yet. */
  readonly empty?: boolean
  readonly now?: number
  /** What the user says about models; see `configuredModels`. */
  readonly models?: Models
  /** Called now and then while files are read for the first time. */
  readonly onProgress?: (done: number, of: number) => void
  /** Called with each folder or database of an agent that cannot be read. */
  readonly onUnreadable?: (place: string) => void
}

export function listSessions(options: ListOptions = {}): Session[] {
  const { env = process.env, now = Date.now(), subagents = false, models = {} } = options
  const hasOwn = Object.keys(models).length > 0
  const cache = new Cache(env)
  const files = findAll(env, options.onUnreadable)
  const known = look(files, cache, now, options.onProgress)
  const meterFor = (file: SessionFile, summary: SessionSummary): Meter => {
    // The cached meter does not know the user's own models, so it is calculated again for them.
    const stats = hasOwn ? cache.readState(sessionKey(file))?.stats : undefined
    return stats === undefined ? summary.meter : meterOf(file.agent, stats, models)
  }
  cache.save(new Set(known.keys()))
  const running = new Map(agents.map((agent) => [agent.name, agent.status?.running(env)]))
  const sessions: Session[] = []
  for (const file of files) {
    if (options.agent !== undefined && file.agent !== options.agent) continue
    const found = known.get(sessionKey(file))!
    const isSubagent = file.parent !== undefined || found.about.kind === 'subagent'
    if (isSubagent && !subagents) continue
    if (options.empty !== true && !isSubagent && isEmpty(found)) continue
    const alive = running.get(file.agent)
    const live = alive === undefined ? undefined : (alive.get(file.id) ?? 'gone')
    sessions.push(sessionOf(file, found, meterFor(file, found), now, isSubagent ? undefined : live))
  }
  const { below } = options
  const here = below === undefined ? sessions : sessions.filter(({ cwd }) => cwd !== undefined && isBelow(cwd, below))
  return withPredecessors(here.sort((a, b) => (a.updated < b.updated ? 1 : -1)))
}

/** An agent that was started and closed again leaves a session in which nothing was said. */
function isEmpty({ about, meter, partial, unread }: SessionSummary): boolean {
  return about.turns === 0 && meter.tokens === undefined && unread === undefined && partial !== true
}

function isBelow(folder: string, root: string): boolean {
  return folder === root || folder.startsWith(root.endsWith(path.sep) ? root : root + path.sep)
}

function findAll(env: NodeJS.ProcessEnv, onUnreadable: ListOptions['onUnreadable']): SessionFile[] {
  return agents.flatMap((agent) => agent.folders(env).flatMap((folder) => agent.find(folder, onUnreadable)))
}

/** Whether a transcript lies where its agent keeps its sessions, so that the list has it. */
export function isListed(file: SessionFile, env: NodeJS.ProcessEnv): boolean {
  return agentNamed(file.agent)
    .folders(env)
    .some((folder) => isBelow(file.path, folder) || isBelow(file.path, realPath(folder) ?? folder))
}

function look(
  files: readonly SessionFile[],
  cache: Cache,
  now: number,
  onProgress: ListOptions['onProgress'],
): Map<string, SessionSummary> {
  const known = new Map<string, SessionSummary>()
  const changed: SessionFile[] = []
  for (const file of files) {
    const key = sessionKey(file)
    const before = cache.get(key)
    if (before !== undefined && before.bytes === file.bytes && before.changed === file.changed) known.set(key, before)
    else if (before?.changed === file.changed && agentNamed(file.agent).sharesFile === true) known.set(key, before)
    else changed.push(file)
  }
  const outlines = outlinesOf(changed)
  changed.forEach((file, done) => {
    if (done % 64 === 0) onProgress?.(done, changed.length)
    const key = sessionKey(file)
    const found = outlines.has(key) ? outline(file, outlines.get(key)!) : read(file, cache, now)
    const { stats, cursor, ...rest } = found
    const meter = meterOf(file.agent, stats, {})
    const summary = { bytes: file.bytes, changed: file.changed, about: aboutOf(stats), meter, ...rest }
    cache.set(key, summary, { stats, ...(cursor === undefined ? {} : { cursor }) })
    known.set(key, summary)
  })
  if (changed.length > 0) onProgress?.(changed.length, changed.length)
  return known
}

type ReadSession = ReadState & Pick<SessionSummary, 'partial' | 'unread'>

type Outlines = Map<string, readonly Readonly<Record<string, unknown>>[]>

function outlinesOf(files: readonly SessionFile[]): Outlines {
  const outlines: Outlines = new Map()
  const stores = new Map<string, SessionFile[]>()
  for (const file of files) {
    if (agentNamed(file.agent).outlines === undefined) continue
    stores.set(file.path, [...(stores.get(file.path) ?? []), file])
  }
  for (const [store, within] of stores) {
    const ids = new Set(within.map(({ id }) => id))
    const { agent } = within[0]!
    for (const [id, lines] of agentNamed(agent).outlines!(store, ids))
      outlines.set(sessionKey({ agent, path: store, id }), lines)
  }
  return outlines
}

function outline(file: SessionFile, lines: readonly Readonly<Record<string, unknown>>[]): ReadSession {
  const parser = agentNamed(file.agent).parser()
  const stats = emptyStats()
  for (const line of lines) for (const fact of parser.facts(line)) addFact(stats, fact)
  return { stats: hinted(agentNamed(file.agent), file, stats) }
}

/** Of larger files that have not changed for a day, only the beginning and the end are read. */
const wholeBytes = 4 << 20
const headBytes = 64 << 10
const tailBytes = 512 << 10
const day = 86_400_000

function read(file: SessionFile, cache: Cache, now: number): ReadSession {
  const { bytes, changed } = file
  const agent = agentNamed(file.agent)
  const key = sessionKey(file)
  try {
    if (bytes > wholeBytes && now - changed > day && file.path.endsWith('.jsonl')) {
      return { stats: ends(agent, file), partial: true }
    }
    const before = cache.get(key) === undefined ? undefined : cache.readState(key)
    const cursor = before?.cursor
    const goesOn = cursor !== undefined && isSame(agent, file, cursor)
    const stats = goesOn ? before!.stats : emptyStats()
    const reader = new TranscriptReader(agent, file, goesOn ? cursor : undefined)
    try {
      for (const { facts } of reader.steps()) for (const fact of facts) addFact(stats, fact)
      return { stats: hinted(agent, file, stats), cursor: reader.cursor }
    } finally {
      reader.close()
    }
  } catch (error) {
    const unread = error instanceof Error ? error.message : String(error)
    return { stats: emptyStats(), unread }
  }
}

/** The beginning says what the session is, the end says how it stands now. */
function ends(agent: Agent, file: SessionFile): SessionStats {
  const stats = emptyStats()
  const head = new TranscriptReader(agent, file, undefined, headBytes)
  const { memory } = head.cursor
  try {
    for (const { facts } of head.steps()) for (const fact of facts) addFact(stats, fact)
  } finally {
    head.close()
  }
  // The offset is in the middle of a line: the rest of that line is skipped, and is not damage.
  const tail = new TranscriptReader(agent, file, { offset: file.bytes - tailBytes, line: 0, memory })
  let first = true
  try {
    for (const { facts } of tail.steps()) {
      if (!first) for (const fact of facts) if (fact.type !== 'rewound') addFact(stats, fact)
      first = false
    }
  } finally {
    tail.close()
  }
  return hinted(agent, file, { ...stats, spent: {}, turns: 0 })
}

export function hinted(agent: Agent, file: SessionFile, stats: SessionStats): SessionStats {
  if (agent.hints === undefined || (stats.cwd !== undefined && stats.window !== undefined)) return stats
  const { cwd = stats.cwd, windows = {} } = agent.hints(file)
  const window = stats.window ?? windows[stats.model ?? '']
  return { ...stats, ...(cwd === undefined ? {} : { cwd }), ...(window === undefined ? {} : { window }) }
}

function sessionOf(
  file: SessionFile,
  found: SessionSummary,
  meter: Meter,
  now: number,
  live: Live | undefined,
): Session {
  const { about, partial, unread } = found
  const { cwd, branch, title, model, clearedFrom, first, last, turns, compactions, damaged } = about
  const session: { -readonly [K in keyof Session]: Session[K] } = {
    agent: file.agent,
    id: sessionId(file, about.session),
    path: file.path,
    bytes: file.bytes,
    updated: last?.endsWith('Z') === true ? last : new Date(last ?? file.changed).toISOString(),
    turns,
    compactions,
    state: stateOf(about, file.changed, now, live),
    meter: partial === true ? withoutCost(meter) : meter,
    damaged,
  }
  const parent = file.parent ?? about.parent
  if (cwd !== undefined) session.cwd = cwd
  if (branch !== undefined) session.branch = branch
  if (title !== undefined) session.title = title
  if (model !== undefined) session.model = model
  if (parent !== undefined) session.parent = parent
  if (first !== undefined) session.started = first
  if (unread !== undefined) session.unread = unread
  if (partial === true) session.partial = partial
  // Where the file does not name the predecessor, `withPredecessors` finds it by folder and time.
  if (clearedFrom !== undefined || about.cleared === true) session.clearedFrom = clearedFrom ?? ''
  return session
}

function withoutCost({ cost: _cost, ...meter }: Meter): Meter {
  return meter
}

/** Where `/clear` names no predecessor, it is the session of the same folder that was last active before. */
function withPredecessors(sessions: readonly Session[]): Session[] {
  const linked = sessions.map((session): Session => {
    if (session.clearedFrom !== '') return session
    const { clearedFrom: _unknown, ...rest } = session
    const { started } = session
    if (started === undefined) return rest
    const before = sessions.find(
      (other) =>
        other.agent === session.agent && other.cwd === session.cwd && other !== session && other.updated <= started,
    )
    return before === undefined ? rest : { ...rest, clearedFrom: before.id }
  })
  // A session that continued under another id does not wait for anybody.
  const left = new Set(linked.flatMap(({ clearedFrom }) => (clearedFrom === undefined ? [] : [clearedFrom])))
  return left.size === 0
    ? linked
    : linked.map((session) => (left.has(session.id) ? { ...session, state: { state: 'ended' } } : session))
}
