// Drives an agent in a tmux pane. A prompt is pasted from a buffer of its own and Enter is sent separately. The screen is read
// before any key is sent: a dialog is the person's to answer, and a draft the person's to finish.

import { randomUUID } from 'node:crypto'
import os from 'node:os'
import { type Adapter, capability, type Screen, type ScreenState } from '../../agents/index.ts'
import { CancelledError, UnknownOutcomeError } from '../../errors.ts'
import { endTree, isRunning, pause, processAt, startOf } from '../../system/index.ts'
import { type AgentPlace, type Driver, type Ending, RefusedError, type Sent } from './driver.ts'
import { withLock } from './pane-lock.ts'
import { isDraftOf, isLeftDraft, lastWords, pasteSign, screenOf, typable, wordsBefore, wordsBehind } from './screen.ts'
import { TmuxLine } from './tmux-line.ts'
import { TmuxError, TmuxServer, usual } from './tmux-server.ts'

export type TmuxPlace = Extract<AgentPlace, { driver: 'tmux' }>

/** How often the screen is looked at while something is awaited there, where nothing tells that it was drawn. */
const pollMs = 25
const redrawPollMs = 100
/** Where something tells: it may have been drawn before anyone listened. */
const atMost = 250
const enters = 3
const patience = {
  paste: 3_000,
  enter: 600,
  /** A prompt that was cut off comes back. */
  comeback: 400,
  death: 1_000,
  blankScreen: 5_000,
  redraw: 3_000,
}
/** Escape twice in a row means something else: most agents then go back in their history. */
const interruptPause = 3_000

export class TmuxDriver implements Driver {
  readonly #adapter: Adapter
  readonly #server: TmuxServer
  readonly #line: TmuxLine
  readonly #place: TmuxPlace
  readonly #sent: Sent[] = []
  #unsent: string | undefined
  #interrupted = Number.NEGATIVE_INFINITY
  #blankSince: number | undefined
  /**
   * The program has the whole screen (opencode). It may paint full rows one behind the other, which tmux takes for one long line: they are
   * never joined. Elsewhere a long line that the terminal has broken is one line.
   */
  #paintsRows = false

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

  get unsent(): string | undefined {
    return this.#unsent
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
    // tmux notices the end of a program a moment later.
    const deadline = performance.now() + patience.death
    while (pane !== undefined && !isTold(pane) && this.#place.adopted !== true && performance.now() < deadline) {
      await pause(pollMs)
      // tmux notices a death that it has missed only when another program ends.
      if (pane.dead) await this.#server.run(['run-shell', 'true']).catch(ifGone)
      pane = await this.#look().catch(ifGone)
    }
    if (pane === undefined || !isTold(pane)) return {}
    if (pane.signal !== '') return { signal: signalName(pane.signal) }
    const code = Number(pane.status)
    const words = code === 0 ? '' : await this.#lastWords(performance.now() + patience.death)
    return { code, ...(words === '' ? {} : { error: words }) }
  }

  /**
   * What the program wrote last; tmux may draw it a moment after it knows that the program has ended. What was written in the same moment,
   * tmux may throw away (it closes the terminal before the kernel has passed the words on): then there are none.
   */
  async #lastWords(deadline: number): Promise<string> {
    for (;;) {
      const words = lastWords((await this.screenText()).split('\n'))
      if (words !== '' || performance.now() > deadline) return words
      await pause(pollMs)
    }
  }

  async screenState(): Promise<ScreenState> {
    const pane = await this.#look()
    const screen = this.#read(pane)
    const isSeen = screen.is !== 'unknown' && screen.is !== 'starting'
    const isBlankLong = this.#isBlankLong(pane)
    if (isSeen || pane.dead || pane.attached || this.#place.adopted === true) return screen
    // Whoever looked at it on a small screen is gone: it is drawn anew, for the next look.
    if (isSmall(pane)) await this.#resize(usual)
    // Some draw nothing behind a clear until their window changes (Gemini CLI, now and then).
    else if (isBlankLong) await this.#nudge()
    return screen
  }

  /** Whether nothing at all has been drawn for so long that it is worth a change of the window, one each time. */
  #isBlankLong({ screen }: Pane): boolean {
    const now = performance.now()
    if (screen.lines.some((line) => line.trim() !== '')) this.#blankSince = undefined
    else this.#blankSince ??= now
    if (this.#blankSince === undefined || now - this.#blankSince < patience.blankScreen) return false
    this.#blankSince = now
    return true
  }

  async screenText(): Promise<string> {
    const picture = await this.#server.run(['capture-pane', '-p', '-J', '-S', '-1000', '-t', this.#place.pane])
    return picture.trimEnd()
  }

  async ready(signal: AbortSignal): Promise<ScreenState> {
    for (;;) {
      throwIfAborted(signal)
      const pane = await this.#look()
      await this.#mustBeOurs(pane)
      const screen = this.#read(pane)
      if (screen.is !== 'starting' && screen.is !== 'unknown') return screen
      await this.#line.open()
      await this.#line.drawn(atMost, 4 * pollMs)
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

  interrupt(signal: AbortSignal, about?: string): Promise<void> {
    const keys = capability(this.#adapter, 'interrupt')
    return this.#alone(async () => {
      throwIfAborted(signal)
      const pane = await this.#look()
      await this.#mustBeOurs(pane)
      const screen = this.#read(pane)
      const isOurs = about !== undefined && screen.is === 'dialog' && screen.question.includes(about)
      if (screen.is === 'dialog' && !isOurs) throw dialogOpen(this.#adapter, screen.question)
      if (
        screen.is === 'starting' ||
        screen.is === 'limited' ||
        (screen.is === 'prompt' && this.#adapter.showsWork === true)
      )
        return
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

  keepTrying(signal: AbortSignal): Promise<void> {
    return this.#alone(async () => {
      throwIfAborted(signal)
      const pane = await this.#look()
      await this.#mustBeOurs(pane)
      const screen = this.#read(pane)
      if (screen.is !== 'limited') return
      if (pane.inMode) await this.#leaveMode()
      for (const key of screen.again) await this.#keys(key)
    })
  }

  async stop(): Promise<void> {
    const { pid, started, adopted } = this.#place
    if (pid !== undefined) await endTree(pid, started)
    if (adopted !== true) await this.#killPane()
  }

  async remove(): Promise<void> {
    if (this.#place.adopted !== true) await this.#killPane()
  }

  /** Unless it is another's by now: a server that was started again counts its panes from the beginning. */
  async #killPane(): Promise<void> {
    const { pane, pid } = this.#place
    const isOurs = pid === undefined ? '1' : `#{==:#{pane_pid},${pid}}`
    await this.#server.run(['if-shell', '-F', '-t', pane, isOurs, `kill-pane -t ${pane}`]).catch(ifGone)
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
    throwIfAborted(signal)
    const isEnlarged = await this.#enlarge()
    try {
      await this.#type(typable(text), signal)
    } finally {
      if (isEnlarged) await this.#fit().catch(ifGone)
    }
  }

  /** Gives it room for a long prompt where somebody looks at it on a small screen, who sees a part of it meanwhile. */
  async #enlarge(): Promise<boolean> {
    const pane = await this.#look()
    if (this.#place.adopted === true || pane.dead || !isSmall(pane)) return false
    const [x, y] = usual
    await this.#server.run(['resize-window', '-t', this.#place.pane, '-x', String(x), '-y', String(y)])
    return true
  }

  async #type(words: string, signal: AbortSignal): Promise<void> {
    const { pane, left } = await this.#recognised(words, signal)
    if (pane.inMode) await this.#leaveMode()
    if (!left) await this.#paste(words, pane)
    for (let press = 1; press <= enters; press++) {
      await this.#keys('Enter')
      if (!(await this.#left(words))) continue
      this.#unsent = undefined
      return
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
    this.#unsent = words
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
      const screen = this.#read(pane)
      if (screen.is === 'dialog') throw dialogOpen(this.#adapter, screen.question)
      if (screen.is === 'prompt' || screen.is === 'busy') {
        const left = isLeftDraft(screen.draft, words)
        const unsent = this.#unsent
        if (!left && unsent !== undefined && isLeftDraft(screen.draft, unsent) && performance.now() < deadline) {
          await this.#keys('C-u')
          await this.#line.drawn(atMost, 4 * pollMs)
          continue
        }
        if (screen.draft !== '' && !left)
          throw new RefusedError('draft', `Somebody is typing to ${label}: "${screen.draft.slice(0, 60)}"`)
        if (screen.is === 'busy' && screen.deaf === true)
          throw new RefusedError('deaf', `${label} waits to try again, and would lose what is typed now`)
        return { pane, left }
      }
      if (performance.now() > deadline) {
        if (screen.is === 'starting') throw new RefusedError('starting', `${label} has not started yet`)
        throw new RefusedError(
          'unknown',
          `Baton does not recognise the screen of ${label}, so nothing was typed`,
          `Look at it with "tmux -S ${this.#place.socket} attach".`,
        )
      }
      throwIfAborted(signal)
      await this.#line.drawn(atMost, 4 * pollMs)
    }
  }

  /** Waits until the text stands where it was typed. */
  async #arrival(words: string, before: Pane): Promise<void> {
    if (this.#adapter.readScreen === undefined) return pause(100)
    const start = performance.now()
    let nudged = false
    while (performance.now() - start < patience.paste) {
      const screen = this.#read(await this.#look())
      if ('draft' in screen && isDraftOf(screen.draft, words)) {
        const theirs = wordsBefore(screen.draft, words)
        this.#mustEndWith(words, screen.draft)
        return theirs === '' ? undefined : this.#withdraw(words, theirs, screen.draft)
      }
      if (!nudged && !before.attached && performance.now() - start > 1_000) {
        nudged = true
        await this.#nudge()
      }
      await this.#line.drawn(atMost, pollMs)
    }
    throw new UnknownOutcomeError(`What was typed to ${this.#adapter.label} does not show on its screen`, {
      hint: `Look at it with "tmux -S ${this.#place.socket} attach"; it is not typed again.`,
    })
  }

  /** Somebody typed on behind our text: Enter would send their words too. Only they can tell the two apart, so both are left to them. */
  #mustEndWith(words: string, draft: string): void {
    if (wordsBehind(draft, words) === '') return
    this.#sent.pop()
    this.#unsent = undefined
    throw new RefusedError('draft', `Somebody is typing to ${this.#adapter.label}: "${draft.slice(-60)}"`)
  }

  /** Somebody began to type at the same moment: their words are not sent, so the text behind them is erased again. */
  async #withdraw(words: string, theirs: string, draft: string): Promise<never> {
    const presses = pasteSign.test(draft) ? 1 : words.length
    await this.#line.all([['send-keys', '-t', this.#place.pane, '-N', String(presses), 'BSpace']])
    this.#sent.pop()
    this.#unsent = undefined
    throw new RefusedError('draft', `Somebody is typing to ${this.#adapter.label}: "${theirs.slice(0, 60)}"`)
  }

  /** Waits until the screen shows something else than before, and goes on showing it. */
  async #redrawn(before: Screen): Promise<void> {
    const deadline = performance.now() + patience.redraw
    const old = before.lines.join('\n')
    let [last, same] = [old, 0]
    while (same < 3 && performance.now() < deadline) {
      await pause(redrawPollMs)
      const now = (await this.#look()).screen.lines.join('\n')
      same = now === last && now !== old ? same + 1 : 0
      last = now
    }
  }

  /** A turn that was stopped before its first word gives its prompt back: one of ours is erased. */
  async #takeBack(): Promise<void> {
    if (this.#adapter.readScreen === undefined) return
    const deadline = performance.now() + patience.comeback
    while (performance.now() < deadline) {
      await this.#line.drawn(pollMs, pollMs)
      const screen = this.#read(await this.#look())
      if (!('draft' in screen) || screen.draft === '') continue
      const { draft } = screen
      if (!this.#sent.some(({ text }) => isDraftOf(draft, text))) return
      await this.#keys('C-u')
    }
  }

  /** Whether the text is no longer where it was typed. */
  async #left(words: string): Promise<boolean> {
    if (this.#adapter.readScreen === undefined) return true
    const start = performance.now()
    let isSeen = false
    while (performance.now() - start < patience.enter) {
      const pane = await this.#look().catch(ifGone)
      if (pane === undefined) return true
      const screen = this.#read(pane)
      isSeen = 'draft' in screen
      // What it asks now, an Enter must not answer.
      if (screen.is === 'dialog' || screen.is === 'limited') return true
      // It may be in the middle of drawing.
      if (!('draft' in screen)) {
        await this.#line.drawn(atMost, pollMs)
        continue
      }
      if (screen.draft === '') return true
      this.#mustEndWith(words, screen.draft)
      // Somebody has begun to type, or a list has put in something else.
      if (!isDraftOf(screen.draft, words)) {
        if (!isDraftOf(screen.draft.slice(0, 20), words)) return true
        throw new UnknownOutcomeError(`${this.#adapter.label} changed what was typed: ${screen.draft}`, {
          hint: `Look at it with "tmux -S ${this.#place.socket} attach", and send or erase it.`,
        })
      }
      await this.#line.drawn(atMost, pollMs)
    }
    // An Enter may answer what an unknown screen asks.
    return !isSeen
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
    await this.#fit()
  }

  /** The window is as large as the screen of whoever looks at it, as before. */
  async #fit(): Promise<void> {
    await this.#server.run(['set-option', '-w', '-t', this.#place.pane, 'window-size', 'latest'])
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

  #read(pane: Pane): ScreenState {
    if (pane.dead) return { is: 'unknown' }
    return this.#adapter.readScreen?.(pane.screen) ?? { is: 'prompt', draft: '' }
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
    const format = `#{pane_pid} #{pane_dead} #{pane_in_mode} #{session_attached} #{pane_width} #{pane_height} #{alternate_on} #{pane_dead_status},#{pane_dead_signal}`
    const told = await this.#line.all([
      ['display-message', '-p', '-t', id, format],
      ['capture-pane', '-p', ...(this.#paintsRows ? [] : ['-J']), '-e', '-t', id],
    ])
    const end = told.indexOf('\n')
    const [pid, dead, mode, attached, width, height, alternate, how = ','] = told.slice(0, end).split(' ')
    if (this.#paintsRows !== (alternate === '1')) {
      this.#paintsRows = alternate === '1'
      return this.#pane()
    }
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

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new CancelledError('Cancelled before anything was typed')
}

function ifGone(error: unknown): undefined {
  if (error instanceof TmuxError && error.gone) return undefined
  if (error instanceof RefusedError && error.reason === 'gone') return undefined
  throw error
}

export interface Pane {
  readonly pid: number
  readonly dead: boolean
  readonly status: string
  readonly signal: string
  readonly inMode: boolean
  readonly attached: boolean
  readonly size: readonly [columns: number, rows: number]
  readonly screen: Screen
}

/** tmux gives the number of a signal, or its name without SIG. */
function signalName(told: string): string {
  const known = Object.entries(os.constants.signals).find(([, number]) => String(number) === told)?.[0]
  return known ?? (told.startsWith('SIG') ? told : `SIG${told}`)
}

/** Too small for what an agent draws. */
function isSmall({ size: [columns, rows] }: Pane): boolean {
  return columns < 60 || rows < 15
}

/** Whether it is known how the program in it ended. */
function isTold({ dead, status, signal }: Pane): boolean {
  return dead && (status !== '' || signal !== '')
}

/** One that is just being started has no terminal yet. */
const youth = 5_000

/** Whether the agent has outlived its pane: nobody can reach it any more. A person's own is left to them. */
function isStranded({ pid, started, adopted }: Extract<AgentPlace, { driver: 'tmux' }>): boolean {
  const agent = pid === undefined || adopted === true ? undefined : processAt(pid)
  if (agent === undefined || agent.started !== started || agent.foreground !== -1) return false
  return Date.now() - (startOf(agent.pid) ?? Date.now()) > youth
}
