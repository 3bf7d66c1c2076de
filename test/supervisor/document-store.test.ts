import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { keepDocument } from '../../src/supervisor/document-store.ts'
import { temporaryFolder, temporaryStore } from '../support/workspace.ts'
import { goodDocument } from './support/strings.ts'

test('a ledger’s document carries on all that a long document before it said [C4][C15]', async () => {
  const cwd = path.join(fs.realpathSync(temporaryFolder()), 'shop')
  fs.mkdirSync(cwd)
  const store = await temporaryStore(path.join(cwd, '.baton'))
  const facts = Array.from({ length: 300 }, (_, i) => `- \`shelf ${i}\` holds \`item-${i * 7919}\`, and nothing else`)
  const text = goodDocument.replace('{project}', 'shop').replace('## Blockers', `${facts.join('\n')}\n\n## Blockers`)
  const job = {
    store,
    name: 'shop',
    since: 0,
    cwd,
    tape: undefined,
    trigger: { why: 'crash', at: 0 },
    turns: 1,
    budget: 4_000,
    now: new Date(),
    signal: new AbortController().signal,
  } as const
  const first = await keepDocument({ ...job, by: 'agent', text, path: path.join(cwd, 'first.md') })
  expect(first.document.tokens).toBeGreaterThan(4_000)
  for (const n of [2, 3]) {
    const file = path.join(cwd, `${n}.md`)
    await keepDocument({ ...job, by: 'ledger', text: undefined, path: file })
    const kept = fs.readFileSync(file, 'utf8')
    expect(kept.split('`shelf 1` holds').length - 1).toBe(1)
    expect(facts.filter((fact) => !kept.includes(fact.slice(2, 40)))).toEqual([])
  }
})

test('what every document says does not grow from one to the next [C9]', async () => {
  const cwd = path.join(fs.realpathSync(temporaryFolder()), 'shop')
  fs.mkdirSync(cwd)
  const store = await temporaryStore(path.join(cwd, '.baton'))
  const words = "The values are the user's own; they are written nowhere else"
  const text = goodDocument.replace('{project}', 'shop').replace(/(## Notes\n)/, `$1\n- ${words}.\n`)
  for (const n of [1, 2, 3, 4]) {
    const file = path.join(cwd, `${n}.md`)
    await keepDocument({
      ...{ store, name: 'shop', since: 0, cwd, tape: undefined, by: 'agent', text, path: file, turns: n },
      ...{ trigger: { why: 'threshold', at: 0 }, budget: 4_000, now: new Date() },
      signal: new AbortController().signal,
    })
    // Among the notes, and among what the user said.
    expect(fs.readFileSync(file, 'utf8').split(words).length - 1).toBeLessThanOrEqual(2)
  }
})
