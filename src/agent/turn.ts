// How a turn is marked on its tape, and who holds it: `turn_started` comes with the first message, `turn_ended` when the turn is
// complete. Both have one key, and each is appended only if the mark before it is still the newest, so that a tape has one
// turn at a time, whichever process writes it.

import * as z from 'zod'
import { BatonError, LockedError } from '../errors.ts'
import type { Draft, Entry } from '../store/index.ts'
import type { Tape } from '../tape/index.ts'
import { type Holder, holderSchema, isHolding, silentMs } from '../system/index.ts'

const turnKey = 'turn'

const markSchema = z.object({
  tape: z.string(),
  run_id: z.string(),
  /** The entry that started the turn; absent in that entry itself. */
  since: z.number().optional(),
  status: z.string().optional(),
  holder: holderSchema.optional(),
})

type Mark = z.infer<typeof markSchema>

type TurnStatus = 'done' | 'aborted' | 'failed'

export interface TurnEnding {
  readonly status: TurnStatus
  /** What the model said last. */
  readonly text: string
  readonly error?: string
}

/** A turn that was started and has not ended. */
export interface OpenTurn {
  readonly runId: string
  readonly since: number
  /** The newest mark, which the next one expects. */
  readonly mark: number
  readonly holder: Holder
}

export async function openTurn(tape: Tape): Promise<OpenTurn | undefined> {
  const entry = await tape.store.latest(tape.name, turnKey)
  return entry === undefined ? undefined : readMark(entry, tape)
}

/** The open turn that the mark stands for. A mark that a fork has copied belongs to another tape. */
function readMark(entry: Entry, tape: Tape): OpenTurn | undefined {
  const mark = markSchema.safeParse((entry.payload as { data?: unknown }).data).data
  if (mark?.holder === undefined || mark.tape !== tape.name || mark.status !== undefined) return undefined
  return { runId: mark.run_id, since: mark.since ?? entry.id, mark: entry.id, holder: mark.holder }
}

export async function isHeld(tape: Tape, open: OpenTurn, me: Holder, now: Date): Promise<boolean> {
  const date = (await tape.store.info(tape.name))?.date
  // A process elsewhere counts as alive as long as its tape grows.
  return isHolding(open.holder, Date.parse(date ?? '') + silentMs, now.getTime(), me)
}

/** Throws `LockedError` while another holder's turn runs. */
export async function demandRest(tape: Tape, me: Holder, now: Date): Promise<void> {
  const open = await openTurn(tape)
  if (open !== undefined && (await isHeld(tape, open, me, now))) throw refuse(tape, open)
}

function refuse(tape: Tape, { holder }: OpenTurn): LockedError {
  return new LockedError(`A turn is running on ${tape.name}, in process ${holder.pid} on ${holder.host}`, {
    hint: 'Wait until it ends, or work on another tape.',
  })
}

export class Turn {
  readonly runId: string
  readonly since: number
  readonly #tape: Tape
  readonly #holder: Holder
  readonly #pulse: NodeJS.Timeout
  #mark: number
  #last: Promise<unknown> = Promise.resolve()

  private constructor(tape: Tape, runId: string, holder: Holder, mark: number, onLost: () => void) {
    this.#tape = tape
    this.runId = runId
    this.#holder = holder
    this.since = mark
    this.#mark = mark
    this.#pulse = setInterval(() => {
      this.#append('turn_running', { since: this.since, holder: this.#holder }).catch((error: unknown) => {
        if (BatonError.is(error) && error.code === 'conflict') onLost()
      })
    }, silentMs / 3).unref()
  }

  /** Resolves when the messages are on the tape and the turn is ours; `LockedError` while somebody else's runs. */
  static async begin(
    tape: Tape,
    me: Holder,
    runId: string,
    messages: readonly Draft[],
    onLost: () => void,
  ): Promise<Turn> {
    const last = await tape.store.latest(tape.name, turnKey)
    const open = last === undefined ? undefined : readMark(last, tape)
    if (open !== undefined) throw refuse(tape, open)
    const started = markDraft('turn_started', { tape: tape.name, run_id: runId, holder: me })
    const [entry] = await tape.append([started, ...messages], { expect: { key: turnKey, id: last?.id ?? 0 } })
    return new Turn(tape, runId, me, entry!.id, onLost)
  }

  async end(status: TurnStatus): Promise<void> {
    clearInterval(this.#pulse)
    await this.#append('turn_ended', { since: this.since, status })
  }

  async #append(name: string, more: Partial<Mark>): Promise<void> {
    const appended = this.#appendBehind(this.#last, name, more)
    this.#last = appended.catch(() => {})
    return appended
  }

  /** Appends one mark after the other, because each expects the one before it. */
  async #appendBehind(last: Promise<unknown>, name: string, more: Partial<Mark>): Promise<void> {
    await last
    const draft = markDraft(name, { tape: this.#tape.name, run_id: this.runId, ...more })
    const [entry] = await this.#tape.append([draft], { expect: { key: turnKey, id: this.#mark } })
    this.#mark = entry!.id
  }
}

/** Ends the turn of a process that died, together with the entries that the turn still owed: all of them or none, and only once. */
export async function closeTurn(tape: Tape, open: OpenTurn, owed: readonly Draft[]): Promise<void> {
  const closed = markDraft('turn_closed', {
    tape: tape.name,
    run_id: open.runId,
    since: open.since,
    status: 'interrupted',
  })
  await tape.append([...owed, closed], { expect: { key: turnKey, id: open.mark } })
}

function markDraft(name: string, data: Mark): Draft {
  return { kind: 'event', payload: { name, data }, meta: { key: turnKey, context: false, run_id: data.run_id } }
}
