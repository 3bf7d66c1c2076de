// The calls of one step: all at once, each with its result on the tape as soon as it has one. A call is on the tape before
// it comes here, so that a crash never hides that it may have run.

import { BatonError } from '../errors.ts'
import type { Tape, ToolResult } from '../tape/index.ts'
import type { AgentEvent } from './event.ts'
import type { Access, AgentTool, Answer, Permissions, Question, ToolContext, ToolOutcome } from './tool.ts'

/** A call whose input has been checked. */
export interface Call {
  readonly id: string
  readonly tool: AgentTool
  readonly input: unknown
}

export interface CallSetting extends Omit<ToolContext, 'callId' | 'onOutput'> {
  readonly permissions: Permissions | undefined
  readonly ask: ((question: Question) => Promise<Answer>) | undefined
  readonly emit: (event: AgentEvent) => void
}

/** How long a tool may take to stop after the person cancelled. */
const graceMs = 1_000
const cancelled = 'interrupted: the user cancelled it. It may have taken effect in part.'

/** Resolves when every call has its result on the tape, cancelled or not. */
export async function runCalls(calls: readonly Call[], setting: CallSetting): Promise<void> {
  const permit = doorman(setting)
  const ended = await Promise.allSettled(calls.map((call) => runCall(call, setting, permit)))
  for (const each of ended) if (each.status === 'rejected') throw each.reason
}

async function runCall({ id, tool, input }: Call, setting: CallSetting, permit: Permit): Promise<void> {
  const { tape, emit, signal, runId } = setting
  const { name } = tool
  emit({ type: 'tool-start', id, name, input })
  const context: ToolContext = {
    ...setting,
    callId: id,
    onOutput: (chunk) => emit({ type: 'tool-output', id, chunk }),
  }
  const outcome = await untilCancelled(signal, async () => {
    const access = (await tool.access?.(input, context)) ?? { kind: 'none' }
    const denied = await permit(id, tool, input, access)
    if (denied !== undefined) return { output: `denied: ${denied}`, isError: true }
    return tool.run(input, context)
  })
  const { output = null, isError = false } = outcome
  const result: ToolResult = { call_id: id, name, output, ...(isError ? { is_error: true } : {}) }
  const recorded = await recordResult(tape, result, runId)
  emit({ type: 'tool-end', id, name, output: recorded.output, isError: recorded.is_error === true })
}

/** The outcome, whatever happens: an error is one too, and so is the end of patience after a cancellation. */
async function untilCancelled(signal: AbortSignal, run: () => Promise<ToolOutcome>): Promise<ToolOutcome> {
  if (signal.aborted) return { output: cancelled, isError: true }
  let stop = () => {}
  const late = new Promise<ToolOutcome>((resolve) => {
    stop = () => void setTimeout(resolve, graceMs, { output: cancelled, isError: true }).unref()
    signal.addEventListener('abort', stop, { once: true })
  })
  const ran = run().catch((error: unknown) => ({
    output: signal.aborted ? cancelled : messageOf(error),
    isError: true,
  }))
  try {
    return await Promise.race([ran, late])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** What went onto the tape: the result, or why it cannot be there. */
async function recordResult(tape: Tape, result: ToolResult, runId: string): Promise<ToolResult> {
  const record = (results: ToolResult[]) =>
    tape.append([{ kind: 'tool_result', payload: { results }, meta: { run_id: runId } }])
  try {
    await record([result])
    return result
  } catch (error) {
    // A TypeError is what JSON makes of a bigint or a circle.
    const unfit = BatonError.is(error) ? error.code === 'invalid' || error.code === 'limit' : error instanceof TypeError
    if (!unfit) throw error
    const output = `The tool ran, but what it returned cannot be stored: ${messageOf(error)}`
    const instead = { ...result, output, is_error: true }
    await record([instead])
    return instead
  }
}

/** Why a call is denied, or undefined. */
type Permit = (id: string, tool: AgentTool, input: unknown, access: Access) => Promise<string | undefined>

/** Questions are put one at a time; an "always" may answer those that wait behind it. What needs none waits for none. */
function doorman({ permissions, ask, emit, signal }: CallSetting): Permit {
  let asking: Promise<unknown> = Promise.resolve()
  return async (id, tool, input, access) => {
    const { name } = tool
    const tell = (answer: Answer, reason?: string) =>
      emit({ type: 'permission', id, name, input, access, answer, ...(reason === undefined ? {} : { reason }) })
    const decide = () => permissions?.decide(tool, input, access) ?? 'allow'
    const decision = decide()
    if (decision === 'allow') return undefined
    if (decision !== 'ask') {
      tell('deny', decision.deny)
      return decision.deny
    }
    if (ask === undefined) {
      tell('deny', 'nobody is there to ask')
      return 'this needs permission, and nobody is there to ask'
    }
    const inTurn = asking.then(async () => {
      if (decide() === 'allow') return undefined
      const always = permissions?.always?.(tool, input, access)
      const answer = await ask({ id, name, input, access, signal, ...(always === undefined ? {} : { always }) })
      tell(answer)
      if (answer === 'always') permissions?.remember?.(tool, input, access)
      return answer === 'deny' ? 'the user did not allow this' : undefined
    })
    asking = inTurn.catch(() => {})
    return inTurn
  }
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return BatonError.is(error) && error.hint !== undefined ? `${error.message}. ${error.hint}` : error.message
}
