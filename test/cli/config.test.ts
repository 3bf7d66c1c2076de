import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/workspace.ts'
import { baton } from './cli.ts'

const sections = ['agent', 'notify', 'relay', 'supervisor', 'task', 'telemetry', 'transcripts']

test('config schema tells editors what every section may say [C1]', async () => {
  const { out } = await baton(temporaryFolder(), ['config', 'schema'])
  const { properties } = JSON.parse(out) as { properties: Record<string, { type: string }> }
  expect(Object.keys(properties)).toEqual(['$schema', 'store', ...sections])
  for (const name of sections) expect(properties[name]).toMatchObject({ type: 'object' })
})

test('config check names the first mistake of any section, or shows all that counts [C1, P13]', async () => {
  const folder = temporaryFolder()
  const write = (content: unknown) => fs.writeFileSync(path.join(folder, 'baton.config.json'), JSON.stringify(content))
  const mistakes: [string, object][] = [
    ['agent.handoff.at', { agent: { handoff: { at: '-5%' } } }],
    ['notify.channels', { notify: { channels: 'none' } }],
    ['relay.limits', { relay: { limits: { each: 1 } } }],
    ['supervisor.threshold', { supervisor: { threshold: 85 } }],
    ['transcripts.models', { transcripts: { models: { mine: { window: -1 } } } }],
  ]
  for (const [where, content] of mistakes) {
    write(content)
    const { code, err } = await baton(folder, ['config', 'check'])
    expect(code).toBe(2)
    expect(err).toContain(where)
  }
  write({ agent: { handoff: { at: '70%' } } })
  const { code, out } = await baton(folder, ['config', 'check', '--json'])
  expect(code).toBe(0)
  expect(JSON.parse(out)).toMatchObject({ agent: { handoff: { at: '70%' } }, supervisor: { threshold: 0.85 } })
})
