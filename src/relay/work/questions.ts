// Questions that a worker asks back before it continues, and how far it is meanwhile. Both are on the tape, so the agent that
// asked sees them live in any process. A question goes to the process that waits for the answer of the request; without anyone who
// answers questions it is refused at once, so the worker does not wait for nobody.

import { randomUUID } from 'node:crypto'
import { checked } from '../../config/index.ts'
import { BatonError, ConflictError, NotFoundError } from '../../errors.ts'
import type { Json } from '../../store/index.ts'
import type { RelayContext } from '../context.ts'
import { expected, questionKey, type Replied } from '../journal/events.ts'
import type { HandoffQuestion } from '../journal/status.ts'
import type { Claim } from '../results.ts'
import { plainJson, progressSchema } from '../schema.ts'
import { onAbort } from '../timers.ts'

export interface ProgressUpdate {
  readonly text?: string
  /** 0 to 100. */
  readonly percent?: number
}

/** Answers a question that a worker asks back; `undefined` leaves it to whoever calls `relay.reply`. */
export type QuestionHandler = (question: HandoffQuestion) => Promise<Json | undefined> | Json | undefined

export class Questions {
  readonly #context: RelayContext
  readonly #waiting = new Map<string, (reply: Replied) => void>()

  constructor(context: RelayContext) {
    this.#context = context
    context.journal.openRequests.listen((change) => {
      if (change.type === 'reply') this.#waiting.get(change.reply.question)?.(change.reply)
    })
  }

  /** Durable when resolved. */
  async report(requestId: string, by: string, update: ProgressUpdate): Promise<void> {
    const { text, percent } = checked(progressSchema, update, 'progress')
    const shown = { ...(text === undefined ? {} : { text }), ...(percent === undefined ? {} : { percent }) }
    await this.#context.journal.append([{ type: 'progress', requestId, by, ...shown }])
  }

  /** Asks the agent that made the request, and resolves with its reply. */
  async ask(
    { requestId, worker }: Pick<Claim, 'requestId' | 'worker'>,
    text: string,
    signal: AbortSignal,
  ): Promise<Json> {
    const question = randomUUID()
    const { broken, stop } = await this.#context.journal.follow()
    try {
      return await new Promise<Json>((resolve, reject) => {
        const ignore = [
          onAbort(signal, () => reject(signal.reason as Error)),
          onAbort(broken, () => reject(broken.reason as Error)),
        ]
        const finish = ({ answer = null, refused, by }: Replied) => {
          for (const end of ignore) end()
          if (refused === undefined) resolve(answer)
          else reject(new BatonError('refused', `${by} does not answer "${text}": ${refused}`))
        }
        this.#waiting.set(question, finish)
        const event = { type: 'question', requestId, question, by: worker, text } as const
        this.#context.journal.append([event]).catch(reject)
      })
    } finally {
      this.#waiting.delete(question)
      stop()
    }
  }

  /** Replies to the question that is open; the first reply counts. */
  async reply(
    requestId: string,
    { question, by, ...rest }: { question?: string; by: string } & ({ answer: Json } | { refused: string }),
  ): Promise<void> {
    const { journal } = this.#context
    const said = 'answer' in rest ? { answer: checked(plainJson, rest.answer, 'answer') } : rest
    for (;;) {
      const newest = await journal.newest('question', requestId)
      if (newest?.event.type !== 'question') {
        throw new NotFoundError(`No question about ${requestId} is open`, { hint: 'See "baton relay status".' })
      }
      const { entry, head } = newest
      if (question !== undefined && newest.event.question !== question) {
        throw new ConflictError(`The worker asks something else about ${requestId} by now`, { actual: entry.id })
      }
      const reply = { type: 'reply', requestId, question: newest.event.question, by, ...said } as const
      try {
        await journal.append([reply], expected(questionKey(requestId), head))
        return
      } catch (error) {
        // An archive that was made meanwhile changes nothing about the question.
        const isSame = async () => (await journal.newest('question', requestId))?.entry.id === entry.id
        if (!BatonError.is(error) || error.code !== 'conflict' || !(await isSame())) throw error
      }
    }
  }

  /** Answers a question with what the asker says, or refuses it. Another process that waits may have been faster. */
  async handle(question: HandoffQuestion, by: string, handler: QuestionHandler | undefined): Promise<void> {
    const { requestId, question: id } = question
    const answered = async () => {
      if (handler === undefined) return { refused: 'it answers no questions' }
      const answer = await handler(question)
      return answer === undefined ? undefined : { answer }
    }
    const said = await answered().catch((error: unknown) => ({
      refused: error instanceof Error ? error.message : String(error),
    }))
    if (said === undefined) return
    await this.reply(requestId, { question: id, by, ...said }).catch((error: unknown) => {
      if (!BatonError.is(error) || (error.code !== 'conflict' && error.code !== 'not_found')) throw error
    })
  }
}
