// An agent in a tmux pane. What is typed is pasted from a buffer of its own, Enter comes apart from it, and before any key
// the screen is looked at: a dialog is the person's to answer, a draft the person's to finish.

import { randomUUID } from 'node:crypto'
import { CancelledError, UnknownOutcomeError } from '../../errors.ts'
import { type Adapter, capability, type Look, type Screen } from '../adapter.ts'
import { type Driver, type Ending, type Place, RefusedError, type Sent } from '../driver.ts'
import { isDraftOf, isLeftDraft, typable } from '../draft.ts'
import { isSmall, isStranded, isTold, type Pane } from './pane.ts'
import { withLock } from './pane-lock.ts'
import { endTree, isRunning, pause, processAt } from '../../system/processes.ts'
import { lastWords, screenOf } from './screen.ts'
import { TmuxLine } from './tmux-line.ts'
import { TmuxError, TmuxServer, usual } from './tmux-server.ts'

export type TmuxPlace = Extract<Place, { driver: 'tmux' }>

/** How often the screen is looked at while something is awaited there, where nothing tells that it was drawn. */
const glance = 25
const redrawGlance = 100
/** Where something tells: it may have been drawn before anyone listened. */
const atMost = 250
/** How long a paste, and Enter, may take to show. */
const pastePatience = 3_000
const enterPatience = 600
const enters = 3
/** How long a prompt that was cut off may take to come back. */
const returnPatience = 400
const deathPatience = 1_000
/** How long a screen may take to be drawn anew. */
const redrawPatience = 3_000
/** Escape twice in a row means something else: most agents then go back in their history. */
const interruptPause = 3_000

export class TmuxDriver implements Driver {
  readonly #adapter: Adapter
  readonly #server: TmuxServer
  readonly #line: TmuxLine
  readonly #place: TmuxPlace
  readonly #sent: Sent[] = []
  #interrupted = Number.NEGATIVE_INFINITY

  /** For a pane that is there: see `startInTmux` and `takePane`. `prompt`: what it was started with. */
  constructor(adapter: Adapter, place: TmuxPlace, prompt?: string) {
    this.#adapter = adapter
    this.#place = place
    this.#server = new TmuxServer(place.socket)
    this.#line = new TmuxLine(this.#server, place.pane)
    if (prompt !== undefined) this.#sent.push({ text: prompt, at: Date.now() })
  }

  get place(): TmuxPlace {
    return this.#place
  }

  get sent(): readonly Sent[] {
    return this.#sent
  }

  alive(): Promise<boolean> {
    const { pid, started } = this.#place
    return Promise.resolve(pid !== undefined && isRunning(pid, started) && !isStranded(this.#place))
  }

  async endRest(): Promise<void> {
    const { pid, started } = this.#place
    if (pid !== undefined && isStranded(this.#place)) await endTree(pid, started)
  }

  async ended(): Promise<Ending | undefined> {
    if (await this.alive()) return undefined
    let pane = await this.#look().catch(ifGone)
    // tmux learns of it a moment later.
    const deadline = performance.now() + deathPatience
    while (pane !== undefined && !isTold(pane) && this.#place.adopted !== true && performance.now() < deadline) {
      await pause(glance)
      // A death that tmux has slept through it notices with the next one.
      if (pane.dead) await this.#server.run(['run-shell', 'true']).catch(ifGone)
      pane = await this.#look().catch(ifGone)
    }
    if (pane === undefined || !isTold(pane)) return {}
    if (pane.signal !== '') return { signal: pane.signal }
    const code = Number(pane.status)
    const words = lastWords((await this.screen()).split('\n'))
    return { code, ...(words === '' || code === 0 ? {} : { error: words }) }
  }

  async look(): Promise<Look> {
    const pane = await this.#look()
    const look = this.#read(pane)
    const isSeen = look.is !== 'unknown' && look.is !== 'starting'
    if (isSeen || pane.dead || pane.attached || !isSmall(pane) || this.#place.adopted === true) return look
    // Whoever looked at it on a small screen is gone: it is drawn anew, for the next look.
    await this.#resize(usual)
    return look
  }

  async screen(): Promise<string> {
    const picture = await this.#server.run(['capture-pane', '-p', '-J', '-S', '-1000', '-t', this.#place.pane])
    return picture.trimEnd()
  }

  async ready(signal: AbortSignal): Promise<Look> {
    for (;;) {
      heed(signal)
      const pane = await this.#look()
      await this.#mustBeOurs(pane)
      const look = this.#read(pane)
      if (look.is !== 'starting' && look.is !== 'unknown') return look
      await this.#line.open()
      await this.#line.drawn(atMost, 4 * glance)
    }
  }

  submit(text: string, signal: AbortSignal): Promise<void> {
    return this.#alone(() => this.#send(text, signal))
  }

  clear(signal: AbortSignal): Promise<void> {
    const word = capability(this.#adapter, 'clear')
    return this.#alone(async () => {
      const before = (await this.#look()).screen
      await this.#send(word, signal)
      if (this.#adapter.clearRedraws === true) await this.#redrawn(before)
    })
  }

  interrupt(signal: AbortSignal): Promise<void> {
    const keys = capability(this.#adapter, 'interrupt')
    return this.#alone(async () => {
      heed(signal)
      const pane = await this.#look()
      await this.#mustBeOurs(pane)
      const look = this.#read(pane)
      if (look.is === 'dialog') throw dialogOpen(this.#adapter, look.question)
      if (look.is === 'starting' || (look.is === 'prompt' && this.#adapter.showsWork === true)) return
      if (performance.now() - this.#interrupted < interruptPause) return
      if (pane.inMode) await this.#leaveMode()
      for (const [i, key] of keys.entries()) {
        if (i > 0) await pause(300)
        await this.#keys(key)
      }
      this.#interrupted = performance.now()
      await this.#takeBack()
    })
  }

  async stop(): Promise<void> {
    const { pid, started, pane, adopted } = this.#place
    if (pid !== undefined) await endTree(pid, started)
    if (adopted !== true) await this.#server.run(['kill-pane', '-t', pane]).catch(ifGone)
  }

  close(): Promise<void> {
    this.#line.close()
    return Promise.resolve()
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    return withLock(`tmux ${this.#place.socket} ${this.#place.pane}`, async () => {
      await this.#line.open()
      return work()
    })
  }

  async #send(text: string, signal: AbortSignal): Promise<void> {
    const words = typable(text)
    heed(signal)
    const { pane, left } = await this.#recognised(words, signal)
    if (pane.inMode) await this.#leaveMode()
    if (!left) await this.#paste(words, pane)
    for (let press = 1; press <= enters; press++) {
      await this.#keys('Enter')
      if (await this.#left(words)) return
    }
    throw new UnknownOutcomeError(`${this.#adapter.label} kept what was typed and did not send it`, {
      hint: `Look at it with "tmux -S ${this.#place.socket} attach", and send or erase it.`,
    })
  }

  async #paste(words: string, pane: Pane): Promise<void> {
    const buffer = `baton-${randomUUID()}`
    const { pane: id } = this.#place
    // From here on it is done to the end: half a prompt would be somebody's draft.
    await this.#server.all(
      [
        ['load-buffer', '-b', buffer, '-'],
        ['paste-buffer', '-p', '-r', '-d', '-b', buffer, '-t', id],
      ],
      { input: words },
    )
    this.#sent.push({ text: words, at: Date.now() })
    if (this.#sent.length > 20) this.#sent.shift()
    await this.#arrival(words, pane)
    await pause(this.#adapter.settle ?? 20)
  }

  /**
   * The pane when it is fit to be typed into, and whether the words stand there already, left by a supervisor that died.
   * A screen that is just being drawn anew is given a moment.
   */
  async #recognised(words: string, signal: AbortSignal): Promise<{ pane: Pane; left: boolean }> {
    const { label } = this.#adapter
    const deadline = performance.now() + 2_000
    for (;;) {
      const pane = await this.#look()
      await this.#mustBeOurs(pane)
      const look = this.#read(pane)
      if (look.is === 'dialog') throw dialogOpen(this.#adapter, look.question)
      if (look.is === 'prompt' || look.is === 'busy') {
        const left = isLeftDraft(look.draft, words)
        if (look.draft !== '' && !left)
          throw new RefusedError('draft', `Somebody is typing to ${label}: "${look.draft.slice(0, 60)}"`)
        if (look.is === 'busy' && look.deaf === true)
          throw new RefusedError('deaf', `${label} waits to try again, and would lose what is typed now`)
        return { pane, left }
      }
      if (performance.now() > deadline) {
        if (look.is === 'starting') throw new RefusedError('starting', `${label} has not started yet`)
        throw new RefusedError(
          'unknown',
          `The screen of ${label} shows nothing that Baton knows, so nothing was typed`,
          `Look at it with "tmux -S ${this.#place.socket} attach".`,
        )
      }
      heed(signal)
      await this.#line.drawn(atMost, 4 * glance)
    }
  }

  /** Waits until the text stands where it was typed. */
  async #arrival(words: string, before: Pane): Promise<void> {
    if (this.#adapter.look === undefined) return pause(100)
    const start = performance.now()
    let nudged = false
    while (performance.now() - start < pastePatience) {
      const look = this.#read(await this.#look())
      if ('draft' in look && isDraftOf(look.draft, words)) return
      if (!nudged && !before.attached && performance.now() - start > 1_000) {
        nudged = true
        await this.#nudge()
      }
      await this.#line.drawn(atMost, glance)
    }
    throw new UnknownOutcomeError(`What was typed to ${this.#adapter.label} does not show on its screen`, {
      hint: `Look at it with "tmux -S ${this.#place.socket} attach"; it is not typed again.`,
    })
  }

  /** Waits until the screen shows something else than before, and goes on showing it. */
  async #redrawn(before: Screen): Promise<void> {
    const deadline = performance.now() + redrawPatience
    const old = before.lines.join('\n')
    let [last, same] = [old, 0]
    while (same < 3 && performance.now() < deadline) {
      await pause(redrawGlance)
      const now = (await this.#look()).screen.lines.join('\n')
      same = now === last && now !== old ? same + 1 : 0
      last = now
    }
  }

  /** A turn that was stopped before its first word gives its prompt back: one of ours is erased. */
  async #takeBack(): Promise<void> {
    if (this.#adapter.look === undefined) return
    const deadline = performance.now() + returnPatience
    while (performance.now() < deadline) {
      await this.#line.drawn(glance, glance)
      const look = this.#read(await this.#look())
      if (!('draft' in look) || look.draft === '') continue
      const { draft } = look
      if (!this.#sent.some(({ text }) => isDraftOf(draft, text))) return
      await this.#keys('C-u')
    }
  }

  /** Whether the text is no longer where it was typed. */
  async #left(words: string): Promise<boolean> {
    if (this.#adapter.look === undefined) return true
    const start = performance.now()
    while (performance.now() - start < enterPatience) {
      const pane = await this.#look().catch(ifGone)
      if (pane === undefined) return true
      const look = this.#read(pane)
      // A dialog or an unknown screen: it was taken, and Enter must not answer what is asked now.
      if (!('draft' in look) || look.draft === '') return true
      // Somebody has begun to type, or a list has put in something else.
      if (!isDraftOf(look.draft, words)) {
        if (!isDraftOf(look.draft.slice(0, 20), words)) return true
        throw new UnknownOutcomeError(`${this.#adapter.label} made something else of what was typed: ${look.draft}`, {
          hint: `Look at it with "tmux -S ${this.#place.socket} attach", and send or erase it.`,
        })
      }
      await this.#line.drawn(atMost, glance)
    }
    return false
  }

  /** A program that nobody looks at may not read its keys until its window changes. */
  async #nudge(): Promise<void> {
    const { pane } = this.#place
    const size = await this.#server.run(['display-message', '-p', '-t', pane, '#{window_width}'])
    const width = Number(size)
    for (const x of [width + 1, width]) await this.#resize([x])
  }

  async #resize([x, y]: readonly [x: number, y?: number]): Promise<void> {
    const { pane } = this.#place
    const rows = y === undefined ? [] : ['-y', String(y)]
    await this.#server.run(['resize-window', '-t', pane, '-x', String(x), ...rows])
    await this.#server.run(['set-option', '-w', '-t', pane, 'window-size', 'latest'])
  }

  async #keys(key: string): Promise<void> {
    await this.#line.all([['send-keys', '-t', this.#place.pane, key]])
  }

  async #leaveMode(): Promise<void> {
    await this.#server.run(['copy-mode', '-q', '-t', this.#place.pane])
  }

  /** The pane may be there without the agent: then a shell would take what is typed for a command. */
  async #mustBeOurs(pane: Pane): Promise<void> {
    const { label } = this.#adapter
    if (pane.dead) throw new RefusedError('gone', `${label} has ended`)
    const { pid, started } = this.#place
    const agent = pid === undefined ? undefined : processAt(pid)
    if (agent === undefined || agent.started !== started)
      throw new RefusedError('gone', `${label} has ended; its pane now holds something else`)
    if (agent.stopped || (agent.foreground > 0 && agent.foreground !== agent.group))
      throw new RefusedError('gone', `${label} was put into the background of its pane`, 'Bring it back with "fg".')
  }

  #read(pane: Pane): Look {
    if (pane.dead) return { is: 'unknown' }
    return this.#adapter.look?.(pane.screen) ?? { is: 'prompt', draft: '' }
  }

  async #look(): Promise<Pane> {
    try {
      return await this.#pane()
    } catch (error) {
      if (!(error instanceof TmuxError) || !error.gone) throw error
      throw new RefusedError('gone', `The pane of ${this.#adapter.label} is gone`)
    }
  }

  async #pane(): Promise<Pane> {
    const { pane: id } = this.#place
    const format = `#{pane_pid} #{pane_dead} #{pane_in_mode} #{session_attached} #{pane_width} #{pane_height} #{pane_dead_status},#{pane_dead_signal}`
    const told = await this.#line.all([
      ['display-message', '-p', '-t', id, format],
      ['capture-pane', '-p', '-J', '-e', '-t', id],
    ])
    const end = told.indexOf('\n')
    const [pid, dead, mode, attached, width, height, how = ','] = told.slice(0, end).split(' ')
    const [status = '', signal = ''] = how.split(',')
    return {
      pid: Number(pid),
      dead: dead === '1',
      inMode: mode !== '0',
      size: [Number(width), Number(height)],
      attached: Number(attached) > (this.#line.isOpen ? 1 : 0),
      status,
      signal,
      screen: screenOf(told.slice(end + 1)),
    }
  }
}

function dialogOpen(adapter: Adapter, question: string): RefusedError {
  return new RefusedError('dialog', `${adapter.label} asks: ${question}`, 'Answer it in the pane; Baton never does.')
}

function heed(signal: AbortSignal): void {
  if (signal.aborted) throw new CancelledError('Cancelled before anything was typed')
}

function ifGone(error: unknown): undefined {
  if (error instanceof TmuxError && error.gone) return undefined
  if (error instanceof RefusedError && error.reason === 'gone') return undefined
  throw error
}
