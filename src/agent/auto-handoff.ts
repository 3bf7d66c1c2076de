// When the agent hands off by itself: at the end of a turn, when its context has grown past a threshold. What it starts
// from then is a document that code takes from the tape; a model may add to it.

import * as z from 'zod'
import { writeHandoff, type WriteHandoffOptions } from '../handoff/index.ts'
import { anchorOf, assumedWindow } from './gauge.ts'
import { longContextNotice } from './prompt.ts'
import type { Session } from './session.ts'

/** `80%` of the window, or a number of tokens. */
export type Threshold = `${number}%` | number

export interface AutomaticHandoff {
  /** False: never. Unless given, 80 % of the window. */
  at?: Threshold | false
  /** Warn once in a phase when the context passes this; models get worse long before their window is full. */
  warnAt?: Threshold | false
  /** Seconds that lie between two automatic handoffs; 60 unless given. */
  cooldown?: number
  /** The model writes the narrative of the document; without it the ledger does. */
  narrative?: boolean
  /** Of the document, in tokens. */
  budget?: number
}

const largestBudget = 2_000
const leastBudget = 500

const markKey = 'auto_handoff'
const markSchema = z.object({ fresh: z.number() })

export class AutoHandoff {
  readonly #settings: AutomaticHandoff
  /** The phases in which the person was warned and the model was told, by the id of their anchor. */
  #warned = -1
  #told = -1
  /** The size at which one failed: it is not tried again for the same growth. */
  #failed: { anchor: number; tokens: number } | undefined

  constructor(settings: AutomaticHandoff = {}) {
    this.#settings = settings
  }

  /** Past the threshold in the middle of a turn, the model is told to hand off itself. */
  async duringTurn(session: Session, runId: string): Promise<void> {
    const threshold = this.#threshold(session)
    if (threshold === undefined || session.toolbox.find('tape.handoff') === undefined) return
    const { tape, window } = session
    const tokens = await session.gauge.read(tape)
    const anchor = await anchorOf(tape)
    if (tokens < threshold || anchor === this.#told) return
    this.#told = anchor
    const content = longContextNotice(tokens, window)
    await tape.record({ role: 'user', content, customType: 'notice', display: true }, { run_id: runId })
    session.emit({
      type: 'warning',
      message: `The context holds about ${tokens} tokens; the model was told to hand off`,
    })
  }

  async afterTurn(session: Session, runId: string, signal: AbortSignal): Promise<void> {
    const { tape, emit } = session
    const tokens = await session.gauge.read(tape)
    const anchor = await anchorOf(tape)
    this.#warn(session, tokens, anchor)
    const threshold = this.#threshold(session)
    if (threshold === undefined || !(await this.#isDue(session, tokens, anchor, threshold))) return
    emit({ type: 'handoff', phase: 'start', trigger: 'automatic' })
    try {
      const name = 'handoff/auto'
      await this.#write(session, { ...this.options(session), name, runId, signal })
      const fresh = await session.gauge.read(tape)
      const mark = { name: markKey, data: { tokens, fresh } }
      await tape.append([{ kind: 'event', payload: mark, meta: { key: markKey, context: false, run_id: runId } }])
      const message = `Handed off at about ${tokens} tokens; the context now holds ${fresh}`
      emit({ type: 'handoff', phase: 'done', trigger: 'automatic', anchor: name, message, tape: tape.name })
      if (fresh >= threshold) {
        const advice = 'raise the threshold, or make the system prompt and the tools smaller'
        emit({
          type: 'warning',
          message: `The context is over its threshold of ${threshold} even when fresh: ${advice}`,
        })
      }
    } catch (error) {
      this.#failed = { anchor, tokens }
      const message = signal.aborted ? 'Handoff cancelled' : `Handoff failed: ${messageOf(error)}`
      emit({ type: 'handoff', phase: 'failed', trigger: 'automatic', message })
    }
  }

  /** Of every document that is written without being asked for. */
  options(session: Session): WriteHandoffOptions {
    const room = Math.floor((session.window ?? assumedWindow) / 8)
    return {
      budget: this.#settings.budget ?? Math.max(leastBudget, Math.min(largestBudget, room)),
      cwd: session.cwd,
    }
  }

  /** A model that cannot write the narrative does not stop the handoff. */
  async #write(session: Session, options: WriteHandoffOptions): Promise<void> {
    const { model, window, emit } = session
    if (this.#settings.narrative === true && model !== undefined) {
      const onProgress: WriteHandoffOptions['onProgress'] = (progress) =>
        emit({ type: 'handoff', phase: 'progress', trigger: 'automatic', progress })
      try {
        const written = { model: model.model, modelName: model.name, ...(window === undefined ? {} : { window }) }
        await writeHandoff(session.tape, { ...options, ...written, onProgress })
        return
      } catch (error) {
        if (options.signal?.aborted === true) throw error
        emit({ type: 'warning', message: `The model wrote no narrative (${messageOf(error)}); the ledger did` })
      }
    }
    await writeHandoff(session.tape, options)
  }

  #warn({ window, emit }: Session, tokens: number, anchor: number): void {
    const { warnAt = false } = this.#settings
    if (warnAt === false || anchor === this.#warned || tokens < tokensAt(warnAt, window)) return
    this.#warned = anchor
    const share = window === undefined ? '' : `, ${Math.round((tokens / window) * 100)} % of the window`
    emit({ type: 'warning', message: `The context holds about ${tokens} tokens${share}: a good moment to hand off` })
  }

  /** Past the threshold, after new growth, and not right after the last one. */
  async #isDue({ tape, now }: Session, tokens: number, anchor: number, threshold: number): Promise<boolean> {
    if (tokens < threshold) return false
    const last = await tape.store.latest(tape.name, markKey)
    const mark = markSchema.safeParse((last?.payload as { data?: unknown } | undefined)?.data).data
    if (last !== undefined && mark !== undefined) {
      const { cooldown = 60 } = this.#settings
      if (now().getTime() - Date.parse(last.date) < cooldown * 1000) return false
      if (last.id > anchor && tokens < mark.fresh + threshold / 2) return false
    }
    return this.#failed?.anchor !== anchor || tokens >= this.#failed.tokens + threshold / 2
  }

  #threshold({ window }: Session): number | undefined {
    const { at = '80%' } = this.#settings
    return at === false ? undefined : tokensAt(at, window)
  }
}

export function tokensAt(threshold: Threshold, window: number | undefined): number {
  if (typeof threshold === 'number') return threshold
  return Math.round(((window ?? assumedWindow) * Number.parseFloat(threshold)) / 100)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
