// The loop: build the context from the tape, run the model, record what it said, run its calls; until it calls nothing and nobody
// has more to say. Each step is on the tape before the next begins, and the model never sees anything but a context built
// from the tape.

import { randomUUID } from 'node:crypto'
import type { FinishReason, ModelMessage, StepResult, ToolSet } from 'ai'
import { BatonError, InvalidError, LockedError } from '../errors.ts'
import { resumeHandoff, writeHandoff } from '../handoff/index.ts'
import type { Draft } from '../store/index.ts'
import { spillBytes, stepDrafts, type Tape } from '../tape/index.ts'
import type { AgentState } from './agent.ts'
import { type RunnableCall, type CallSetting, runCalls } from './calls.ts'
import { failureText } from './commands/commands.ts'
import { largestMessage } from './model/context-size.ts'
import type { AgentEvent } from './event.ts'
import { callModel, type ModelReply } from './model/model.ts'
import { PartialAnswer, partialDraft } from './recovery.ts'
import { type TurnEnding, Turn } from './turn.ts'

/** A turn while it runs. */
interface Run {
  readonly state: AgentState
  readonly turn: Turn
  readonly model: NonNullable<AgentState['model']>
  readonly signal: AbortSignal
  /** The person's messages in this turn, which are repeated after a handoff that cut the context. */
  readonly said: Draft[]
  /** The context was too long and was handed off; once in a turn is enough. */
  madeRoom: boolean
}

/** One turn: as many steps as the model takes, and as many more as the person has to say meanwhile. */
async function runTurn(run: Run): Promise<TurnEnding> {
  const { state, signal } = run
  const { maxSteps = 200 } = state.options
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
    const isOver = reply.step.toolCalls.length === 0 && state.queue.length === 0
    if (isOver && step === 1 && text === '') return recordFailure(run, emptyReply(reply.step))
    if (isOver) return { status: 'done', text }
    await state.autoHandoff.duringTurn(state, run.turn.runId)
  }
  return recordFailure(run, `The turn took ${maxSteps} steps without coming to an end`, text)
}

interface TurnSetting {
  readonly state: AgentState
  readonly signal: AbortSignal
  /** Closes a turn that a dead process left open. */
  readonly recover: () => Promise<void>
  /** Called when another process has taken the turn over. */
  readonly onLost: () => void
}

/** A turn from its first entry to its last. Whatever goes wrong in between, it ends on the tape and with an outcome. */
export async function takeTurn(
  setting: TurnSetting,
  messages: readonly Draft[],
): Promise<TurnEnding & { readonly runId: string }> {
  const { state, signal } = setting
  const { emit, model } = state
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
  warnOfLarge(state, said)
  let ending: TurnEnding
  try {
    ending = await runTurn({ state, turn, model, signal, said, madeRoom: false })
    if (ending.status === 'done') await state.autoHandoff.afterTurn(state, runId, signal)
  } catch (error) {
    const message = failureText(error)
    ending = { status: signal.aborted ? 'aborted' : 'failed', text: '', error: message }
    if (!signal.aborted) await recordError(errorDraft('agent', message, runId), state)
  }
  try {
    await turn.end(ending.status)
  } catch (error) {
    emit({ type: 'warning', message: `The end of the turn is not on the tape: ${failureText(error)}` })
  }
  for (const work of state.afterTurn.splice(0)) {
    await work().catch((error: unknown) => emit({ type: 'warning', message: failureText(error) }))
  }
  const { status, error } = ending
  emit({ type: 'turn-end', runId, status, ...(error === undefined ? {} : { error }) })
  return { runId, ...ending }
}

/** The tape itself may be what is broken; then the person is at least warned. */
async function recordError(draft: Draft, { tape, emit }: AgentState): Promise<void> {
  try {
    await tape.append([draft])
  } catch (error) {
    emit({ type: 'warning', message: `The error is not on the tape: ${failureText(error)}` })
  }
}

/** Waiting messages come first. If two processes begin a turn at the same moment, the tape accepts one; the other tries again. */
async function begin(
  { state, recover, onLost }: TurnSetting,
  runId: string,
  messages: readonly Draft[],
  said: Draft[],
): Promise<Turn> {
  const { tape, queue, holder } = state
  for (;;) {
    await recover()
    await demandActive(tape)
    const waiting = queue.drafts(runId)
    const now = messages.map((draft) => ({ ...draft, meta: { ...draft.meta, run_id: runId } }))
    try {
      const turn = await Turn.begin(tape, holder, runId, [...waiting, ...now], onLost)
      // Checked again: a handoff that was just being completed has either seen these messages or is complete by now.
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
  throw new LockedError(`${tape.name} was handed over to ${active}`, { hint: `Continue there: open ${active}.` })
}

function noModel(): InvalidError {
  return new InvalidError('No model is set', {
    hint: 'Name one with --model provider/name or BATON_MODEL; commands such as ,help work without.',
  })
}

/** Messages that were typed during the last step become part of the conversation. */
async function hearQueued({ state, turn, said }: Run): Promise<void> {
  const drafts = state.queue.drafts(turn.runId)
  if (drafts.length === 0) return
  await state.tape.append(drafts)
  state.queue.delivered(drafts.length)
  said.push(...drafts)
  warnOfLarge(state, drafts)
}

/** The model gets only the beginning and the end of a very large message; the person should know. */
function warnOfLarge({ window, emit }: AgentState, drafts: readonly Draft[]): void {
  for (const { payload } of drafts) {
    const { content } = payload as { content?: unknown }
    const bytes = typeof content === 'string' ? Buffer.byteLength(content) : 0
    if (bytes <= Math.max(spillBytes, largestMessage(window))) continue
    const message = `A message of ${bytes} bytes is too large for the model: it gets the beginning and the end, and can read the rest with blob.read`
    emit({ type: 'warning', message })
  }
}

/** The messages for the model, always built from the tape; if they would not fit, a handoff makes room first. */
async function buildContext(run: Run): Promise<ModelMessage[]> {
  const { state, turn } = run
  const { tape, contextSize, window, system } = state
  // Counting tokens takes longer than building the context: it is done only where the limit is near.
  const limit = window === undefined ? Number.POSITIVE_INFINITY : Math.floor(window * 0.9)
  const isNear = (await contextSize.read(tape)) > limit * 0.8
  const bound = isNear ? { maxTokens: Math.max(1_000, limit - contextSize.overhead) } : {}
  const context = await tape.context({
    format: 'ai-sdk',
    userWords: true,
    wholeText: largestMessage(window),
    images: state.takesImages,
    ...bound,
  })
  if (context.omitted !== undefined && !run.madeRoom) {
    await makeRoom(run)
    return buildContext(run)
  }
  const [damage] = context.damage
  if (damage !== undefined)
    state.emit({ type: 'warning', message: `Part of ${tape.name} cannot be read: ${damage.message}` })
  if (context.system !== system) {
    await tape.append([{ kind: 'system', payload: { content: system }, meta: { run_id: turn.runId } }])
  }
  return context.messages
}

/** A context that the provider finds too long is handed off, and the call is made once more. */
async function runModel(run: Run, messages: ModelMessage[]): Promise<ModelReply> {
  const { state } = run
  let reply = await askModel(run, messages)
  if (reply.status === 'failed' && reply.failure.refusesImages && messages.some(hasImage)) {
    state.takesImages = false
    const message = `The model refused the images and continues with their names alone: ${reply.failure.message}`
    state.emit({ type: 'warning', message })
    reply = await askModel(run, await buildContext(run))
  }
  if (reply.status !== 'failed' || !reply.failure.tooLong || run.madeRoom) return reply
  if (reply.failure.window !== undefined) state.learnWindow(reply.failure.window)
  await makeRoom(run)
  return askModel(run, await buildContext(run))
}

function hasImage({ content }: ModelMessage): boolean {
  return typeof content !== 'string' && content.some(({ type }) => type === 'image' || type === 'file')
}

async function askModel({ state, turn, model, signal }: Run, messages: ModelMessage[]): Promise<ModelReply> {
  const { system, toolbox, tape } = state
  const { retry = {} } = state.options
  const partial = new PartialAnswer(tape, turn.runId)
  const emit = (event: AgentEvent) => {
    partial.hear(event)
    state.emit(event)
  }
  try {
    return await callModel({ model: model.model, system, messages, tools: toolbox.offered, signal, retry, emit })
  } finally {
    await partial.end()
  }
}

/** Puts a handoff document in place of the conversation. Code writes it, because the model's context is full. */
async function makeRoom(run: Run): Promise<void> {
  const { state, turn, said, signal } = run
  const { tape, emit } = state
  const name = 'handoff/overflow'
  run.madeRoom = true
  emit({ type: 'handoff', phase: 'start', trigger: 'overflow' })
  await writeHandoff(tape, {
    ...(await state.autoHandoff.options(state)),
    name,
    signal,
    runId: turn.runId,
    behind: said.map(({ kind, payload }) => ({ kind, payload, meta: { run_id: turn.runId } })),
  })
  const message = 'The context was too long for the model: handed off, and asked again'
  emit({ type: 'handoff', phase: 'done', trigger: 'overflow', anchor: name, message, tape: tape.name })
}

/** Records the model's text and its tool calls in one batch, before any of them runs. */
async function recordStep(
  { state, turn }: Run,
  step: StepResult<ToolSet>,
): Promise<{ calls: RunnableCall[]; entryId: number }> {
  const { tape, toolbox, emit } = state
  const content = step.content.map((part) =>
    'toolName' in part ? { ...part, toolName: toolbox.nameOf(part.toolName) } : part,
  )
  const { finishReason, response } = step
  const { window } = state
  const wholeText = largestMessage(window)
  const usage = { ...step.usage, cachedInputTokens: step.usage.inputTokenDetails.cacheReadTokens }
  const entries = await tape.append(
    stepDrafts({ content, finishReason, usage, response, wholeText, window }, { run_id: turn.runId }),
  )
  await tellUsage(state, step)
  const cut = cuts[finishReason]
  if (cut !== undefined) emit({ type: 'warning', message: cut })
  const calls: RunnableCall[] = []
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

async function tellUsage(
  { tape, contextSize, window, emit, learnWorked }: AgentState,
  { usage }: StepResult<ToolSet>,
): Promise<void> {
  const { inputTokens: input = 0, outputTokens: output = 0 } = usage
  learnWorked(input)
  await contextSize.counted(tape, input > 0 ? input + output : 0)
  const contextTokens = await contextSize.read(tape)
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

/** The error of a turn whose only reply has no text. */
function emptyReply({ finishReason }: StepResult<ToolSet>): string {
  const cut = cuts[finishReason]
  return cut === undefined ? 'The model returned no text' : `The model returned no text. ${cut}`
}

async function recordFailure({ state, turn }: Run, error: string, text = ''): Promise<TurnEnding> {
  await state.tape.append([errorDraft('model', error, turn.runId)])
  return { status: 'failed', text, error }
}

/** Keeps the part of the answer that came before it broke off. */
async function recordBroken({ state, turn }: Run, reply: Exclude<ModelReply, { status: 'done' }>): Promise<TurnEnding> {
  const { runId } = turn
  const drafts: Draft[] = []
  if (reply.text.trim() !== '') drafts.push(partialDraft(reply.text, runId))
  if (reply.status === 'failed') drafts.push(errorDraft('model', reply.failure.message, runId))
  if (drafts.length > 0) await state.tape.append(drafts)
  const { status, text } = reply
  if (status === 'aborted') return { status, text }
  const { message, hint } = reply.failure
  return { status, text, error: hint === undefined ? message : `${message}\n${hint}` }
}

function errorDraft(kind: string, message: string, runId: string): Draft {
  return { kind: 'error', payload: { kind, message }, meta: { run_id: runId } }
}

function callSetting({ state, turn, signal }: Run, entryId: number): CallSetting {
  const { tape, cwd, emit, options } = state
  return {
    tape,
    cwd,
    entryId,
    runId: turn.runId,
    signal,
    emit,
    permissions: options.permissions,
    ask: options.ask,
    afterTurn: (work) => state.afterTurn.push(work),
    ...(state.spawn === undefined ? {} : { spawn: (child) => state.spawn!(child, signal) }),
  }
}
