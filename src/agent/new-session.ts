// The handoff to a new tape, for an agent: it moves along, and so does what was typed meanwhile.

import { CancelledError } from '../errors.ts'
import { handoffSession, type SessionHandoff } from '../handoff/index.ts'
import { Tape } from '../tape/index.ts'
import type { AgentHandoffOptions } from './agent.ts'
import { failureText } from './commands.ts'
import type { Session } from './session.ts'
import { demandRest } from './turn.ts'

/** `carried`: how many waiting messages are on the new tape now, unanswered. */
export async function moveToNewSession(
  session: Session,
  goal: string | undefined,
  options: AgentHandoffOptions,
  signal: AbortSignal,
): Promise<{ result: SessionHandoff; carried: number }> {
  const { tape: old, queue, cwd, model, window, emit, holder, now } = session
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
    // Read when the new tape is made: what is typed until then goes along.
    get queued() {
      carried = queue.length
      return queue.messages()
    },
    cwd,
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
  session.tape = new Tape(old.store, result.tape)
  await queue.settled()
  await queue.moved(session.tape, carried)
  const anchor = `handoff/${result.tape}`
  emit({ type: 'handoff', phase: 'done', trigger, anchor, message, tape: result.tape })
  return { result, carried }
}

/** In the words of every handoff while a response streams. */
export async function refused(tape: Tape): Promise<SessionHandoff> {
  return handoffSession(tape, { isStreaming: () => true })
}

/** A person with an editor open is not waited for once nobody wants the handoff any more. */
async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stop = () => reject(new CancelledError('Handoff cancelled'))
    if (signal.aborted) return stop()
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
