import fs from 'node:fs'
import { expect, test } from 'vitest'
import { expectOrder, Theatre } from './support/theatre.ts'

test('a full context is handed over: document, clear, resume, verify, with nobody watching [C3][C5][C6][C7]', async () => {
  const theatre = await Theatre.open()
  theatre.supervise()
  await theatre.until(() => theatre.prompts('Build').length === 1, 'the first prompt')
  theatre.fill(90)
  const cycled = await theatre.cycled()
  expect(cycled).toMatchObject({ outcome: 'done', why: 'threshold', document: { by: 'agent' } })
  expect(theatre.heard().map((each) => ('prompt' in each ? each.prompt.slice(0, 14) : Object.keys(each)[0]))).toEqual([
    'Build the shop',
    'Go on with the',
    'Create handoff',
    'cleared',
    'Read handoff f',
  ])
  await expectOrder(theatre)
  expect(fs.readFileSync(cycled.document!.path, 'utf8')).toContain('heliotrope')
})
