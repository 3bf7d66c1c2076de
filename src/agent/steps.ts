// The steps of a turn, as the loop names them.

import type { FinishReason, ModelMessage, StepResult, ToolSet } from 'ai'
import { writeHandoff } from '../handoff/index.ts'
import type { Draft } from '../store/index.ts'
import { spillBytes } from '../tape/blob.ts'
import type { Call, CallSetting } from './calls.ts'
import type { AgentEvent } from './event.ts'
import { largestMessage } from './gauge.ts'
import { callModel, type Reply } from './model.ts'
import type { Session } from './session.ts'
import { Speech } from './speech.ts'
import type { Outcome, Turn } from './turn.ts'

/** A turn while it runs. */
export interface Run {
  readonly session: Session
  readonly turn: Turn
  readonly model: NonNullable<Session['model']>
  readonly signal: AbortSignal
  /** What the person said in this turn: asked again when the context had to be cut. */
  readonly said: Draft[]
  /** The context was too long and was handed off; once in a turn is enough. */
  madeRoom: boolean
}

/** What was typed meanwhile becomes part of the conversation. */
export async function hearQueued({ session, turn, said }: Run): Promise<void> {
  const drafts = session.queue.drafts(turn.runId)
  if (drafts.length === 0) return
  await session.tape.append(drafts)
  session.queue.delivered(drafts.length)
  said.push(...drafts)
  warnOfLarge(session, drafts)
}

/** What does not fit beside the rest is there for the model to page through; the person should know. */
export function warnOfLarge({ window, emit }: Session, drafts: readonly Draft[]): void {
  for (const { payload } of drafts) {
    const { content } = payload as { content?: unknown }
    const bytes = typeof content === 'string' ? Buffer.byteLength(content) : 0
    if (bytes <= Math.max(spillBytes, largestMessage(window))) continue
    const message = `A message of ${bytes} bytes is too large for the model: it gets the beginning and the end, and can read the rest with blob.read`
    emit({ type: 'warning', message })
  }
}

/** The messages for the model, always from the tape; what would not fit is handed off first. */
export async function buildContext(run: Run): Promise<ModelMessage[]> {
  const { session, turn } = run
  const { tape, gauge, window, system } = session
  // Counting tokens takes longer than building the context: it is done only where the limit is near.
  const limit = window === undefined ? Number.POSITIVE_INFINITY : Math.floor(window * 0.9)
  const isNear = (await gauge.read(tape)) > limit * 0.8
  const bound = isNear ? { maxTokens: Math.max(1_000, limit - gauge.overhead) } : {}
  const context = await tape.context({ format: 'ai-sdk', wholeText: largestMessage(window), ...bound })
  if (context.omitted !== undefined && !run.madeRoom) {
    await makeRoom(run)
    return buildContext(run)
  }
  const [damage] = context.damage
  if (damage !== undefined)
    session.emit({ type: 'warning', message: `Part of ${tape.name} cannot be read: ${damage.message}` })
  if (context.system !== system) {
    await tape.append([{ kind: 'system', payload: { content: system }, meta: { run_id: turn.runId } }])
  }
  return context.messages
}

/** A context that the provider finds too long is handed off, and the call is made once more. */
export async function runModel(run: Run, messages: ModelMessage[]): Promise<Reply> {
  const { session } = run
  const reply = await speak(run, messages)
  if (reply.status !== 'failed' || !reply.failure.tooLong || run.madeRoom) return reply
  if (reply.failure.window !== undefined) session.learnWindow(reply.failure.window)
  await makeRoom(run)
  return speak(run, await buildContext(run))
}

async function speak({ session, turn, model, signal }: Run, messages: ModelMessage[]): Promise<Reply> {
  const { system, toolbox, tape } = session
  const { retry = {} } = session.options
  const speech = new Speech(tape, turn.runId)
  const emit = (event: AgentEvent) => {
    speech.hear(event)
    session.emit(event)
  }
  try {
    return await callModel({ model: model.model, system, messages, tools: toolbox.offered, signal, retry, emit })
  } finally {
    await speech.end()
  }
}

/** A document in place of the conversation. Taken from the tape by code: the model has just said that it is full. */
async function makeRoom(run: Run): Promise<void> {
  const { session, turn, said, signal } = run
  const { tape, emit } = session
  const name = 'handoff/overflow'
  run.madeRoom = true
  emit({ type: 'handoff', phase: 'start', trigger: 'overflow' })
  await writeHandoff(tape, {
    ...session.auto.options(session),
    name,
    signal,
    runId: turn.runId,
    behind: said.map(({ kind, payload }) => ({ kind, payload, meta: { run_id: turn.runId } })),
  })
  const message = 'The context was too long for the model: handed off, and asked again'
  emit({ type: 'handoff', phase: 'done', trigger: 'overflow', anchor: name, message, tape: tape.name })
}

/** What the model said and which tools it calls, in one batch, before any of them runs. */
export async function recordStep(
  { session, turn }: Run,
  step: StepResult<ToolSet>,
): Promise<{ calls: Call[]; entryId: number }> {
  const { tape, toolbox, emit } = session
  const content = step.content.map((part) =>
    'toolName' in part ? { ...part, toolName: toolbox.nameOf(part.toolName) } : part,
  )
  const { finishReason, response } = step
  const usage = { ...step.usage, cachedInputTokens: step.usage.inputTokenDetails.cacheReadTokens }
  const entries = await tape.recordStep({ content, finishReason, usage, response }, { run_id: turn.runId })
  await tellUsage(session, step)
  const cut = cuts[finishReason]
  if (cut !== undefined) emit({ type: 'warning', message: cut })
  const calls: Call[] = []
  for (const { toolCallId: id, toolName, input, invalid, providerExecuted, error } of step.toolCalls) {
    const tool = toolbox.find(toolName)
    if (tool !== undefined && invalid !== true && providerExecuted !== true) calls.push({ id, tool, input })
    else if (invalid === true) {
      const name = toolbox.nameOf(toolName)
      emit({ type: 'tool-start', id, name, input })
      emit({ type: 'tool-end', id, name, output: error instanceof Error ? error.message : error, isError: true })
    }
  }
  return { calls, entryId: entries.find(({ kind }) => kind === 'tool_call')?.id ?? 0 }
}

async function tellUsage({ tape, gauge, window, emit }: Session, { usage }: StepResult<ToolSet>): Promise<void> {
  const { inputTokens: input = 0, outputTokens: output = 0 } = usage
  await gauge.counted(tape, input > 0 ? input + output : 0)
  const contextTokens = await gauge.read(tape)
  emit({
    type: 'usage',
    input,
    output,
    cached: usage.inputTokenDetails.cacheReadTokens ?? 0,
    contextTokens,
    ...(window === undefined ? {} : { window, percent: Math.round((contextTokens / window) * 100) }),
  })
}

const cuts: Partial<Record<FinishReason, string>> = {
  length: 'The response was cut at its length limit',
  'content-filter': 'The response was cut by a filter of the provider',
}

/** Why a turn whose only reply says nothing has failed. */
export function emptyReply({ finishReason }: StepResult<ToolSet>): string {
  const cut = cuts[finishReason]
  return cut === undefined ? 'The model returned no text' : `The model returned no text. ${cut}`
}

export async function recordFailure({ session, turn }: Run, error: string, text = ''): Promise<Outcome> {
  await session.tape.append([errorDraft('model', error, turn.runId)])
  return { status: 'failed', text, error }
}

/** What was said before it broke off stays. */
export async function recordBroken(
  { session, turn }: Run,
  reply: Exclude<Reply, { status: 'done' }>,
): Promise<Outcome> {
  const { runId } = turn
  const drafts: Draft[] = []
  if (reply.text.trim() !== '') drafts.push(partialDraft(reply.text, runId))
  if (reply.status === 'failed') drafts.push(errorDraft('model', reply.failure.message, runId))
  if (drafts.length > 0) await session.tape.append(drafts)
  const { status, text } = reply
  if (status === 'aborted') return { status, text }
  const { message, hint } = reply.failure
  return { status, text, error: hint === undefined ? message : `${message}\n${hint}` }
}

/** An answer that was cut. */
export function partialDraft(content: string, runId: string): Draft {
  return { kind: 'message', payload: { role: 'assistant', content }, meta: { run_id: runId, partial: true } }
}

export function errorDraft(kind: string, message: string, runId: string): Draft {
  return { kind: 'error', payload: { kind, message }, meta: { run_id: runId } }
}

export function callSetting({ session, turn, signal }: Run, entryId: number): CallSetting {
  const { tape, cwd, emit, options } = session
  return {
    tape,
    cwd,
    entryId,
    runId: turn.runId,
    signal,
    emit,
    permissions: options.permissions,
    ask: options.ask,
    ...(session.spawn === undefined ? {} : { spawn: (child) => session.spawn!(child, signal) }),
  }
}
