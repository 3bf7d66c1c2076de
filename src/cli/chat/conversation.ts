// A person and an agent at one terminal: keys and lines go to the agent, what it does comes onto the screen.

import path from 'node:path'
import { isKeyRelease, Key, matchesKey } from '@earendil-works/pi-tui'
import type { AgentEvent } from '../../agent/index.ts'
import { type PromptWithImages, route, withImages } from '../../agent/index.ts'
import type { Answer, Question } from '../../agent/index.ts'
import { BatonError } from '../../errors.ts'
import type { Progress } from '../../handoff/index.ts'
import { help, noModel, recoveryText, slashCommand, type SlashName } from './help.ts'
import { PermissionQuestions } from './questions.ts'
import { isCompletion, replay, textOf, typedOn } from './replay.ts'
import type { Tape } from '../../tape/index.ts'
import type { ChatScreen } from './screen/screen.ts'
import type { ChatSession } from './session.ts'
import { gist } from './screen/tool-block.ts'

/** Two Ctrl-C within this time quit. */
const twiceMs = 1_500
/** A person who is typing when a question comes up keeps typing: keys are not taken as an answer for this long. */
const typingMs = 600

/** Takes the place of the status line while a question is open. */
const silent = { show: (_text: string) => {} }

const tones = { done: 'good', cancelled: 'warn', empty: 'warn', failed: 'bad' } as const

export class Conversation {
  readonly #screen: ChatScreen
  readonly #quit: () => void
  readonly #questions: PermissionQuestions
  #session: ChatSession | undefined
  #opened: (session: ChatSession) => void = () => {}
  readonly #ready = new Promise<ChatSession>((resolve) => (this.#opened = resolve))
  #draft = ''
  #lastTyped = 0
  #lastInterrupt = 0
  #lastRun = ''
  /** What each call that runs is doing. */
  readonly #running = new Map<string, string>()
  /** True while a handoff that the person requested is running. */
  #handingOff = false
  #listening = new AbortController()
  #isLeaving = false
  /** What has failed since the last prompt: what fails in several places is shown once. */
  readonly #failures = new Set<string>()

  constructor(screen: ChatScreen, quit: () => void) {
    this.#screen = screen
    this.#quit = quit
    this.#questions = new PermissionQuestions(screen)
    screen.editor.onChange = (text) => {
      if (text !== '') this.#draft = text
    }
    screen.editor.onSubmit = (text) => {
      // The editor trims; a space in front is how a comma or a slash gets to the model.
      const line = /^\s/.test(this.#draft) && /^[,/]/.test(text) ? ` ${text}` : text
      this.#draft = ''
      this.#lastTyped = 0
      this.submit(line).catch((error: unknown) => this.#fail(error))
    }
    screen.tui.addInputListener((key) => (this.#takes(key) ? { consume: true } : undefined))
  }

  /** The session is open: whatever was sent meanwhile goes to it. */
  async begin(session: ChatSession): Promise<void> {
    this.#session = session
    await this.#showTape()
    this.#opened(session)
  }

  /** The chat is about to close its store: nothing is read from it any more. */
  leave(): void {
    this.#isLeaving = true
    this.#listening.abort()
  }

  async submit(line: string): Promise<void> {
    const { log, editor } = this.#screen
    this.#failures.clear()
    let to
    try {
      to = route(line)
    } catch (error) {
      this.#giveBack(line)
      return this.#fail(error)
    }
    if (to.to === 'nowhere') return
    editor.addToHistory(line)
    if (to.to === 'slash') return this.#slash(to.name, to.rest)
    if (to.to === 'command') return this.#command(line)
    if (this.#session === undefined) this.#screen.status.show('Starting')
    const session = await this.#ready
    let hasModel = false
    try {
      hasModel = await session.hasModel()
    } finally {
      if (!hasModel) this.#giveBack(line)
    }
    if (!hasModel) {
      log.notice(noModel, 'warn')
      return this.#rest()
    }
    const { agent } = session
    const { prompt, images } = await this.#prompt(to.text, session)
    log.user(to.text)
    if (images.length > 0) log.notice(`With ${images.map((file) => path.basename(file)).join(', ')}`)
    if (!agent.busy) this.#screen.status.show('Waiting for the model')
    const result = await (images.length > 0 ? agent.say(prompt) : agent.submit(line))
    if (result.kind !== 'turn' || result.status !== 'failed' || result.runId === this.#lastRun) return
    // The turn never began: what was typed is not on the tape.
    this.#giveBack(line)
    this.#fail(new Error(result.error))
  }

  /** The text with the images that it names; given back if one of them cannot be sent. */
  async #prompt(text: string, session: ChatSession): Promise<PromptWithImages> {
    try {
      return await withImages(text, session.folder)
    } catch (error) {
      this.#giveBack(text)
      throw error
    }
  }

  /** Keeps text that could not be sent: in the editor or, if that is in use, in its history. */
  #giveBack(line: string): void {
    if (this.#screen.editor.getText() === '') this.#screen.editor.setText(line)
    else this.#screen.editor.addToHistory(line)
  }

  /** Puts a question of the agent to the person. */
  async ask(question: Question): Promise<Answer> {
    const { status } = this.#screen
    status.hide()
    const answer = await this.#questions.put(question)
    if (!this.#questions.isOpen) status.show(runningText(question))
    return answer
  }

  take(event: AgentEvent): void {
    const { log } = this.#screen
    // What is open is the question: nothing else is waited for that the person could see.
    const status = this.#questions.isOpen ? silent : this.#screen.status
    log.take(event)
    switch (event.type) {
      case 'turn-start':
        this.#lastRun = event.runId
        status.show('Waiting for the model')
        break
      case 'tool-end':
        this.#running.delete(event.id)
        status.show([...this.#running.values()].at(-1) ?? 'Waiting for the model')
        break
      case 'retry':
        status.show(`Waiting ${Math.ceil(event.seconds)} s before the next try`)
        break
      case 'text':
        status.show('Writing')
        break
      case 'reasoning':
        status.show('Thinking')
        break
      case 'tool-start':
        this.#running.set(event.id, runningText(event))
        status.show(runningText(event))
        break
      case 'usage': {
        const { contextTokens: tokens, window } = event
        this.#screen.footer.set({
          context: { tokens, window: window ?? this.#session?.agent.window, estimated: false },
        })
        break
      }
      case 'handoff':
        this.#takeHandoff(event)
        break
      case 'turn-end':
        if (event.status === 'aborted') log.notice('Cancelled', 'warn')
        if (event.status === 'failed') log.notice(`The turn failed: ${event.error ?? 'no reason given'}`, 'bad')
        this.#running.clear()
        this.#screen.status.hide()
        this.#rest()
        break
      case 'recovered':
        if (this.#session !== undefined) log.notice(recoveryText(event), 'warn')
        break
      case 'tool-output':
      case 'permission':
      case 'warning':
      case 'queued':
        break
    }
    this.#screen.draw()
  }

  #takeHandoff(event: AgentEvent & { type: 'handoff' }): void {
    const { log, status } = this.#screen
    if (event.phase === 'start') return status.show('Handing off')
    if (event.phase === 'progress') return status.show(progressText(event.progress))
    // The command reports a handoff that the person requested.
    if (!this.#handingOff) {
      if (event.phase === 'done') log.notice(`${event.message} (⚓ ${event.anchor})`, 'good')
      else log.notice(event.message, 'bad')
    }
    this.#rest()
  }

  /** Hides the status line unless the agent is still busy. */
  #rest(): void {
    const { agent } = this.#session ?? {}
    if (agent?.busy !== true) this.#screen.status.hide()
    // A failure is shown, no more: the status would be read again, and fail again, without an end.
    this.#refresh().catch((error: unknown) => this.#isLeaving || this.#show(error))
  }

  async #refresh(): Promise<void> {
    const session = this.#session
    if (session === undefined || this.#isLeaving) return
    const { context, ...status } = await session.status()
    const { footer } = this.#screen
    // The provider's token count is kept until a new phase, tape or model begins.
    const { tape, anchor, model } = footer.status
    if (tape !== status.tape) this.#listen(session.agent.tape)
    const isNew = tape !== status.tape || anchor !== status.anchor || model !== status.model
    footer.set(isNew ? { ...status, context } : status)
    this.#screen.draw()
  }

  /** Shows what others put on the tape while the chat is open: that a fork of it is complete. */
  #listen(tape: Tape): void {
    this.#listening.abort()
    const stop = (this.#listening = new AbortController())
    const listen = async () => {
      const { lastId } = await tape.info()
      for await (const entry of tape.watch(lastId, stop.signal)) {
        if (!isCompletion(entry)) continue
        this.#screen.log.notice(textOf(entry))
        this.#screen.draw()
      }
    }
    listen().catch((error: unknown) => stop.signal.aborted || this.#fail(error))
  }

  /** Whether a key was for the chat and not for the editor. */
  #takes(key: string): boolean {
    const { editor } = this.#screen
    const { folding } = this.#screen.log
    if (isKeyRelease(key)) return true // some terminals report that a key was let go
    const isTyping = editor.getText() !== '' || Date.now() - this.#lastTyped <= typingMs
    if ((!isTyping || matchesKey(key, Key.escape)) && this.#questions.answer(key)) return true
    if (!matchesKey(key, Key.ctrl('c'))) this.#lastInterrupt = 0
    if (matchesKey(key, Key.ctrl('c'))) return this.#interrupt()
    if (matchesKey(key, Key.escape)) return !editor.isShowingAutocomplete() && this.#cancel()
    if (matchesKey(key, Key.ctrl('d')) && editor.getText() === '') {
      this.#quit()
      return true
    }
    if (matchesKey(key, Key.ctrl('o'))) {
      folding.folded = !folding.folded
      this.#screen.draw()
      return true
    }
    if (matchesKey(key, Key.ctrl('z'))) {
      this.#screen.suspend()
      return true
    }
    if (!isControl(key)) this.#lastTyped = Date.now()
    return false
  }

  #interrupt(): boolean {
    const { editor, log } = this.#screen
    if (Date.now() - this.#lastInterrupt < twiceMs) this.#quit()
    else {
      this.#lastInterrupt = Date.now()
      const text = editor.getExpandedText()
      editor.addToHistory(text) // cleared is not lost: Up brings it back
      editor.setText('')
      if (text === '') log.notice('Ctrl-C again to quit')
      this.#screen.draw()
    }
    return true
  }

  #cancel(): boolean {
    const { agent } = this.#session ?? {}
    if (agent?.busy === true) agent.abort()
    return true
  }

  async #command(line: string): Promise<void> {
    const { agent } = await this.#ready
    this.#screen.log.user(line)
    const result = await agent.submit(line)
    if (result.kind !== 'command') return
    if (result.ok) this.#screen.log.output(result.text)
    else this.#screen.log.notice(result.text, 'bad')
    await this.#refresh()
  }

  async #slash(name: string, rest: string): Promise<void> {
    const { log } = this.#screen
    const command = slashCommand(name)
    if (typeof command !== 'string') {
      log.notice(command.unknown, 'warn')
      return this.#screen.draw()
    }
    if (command === 'quit') return this.#quit()
    const session = await this.#ready
    await this.#run(command, rest.trim(), session)
    await this.#refresh()
  }

  async #run(command: Exclude<SlashName, 'quit'>, rest: string, session: ChatSession): Promise<void> {
    const { log } = this.#screen
    switch (command) {
      case 'help':
        return log.output(help())
      case 'handoff':
        return this.#handoff(rest, session)
      case 'anchors':
        return this.#command(',anchors')
      case 'model':
        if (rest === '') return log.notice(session.agent.modelName ?? noModel)
        await session.useModel(rest)
        return log.notice(`${rest} answers from now on`, 'good')
      case 'fork':
        await session.fork(rest === '' ? undefined : rest)
        log.notice(`Forked into ${session.agent.tape.name}; the chat continues there`, 'good')
        return
      case 'tape':
        if (rest === '') return log.output(await session.tapes())
        await session.moveTo(rest)
        return this.#showTape()
    }
  }

  async #handoff(goal: string, session: ChatSession): Promise<void> {
    const { log, status } = this.#screen
    this.#handingOff = true
    try {
      const result = await session.handoff(goal, (progress) => status.show(progressText(progress)))
      if (result.status === 'done') log.document(result.markdown)
      log.notice(result.message, tones[result.status])
      await session.settle()
    } finally {
      this.#handingOff = false
      this.#rest()
    }
  }

  async #showTape(): Promise<void> {
    const session = this.#session!
    const { tape } = session.agent
    const { log, editor } = this.#screen
    const shown = await replay(tape, log)
    if (shown > 0) log.notice(`${tape.name} continues`)
    const { recovered } = session.agent
    if (recovered !== undefined) log.notice(recoveryText(recovered), 'warn')
    for (const line of await typedOn(tape)) editor.addToHistory(line)
    await this.#refresh()
  }

  #fail(error: unknown): void {
    this.#show(error)
    this.#rest()
  }

  #show(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error)
    const hint = BatonError.is(error) && error.hint !== undefined ? `\n${error.hint}` : ''
    if (this.#failures.has(message)) return
    this.#failures.add(message)
    this.#screen.log.notice(`${message}${hint}`, 'bad')
    this.#screen.draw()
  }
}

function runningText({ name, input }: { name: string; input: unknown }): string {
  return `Running ${name} ${gist(input)}`.trimEnd()
}

function progressText({ step, part, parts, tokens }: Progress): string {
  const of = part === undefined ? '' : ` part ${part} of ${parts}`
  return `Handing off: ${step}${of}${tokens > 0 ? `, ${tokens} tokens` : ''}`
}

function isControl(key: string): boolean {
  return key.length !== 1 ? key.startsWith('\x1b') : key < ' ' || key === '\x7f'
}
