// The conversation on the screen, as the events of the agent and the entries of the tape build it up.

import { Container, Spacer } from '@earendil-works/pi-tui'
import type { AgentEvent } from '../../../agent/index.ts'
import { AnswerBlock } from './answer-block.ts'
import {
  DocumentBlock,
  type Folding,
  NoticeBlock,
  OutputBlock,
  ReasoningBlock,
  type Tone,
  UserBlock,
} from './blocks.ts'
import type { Theme } from './theme.ts'
import { ToolBlock } from './tool-block.ts'

export class ChatLog extends Container {
  readonly #theme: Theme
  readonly folding: Folding = { folded: true }
  readonly #tools = new Map<string, ToolBlock>()
  #typed: UserBlock | undefined
  #waiting: UserBlock[] = []
  /** The blocks of the current call to the model, removed if the call is made again. */
  #answer: AnswerBlock | undefined
  #reasoning: ReasoningBlock | undefined

  constructor(theme: Theme) {
    super()
    this.#theme = theme
  }

  user(text: string): void {
    this.#typed = new UserBlock(text, this.folding, this.#theme)
    this.addChild(this.#typed)
  }

  answer(text: string): void {
    const block = new AnswerBlock(this.#theme)
    block.append(text)
    this.addChild(block)
  }

  notice(text: string, tone: Tone = 'plain'): void {
    this.addChild(new NoticeBlock(text, tone, this.#theme))
  }

  output(text: string): void {
    this.addChild(new OutputBlock(text, (line) => line))
  }

  document(text: string): void {
    this.addChild(new DocumentBlock(text, this.folding, this.#theme))
  }

  toolStart(id: string, name: string, input: unknown): void {
    const block = new ToolBlock(name, input, this.folding, this.#theme)
    this.#tools.set(id, block)
    this.#endCall()
    if (!(this.children.at(-1) instanceof ToolBlock)) this.addChild(new Spacer(1))
    this.addChild(block)
  }

  toolEnd(id: string, output: unknown, isError: boolean): void {
    this.#tools.get(id)?.end(output, isError)
    this.#tools.delete(id)
  }

  /** What an event of the agent changes here. */
  take(event: AgentEvent): void {
    switch (event.type) {
      case 'text':
        this.#reasoning = undefined
        this.#answer ??= this.#added(new AnswerBlock(this.#theme))
        this.#answer.append(event.delta)
        return
      case 'reasoning':
        this.#reasoning ??= this.#added(new ReasoningBlock(this.folding, this.#theme))
        this.#reasoning.append(event.delta)
        return
      case 'tool-start':
        return this.toolStart(event.id, event.name, event.input)
      case 'tool-output':
        return this.#tools.get(event.id)?.stream(event.chunk)
      case 'tool-end':
        return this.toolEnd(event.id, event.output, event.isError)
      case 'usage':
        this.#endCall()
        return this.#delivered()
      case 'turn-start':
        return this.#delivered()
      case 'retry':
        if (this.#answer !== undefined) this.removeChild(this.#answer)
        if (this.#reasoning !== undefined) this.removeChild(this.#reasoning)
        this.#endCall()
        return this.notice(
          `${event.reason}; trying again in ${Math.ceil(event.seconds)} s (${event.attempt} of ${event.of})`,
          'warn',
        )
      case 'permission':
        if (event.answer === 'deny' && event.reason !== undefined) this.notice(`Denied: ${event.reason}`, 'warn')
        return
      case 'warning':
        return this.notice(event.message, 'warn')
      case 'queued':
        return this.#queued(event.message)
      case 'turn-end':
        return this.#endCall()
      case 'recovered':
      case 'handoff':
        return
    }
  }

  /** The message is on the tape now, not merely typed. */
  #queued(text: string): void {
    if (this.#typed?.text !== text) this.user(text)
    this.#typed!.wait(true)
    this.#waiting.push(this.#typed!)
    this.#typed = undefined
  }

  /** Waiting messages have been delivered to the model, or are about to be. */
  #delivered(): void {
    for (const block of this.#waiting) block.wait(false)
    this.#waiting = []
  }

  #endCall(): void {
    this.#answer = undefined
    this.#reasoning = undefined
  }

  #added<B extends AnswerBlock | ReasoningBlock>(block: B): B {
    this.addChild(block)
    return block
  }
}
