// The loop: route what was typed, build the context, run the model, record what it did. Each step is on the tape before
// the next begins, and the model never sees anything but a context built from the tape.

import { LockedError } from '../errors.ts'
import type { TurnResult } from './agent.ts'
import { runCalls } from './calls.ts'
import { failureText, findCommand } from './commands.ts'
import { route } from './router.ts'
import type { Session } from './session.ts'
import {
  buildContext,
  callSetting,
  emptyReply,
  hearQueued,
  recordBroken,
  recordFailure,
  recordStep,
  type Run,
  runModel,
} from './steps.ts'
import { demandRest, type Outcome } from './turn.ts'

/** Only what a person typed comes here; it goes to a command, to the door, or to the model. */
export async function handleInput(
  session: Session,
  input: string,
  isBusy: boolean,
  takeTurn: (text: string) => Promise<TurnResult>,
): Promise<TurnResult> {
  try {
    const to = route(input)
    switch (to.to) {
      case 'nowhere':
        return { kind: 'empty' }
      case 'slash':
        return { kind: 'slash', name: to.name, rest: to.rest }
      case 'model':
        return await takeTurn(to.text)
      case 'command': {
        const { tape, holder, now } = session
        const command = findCommand(to.name)
        if (command.cuts === true) {
          if (isBusy) throw new LockedError(`Wait for the response or cancel it, then ,${to.name}`)
          await demandRest(tape, holder, now())
        }
        return { kind: 'command', ok: true, ...(await command.run(tape, to.args)) }
      }
    }
  } catch (error) {
    return { kind: 'command', ok: false, text: failureText(error), data: null }
  }
}

/** One turn: as many steps as the model takes, and as many more as the person has to say meanwhile. */
export async function runTurn(run: Run): Promise<Outcome> {
  const { session, signal } = run
  const { maxSteps = 200 } = session.options
  let text = ''
  for (let step = 1; step <= maxSteps; step++) {
    await hearQueued(run)
    const context = await buildContext(run)
    const reply = await runModel(run, context)
    if (reply.status !== 'done') return recordBroken(run, reply)
    const { calls, entryId } = await recordStep(run, reply.step)
    text = reply.step.text || text
    await runCalls(calls, callSetting(run, entryId))
    if (signal.aborted) return { status: 'aborted', text }
    const isOver = reply.step.toolCalls.length === 0 && session.queue.length === 0
    if (isOver && step === 1 && text === '') return recordFailure(run, emptyReply(reply.step))
    if (isOver) return { status: 'done', text }
    await session.auto.duringTurn(session, run.turn.runId)
  }
  return recordFailure(run, `The turn took ${maxSteps} steps without coming to an end`, text)
}
