import { expect, test } from 'vitest'
import { isFull } from '../support/full.ts'
import { temporaryFolder } from '../support/workspace.ts'
import { runAlone } from './alone.ts'

const seconds = 360

interface Told {
  readonly doctor: { readonly is: string; readonly text: string }[]
  readonly first: Turn
  readonly second: Turn
  readonly third: Turn
  readonly sessions: number
  readonly notes: string
  readonly log: string
  readonly changed: string[]
  readonly left: string[]
  readonly problems: unknown[]
}

interface Turn {
  readonly times: number
  readonly errors: string[]
}

test.each(isFull ? ['codex', 'opencode', 'pi', 'gemini'] : ['codex'])(
  '%s opens with what waits for it, once; calls a tool of Baton where it can; and is as before when disconnected [D5, D6, D7]',
  async (agent) => {
    const out = await runAlone(new URL('./connect-agent.ts', import.meta.url), [agent, temporaryFolder()], 2 * seconds)
    const told = JSON.parse(out) as Told
    const isTrusted = agent !== 'codex'
    expect(told.doctor).toEqual([
      isTrusted
        ? expect.objectContaining({ is: 'ok', text: expect.stringContaining('its hooks answer') as string })
        : expect.objectContaining({ is: 'warning', text: expect.stringContaining('until you trust them') as string }),
    ])
    expect([told.first, told.second, told.third]).toEqual([
      { times: 0, errors: [] },
      { times: 1, errors: [] },
      { times: 0, errors: [] },
    ])
    // Every session was brought to its tape at the end of its turn.
    expect(told.sessions).toBe(3)
    // pi has no MCP, and Gemini CLI gives its model no such tools without a screen.
    if (agent === 'codex' || agent === 'opencode') expect(told.notes).toContain(`from ${agent}`)
    expect([told.log, told.changed, told.left, told.problems]).toEqual(['', [], [], []])
  },
  (2 * seconds + 30) * 1000,
)

test(
  'Claude Code opens with what waits for it, once; calls a tool of Baton; tells of compactions; and is as before when disconnected [D5, D6, D7]',
  async () => {
    const out = await runAlone(new URL('./connect-claude.ts', import.meta.url), [temporaryFolder()], seconds)
    const told = JSON.parse(out) as Record<string, { times: number; session: string }> & Record<string, string>
    expect(told.again).toContain('connected already')
    expect(told.first!.times).toBe(0)
    // Called by the model in the first turn.
    expect(told.notes).toContain('from claude')
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
