// Real agents, the real supervisor, real tmux panes; only the model is a script, and it knows nothing but the request it
// is given. The job needs what was said before the first cycle, so whatever a handoff loses makes it fail.

import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { listSessions } from '../../src/transcripts/index.ts'
import { startMs } from '../support/pace.ts'
import { temporaryFolder } from '../support/workspace.ts'
import { runAlone } from './alone.ts'

interface Told {
  readonly code: number
  readonly err: string
  readonly tests: string
  readonly problems: readonly string[]
  readonly asked: { readonly document: number; readonly resume: number }
  readonly tape: readonly { readonly payload: { readonly name: string; readonly data: Record<string, unknown> } }[]
}

interface Cycled {
  readonly n: number
  readonly outcome: string
  readonly from: string
  readonly to: string
  readonly document: { readonly by: string }
  readonly percentBefore: number
  readonly percentAfter: number
  readonly ownMs: number
  readonly totalMs: number
}

const seconds = 240

/** Of the window: where each would compact by itself. */
const compacts = { claude: 100, pi: 59.1, codex: 90, gemini: 50 }

describe.concurrent.each([
  ['claude', 'tmux'],
  ['pi', 'tmux'],
  ['codex', 'headless'],
  ['gemini', 'tmux'],
] as const)('%s, %s', (agent, driver) => {
  test(
    'goes through cycle after cycle by itself and finishes with what it was told before the first [C1, C2, C3, C5, C6, C9, C12, C13, C14, C18, C19]',
    async ({ onTestFinished }) => {
      const folder = temporaryFolder(onTestFinished)
      const before = startMs()
      const out = await runAlone(
        new URL('./supervise.ts', import.meta.url),
        [agent, driver, folder, String(seconds)],
        seconds + 20,
      )
      const told = JSON.parse(out) as Told
      expect(told).toMatchObject({ code: 0, err: '', problems: [] })
      expect(told.tests).toMatch(/^# pass 16$/m)
      expect(told.tests).toMatch(/^# fail 0$/m)

      const events = (name: string) => told.tape.filter(({ payload }) => payload.name === name)
      const cycles = events('cycled').map(({ payload }) => payload.data as unknown as Cycled)
      expect(cycles.length).toBeGreaterThanOrEqual(3)
      for (const { outcome, document, percentBefore, percentAfter, from, to } of cycles) {
        expect({ outcome, by: document.by }).toEqual({ outcome: 'done', by: 'agent' })
        expect(percentBefore).toBeLessThan(compacts[agent])
        expect(percentAfter).toBeLessThan(percentBefore)
        expect(from).not.toBe(to)
      }
      // Every context was asked once for its document and told once to resume: nothing was typed twice.
      expect(told.asked).toEqual({ document: 1, resume: 1 })

      const home = path.join(folder, 'home')
      const sessions = listSessions({ env: { HOME: home, XDG_CACHE_HOME: path.join(folder, 'cache') } })
      expect(sessions).toHaveLength(cycles.length + 1)
      const git = (...args: string[]) =>
        execFileSync('git', args, { cwd: path.join(folder, 'project'), encoding: 'utf8' })
      expect(git('for-each-ref', '--format=%(refname)', 'refs/baton').trim().split('\n')).toHaveLength(cycles.length)
      // Two seconds by promise, which is fifty starts of a program that does nothing; a busy machine needs more time for both.
      const own = cycles.map(({ ownMs }) => ownMs).sort((a, b) => a - b)
      process.stderr.write(
        `${agent}: Baton's own part of ${cycles.length} cycles ${own.map((ms) => `${ms} ms`).join(', ')}\n`,
      )
      expect(own[0]).toBeLessThan(100 * Math.max(before, startMs()))
      for (const { totalMs } of cycles) expect(totalMs).toBeLessThan(5 * 60_000)
    },
    (seconds + 40) * 1000,
  )
})

/** The answers on the screen, with the one that is marked: they stay as they are while nobody types, whatever else is drawn anew. */
function answersOn(screen: unknown): string[] {
  return [...String(screen).matchAll(/^\s*(❯?)\s*(\d)\. (\w+)/gm)].map(([, mark, n, word]) => `${mark}${n} ${word}`)
}

test(
  'a permission dialog of Claude Code is never typed into; a person is told, and the cycle comes after the answer [C5, C16]',
  async () => {
    const out = await runAlone(new URL('./dialog.ts', import.meta.url), [temporaryFolder()], seconds)
    const told = JSON.parse(out) as Record<string, string | number>
    expect(told.before).toMatch(/Do you want/)
    expect(answersOn(told.before).length).toBeGreaterThanOrEqual(2)
    expect(answersOn(told.after)).toEqual(answersOn(told.before))
    expect(told.after).toMatch(/Do you want/)
    expect(told).toMatchObject({ steps: 0, state: 'dialog', code: 0, err: '' })
    expect(told.person).toContain('It asks')
    expect(told.cycles).toBeGreaterThanOrEqual(1)
    expect(told.tests).toMatch(/^# fail 0$/m)
  },
  (seconds + 20) * 1000,
)
