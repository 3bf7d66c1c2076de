// The `supervisor` section of baton.config.json, and how it stays current while sessions run.

import path from 'node:path'
import * as z from 'zod'
import { agentSettings } from '../agents/index.ts'
import { configFile, loadConfig } from '../config/index.ts'
import { watchFolder } from '../system/index.ts'

const seconds = z.number().nonnegative().max(604_800)
const share = z.number().gt(0).lt(1)
const count = z.int().positive()

export const boundsSchema = z.strictObject({
  until: z
    .string()
    .min(1)
    .optional()
    .describe('a shell command, run in the project after a turn: the run ends when it succeeds'),
  maxUsd: z.number().positive().optional().describe('dollars, over all contexts of the run'),
  maxHours: z.number().positive().optional().describe('hours since it was started or reopened'),
  maxCycles: count.optional().describe('cycles'),
  maxTurns: count.optional().describe('turns of the agent'),
  stallMinutes: z.number().positive().optional().describe('the run ends when nothing has changed for so long'),
})
/** What ends an unattended run. */
export type Bounds = z.output<typeof boundsSchema>

export const supervisorSection = z.strictObject({
  threshold: share.default(0.85).describe('how full a context may become before it is cycled'),
  thresholds: z.record(z.string(), share).default({}).describe('agent or session: its own threshold'),
  margin: share
    .default(0.05)
    .describe('of the window: how far the threshold stays below where the agent compacts by itself'),
  predict: z
    .boolean()
    .default(true)
    .describe('cycle at the end of a turn when the next one would overrun the threshold'),
  turnSeconds: seconds
    .default(600)
    .describe('how long the end of a turn is waited for past the threshold; then it is interrupted'),
  documentSeconds: seconds.default(300).describe('how long a document is waited for, each time it is asked for'),
  onSilence: z
    .enum(['ledger', 'ask'])
    .default('ledger')
    .describe('no document: write it from the ledger, or ask a person'),
  budget: z.int().min(500).max(50_000).default(4_000).describe('tokens of a document, at most'),
  handoffs: z.string().min(1).optional().describe('folder of the documents, where the agent can write'),
  cooldownSeconds: seconds.default(120).describe('the least time between two cycles of a session'),
  breaker: count.default(3).describe('so many cycles without progress stop the cycling'),
  stallChecks: count
    .default(3)
    .describe(
      'the run ends when the command of "until" has failed so often in the same way with no progress in between',
    ),
  remindMinutes: z
    .number()
    .positive()
    .default(30)
    .describe('a person is reminded after so long while something still needs them'),
  concurrency: count.default(2).describe('cycles at the same time'),
  quota: z
    .union([
      z.literal('wait'),
      z.strictObject({ continueIn: z.string().min(1), args: z.array(z.string()).default([]) }),
    ])
    .default('wait')
    .describe('a limit is reached: wait for the reset, or continue in another agent'),
  restarts: z.int().nonnegative().default(5).describe('how often an agent that crashes is restarted within an hour'),
  bounds: boundsSchema.default({}).describe('of every run that does not set its own'),
  agents: z.record(z.string(), agentSettings).default({}).describe('agents of your own, or how a known one is started'),
})
export type SupervisorSettings = z.output<typeof supervisorSection>

/** Waits that are part of how a supervisor works, and no settings: only tests and the demo have no time for them. */
export const timingsSchema = z.strictObject({
  /** How long commands in the background are waited for. */
  backgroundSeconds: seconds.default(60),
  /** How long a turn that ended without a document may still bring one. */
  graceSeconds: seconds.default(10),
  /** How long a clear is waited for before it is tried again. */
  clearSeconds: seconds.default(15),
  /** How long a prompt may go unseen in the transcript. */
  submitSeconds: seconds.default(20),
  /** How long the fresh context has to read the document and go on. */
  verifySeconds: seconds.default(120),
  /** Added to the threshold after more than one cycle in an hour, and for how long. */
  raise: z.number().min(0).max(0.5).default(0.05),
  raiseMinutes: z.number().nonnegative().default(60),
  /** Between the beginnings of two cycles. */
  staggerSeconds: seconds.default(2),
  /** Before the second restart of an agent that crashes; doubled for each further one. */
  restartSeconds: seconds.default(2),
  /** After the reset of a limit, before the agent is told to go on: it names a minute, not a second. */
  limitSeconds: seconds.default(20),
  /** Before an agent whose turn an error has cut off is told to go on; doubled for each further one. */
  errorSeconds: seconds.default(30),
})
export type Timings = z.output<typeof timingsSchema>

/** All that a session is supervised by. */
export type SessionSettings = SupervisorSettings & Timings

/** Of the section, as editors take it. */
export function supervisorSchema(): unknown {
  return z.toJSONSchema(supervisorSection, { io: 'input' })
}

/** The settings as they are now: what the file says counts from the next step on. One that has become wrong changes nothing. */
export interface LiveSettings {
  readonly settings: () => SupervisorSettings
  /** Calls the listener when they have changed, until the returned function is called. */
  readonly onSettings: (listener: () => void) => () => void
  close(): void
}

/** Throws if they are wrong to begin with. `onProblem` is told of a file that no longer counts. */
export function liveSettings(cwd: string, onProblem: (error: Error) => void): LiveSettings {
  const config = loadConfig(cwd)
  let current = config.section('supervisor', supervisorSection)
  let seen = JSON.stringify(current)
  const listeners = new Set<() => void>()
  let timer: NodeJS.Timeout | undefined

  function read(): void {
    try {
      current = loadConfig(cwd).section('supervisor', supervisorSection)
    } catch (error) {
      return onProblem(error as Error)
    }
    const now = JSON.stringify(current)
    if (now === seen) return
    seen = now
    for (const listener of listeners) listener()
  }

  // The folder rather than the file: editors put a new file in its place. One that is not there yet is waited for here.
  const folder = path.dirname(config.file ?? path.join(path.resolve(cwd), configFile))
  // Where it cannot be watched, a change counts after the next start.
  const stopWatching = watchFolder(folder, (name) => {
    if (name !== undefined && name !== configFile) return
    clearTimeout(timer)
    // An editor writes in several steps.
    timer = setTimeout(read, 50)
  })
  return {
    settings: () => current,
    onSettings: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close: () => {
      clearTimeout(timer)
      stopWatching?.()
    },
  }
}
