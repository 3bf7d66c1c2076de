import fs from 'node:fs'
import { expect, test } from 'vitest'
import { agentNamed } from '../../../src/agents/index.ts'
import { TranscriptView } from '../../../src/supervisor/observe/transcript-view.ts'
import { LiveSession } from '../../../src/transcripts/index.ts'
import { homeWith } from '../../transcripts/home.ts'

const models = { scripted: { window: 200_000, price: { input: 3, output: 15 } } }

test.for(['claude', 'codex', 'opencode'] as const)(
  'what the recorded subagents of %s cost is part of what their session costs [C19]',
  (name) => {
    const { env } = homeWith(name)
    const agent = agentNamed(name)
    const all = agent.folders(env).flatMap((folder) => agent.find(folder))
    const costOf = (file: (typeof all)[number]) => {
      const session = new LiveSession(file)
      session.read()
      const { usd = 0 } = session.meter(models).cost ?? {}
      return { usd, parent: file.parent ?? session.stats.parent }
    }
    const costs = new Map(all.map((file) => [file.id, costOf(file)]))
    const [child] = [...costs.values()].filter(({ parent }) => parent !== undefined)
    const parent = all.find(({ id }) => id === child!.parent)!
    const view = new TranscriptView(parent, '/tmp')
    view.grow(Date.now())
    view.grow(Date.now())
    expect(child!.usd).toBeGreaterThan(0)
    expect(view.meter(models).cost!.usd).toBeCloseTo(costs.get(parent.id)!.usd + child!.usd, 6)
    expect(view.hasNews()).toBe(false)
    view.close()
  },
)

test('of a database that cannot be read, what was known before is what its agent does [C15][C19]', () => {
  const { env } = homeWith('opencode')
  const opencode = agentNamed('opencode')
  const [session] = opencode.folders(env).flatMap((folder) => opencode.find(folder))
  const view = new TranscriptView(session!, '/tmp')
  view.grow(Date.now())
  view.close()
  fs.truncateSync(session!.path, 5_000)
  fs.rmSync(`${session!.path}-wal`, { force: true })
  expect(view.doing).toEqual([])
})
