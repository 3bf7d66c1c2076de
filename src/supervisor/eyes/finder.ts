// Which of the transcripts is this agent's: never guessed where another agent of its kind works in the same folder. Proof
// is, in this order: the id that it was started with or tells itself, a file that its process holds open, words that we
// sent and that stand in the file, words of the file that stand on its screen. Only where it is alone may a file be its
// own for being the only one.

import fs from 'node:fs'
import path from 'node:path'
import { agentNamed } from '../../transcripts/agents.ts'
import type { Adapter } from '../adapter.ts'
import type { Driver } from '../driver.ts'
import { tryHold } from '../drivers/pane-lock.ts'
import { allProcesses, folderOf, openFilesOf, treeOf } from '../../system/processes.ts'
import { isAgent } from '../drivers/tmux-start.ts'
import { headOf, keyOf } from './heads.ts'
import { nestsOf, transcriptOf } from './nests.ts'
import { View } from './view.ts'

export interface Hunt {
  readonly adapter: Adapter
  /** With what the adapter lays over it. */
  readonly env: NodeJS.ProcessEnv
  /** With every link resolved. */
  readonly cwd: string
  readonly driver: Driver
  /** Nothing that was begun earlier is its own, unless proven. In milliseconds. */
  readonly since: number
  /** Transcripts that were there before it was started: see `presentIn`. */
  readonly before?: ReadonlySet<string>
}

/** Sessions that somebody in this process looks at as their own, and their files. */
const claimed = new Set<string>()
const owners = new Map<string, Finder>()

/** Clocks and the times in names are only so exact. */
const slack = 2_000
/** The clock of a file system lags behind by so much. */
const tick = 20
/** How long the files of several that were sent the same words may take to appear, one after the other. */
const company = 5_000

/** What is there by now, as far as it might be taken for that of an agent that starts in a moment. */
export function presentIn(adapter: Adapter, env: NodeJS.ProcessEnv, cwd: string, now: number): ReadonlySet<string> {
  const agent = agentNamed(adapter.transcript)
  const own = { ...env, ...adapter.env }
  const nests = agent.folders(own).flatMap((root) => nestsOf(adapter.transcript, root, realOf(cwd), now, now))
  const files = nests.flatMap((nest) => agent.find(nest))
  return new Set(files.filter(({ changed }) => changed >= now - 60_000).map(keyOf))
}

export class Finder {
  readonly #hunt: Hunt
  /** Seen and not this agent's so far, by path and id. */
  readonly #strangers = new Map<string, View>()
  #held: { close(): void } | undefined
  #heldFor = ''
  #judged = ''

  constructor(hunt: Hunt) {
    this.#hunt = hunt
  }

  /** The folders in which a transcript of it may appear. */
  nests(now: number): string[] {
    const { adapter, env, cwd, since } = this.#hunt
    return agentNamed(adapter.transcript)
      .folders(env)
      .flatMap((root) => nestsOf(adapter.transcript, root, cwd, since, now))
  }

  /** The transcript that it writes now, if that is another than `current`. `resting`: it is not in the midst of a turn. */
  async find(current: View | undefined, session: string | undefined, resting: boolean): Promise<View | undefined> {
    const { driver } = this.#hunt
    const named = session === undefined || session === current?.file.id ? undefined : this.#byId(session)
    if (named !== undefined) return this.#take(named, true)
    if (session !== undefined && driver.place.driver === 'headless') return undefined
    const all = this.#others(current)
    const cleared = this.#cleared(all)
    if (cleared !== undefined) return this.#take(cleared, false)
    // From one in which nothing is said yet it does not go back.
    const after = current?.prompts.length === 0 ? begunAt(current) : 0
    const others = all.filter((view) => view.prompts.length > 0 && begunAt(view) > after)
    if (others.length === 0 || (current !== undefined && this.#isSettled(others))) return undefined
    const pids = this.pids()
    const open = new Set(pids.flatMap(openFilesOf))
    // Codex keeps those open that it has left: the newest counts.
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
    const { pid } = this.#hunt.driver.place
    return pid === undefined ? [] : treeOf(pid).map((each) => each.pid)
  }

  close(): void {
    this.#letGo()
    for (const view of this.#strangers.values()) view.close()
  }

  #byId(session: string): View | undefined {
    const { adapter, env, cwd } = this.#hunt
    const file = transcriptOf(adapter, env, cwd, session)
    return file === undefined ? undefined : (this.#strangers.get(keyOf(file)) ?? new View(file, cwd))
  }

  /** Those that were begun since, in this folder, by nobody whom we know. */
  #others(current: View | undefined): View[] {
    const { adapter, cwd, since, before } = this.#hunt
    const agent = agentNamed(adapter.transcript)
    const views: View[] = []
    const files = new Map(this.nests(Date.now()).flatMap((nest) => agent.find(nest).map((file) => [keyOf(file), file])))
    for (const [key, file] of files) {
      if (file.parent !== undefined || file.changed < since - slack) continue
      if (before?.has(key) || claimed.has(key) || (current !== undefined && key === keyOf(current.file))) continue
      const head = headOf(file)
      if (head.isSubagent || head.begun < since - slack) continue
      if (head.cwd !== undefined && realOf(head.cwd) !== cwd) continue
      const view = this.#strangers.get(key) ?? new View(file, cwd)
      this.#strangers.set(key, view)
      view.grow(Date.now())
      views.push(view)
    }
    return views
  }

  /** The one that the clear began which was sent last, though nothing is said in it yet. */
  #cleared(all: readonly View[]): View | undefined {
    const { adapter, driver } = this.#hunt
    const sent = driver.sent.at(-1)
    if (adapter.clearShows !== 'usually' || sent === undefined || sent.text !== adapter.clear) return undefined
    const begun = all.filter((view) => begunAt(view) >= sent.at - tick && this.#isFree(view))
    return begun.length === 1 && this.#isAlone(this.pids()) ? begun[0] : undefined
  }

  /** Whether anything about them may have become clearer since it was judged last. */
  #isSettled(others: readonly View[]): boolean {
    const judged = this.#judged
    const sent = this.#hunt.driver.sent.at(-1)?.at
    this.#judged = others
      .map((view) => `${keyOf(view.file)} ${view.prompts.length} ${view.session.tally.turn?.to}`)
      .join('\n')
      // Shortly after something was sent it may become clearer by itself: a screen is drawn, a neighbour ends.
      .concat(`\n${sent} ${sent === undefined ? '' : Math.min(60, Math.floor((Date.now() - sent) / 500))}`)
    return judged === this.#judged
  }

  /** One that holds words which were sent to this agent, and which the current one does not hold. */
  async #sentTo(others: readonly View[], current: View | undefined, own: readonly number[]): Promise<View | undefined> {
    for (const { text, at } of this.#hunt.driver.sent.toReversed()) {
      const words = plain(text)
      if (words === '' || (current !== undefined && holds(current, words, at))) return undefined
      const fit = others.filter((view) => holds(view, words, at) && this.#isFree(view))
      if (fit.length === 0) continue
      if (fit.length === 1 && this.#isAlone(own)) return fit[0]
      // Others may have been sent the same words: the screen tells, or that no other file holds them after a while.
      const screen = plain(await this.#hunt.driver.screen().catch(() => ''))
      const shown = fit.filter((view) => view.reply !== '' && isShown(view, screen))
      if (shown.length === 1) return shown[0]
      return fit.length === 1 && Date.now() - at > company ? fit[0] : undefined
    }
    return undefined
  }

  /** One whose last words stand on the screen, and no other's do. */
  async #shownOf(others: readonly View[], current: View | undefined): Promise<View | undefined> {
    const screen = plain(await this.#hunt.driver.screen().catch(() => ''))
    if (screen === '') return undefined
    const shown = others.filter((view) => isShown(view, screen) && this.#isFree(view))
    // A current one that is still to be seen may simply have company.
    if (current !== undefined && isShown(current, screen.slice(-4_000))) return undefined
    return shown.length === 1 ? shown[0] : undefined
  }

  /** Whether no other agent of its kind works in this folder. */
  #isAlone(own: readonly number[]): boolean {
    const { adapter, cwd } = this.#hunt
    return !allProcesses().some(
      (each) =>
        !own.includes(each.pid) &&
        isAgent(each, adapter) &&
        (folderOf(each.pid) ?? cwd) === cwd &&
        each.pid !== process.pid,
    )
  }

  #isFree(view: View): boolean {
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

  #take(view: View, proven: boolean): View | undefined {
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
    this.#strangers.delete(key)
    return view
  }
}

function begunAt({ file }: View): number {
  return headOf(file).begun
}

function holds(view: View, words: string, at: number): boolean {
  return lateness(view, words, at) < Number.POSITIVE_INFINITY
}

/** How long after it was sent the view holds it. */
function lateness(view: View, words: string, at: number): number {
  let least = Number.POSITIVE_INFINITY
  for (const prompt of view.prompts) {
    const when = prompt.at === undefined ? at : Date.parse(prompt.at)
    if (when >= at - slack && plain(prompt.text) === words) least = Math.min(least, Math.abs(when - at))
  }
  return least
}

/** The beginning of its last prompt, and of its last reply if there is one. */
function isShown(view: View, screen: string): boolean {
  const prompt = plain(view.prompts.at(-1)?.text ?? '').slice(0, 80)
  const reply = plain(view.reply).slice(0, 80)
  return prompt.length >= 4 && screen.includes(prompt) && screen.includes(reply)
}

/** Screens break lines and agents draw signs around words: only the words themselves are compared. */
function plain(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N}]+/gu, '')
}

/** With every link resolved, where it is there. */
export function realOf(folder: string): string {
  try {
    return fs.realpathSync(folder)
  } catch {
    return path.resolve(folder)
  }
}
