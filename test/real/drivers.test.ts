import { expect, test } from 'vitest'
import { runAlone } from './alone.ts'
import { startMs } from '../support/pace.ts'
import { temporaryFolder } from '../support/workspace.ts'

const seconds = 300
const script = new URL('./drivers.ts', import.meta.url)

interface Timed {
  readonly words: boolean
  readonly submitMs: number
  readonly heardMs: number
  readonly idleLagMs: number
}

async function play(agent: string, how: 'screen' | 'headless'): Promise<Record<string, unknown>> {
  return JSON.parse(await runAlone(script, [agent, temporaryFolder(), how], seconds)) as Record<string, unknown>
}

/** Generous: the machine may be busy with other tests. */
function expectDelivered(...each: unknown[]): void {
  const patience = Math.max(5_000, 50 * startMs())
  for (const { words, submitMs, idleLagMs } of each as Timed[]) {
    expect(words).toBe(true)
    expect(submitMs).toBeLessThan(patience)
    expect(idleLagMs).toBeLessThan(patience)
  }
}

test.each(['claude', 'pi'])(
  '%s in a real pane: prompts arrive as they are, drafts and dialogs are left alone, a clear is followed [C5, C13]',
  async (agent) => {
    const seen = await play(agent, 'screen')
    expect(seen.problems).toEqual([])
    expect(seen.ready).toEqual({ is: 'prompt', draft: '' })
    expectDelivered(seen.delivered, seen.inCopyMode, seen.fresh)
    expect(seen.draft).toBe('draft')
    expect(seen.draftKept).toEqual({ is: 'prompt', draft: 'half a thought' })
    expect(seen.read).toEqual([expect.stringMatching(/\/project\/document\.md$/)])
    expect(seen.meter).toBeGreaterThanOrEqual(4_000)
    expect(seen.interrupted).toMatchObject({ turn: 'idle' })
    // A second Escape would open the list of earlier prompts.
    expect(seen.afterSecond).toEqual({ is: 'prompt', draft: '' })
    expect(seen.moved).toBe(true)
    expect(seen.gone).toMatchObject({ state: 'ended', ended: { signal: 'SIGKILL' }, refused: 'gone' })
    if (agent === 'claude') {
      expect(seen.dialog).toMatchObject({
        question: expect.stringContaining('Do you want to proceed?') as string,
        look: { is: 'dialog', about: 'permission' },
      })
      expect(seen.dialogRefused).toEqual(['dialog', 'dialog'])
      expect(seen.answered).toEqual({ turn: 'idle', ran: false })
    } else {
      // Two in one folder, told different things and then the same at once: each is seen in its own transcript.
      expect(seen.company).toEqual([
        { distinct: true, own: [true, true] },
        { distinct: true, own: [true, true] },
      ])
    }
  },
  (seconds + 20) * 1000,
)

test.each(['codex', 'claude'])(
  '%s without a screen: turns queue, survive their supervisor, go on, fail with their reason, and begin anew [C13]',
  async (agent) => {
    const seen = await play(agent, 'headless')
    expect(seen.problems).toEqual([])
    expectDelivered(seen.delivered, seen.fresh)
    expect(seen.busy).toMatchObject({ is: 'busy' })
    expect(seen.resumed).toEqual({
      same: true,
      turns: 2,
      read: [expect.stringMatching(/\/project\/document\.md$/) as string],
    })
    expect(seen.queued).toBe('two of two')
    expect(seen.broken).toMatchObject({
      error: expect.any(String) as string,
      ended: { error: expect.any(String) as string },
    })
    expect(seen.interrupted).toMatchObject({ turn: 'idle', gone: true })
    expect(seen.cleared).toBeUndefined()
    expect(seen.moved).toBe(true)
    expect(seen.gone).toEqual({ alive: false, refused: 'gone' })
  },
  (seconds + 20) * 1000,
)
