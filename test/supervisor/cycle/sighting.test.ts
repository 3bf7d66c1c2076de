import { expect, test } from 'vitest'
import { adapterNamed } from '../../../src/agents/index.ts'
import type { ScreenState } from '../../../src/agents/index.ts'
import { sightingOf } from '../../../src/supervisor/cycle/sighting.ts'
import { TranscriptTape } from '../../../src/supervisor/documents/transcript-tape.ts'
import type { Driver } from '../../../src/supervisor/drivers/driver.ts'
import { temporaryStore } from '../../support/workspace.ts'
import { sight } from '../support/sightings.ts'

const started = Date.parse('2026-11-16T03:00:00.000Z')
const at = (seconds: number) => started + seconds * 1000

/** The screen of a Gemini CLI that shows its input, so many seconds after it was started to reopen a session. */
async function seen(seconds: number, changed: number, prompted?: number): Promise<ScreenState> {
  const screen: ScreenState = { is: 'prompt', draft: '' }
  const driver: Driver = {
    place: { driver: 'tmux', socket: '/none', pane: '%0' },
    sent: [],
    alive: () => Promise.resolve(true),
    ended: () => Promise.resolve(undefined),
    screenState: () => Promise.resolve(screen),
    screenText: () => Promise.resolve(''),
    ready: () => Promise.resolve(screen),
    submit: () => Promise.resolve(),
    clear: () => Promise.resolve(),
    interrupt: () => Promise.resolve(),
    stop: () => Promise.resolve(),
    close: () => Promise.resolve(),
  }
  const now = at(seconds)
  const file = { agent: 'gemini', path: '/none/chats/session.jsonl', id: 'a', bytes: 1, changed: at(changed) } as const
  const prompt = prompted === undefined ? undefined : { text: 'go on', at: new Date(at(prompted)).toISOString() }
  const observation = { ...sight({}, now).observation, file, prompt, started, changed: at(changed) }
  const observer = {
    observe: () => Promise.resolve(observation),
    watch: () => noObservations(),
    close: () => Promise.resolve(),
  }
  const handle = { adapter: adapterNamed('gemini', { env: {} }), driver, observer }
  const tape = new TranscriptTape(await temporaryStore())
  const { screen: shown } = await sightingOf({
    handle,
    observation,
    cycle: { at: 'watching' },
    cwd: '/none',
    tape,
    screen: true,
    submitMs: 20_000,
    now,
  })
  return shown
}

async function* noObservations(): AsyncGenerator<never> {}

test('nothing is typed to an agent that shows its input before it has reopened its session [C13][C15]', async () => {
  expect(await seen(10, -5)).toEqual({ is: 'starting' })
  // It writes down that it has, in several lines.
  expect(await seen(10, 9.5)).toEqual({ is: 'starting' })
  expect(await seen(11, 9.5)).toEqual({ is: 'prompt', draft: '' })
  // What it was asked before was asked of another process.
  expect(await seen(10, -5, -20)).toEqual({ is: 'starting' })
  expect(await seen(10, 9.5, 9.5)).toEqual({ is: 'prompt', draft: '' })
  // One that never does is not waited for without end.
  expect(await seen(125, -5)).toEqual({ is: 'prompt', draft: '' })
})
