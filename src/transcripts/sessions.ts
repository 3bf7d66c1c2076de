// Every session of this machine, newest first.

import path from 'node:path'
import { type Agent, type AgentName, type SessionFile } from './agent.ts'
import { agentNamed, agents } from './agents.ts'
import { aboutOf, Cache, type Depth, type Glance } from './cache.ts'
import { liveSessions } from './claude/live.ts'
import { type Meter, meterOf } from './meter.ts'
import type { Models } from '../config/models.ts'
import { isSame, Reading } from './reading.ts'
import { type Live, type State, stateOf } from './state.ts'
import { count, emptyTally, type Tally } from './tally.ts'

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
  /** The one that `/clear` left for this one, as told by the file, or by folder and time. */
  readonly clearedFrom?: string
  readonly started?: string
  readonly updated: string
  readonly turns: number
  readonly compactions: number
  readonly state: State
  readonly meter: Meter
  readonly damaged: number
  /** Why nothing is known of it. */
  readonly unread?: string
  /** Only the ends of a large file that nobody has touched for long were read: no sums. */
  readonly partial?: boolean
}

export interface ListOptions {
  readonly env?: NodeJS.ProcessEnv
  readonly agent?: AgentName | undefined
  /** Only those that were started in this folder or below. */
  readonly below?: string | undefined
  /** Subagents too. */
  readonly subagents?: boolean
  /** Those too in which nobody has said anything yet. */
  readonly empty?: boolean
  readonly now?: number
  /** What the user says about models; see `configuredModels`. */
  readonly models?: Models
  /** Called now and then while files are read for the first time. */
  readonly onProgress?: (done: number, of: number) => void
}

export function listSessions(options: ListOptions = {}): Session[] {
  const { env = process.env, now = Date.now(), subagents = false, models = {} } = options
  const hasOwn = Object.keys(models).length > 0
  const cache = new Cache(env)
  const files = findAll(env)
  const known = look(files, cache, now, options.onProgress)
  const meterFor = (file: SessionFile, glance: Glance): Meter => {
    // Only what the user says about models has to be reckoned again.
    const tally = hasOwn ? cache.depth(keyOf(file))?.tally : undefined
    return tally === undefined ? glance.meter : meterOf(file.agent, tally, models)
  }
  cache.save(new Set(known.keys()))
  const live = new Map<string, Live>()
  const tracked = new Set<string>()
  for (const folder of agentNamed('claude').folders(env)) {
    const alive = liveSessions(folder)
    if (alive === undefined) continue
    tracked.add(path.resolve(folder))
    for (const [session, state] of alive) live.set(session, state)
  }
  const sessions: Session[] = []
  for (const file of files) {
    if (options.agent !== undefined && file.agent !== options.agent) continue
    const found = known.get(keyOf(file))!
    const isSubagent = file.parent !== undefined || found.about.kind === 'subagent'
    if (isSubagent && !subagents) continue
    if (options.empty !== true && !isSubagent && isEmpty(found)) continue
    const alive = file.agent === 'claude' && tracked.size > 0 ? (live.get(file.id) ?? 'gone') : undefined
    sessions.push(sessionOf(file, found, meterFor(file, found), now, isSubagent ? undefined : alive))
  }
  const { below } = options
  const here = below === undefined ? sessions : sessions.filter(({ cwd }) => cwd !== undefined && isBelow(cwd, below))
  return withPredecessors(here.sort((a, b) => (a.updated < b.updated ? 1 : -1)))
}

/** A file without a word said in it is a program that was started and closed again. */
function isEmpty({ about, meter, partial, unread }: Glance): boolean {
  return about.turns === 0 && meter.tokens === undefined && unread === undefined && partial !== true
}

function isBelow(folder: string, root: string): boolean {
  return folder === root || folder.startsWith(root.endsWith(path.sep) ? root : root + path.sep)
}

function findAll(env: NodeJS.ProcessEnv): SessionFile[] {
  return agents.flatMap((agent) => agent.folders(env).flatMap((folder) => agent.find(folder)))
}

function keyOf(file: SessionFile): string {
  return file.agent === 'opencode' ? `${file.path}#${file.id}` : file.path
}

function look(
  files: readonly SessionFile[],
  cache: Cache,
  now: number,
  onProgress: ListOptions['onProgress'],
): Map<string, Glance> {
  const known = new Map<string, Glance>()
  const changed: SessionFile[] = []
  for (const file of files) {
    const key = keyOf(file)
    const before = cache.get(key)
    if (before !== undefined && before.bytes === file.bytes && before.changed === file.changed) known.set(key, before)
    else if (before !== undefined && file.agent === 'opencode' && before.changed === file.changed)
      known.set(key, before)
    else changed.push(file)
  }
  const outlines = outlinesOf(changed)
  changed.forEach((file, done) => {
    if (done % 64 === 0) onProgress?.(done, changed.length)
    const key = keyOf(file)
    const found = outlines.has(key) ? outline(file, outlines.get(key)!) : read(file, cache, now)
    const { tally, cursor, ...rest } = found
    const meter = meterOf(file.agent, tally, {})
    const glance = { bytes: file.bytes, changed: file.changed, about: aboutOf(tally), meter, ...rest }
    cache.set(key, glance, { tally, ...(cursor === undefined ? {} : { cursor }) })
    known.set(key, glance)
  })
  if (changed.length > 0) onProgress?.(changed.length, changed.length)
  return known
}

type Found = Depth & Pick<Glance, 'partial' | 'unread'>

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
    for (const [id, lines] of agentNamed(within[0]!.agent).outlines!(store, ids)) outlines.set(`${store}#${id}`, lines)
  }
  return outlines
}

function outline(file: SessionFile, lines: readonly Readonly<Record<string, unknown>>[]): Found {
  const parser = agentNamed(file.agent).parser()
  const tally = emptyTally()
  for (const line of lines) for (const fact of parser.facts(line)) count(tally, fact)
  return { tally: hinted(agentNamed(file.agent), file, tally) }
}

/** Larger files that nobody has written for a day are only looked at from both ends. */
const wholeBytes = 4 << 20
const headBytes = 64 << 10
const tailBytes = 512 << 10
const day = 86_400_000

function read(file: SessionFile, cache: Cache, now: number): Found {
  const { bytes, changed } = file
  const agent = agentNamed(file.agent)
  const key = keyOf(file)
  try {
    if (bytes > wholeBytes && now - changed > day && file.path.endsWith('.jsonl')) {
      return { tally: ends(agent, file), partial: true }
    }
    const before = cache.get(key) === undefined ? undefined : cache.depth(key)
    const cursor = before?.cursor
    const goesOn = cursor !== undefined && isSame(agent, file, cursor)
    const tally = goesOn ? before!.tally : emptyTally()
    const reading = new Reading(agent, file, goesOn ? cursor : undefined)
    try {
      for (const { facts } of reading.steps()) for (const fact of facts) count(tally, fact)
      return { tally: hinted(agent, file, tally), cursor: reading.cursor }
    } finally {
      reading.close()
    }
  } catch (error) {
    const unread = error instanceof Error ? error.message : String(error)
    return { tally: emptyTally(), unread }
  }
}

/** What a transcript amounts to, wherever it lies, read as a whole. */
export function tallyOf(file: SessionFile): Tally {
  const agent = agentNamed(file.agent)
  const tally = emptyTally()
  const reading = new Reading(agent, file)
  try {
    for (const { facts } of reading.steps()) for (const fact of facts) count(tally, fact)
    return hinted(agent, file, tally)
  } finally {
    reading.close()
  }
}

/** What the beginning says about it, and what the end says about now. */
function ends(agent: Agent, file: SessionFile): Tally {
  const tally = emptyTally()
  const head = new Reading(agent, file, undefined, headBytes)
  const { memory } = head.cursor
  try {
    for (const { facts } of head.steps()) for (const fact of facts) count(tally, fact)
  } finally {
    head.close()
  }
  // The line that it falls into is no whole line: it is passed over, and is no damage.
  const tail = new Reading(agent, file, { offset: file.bytes - tailBytes, line: 0, memory })
  let first = true
  try {
    for (const { facts } of tail.steps()) {
      if (!first) for (const fact of facts) if (fact.type !== 'rewound') count(tally, fact)
      first = false
    }
  } finally {
    tail.close()
  }
  return hinted(agent, file, { ...tally, spent: {}, turns: 0 })
}

export function hinted(agent: Agent, file: SessionFile, tally: Tally): Tally {
  if (agent.hints === undefined || (tally.cwd !== undefined && tally.window !== undefined)) return tally
  const { cwd = tally.cwd, windows = {} } = agent.hints(file)
  const window = tally.window ?? windows[tally.model ?? '']
  return { ...tally, ...(cwd === undefined ? {} : { cwd }), ...(window === undefined ? {} : { window }) }
}

function sessionOf(file: SessionFile, found: Glance, meter: Meter, now: number, live: Live | undefined): Session {
  const { about, partial, unread } = found
  const { cwd, branch, title, model, clearedFrom, first, last, turns, compactions, damaged } = about
  const session: { -readonly [K in keyof Session]: Session[K] } = {
    agent: file.agent,
    id: file.agent === 'gemini' ? (about.session ?? file.id) : file.id,
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
  // Which one it was is told by folder and time, where the file does not say it.
  if (clearedFrom !== undefined || about.cleared === true) session.clearedFrom = clearedFrom ?? ''
  return session
}

function withoutCost({ cost: _cost, ...meter }: Meter): Meter {
  return meter
}

/** `/clear` names no predecessor: it is the session of the same folder that fell silent right before. */
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
  // One that went on under another id waits for nobody.
  const left = new Set(linked.flatMap(({ clearedFrom }) => (clearedFrom === undefined ? [] : [clearedFrom])))
  return left.size === 0
    ? linked
    : linked.map((session) => (left.has(session.id) ? { ...session, state: { state: 'ended' } } : session))
}
