// Real agents whose model's service fails in the middle of a job. What an agent does not try again by itself ends its turn,
// and would leave an unattended run standing there.

import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../support/workspace.ts'
import { runAlone } from './alone.ts'

interface Told {
  readonly code: number
  readonly err: string
  readonly tests: string
  readonly person: string
  readonly health: readonly { readonly check_type: string; readonly status: string }[]
  readonly failed: number
}

const seconds = 240

describe.concurrent.each([
  ['claude', 'tmux', 'invalid', 1, 'An error cut its turn short: API Error: 400'],
  ['claude', 'tmux', 'rate limit', 2, 'Usage limit reached'],
  ['pi', 'tmux', 'auth', 1, 'An error cut its turn short: 401'],
  ['codex', 'headless', 'network', 3, 'An error cut its turn short: stream disconnected'],
] as const)('%s, %s', (agent, driver, kind, count, words) => {
  test(
    `goes on by itself after ${kind}, ${count} times, and a person is told [C16, C17, C19]`,
    async ({ onTestFinished }) => {
      const out = await runAlone(
        new URL('./outage.ts', import.meta.url),
        [agent, driver, temporaryFolder(onTestFinished), kind, String(count), String(seconds)],
        seconds + 20,
      )
      const told = JSON.parse(out) as Told
      expect(told).toMatchObject({ code: 0, err: '', failed: count })
      expect(told.tests).toMatch(/^# fail 0$/m)
      expect(told.person).toContain(words)
      const model = told.health.filter(({ check_type }) => check_type === 'model').map(({ status }) => status)
      if (kind !== 'rate limit') expect([model[0], model.at(-1)]).toEqual(['warning', 'ok'])
    },
    (seconds + 40) * 1000,
  )
})
