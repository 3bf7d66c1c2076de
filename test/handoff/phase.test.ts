import { describe, expect, test } from 'vitest'
import { PhaseFacts, phaseLedger } from '../../src/handoff/index.ts'
import type { Entry } from '../../src/store/index.ts'
import { Tape } from '../../src/tape/index.ts'
import { importSession } from '../../src/transcripts/index.ts'
import { temporaryStore } from '../support/workspace.ts'
import { homeWith, sessionsIn } from '../transcripts/home.ts'

// Transcripts of Gemini CLI do not name the folder.
describe.each(['claude', 'codex', 'pi', 'opencode'] as const)('%s', (agent) => {
  test('the facts gathered during an import are those that the tape has [H13]', async () => {
    const home = homeWith(agent)
    for (const file of sessionsIn(home, agent)) {
      const store = await temporaryStore()
      const phase = new PhaseFacts(undefined)
      const { tape: name } = await importSession(store, file, { env: home.env, onEntry: (entry) => phase.add(entry) })
      const tape = new Tape(store, name)
      const cwd = await folderOf(tape)
      const gathered = phase.facts(cwd)
      expect(gathered).toBeDefined()
      const { span, ...facts } = await phaseLedger(tape, { cwd })
      const { span: seen, ...rest } = await phaseLedger(tape, { cwd, phase })
      expect(rest).toEqual(facts)
      expect(seen?.from).toBe(span?.from)
    }
  })

  test('facts are gathered only for the folder that the session works in, and only if nothing was missed [H13]', async () => {
    const home = homeWith(agent)
    const [file] = sessionsIn(home, agent)
    const store = await temporaryStore()
    const entries: Entry[] = []
    const { tape } = await importSession(store, file!, { env: home.env, onEntry: (entry) => entries.push(entry) })
    const cwd = await folderOf(new Tape(store, tape))
    const gathered = (seen: readonly Entry[]) => {
      const phase = new PhaseFacts(undefined)
      for (const entry of seen) phase.add(entry)
      return phase
    }
    expect(gathered(entries).facts(cwd)).toBeDefined()
    expect(gathered(entries).facts('/elsewhere')).toBeUndefined()
    expect(gathered(entries).facts(undefined)).toBeUndefined()
    expect(gathered(entries.slice(1)).facts(cwd)).toBeUndefined()
    expect(gathered(entries.toSpliced(5, 1)).facts(cwd)).toBeUndefined()
  })
})

async function folderOf(tape: Tape): Promise<string> {
  for await (const { payload } of tape.entries({ kinds: ['event'] })) {
    const { name, data } = payload as { name?: unknown; data?: { cwd?: unknown } }
    if (name === 'session' && typeof data?.cwd === 'string') return data.cwd
  }
  throw new Error('the session names no folder')
}
