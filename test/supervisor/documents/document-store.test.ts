import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { keepDocument } from '../../../src/supervisor/documents/document-store.ts'
import { temporaryFolder, temporaryStore } from '../../support/workspace.ts'
import { goodDocument } from '../support/protocol.ts'

/** Keeps a document of a small shop in a file of that name, and reads what has become of it. */
async function shop() {
  const cwd = path.join(fs.realpathSync(temporaryFolder()), 'shop')
  fs.mkdirSync(cwd)
  const store = await temporaryStore(path.join(cwd, '.baton'))
  return async (name: string, text?: string) => {
    const file = path.join(cwd, name)
    const { document } = await keepDocument({
      store,
      name: 'shop',
      since: 0,
      cwd,
      tape: undefined,
      by: text === undefined ? 'ledger' : 'agent',
      text,
      path: file,
      trigger: { why: 'threshold', at: 0 },
      turns: 1,
      budget: 4_000,
      now: new Date(),
      signal: new AbortController().signal,
    })
    return { document, kept: fs.readFileSync(file, 'utf8') }
  }
}

test('a ledger’s document carries on all that a long document before it said [C4][C15]', async () => {
  const keep = await shop()
  const facts = Array.from({ length: 300 }, (_, i) => `- \`shelf ${i}\` holds \`item-${i * 7919}\`, and nothing else`)
  const text = goodDocument.replace('{project}', 'shop').replace('## Blockers', `${facts.join('\n')}\n\n## Blockers`)
  expect((await keep('first.md', text)).document.tokens).toBeGreaterThan(4_000)
  for (const name of ['second.md', 'third.md']) {
    const { kept } = await keep(name)
    expect(facts.filter((fact) => !kept.includes(fact.slice(2, 40)))).toEqual([])
  }
})

test('what every document says does not grow from one to the next [C9]', async () => {
  const keep = await shop()
  const words = "The values are the user's own; they are written nowhere else"
  const text = goodDocument.replace('{project}', 'shop').replace(/(## Notes\n)/, `$1\n- ${words}.\n`)
  for (const name of ['1.md', '2.md', '3.md', '4.md']) {
    const { kept } = await keep(name, text)
    // Among the notes, and among what the user said.
    expect(kept.split(words).length - 1).toBeLessThanOrEqual(2)
  }
})
