// The handoffs of an agent: the automatic one at the end of a turn, when its context has grown past a threshold, and the one to a new tape
// that a person asks for. An automatic handoff starts a new phase from a document that code takes from the tape; a model may add a
// narrative.

import * as z from 'zod'
import {
  handoffSession,
  longContextText,
  type SessionHandoff,
  writeHandoff,
  type WriteHandoffOptions,
} from '../handoff/index.ts'
import { CancelledError } from '../errors.ts'
import { Tape } from '../tape/index.ts'
import { anchorOf, assumedWindow } from './model/context-size.ts'
import type { AgentHandoffOptions, AgentState } from './agent.ts'
import { failureText } from './commands/commands.ts'
import { demandRest } from './turn.ts'

/** `80%` of the window, or a number of tokens. */
export type Threshold = `${number}%` | number

export interface AutomaticHandoff {
  /** When to hand off; `false` means never. The default is 80 % of the window. */
  at?: Threshold | false
  /** Warn once in a phase when the context passes this; models get worse long before their window is full. */
  warnAt?: Threshold | false
  /** The least number of seconds between two automatic handoffs; 60 by default. */
  cooldown?: number
  /** The model writes the narrative of the document; without it the ledger does. */
  narrative?: boolean
  /** The largest size of the document, in tokens. */
  budget?: number
}

const largestBudget = 2_000
const leastBudget = 500

const markKey = 'auto_handoff'
const markSchema = z.object({ fresh: z.number() })

export class AutoHandoff {
  readonly #settings: AutomaticHandoff
  /** The phases in which the person was warned and the model was asked to hand off, by the id of their anchor. */
  #warned = -1
  #told = -1
  /** The size at which a handoff failed: it is tried again only after further growth. */
  #failed: { anchor: number; tokens: number } | undefined

  constructor(settings: AutomaticHandoff = {}) {
    this.#settings = settings
  }

  /** Past the threshold in the middle of a turn, the model is asked to hand off itself. */
  async duringTurn(state: AgentState, runId: string): Promise<void> {
    const threshold = this.#threshold(state)
    if (threshold === undefined || state.toolbox.find('tape.handoff') === undefined) return
    const { tape, window } = state
    const tokens = await state.contextSize.read(tape)
    const anchor = await anchorOf(tape)
    if (tokens < threshold || anchor === this.#told) return
    this.#told = anchor
    const content = longContextText(tokens, window)
    await tape.record({ role: 'user', content, customType: 'notice', display: true }, { run_id: runId })
    state.emit({
      type: 'warning',
      message: `The context holds about ${tokens} tokens; the model was asked to hand off`,
    })
  }

  async afterTurn(state: AgentState, runId: string, signal: AbortSignal): Promise<void> {
    const { tape, emit } = state
    const tokens = await state.contextSize.read(tape)
    const anchor = await anchorOf(tape)
    this.#warn(state, tokens, anchor)
    const threshold = this.#threshold(state)
    if (threshold === undefined || !(await this.#isDue(state, tokens, anchor, threshold))) return
    emit({ type: 'handoff', phase: 'start', trigger: 'automatic' })
    try {
      const name = 'handoff/auto'
      await this.#write(state, { ...(await this.options(state)), name, runId, signal })
      const fresh = await state.contextSize.read(tape)
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

  /** The options of every document that is written without a person asking for it. */
  async options(state: AgentState): Promise<WriteHandoffOptions> {
    const room = Math.floor((state.window ?? assumedWindow) / 8)
    return {
      budget: this.#settings.budget ?? Math.max(leastBudget, Math.min(largestBudget, room)),
      cwd: state.cwd,
      ...(await contextUsage(state)),
    }
  }

  /** A model that cannot write the narrative does not stop the handoff. */
  async #write(state: AgentState, options: WriteHandoffOptions): Promise<void> {
    const { model, window, emit } = state
    if (this.#settings.narrative === true && model !== undefined) {
      const onProgress: WriteHandoffOptions['onProgress'] = (progress) =>
        emit({ type: 'handoff', phase: 'progress', trigger: 'automatic', progress })
      try {
        const written = { model: model.model, modelName: model.name, ...(window === undefined ? {} : { window }) }
        await writeHandoff(state.tape, { ...options, ...written, onProgress })
        return
      } catch (error) {
        if (options.signal?.aborted === true) throw error
        emit({ type: 'warning', message: `The model wrote no narrative (${messageOf(error)}); the ledger did` })
      }
    }
    await writeHandoff(state.tape, options)
  }

  #warn({ window, emit }: AgentState, tokens: number, anchor: number): void {
    const { warnAt = false } = this.#settings
    if (warnAt === false || anchor === this.#warned || tokens < tokensAt(warnAt, window)) return
    this.#warned = anchor
    const share = window === undefined ? '' : `, ${Math.round((tokens / window) * 100)} % of the window`
    emit({ type: 'warning', message: `The context holds about ${tokens} tokens${share}: a good moment to hand off` })
  }

  /** Past the threshold, after new growth, and not right after the last one. */
  async #isDue({ tape, now }: AgentState, tokens: number, anchor: number, threshold: number): Promise<boolean> {
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

  #threshold({ window }: AgentState): number | undefined {
    const { at = '80%' } = this.#settings
    return at === false ? undefined : tokensAt(at, window)
  }
}

export function tokensAt(threshold: Threshold, window: number | undefined): number {
  if (typeof threshold === 'number') return threshold
  return Math.round(((window ?? assumedWindow) * Number.parseFloat(threshold)) / 100)
}

/** How full the context is, for the head of a document. */
async function contextUsage({ contextSize, tape, window }: AgentState): Promise<{ contextUsage?: number }> {
  return window === undefined ? {} : { contextUsage: Math.round(((await contextSize.read(tape)) / window) * 100) }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Moves the agent to a new tape, with the messages that were typed during the handoff. `carried`: how many waiting messages are on the new tape now, unanswered. */
export async function moveToNewSession(
  state: AgentState,
  goal: string | undefined,
  options: AgentHandoffOptions,
  signal: AbortSignal,
): Promise<{ result: SessionHandoff; carried: number }> {
  const { tape: old, queue, cwd, model, window, emit, holder, now } = state
  try {
    await demandRest(old, holder, now())
  } catch (error) {
    return { result: { status: 'failed', message: `Handoff failed: ${failureText(error)}`, error }, carried: 0 }
  }
  const { edit, into, onProgress } = options
  const either = options.signal === undefined ? signal : AbortSignal.any([signal, options.signal])
  const trigger = 'command'
  let carried = 0
  emit({ type: 'handoff', phase: 'start', trigger })
  const result = await handoffSession(old, {
    ...(goal === undefined || goal.trim() === '' ? {} : { goal }),
    ...(model === undefined ? {} : { model: model.model, modelName: model.name }),
    ...(window === undefined ? {} : { window }),
    ...(into === undefined ? {} : { into }),
    ...(edit === undefined ? {} : { edit: (markdown) => unlessAborted(either, edit(markdown)) }),
    // A getter, because messages that are typed until the new tape is made go along.
    get queued() {
      carried = queue.length
      return queue.messages()
    },
    cwd,
    ...(await contextUsage(state)),
    signal: either,
    onProgress: (progress) => {
      emit({ type: 'handoff', phase: 'progress', trigger, progress })
      onProgress?.(progress)
    },
  })
  const { message } = result
  if (result.status !== 'done') {
    emit({ type: 'handoff', phase: 'failed', trigger, message })
    return { result, carried: 0 }
  }
  state.tape = new Tape(old.store, result.tape, undefined, old.as)
  await queue.settled()
  await queue.moved(state.tape, carried)
  const anchor = `handoff/${result.tape}`
  emit({ type: 'handoff', phase: 'done', trigger, anchor, message, tape: result.tape })
  return { result, carried }
}

/** The refusal that every handoff gives while a response is streaming. */
export async function refused(tape: Tape): Promise<SessionHandoff> {
  return handoffSession(tape, { isStreaming: () => true })
}

/** Stops waiting for a person who has the document open in an editor once the handoff is cancelled. */
async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stop = () => reject(new CancelledError('Handoff cancelled'))
    if (signal.aborted) return stop()
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
