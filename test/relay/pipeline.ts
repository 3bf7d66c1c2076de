// The agents of the tests: a generator, a validator and a researcher around an orchestrator, as a pipeline has them.

import path from 'node:path'
import { onTestFinished } from 'vitest'
import type * as z from 'zod'
import {
  type HandoffRequest,
  openRelay,
  type RequestOutcome,
  type Relay,
  type RelayOptions,
  relaySection,
} from '../../src/relay/index.ts'
import type { Store } from '../../src/store/index.ts'
import { temporaryFolder, temporaryStore } from '../support/workspace.ts'
import { fullTeam, request as anyRequest } from './team.ts'

const pipeline = {
  agents: fullTeam.agents,
  routes: [
    ...fullTeam.routes,
    { from: 'validator', to: 'orchestrator', reason: 'Threshold not met' },
    { from: 'researcher', to: 'orchestrator', reason: 'Query unclear' },
    { from: 'orchestrator', to: 'researcher', reason: 'Look it up' },
    { from: 'orchestrator', to: 'generator', reason: 'Begin again' },
  ],
  forbidden: fullTeam.forbidden,
}

export type SettingsInput = z.input<typeof relaySection>

export function settings(more: SettingsInput = {}) {
  return relaySection.parse({ ...pipeline, ...more })
}

export { boundless, resolved } from './team.ts'

export interface Opened {
  readonly relay: Relay
  readonly store: Store
  readonly folder: string
  /** The same relay, as another process would open it. */
  readonly again: (options?: Options) => Promise<Relay>
}

export type Options = Partial<Omit<RelayOptions, 'store' | 'settings'>> & {
  settings?: SettingsInput
  time?: ReturnType<typeof clock>
}

export async function open(options: Options = {}, folder = path.join(temporaryFolder(), '.baton')): Promise<Opened> {
  const start = async ({ time, ...rest }: Options) => {
    const given = { ...(time !== undefined && { now: time.now, monotonic: time.monotonic }), ...rest }
    const { now } = given
    const store = await temporaryStore(folder, now === undefined ? {} : { now: () => new Date(now()) })
    const relay = await openRelay({ ...given, store, settings: settings(given.settings) })
    onTestFinished(async () => {
      await relay.close()
      await store.close()
    })
    return { relay, store }
  }
  const { relay, store } = await start(options)
  const again = async (more: Options = {}) => (await start({ ...options, ...more })).relay
  return { relay, store, folder, again }
}

export type RequestInput = Partial<HandoffRequest> & { item?: string }

/** A request of the generator's to the researcher, unless told otherwise; each in a trace of its own. */
export function request({ item = 'market-analysis', ...more }: RequestInput = {}): HandoffRequest {
  const usual = anyRequest()
  return { ...usual, sourceContext: { ...usual.sourceContext, documentType: item }, ...more }
}

export function rejectionOf(outcome: RequestOutcome): string | undefined {
  return outcome.status === 'rejected' ? outcome.rejection : undefined
}

/** The clocks of a machine, which only tests move: `advance` lets time pass, `jump` sets just the wall clock. */
export function clock(start = Date.parse('2026-11-15T12:00:00Z')) {
  let time = start
  let passed = 0
  return {
    now: () => time,
    monotonic: () => passed,
    advance(ms: number): void {
      time += ms
      passed += ms
    },
    jump(ms: number): void {
      time += ms
    },
  }
}
