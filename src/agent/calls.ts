// Runs the tool calls of one step, all at once. Each result goes onto the tape as soon as it is there. The calls themselves are on
// the tape before they run, so that a crash never hides that one may have run.

import { BatonError } from '../errors.ts'
import type { Tape, ToolResult } from '../tape/index.ts'
import type { AgentEvent } from './event.ts'
import type { Access, AgentTool, Answer, Permissions, Question, ToolContext, ToolOutcome } from './tools/tool.ts'

/** A call whose input has been checked. */
export interface RunnableCall {
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
export async function runCalls(calls: readonly RunnableCall[], setting: CallSetting): Promise<void> {
  const permit = permissionQueue(setting)
  const ended = await Promise.allSettled(calls.map((call) => runCall(call, setting, permit)))
  for (const each of ended) if (each.status === 'rejected') throw each.reason
}

async function runCall({ id, tool, input }: RunnableCall, setting: CallSetting, permit: Permit): Promise<void> {
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

/** Always resolves with an outcome: an error becomes one, and so does a tool that does not stop in time after a cancellation. */
async function untilCancelled(signal: AbortSignal, run: () => Promise<ToolOutcome>): Promise<ToolOutcome> {
  if (signal.aborted) return { output: cancelled, isError: true }
  let stop = () => {}
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<ToolOutcome>((resolve) => {
    // The timer keeps the process alive: a turn must not stay open because a tool ignores its signal.
    stop = () => {
      timer = setTimeout(resolve, graceMs, { output: cancelled, isError: true })
    }
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
    clearTimeout(timer)
  }
}

/** Resolves with what went onto the tape: the result, or the reason why it cannot be stored. */
async function recordResult(tape: Tape, result: ToolResult, runId: string): Promise<ToolResult> {
  const record = (results: ToolResult[]) =>
    tape.append([{ kind: 'tool_result', payload: { results }, meta: { run_id: runId } }])
  try {
    await record([result])
    return result
  } catch (error) {
    // JSON.stringify throws a TypeError for a bigint or a circular object.
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

/** Asks the person one question at a time; an "always" may answer questions that wait behind it. Calls that need no question do not wait. */
function permissionQueue({ permissions, ask, emit, signal }: CallSetting): Permit {
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
