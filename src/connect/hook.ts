// What Baton answers when an agent's hook calls it, and the line that the agent shows below its prompt: the person's own, then
// Baton's `ctx 43 % · 5h 61 % · 1 waits for you`. An agent waits for both, so this reads and writes a few small files and nothing
// else; whatever takes longer becomes a job for the worker (work.ts).

import fs from 'node:fs'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { type AgentHooks, hooksOf } from '../agents/index.ts'
import { findProject } from '../config/index.ts'
import { compactedText, documentsFolder, injectedText, resumeText } from '../handoff/index.ts'
import { agentMark } from '../system/index.ts'
import { fileName, HookState, type Job, type Gauge } from './hook-state.ts'
import { claimPending } from './pending.ts'

/** What an agent passes to its hooks on standard input, as far as Baton uses it. */
interface HookInput {
  readonly session?: string
  readonly transcript?: string
  readonly cwd: string
  /** Why a session starts: startup, resume, clear, compact. */
  readonly source?: string
  /** Why it compacts: manual or auto. */
  readonly trigger?: string
  /** Why it ends. */
  readonly reason?: string
}

interface HookAnswer {
  /** For the model. */
  readonly text?: string
  /** To be called when the agent has the text: it is not given again then. */
  readonly given?: () => void
  /** Whether there is something for the worker. */
  readonly hasWork: boolean
}

const nothing: HookAnswer = { hasWork: false }

/** Sources of a session that begin with an empty context. */
const freshSources = ['startup', 'clear', 'new']

export function answerHook(agent: string, event: string, input: HookInput, env: NodeJS.ProcessEnv): HookAnswer {
  const hooks = hooksOf(agent)
  const meaning = hooks !== undefined && Object.hasOwn(hooks.events, event) ? hooks.events[event] : undefined
  const { session } = input
  if (hooks === undefined || meaning === undefined || session === undefined) return nothing
  // The supervisor hands over by itself: a second voice would give the agent its document twice.
  if (env[agentMark] !== undefined) return nothing
  const call: HookCall = { agent, hooks, session, input, env, state: new HookState(env) }
  switch (meaning) {
    case 'start':
      return started(call)
    case 'prompt':
      return prompted(call)
    case 'compact':
      return compacting(call)
    case 'turn':
      return withJob(call, { work: 'turn' })
    case 'end':
      return ended(call)
  }
}

/** The input as a hook gets it: JSON in the form that Claude Code, Codex and Gemini CLI share. */
export function readInput(text: string, fallback: string): HookInput {
  const told: unknown = text.trim() === '' ? {} : JSON.parse(text)
  const given = (name: string): string | undefined => {
    const value: unknown =
      typeof told === 'object' && told !== null ? (told as Record<string, unknown>)[name] : undefined
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  const optional = (field: keyof HookInput, name: string) => {
    const value = given(name)
    return value === undefined ? {} : { [field]: value }
  }
  return {
    cwd: given('cwd') ?? fallback,
    ...optional('session', 'session_id'),
    ...optional('transcript', 'transcript_path'),
    ...optional('source', 'source'),
    ...optional('trigger', 'trigger'),
    ...optional('reason', 'reason'),
  }
}

/** The answer as a hook prints it. */
export function printedAnswer(event: string, text: string): string {
  return JSON.stringify({ hookSpecificOutput: { hookEventName: event, additionalContext: text } })
}

interface HookCall {
  readonly agent: string
  readonly hooks: AgentHooks
  readonly session: string
  readonly input: HookInput
  readonly env: NodeJS.ProcessEnv
  readonly state: HookState
}

function started(call: HookCall): HookAnswer {
  const { agent, hooks, session, input, state } = call
  const known = state.session(agent, session)
  if (input.source === 'compact') return hooks.speaksAt === 'start' ? afterCompaction(call) : nothing
  const fresh = input.source === undefined ? known === undefined : freshSources.includes(input.source)
  if (!fresh) return nothing
  if (hooks.speaksAt === 'start') return opened(call)
  state.remember(agent, session, { fresh: true })
  return nothing
}

/** The first prompt of a fresh session is given the handoff that waits; the first one behind a compaction, the way back. */
function prompted(call: HookCall): HookAnswer {
  const known = call.state.session(call.agent, call.session)
  if (known?.compacted !== undefined) return afterCompaction(call)
  if (known?.fresh !== true) return nothing
  const { given, ...answer } = opened(call)
  const noted = () => {
    call.state.remember(call.agent, call.session, {})
    given?.()
  }
  if (answer.text !== undefined) return { ...answer, given: noted }
  noted()
  return answer
}

function opened({ agent, hooks, session, input, env }: HookCall): HookAnswer {
  const claim = claimPending(env, realProject(input.cwd), `${fileName(agent)}-${fileName(session)}`)
  if (claim === undefined) return nothing
  const { document } = claim.pending
  const whole = injectedText(fs.readFileSync(document, 'utf8'), document)
  const text = whole.length <= hooks.mostCharacters ? whole : resumeText(document)
  return { text, given: claim.given, hasWork: false }
}

function afterCompaction({ agent, session, state }: HookCall): HookAnswer {
  const known = state.session(agent, session)
  if (known?.compacted === undefined) return nothing
  const given = () => state.remember(agent, session, {})
  return { text: compactedText(known.compacted), given, hasWork: false }
}

function compacting(call: HookCall): HookAnswer {
  const { agent, hooks, session, input, state } = call
  const sure = hooks.compactsMaybe !== true || input.trigger === 'manual'
  const file = documentFile(call, 'compaction')
  // Where nobody knows yet whether it will compact, the worker decides, and notes it for the next prompt.
  if (sure) state.remember(agent, session, { compacted: file })
  return withJob(call, { work: 'document', why: 'compact', file, ...(sure ? {} : { ifFull: true }) })
}

function ended(call: HookCall): HookAnswer {
  if (!call.hooks.cleared(call.input.reason)) return withJob(call, { work: 'turn' })
  return withJob(call, { work: 'document', why: 'clear', file: documentFile(call, 'clear') })
}

/** The name is chosen now, since the model is told of the file before the worker may have written it. */
function documentFile({ agent, session, input }: HookCall, before: string): string {
  const second = new Date().toISOString().slice(0, 19).replaceAll(/[T:]/g, '-')
  return path.join(documentsFolder(input.cwd, `${agent}:${session}`, undefined), `before-${before}-${second}.md`)
}

function withJob({ agent, session, input, state }: HookCall, what: Pick<Job, 'work'> & Partial<Job>): HookAnswer {
  const { transcript, cwd } = input
  const bytes = transcript === undefined ? undefined : fs.statSync(transcript, { throwIfNoEntry: false })?.size
  state.addJob({
    agent,
    session,
    cwd,
    transcript,
    bytes,
    ...what,
  })
  return { hasWork: true }
}

/** The project as pending handoffs name it. */
export function realProject(cwd: string): string {
  const project = findProject(cwd)
  try {
    return fs.realpathSync(project)
  } catch {
    return project // gone: nothing waits for it either
  }
}

/** What Claude Code passes to its status line, as far as Baton uses it. */
export interface StatusInput {
  readonly context_window?: { readonly used_percentage?: number | null } | null
  readonly rate_limits?: Readonly<Record<string, { readonly used_percentage?: number | null } | null>> | null
}

/** `gauge`: what the worker found out at the end of the last turn. */
export function statusText(input: StatusInput, gauge: Gauge | undefined): string {
  const context = input.context_window?.used_percentage ?? gauge?.percent
  const limits = Object.entries(input.rate_limits ?? {}).flatMap(([name, limit]) =>
    typeof limit?.used_percentage === 'number' ? [{ name, usedPercent: limit.used_percentage }] : [],
  )
  const quotas = limits.length > 0 ? limits : (gauge?.quotas ?? [])
  const waiting = gauge?.waiting ?? 0
  return [
    ...(typeof context === 'number' ? [`ctx ${Math.round(context)} %`] : []),
    ...quotas.map(({ name, usedPercent }) => `${quotaName(name)} ${Math.round(usedPercent)} %`),
    ...(waiting > 0 ? [`${waiting} ${waiting === 1 ? 'waits' : 'wait'} for you`] : []),
  ].join(' · ')
}

const quotaNames: Readonly<Record<string, string>> = {
  five_hour: '5h',
  seven_day: '7d',
  primary: '5h',
  secondary: '7d',
}

function quotaName(name: string): string {
  return quotaNames[name] ?? name.replaceAll('_', ' ')
}

/** How long the person's own command may take before Baton's part is shown without it. */
const patienceMs = 3_000

/** What the person's own command prints; empty if it fails, as the agent itself would show nothing then. */
export function ownStatusLine(command: string, input: string, env: NodeJS.ProcessEnv): string {
  const { status, stdout } = spawnSync('/bin/sh', ['-c', command], {
    input,
    env,
    encoding: 'utf8',
    timeout: patienceMs,
  })
  return status === 0 ? stdout.trimEnd() : ''
}

export function joinStatus(own: string, ours: string): string {
  return [own, ours].filter((part) => part !== '').join(' · ')
}
