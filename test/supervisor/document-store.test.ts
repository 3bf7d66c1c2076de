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
    expect(facts.filter((fact) => !kept.includes(fact.slice(2, 40)))).toEqual([])
  }
})
