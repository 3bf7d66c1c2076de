// A turn from its first entry to its last. Whatever goes wrong in between, it ends on the tape and with an outcome.

import { randomUUID } from 'node:crypto'
import { BatonError, InvalidError, LockedError } from '../errors.ts'
import { resumeHandoff } from '../handoff/index.ts'
import type { Draft } from '../store/index.ts'
import type { Tape } from '../tape/index.ts'
import { failureText } from './commands.ts'
import { runTurn } from './loop.ts'
import type { Session } from './session.ts'
import { errorDraft, warnOfLarge } from './steps.ts'
import { type Outcome, Turn } from './turn.ts'

export interface TurnSetting {
  readonly session: Session
  readonly signal: AbortSignal
  /** Closes what a dead process left open. */
  readonly recover: () => Promise<void>
  /** Somebody else has taken the turn from us. */
  readonly onLost: () => void
}

export async function takeTurn(
  setting: TurnSetting,
  messages: readonly Draft[],
): Promise<Outcome & { readonly runId: string }> {
  const { session, signal } = setting
  const { emit, model } = session
  const runId = `run_${randomUUID()}`
  const said: Draft[] = []
  let turn: Turn
  try {
    if (model === undefined) throw noModel()
    turn = await begin(setting, runId, messages, said)
  } catch (error) {
    return { runId, status: 'failed', text: '', error: failureText(error) }
  }
  emit({ type: 'turn-start', runId })
  warnOfLarge(session, said)
  let outcome: Outcome
  try {
    outcome = await runTurn({ session, turn, model, signal, said, madeRoom: false })
    if (outcome.status === 'done') await session.auto.afterTurn(session, runId, signal)
  } catch (error) {
    const message = failureText(error)
    outcome = { status: signal.aborted ? 'aborted' : 'failed', text: '', error: message }
    if (!signal.aborted) await recordError(errorDraft('agent', message, runId), session)
  }
  try {
    await turn.end(outcome.status)
  } catch (error) {
    emit({ type: 'warning', message: `The end of the turn is not on the tape: ${failureText(error)}` })
  }
  const { status, error } = outcome
  emit({ type: 'turn-end', runId, status, ...(error === undefined ? {} : { error }) })
  return { runId, ...outcome }
}

/** It may be the tape itself that is broken: then the person is told at least. */
async function recordError(draft: Draft, { tape, emit }: Session): Promise<void> {
  try {
    await tape.append([draft])
  } catch (error) {
    emit({ type: 'warning', message: `The error is not on the tape: ${failureText(error)}` })
  }
}

/** What waits comes first. Two that begin at the same moment are told apart by the tape; the slower one looks again. */
async function begin(
  { session, recover, onLost }: TurnSetting,
  runId: string,
  messages: readonly Draft[],
  said: Draft[],
): Promise<Turn> {
  const { tape, queue, holder } = session
  for (;;) {
    await recover()
    await demandActive(tape)
    const waiting = queue.drafts(runId)
    const now = messages.map((draft) => ({ ...draft, meta: { ...draft.meta, run_id: runId } }))
    try {
      const turn = await Turn.begin(tape, holder, runId, [...waiting, ...now], onLost)
      // Once more: a handoff that was just being closed has either seen these messages or is closed by now.
      await demandActive(tape).catch(async (error: unknown) => {
        await turn.end('failed')
        throw error
      })
      queue.delivered(waiting.length)
      said.push(...waiting, ...now)
      return turn
    } catch (error) {
      if (!BatonError.is(error) || error.code !== 'conflict') throw error
    }
  }
}

/** Another process may have handed the session over since it was opened here: nobody would look for more on this tape. */
async function demandActive(tape: Tape): Promise<void> {
  const active = await resumeHandoff(tape.store, tape.name)
  if (active === tape.name) return
  throw new LockedError(`${tape.name} was handed over to ${active}`, { hint: `Go on there: open ${active}.` })
}

function noModel(): InvalidError {
  return new InvalidError('No model is set', {
    hint: 'Name one with --model provider/name or BATON_MODEL; commands such as ,help work without.',
  })
}
