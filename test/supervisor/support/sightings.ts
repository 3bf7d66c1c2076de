// What the step function is shown in tests, and by which rules it decides.

import type { DocumentState, Policy, Sighting } from '../../../src/supervisor/cycle/cycle-state.ts'

export const policy: Policy = {
  threshold: 0.85,
  brink: 0.95,
  asksInTurn: false,
  callsShow: true,
  cutsTurns: true,
  predict: true,
  wanted: false,
  path: '/shop/handoffs/handoff-2026-01-22-14-30.md',
  project: 'shop',
  n: 1,
  clearShows: true,
  onSilence: 'ledger',
  turnMs: 600_000,
  backgroundMs: 60_000,
  documentMs: 300_000,
  graceMs: 10_000,
  clearMs: 15_000,
  submitMs: 20_000,
  verifyMs: 120_000,
}

interface Facts {
  readonly turn?: Sighting['observation']['turn']
  readonly percent?: number
  readonly session?: string
  readonly turns?: number
  readonly screen?: Sighting['screen']
  readonly heard?: boolean
  readonly read?: boolean
  readonly found?: DocumentState
  readonly dialog?: boolean
  readonly limited?: boolean
  readonly background?: boolean
  readonly growth?: number
  readonly changed?: number
  readonly error?: string
  readonly doing?: readonly string[]
  readonly compacts?: boolean
}

export function sight(facts: Facts, now = 0): Sighting {
  const { turn = 'idle', percent, session = 'old', turns = 1, growth } = facts
  return {
    type: 'session',
    observation: {
      at: now,
      file: undefined,
      session,
      turn,
      turnSince: undefined,
      work: new Set(),
      compacts: facts.compacts === true,
      turns,
      state: facts.limited === true ? { state: 'limited' } : { state: turn === 'idle' ? 'waiting' : 'working' },
      meter: {
        quotas: [],
        window: 100_000,
        ...(percent === undefined ? {} : { percent, tokens: percent * 1000 }),
        ...(growth === undefined ? {} : { growth }),
      },
      compactions: 0,
      prompt: undefined,
      read: [],
      dialog: facts.dialog === true ? { question: 'May I?' } : undefined,
      background: facts.background === true ? ['npm run dev'] : [],
      error: facts.error,
      ...(facts.doing === undefined ? {} : { doing: facts.doing }),
      changed: facts.changed ?? now,
      alive: true,
    },
    screen:
      facts.screen ?? (turn === 'idle' || turn === 'none' ? { is: 'prompt', draft: '' } : { is: 'busy', draft: '' }),
    heard: facts.heard ?? false,
    read: facts.read ?? false,
    document: facts.found ?? { is: 'nothing' },
  }
}

export const stored = {
  id: 7,
  path: policy.path,
  sha256: 'abc',
  by: 'agent',
  turns: 2,
  tokens: 400,
  progress: true,
} as const
