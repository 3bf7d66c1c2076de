import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/workspace.ts'
import { runAlone } from './alone.ts'

const seconds = 240

test(
  'Claude Code opens with what waits for it, once; tells of compactions; and is as before when disconnected [D6, D7]',
  async () => {
    const out = await runAlone(new URL('./connect-claude.ts', import.meta.url), [temporaryFolder()], seconds)
    const told = JSON.parse(out) as Record<string, { times: number; session: string }> & Record<string, string>
    expect(told.again).toContain('connected already')
    expect(told.first!.times).toBe(0)
    // The handoff opens the next session, is there once when that is resumed, and not in the one behind it.
    expect(told.second!.times).toBe(1)
    expect(told.resumed!.times).toBe(1)
    expect(told.third!.times).toBe(0)
    expect(told.compacted!.times).toBe(1)
    // The command of the plugin writes a document for its goal, and the next session opens with it.
    expect(told.command!.times).toBe(1)
    expect(told.fourth!.times).toBeGreaterThan(0)
    expect(told.worked!.trim().split('\n')).toHaveLength(3)
    expect(told.status).toBe('mine · ctx 43 %\n')
    expect(told.doctor).toContain('its hooks answer')
    // The user's own hook ran at every start, beside Baton's.
    expect(Number(told.ownHook)).toBeGreaterThanOrEqual(8)
    expect(told.log).toBe('')
    expect(told.restored).toBe(true)
    expect(told.problems).toEqual([])
  },
  (seconds + 30) * 1000,
)
