// Finds the transcript that an agent writes, without guessing where another agent of its kind works in the same folder. The
// proof is, in this order: the id that the agent was started with or names itself, a file that its process holds open, a
// prompt that Baton sent and that the file holds, words of the file on the agent's screen. Only an agent that is alone in its
// folder may be given a file for being the only one.

import fs from 'node:fs'
import path from 'node:path'
import { type Adapter, agentNamed, projectFolders, projectSession, type SessionFile } from '../../agents/index.ts'
import { allProcesses, mayWorkIn, openFilesOf, treeOf } from '../../system/index.ts'
import { addFact, emptyStats, TranscriptReader } from '../../transcripts/index.ts'
import type { Moment } from '../cycle/clock.ts'
import type { Driver } from '../drivers/driver.ts'
import { tryHold } from '../drivers/pane-lock.ts'
import { isAgent } from '../drivers/tmux-start.ts'
import { TranscriptView } from './transcript-view.ts'

export interface FinderOptions {
  readonly adapter: Adapter
  /** The environment, with the adapter's own values laid over it. */
  readonly env: NodeJS.ProcessEnv
  /** With every link resolved. */
  readonly cwd: string
  readonly driver: Driver
  /** Transcripts that were begun earlier are not this agent's, unless proven. In milliseconds. */
  readonly since: Moment
  /** Transcripts that were there before it was started: see `presentIn`. */
  readonly before?: ReadonlySet<string> | undefined
  /** Ids of sessions that an earlier process of this run wrote. */
  readonly former?: readonly string[] | undefined
}

/** Sessions that an observer in this process has taken as its own, and the owners of their files. */
const claimed = new Set<string>()
const owners = new Map<string, TranscriptFinder>()

/** How inexact the times in transcripts and in file names may be, in milliseconds. */
const slack = 2_000
/** How far the clock of a file system lags behind, in milliseconds. */
const tick = 20
/** How long the files of several agents that were sent the same prompt may take to appear, in milliseconds. */
const company = 5_000

/** Transcripts that exist already and are so recent that they could be mistaken for that of an agent which starts now. */
export function presentIn(adapter: Adapter, env: NodeJS.ProcessEnv, cwd: string, now: number): ReadonlySet<string> {
  const agent = agentNamed(adapter.transcript)
  const own = { ...env, ...adapter.env }
  const folders = projectFolders(adapter.transcript, own, realOf(cwd), now, now)
  const files = folders.flatMap((folder) => agent.find(folder))
  return new Set(files.filter(({ changed }) => changed >= now - 60_000).map(keyOf))
}

export class TranscriptFinder {
  readonly #options: FinderOptions
  /** Transcripts that have not proved to be this agent's, by path and id. */
  readonly #others = new Map<string, TranscriptView>()
  #held: { close(): void } | undefined
  #heldFor = ''
  #judged = ''

  constructor(hunt: FinderOptions) {
    this.#options = hunt
  }

  /** The folders in which a transcript of it may appear. */
  folders(now: number): string[] {
    const { adapter, env, cwd, since } = this.#options
    return projectFolders(adapter.transcript, env, cwd, since.at, now)
  }

  /** The transcript that the agent writes now, if it is not `current`. `resting`: the agent is between turns. */
  async find(
    current: TranscriptView | undefined,
    session: string | undefined,
    resting: boolean,
  ): Promise<TranscriptView | undefined> {
    const { driver } = this.#options
    const named = session === undefined || session === current?.file.id ? undefined : this.#byId(session)
    if (named !== undefined) return this.#take(named, true)
    if (session !== undefined && driver.place.driver === 'headless') return undefined
    const all = this.#candidates(current)
    const cleared = this.#cleared(all)
    if (cleared !== undefined) return this.#take(cleared, false)
    // An agent does not return from a session without a prompt to an older one.
    const after = current?.prompts.length === 0 ? begunAt(current) : 0
    const others = all.filter((view) => view.prompts.length > 0 && begunAt(view) > after)
    if (others.length === 0 || (current !== undefined && this.#isSettled(others))) return undefined
    const pids = this.pids()
    const open = new Set(pids.flatMap(openFilesOf))
    // Codex keeps files open that it has left, so the newest counts.
    const begun = current === undefined ? 0 : begunAt(current)
    const held = others.filter((view) => open.has(view.file.path) && begunAt(view) > begun)
    if (held.length > 0)
      return this.#take(
        held.reduce((a, b) => (begunAt(b) > begunAt(a) ? b : a)),
        true,
      )
    const sent = await this.#sentTo(others, current, pids)
    if (sent !== undefined) return this.#take(sent, false)
    if (!resting) return undefined
    const shown = await this.#shownOf(others, current)
    if (shown !== undefined) return this.#take(shown, false)
    const [only] = others
    if (current === undefined && others.length === 1 && this.#isAlone(pids)) return this.#take(only!, false)
    return undefined
  }

  /** Whether that file is known to be somebody else's. */
  isAnothers(file: string): boolean {
    return (owners.get(file) ?? this) !== this
  }

  pids(): number[] {
    const { pid } = this.#options.driver.place
    return pid === undefined ? [] : treeOf(pid).map((each) => each.pid)
  }

  close(): void {
    this.#letGo()
    for (const view of this.#others.values()) view.close()
  }

  #byId(session: string): TranscriptView | undefined {
    const { adapter, env, cwd } = this.#options
    const file = projectSession(adapter.transcript, env, cwd, session)
    return file === undefined ? undefined : (this.#others.get(keyOf(file)) ?? new TranscriptView(file, cwd))
  }

  /** Transcripts that were begun in this folder since the agent was started, and that nobody else owns. */
  #candidates(current: TranscriptView | undefined): TranscriptView[] {
    const { adapter, cwd, since, before, former = [] } = this.#options
    const agent = agentNamed(adapter.transcript)
    const views: TranscriptView[] = []
    const files = new Map(
      this.folders(Date.now()).flatMap((nest) => agent.find(nest).map((file) => [keyOf(file), file])),
    )
    for (const [key, file] of files) {
      if (file.parent !== undefined || file.changed < since.at - slack) continue
      if (before?.has(key) || claimed.has(key) || (current !== undefined && key === keyOf(current.file))) continue
      const head = headOf(file)
      // An agent that reopens a session may take its first words in a second file of the same id, and go on in the first.
      const isSame = current !== undefined && agent.isSession?.(file.id, current.session.stats.session ?? '') === true
      if (head.isSubagent || (!isSame && head.begun < since.at - slack)) continue
      if (head.cwd !== undefined && realOf(head.cwd) !== cwd) continue
      const view = this.#others.get(key) ?? new TranscriptView(file, cwd)
      this.#others.set(key, view)
      view.grow(Date.now())
      if (!former.some((session) => view.isOf(session))) views.push(view)
    }
    return views
  }

  /** The transcript that the last clear began, though it holds no prompt yet. */
  #cleared(all: readonly TranscriptView[]): TranscriptView | undefined {
    const { adapter, driver } = this.#options
    const sent = driver.sent.at(-1)
    if (adapter.clearShows !== 'usually' || sent === undefined || sent.text !== adapter.clear) return undefined
    const begun = all.filter((view) => begunAt(view) >= sent.at - tick && this.#isFree(view))
    return begun.length === 1 && this.#isAlone(this.pids()) ? begun[0] : undefined
  }

  /** Whether nothing has happened since the last judgement that could make it clearer. */
  #isSettled(others: readonly TranscriptView[]): boolean {
    const judged = this.#judged
    const sent = this.#options.driver.sent.at(-1)?.at
    this.#judged = others
      .map((view) => `${keyOf(view.file)} ${view.prompts.length} ${view.session.stats.turn?.to}`)
      .join('\n')
      // Shortly after a prompt was sent it may become clearer by itself: a screen is drawn, another agent ends.
      .concat(`\n${sent} ${sent === undefined ? '' : Math.min(60, Math.floor((Date.now() - sent) / 500))}`)
    return judged === this.#judged
  }

  /** The transcript that holds a prompt which was sent to this agent and which the current one does not hold. */
  async #sentTo(
    others: readonly TranscriptView[],
    current: TranscriptView | undefined,
    own: readonly number[],
  ): Promise<TranscriptView | undefined> {
    for (const { text, at } of this.#options.driver.sent.toReversed()) {
      const words = plain(text)
      if (words === '' || (current !== undefined && holds(current, words, at))) return undefined
      const fit = others.filter((view) => holds(view, words, at) && this.#isFree(view))
      if (fit.length === 0) continue
      if (fit.length === 1 && this.#isAlone(own)) return fit[0]
      // Other agents may have been sent the same prompt: the screen decides, or that no other file holds it after a while.
      const screen = plain(await this.#options.driver.screenText().catch(() => ''))
      const shown = fit.filter((view) => view.reply !== '' && isShown(view, screen))
      if (shown.length === 1) return shown[0]
      return fit.length === 1 && Date.now() - at > company ? fit[0] : undefined
    }
    return undefined
  }

  /** The only transcript whose last words are on the screen. */
  async #shownOf(
    others: readonly TranscriptView[],
    current: TranscriptView | undefined,
  ): Promise<TranscriptView | undefined> {
    const screen = plain(await this.#options.driver.screenText().catch(() => ''))
    if (screen === '') return undefined
    const shown = others.filter((view) => isShown(view, screen) && this.#isFree(view))
    // If the current transcript is on the screen too, the other may belong to another agent.
    if (current !== undefined && isShown(current, screen.slice(-4_000))) return undefined
    return shown.length === 1 ? shown[0] : undefined
  }

  /** Whether no other agent of its kind works in this folder. */
  #isAlone(own: readonly number[]): boolean {
    const { adapter, cwd } = this.#options
    return !allProcesses().some(
      (each) =>
        !own.includes(each.pid) && isAgent(each, adapter) && mayWorkIn(each.pid, cwd) && each.pid !== process.pid,
    )
  }

  #isFree(view: TranscriptView): boolean {
    const key = keyOf(view.file)
    if (key === this.#heldFor) return true
    if (claimed.has(key)) return false
    const hold = tryHold(`eyes ${key}`)
    hold?.close()
    return hold !== undefined
  }

  #letGo(): void {
    this.#held?.close()
    claimed.delete(this.#heldFor)
    const file = this.#heldFor.slice(0, this.#heldFor.lastIndexOf('#'))
    if (owners.get(file) === this) owners.delete(file)
  }

  #take(view: TranscriptView, proven: boolean): TranscriptView | undefined {
    const key = keyOf(view.file)
    if (key !== this.#heldFor) {
      const hold = tryHold(`eyes ${key}`)
      if (hold === undefined && !proven) return undefined
      this.#letGo()
      this.#held = hold
      this.#heldFor = key
      claimed.add(key)
      owners.set(view.file.path, this)
    }
    this.#others.delete(key)
    return view
  }
}

function begunAt({ file }: TranscriptView): number {
  return headOf(file).begun
}

function holds(view: TranscriptView, words: string, at: number): boolean {
  return lateness(view, words, at) < Number.POSITIVE_INFINITY
}

/** How long after it was sent the view holds it. */
function lateness(view: TranscriptView, words: string, at: number): number {
  let least = Number.POSITIVE_INFINITY
  for (const prompt of view.prompts) {
    const when = prompt.at === undefined ? at : Date.parse(prompt.at)
    if (when >= at - slack && plain(prompt.text) === words) least = Math.min(least, Math.abs(when - at))
  }
  return least
}

/** The beginning of its last prompt, and of its last reply if there is one. */
function isShown(view: TranscriptView, screen: string): boolean {
  const prompt = plain(view.prompts.at(-1)?.text ?? '').slice(0, 80)
  const reply = plain(view.reply).slice(0, 80)
  return prompt.length >= 4 && screen.includes(prompt) && screen.includes(reply)
}

/** Screens break lines and agents draw signs around words: only the words themselves are compared. */
function plain(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N}]+/gu, '')
}

/** The path with every link resolved, where it exists. */
export function realOf(folder: string): string {
  try {
    return fs.realpathSync(folder)
  } catch {
    return path.resolve(folder)
  }
}

interface Head {
  readonly cwd: string | undefined
  /** In milliseconds. */
  readonly begun: number
  readonly isSubagent: boolean
}

const most = 256 << 10
const remembered = 20_000
const heads = new Map<string, Head>()

function headOf(file: SessionFile): Head {
  const key = keyOf(file)
  const known = heads.get(key)
  if (known !== undefined) return known
  const agent = agentNamed(file.agent)
  const stats = emptyStats()
  const reader = new TranscriptReader(agent, file, undefined, most)
  try {
    for (const { facts } of reader.steps()) {
      for (const fact of facts) addFact(stats, fact)
      if (stats.cwd !== undefined && stats.first !== undefined) break
    }
  } finally {
    reader.close()
  }
  const cwd = stats.cwd ?? agent.hints?.(file).cwd
  const begun = Date.parse(stats.first ?? '') || file.changed
  const head = { cwd, begun, isSubagent: stats.kind === 'subagent' || file.parent !== undefined }
  // A transcript that has just been begun may say more the next time.
  if (stats.first !== undefined && cwd !== undefined) {
    if (heads.size >= remembered) heads.delete(heads.keys().next().value!)
    heads.set(key, head)
  }
  return head
}

/** A session is a file, or a row in one. */
function keyOf({ path, id }: { readonly path: string; readonly id: string }): string {
  return `${path}#${id}`
}
