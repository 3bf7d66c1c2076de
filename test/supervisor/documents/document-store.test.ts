import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Draft } from '../../../src/store/index.ts'
import { keepDocument } from '../../../src/supervisor/documents/document-store.ts'
import { askText } from '../../../src/handoff/index.ts'
import { temporaryFolder, temporaryStore } from '../../support/workspace.ts'
import { goodDocument } from '../support/protocol.ts'

/** Keeps a document of a small shop in a file of that name, and reads what has become of it. */
async function shop() {
  const cwd = path.join(fs.realpathSync(temporaryFolder()), 'shop')
  fs.mkdirSync(cwd)
  const store = await temporaryStore(path.join(cwd, '.baton'))
  const keep = async (name: string, text?: string, tape?: string) => {
    const file = path.join(cwd, name)
    const { document } = await keepDocument({
      store,
      name: 'shop',
      since: 0,
      cwd,
      tape,
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
  return { keep, store, cwd }
}

const said = (role: string, content: string): Draft => ({ kind: 'message', payload: { role, content } })

function ran(id: string, command: string, output: string): Draft[] {
  return [
    { kind: 'tool_call', payload: { calls: [{ id, name: 'Bash', arguments: { command } }] } },
    { kind: 'tool_result', payload: { results: [{ call_id: id, name: 'Bash', output }] } },
  ]
}

const opened: Draft = { kind: 'anchor', payload: { name: 'session/start', state: { owner: 'human' } } }

test('a ledger’s document carries on all that a long document before it said [C4][C15]', async () => {
  const { keep } = await shop()
  const facts = Array.from({ length: 300 }, (_, i) => `- \`shelf ${i}\` holds \`item-${i * 7919}\`, and nothing else`)
  const text = goodDocument.replace('{project}', 'shop').replace('## Blockers', `${facts.join('\n')}\n\n## Blockers`)
  expect((await keep('first.md', text)).document.tokens).toBeGreaterThan(4_000)
  for (const name of ['second.md', 'third.md']) {
    const { kept } = await keep(name)
    expect(facts.filter((fact) => !kept.includes(fact.slice(2, 40)))).toEqual([])
  }
})

test('what every document says does not grow from one to the next [C9]', async () => {
  const { keep } = await shop()
  const words = "The values are the user's own; they are written nowhere else"
  const text = goodDocument.replace('{project}', 'shop').replace(/(## Notes\n)/, `$1\n- ${words}.\n`)
  for (const name of ['1.md', '2.md', '3.md', '4.md']) {
    const { kept } = await keep(name, text)
    // Among the notes, and among what the user said.
    expect(kept.split(words).length - 1).toBeLessThanOrEqual(2)
  }
})

test('a cycle after a compaction by the agent itself keeps the words of the user [C4]', async () => {
  const { keep, store } = await shop()
  await store.append('claude:1', [
    opened,
    said('user', 'Move the prices to cents. Never touch the invoices that were sent.'),
    ...ran('1', 'npm test', 'ok'),
    { kind: 'anchor', payload: { name: 'compaction', state: { summary: 'The prices are half moved.' } } },
    said('assistant', 'I go on with the basket.'),
  ])
  const { kept } = await keep('one.md', undefined, 'claude:1')
  expect(kept).toContain('Never touch the invoices that were sent.')
})

test('what an agent was doing at its last handoff is no step of the next one, once it has worked [C4]', async () => {
  const { keep, store } = await shop()
  const text = goodDocument
    .replace('{project}', 'shop')
    .replace(/(## Current Work\n)/, '$1\n- Painting the shelves blue.\n')
  await store.append('claude:1', [opened, said('user', 'Paint the shelves.')])
  expect((await keep('one.md', text, 'claude:1')).kept).toContain('Painting the shelves blue')
  await store.append('claude:2', [
    opened,
    said('user', 'Read handoff from one.md and resume work'),
    ...ran('1', 'paint --all', ''),
    said('assistant', 'All shelves are blue, and I opened the door.'),
  ])
  expect((await keep('two.md', undefined, 'claude:2')).kept).not.toContain('Painting the shelves blue')
})

test('what an agent says anew is not taken for what it said before, if a number in it is another [C15]', async () => {
  const { keep } = await shop()
  const text = (tables: number) =>
    goodDocument
      .replace('{project}', 'shop')
      .replace('Added the refresh endpoint', `The importer of the shop moved table${tables} and wrote a test for it`)
  for (const n of [1, 2, 3]) await keep(`${n}.md`, text(n))
  const { kept } = await keep('4.md')
  for (const n of [1, 2, 3]) expect.soft(kept).toContain(`moved table${n} and`)
})

test('a document that was written by a command is not quoted in halves [C15]', async () => {
  const { keep, store } = await shop()
  const facts = Array.from({ length: 60 }, (_, i) => `- \`shelf${i}\` is \`${i * 7919 + 100_000}\``).join('\n')
  await store.append('codex:1', [
    opened,
    said('user', 'Fill the shelves.'),
    ...ran('1', `mkdir -p notes && cat > notes/shelves.md <<'END'\n${facts}\nEND`, ''),
  ])
  const { kept } = await keep('one.md', undefined, 'codex:1')
  expect(kept).toContain("cat > notes/shelves.md <<'END' […]")
  expect(kept).not.toContain('`shelf0`')
})

test('a short output of a command is remembered, however many followed it [C15]', async () => {
  const { keep, store } = await shop()
  const others = Array.from({ length: 30 }, (_, i) => ran(`other-${i}`, `weigh ${i}`, `${i} kg`)).flat()
  await store.append('claude:1', [
    opened,
    said('user', 'Open the safe.'),
    ...ran('1', 'safe code --show', 'the left dial stands at 4417'),
    ...others,
  ])
  expect((await keep('one.md', undefined, 'claude:1')).kept).toContain('4417')
})

describe('what a command printed only once', () => {
  const printed = ['4417', ...[9, 10, 11].map((n) => `\`stamp shelf${n}\` is \`${n * 7919}\``)]
  const first = [
    opened,
    said('user', 'Stamp the shelves, and list the stamps in the end.'),
    ...ran('0', 'safe code --show', printed[0]!),
    ...[9, 10, 11].map((n, i) => ran(`${n}`, `node scripts/stamp.mjs shelf${n}`, printed[i + 1]!)).flat(),
  ]
  const work = (n: number): Draft[] => [
    opened,
    said('user', 'Read handoff from one.md and resume work'),
    ...ran('1', `npm run paint -- --shelf ${n}`, `shelf ${n} is blue`),
    ...ran('2', 'npm test', `${n} passed`),
    said('assistant', `Shelf ${n} is painted, the next one follows.`),
  ]
  const missing = (kept: string) => printed.filter((value) => !kept.includes(value))

  test.each([2, 3, 12])('is in the last of %i documents of the ledger in a row [C15]', async (documents) => {
    const { keep, store } = await shop()
    await store.append('claude:1', first)
    expect(missing((await keep('1.md', undefined, 'claude:1')).kept)).toEqual([])
    for (let n = 2; n <= documents; n++) {
      await store.append(`claude:${n}`, work(n))
      expect(missing((await keep(`${n}.md`, undefined, `claude:${n}`)).kept)).toEqual([])
    }
  })

  test('outlives a context in which nothing happened, and one without a transcript [C15]', async () => {
    const { keep, store } = await shop()
    await store.append('claude:1', first)
    await keep('1.md', undefined, 'claude:1')
    await store.append('claude:2', [opened, said('user', 'Read handoff from one.md and resume work')])
    await keep('2.md', undefined, 'claude:2')
    expect(missing((await keep('3.md')).kept)).toEqual([])
  })

  test('outlives documents in which the agent does not mention it [C15]', async () => {
    const { keep, store } = await shop()
    await store.append('claude:1', first)
    await keep('1.md', undefined, 'claude:1')
    for (const n of [2, 3, 4]) {
      await store.append(`claude:${n}`, work(n))
      const text = n === 4 ? undefined : goodDocument.replace('{project}', 'shop')
      expect(missing((await keep(`${n}.md`, text, `claude:${n}`)).kept)).toEqual([])
    }
  })

  test('does not make documents grow beyond their budget [C9]', async () => {
    const { keep, store } = await shop()
    for (let n = 1; n <= 6; n++) {
      const outputs = Array.from({ length: 40 }, (_, i) =>
        ran(`${i}`, `weigh ${n} ${i}`, `${`${n}-${i} `.repeat(40)}kg`),
      )
      await store.append(`claude:${n}`, [opened, said('user', 'Weigh it all.'), ...outputs.flat()])
      const { document, kept } = await keep(`${n}.md`, undefined, `claude:${n}`)
      expect(document.tokens).toBeLessThanOrEqual(4_000)
      expect(kept).toContain(`weigh ${n} 39`)
    }
  })
})

test('writing the document is neither an answer to the user nor a reason to wait for them [C4]', async () => {
  const { keep, store } = await shop()
  const text = goodDocument.replace('{project}', 'shop')
  await store.append('claude:1', [
    opened,
    said('user', 'Move the prices to cents, one module after the other.'),
    ...ran('1', 'npm run prices', 'till moved'),
    said('user', askText({ path: '/shop/one.md', project: '/shop', percent: 86 })),
    said('assistant', 'I write down where things stand.'),
    ...ran('2', 'cat > /shop/one.md', ''),
    said('assistant', 'The handoff document is written.'),
    { kind: 'event', payload: { name: 'turn_ended', data: { status: 'done' } } },
  ])
  const { kept } = await keep('one.md', text, 'claude:1')
  expect(kept).toContain('Interrupted after `npm run prices`')
  for (const words of ["Answered the user's last request", 'Wait for the user', 'The handoff document is written'])
    expect(kept).not.toContain(words)
})

test('the command that wrote the document, and the one that read it, are neither work nor told of [C9][C10]', async () => {
  const { keep, store, cwd } = await shop()
  const file = path.join(cwd, 'one.md')
  await store.append('codex:1', [
    opened,
    said('user', 'Paint the shelves.'),
    ...ran('1', `cat ${path.join(cwd, 'zero.md')}`, goodDocument),
    said('user', askText({ path: file, project: cwd, percent: 86 })),
    ...ran('2', `mkdir -p ${cwd}/ && cat > ${file} <<'END'\n${goodDocument}\nEND`, ''),
  ])
  const { kept, document } = await keep('one.md', goodDocument.replace('{project}', 'shop'), 'codex:1')
  expect(kept).not.toMatch(/(?:mkdir|zero|cat >)/)
  expect(document.progress).toBe(false)
})

test('where a turn is over, what its agent names as the next step stands alone [C4]', async () => {
  const { keep, store } = await shop()
  await store.append('claude:1', [
    opened,
    said('user', 'Move the prices to cents, one module after the other.'),
    said('assistant', '3 of 19 modules are done.'),
    { kind: 'event', payload: { name: 'turn_ended', data: { status: 'done' } } },
  ])
  const { kept } = await keep('one.md', goodDocument.replace('{project}', 'shop'), 'claude:1')
  for (const words of ['Wait for the user', "Answered the user's last request"]) expect(kept).not.toContain(words)
  expect(kept).toContain('3 of 19 modules are done')
})

const ask = askText({ path: '/shop/one.md', project: '/shop', percent: 86 })
const begun: Draft = { kind: 'event', payload: { name: 'codex/turn_started', data: {} } }
const over: Draft = { kind: 'event', payload: { name: 'turn_ended', data: { status: 'done' } } }
const handedOver = [begun, said('user', ask), said('assistant', 'The document is written.'), over]
const work = [begun, said('user', 'Move the prices to cents.'), said('assistant', 'All modules are moved.'), over]

describe('an agent that records when a turn begins, before what was asked [C4]', () => {
  test('an answered request stays answered, however often the document is asked for', async () => {
    const { keep, store } = await shop()
    await store.append('codex:1', [opened, ...work, ...handedOver, ...handedOver])
    expect((await keep('one.md', undefined, 'codex:1')).kept).toContain('Answered: the last turn ended')
  })

  test('the turn after the document counts again', async () => {
    const { keep, store } = await shop()
    await store.append('codex:1', [
      opened,
      ...work,
      ...handedOver,
      begun,
      said('user', 'Now the invoices.'),
      said('assistant', 'I look at the invoices first.'),
    ])
    expect((await keep('one.md', undefined, 'codex:1')).kept).toContain('Interrupted')
  })
})

test.each<[string, Draft[]]>([
  ['is not heard of any more', []],
  [
    'is interrupted',
    [{ kind: 'event', payload: { name: 'baton/interrupt', data: {} } }, said('user', '[Request interrupted by user]')],
  ],
  ['is stopped by an error', [{ kind: 'error', payload: { kind: 'overloaded', message: '529' } }]],
  [
    'is told of something else, and goes on',
    [
      said('user', '<task-notification><task-id>b1</task-id><status>completed</status></task-notification>'),
      said('assistant', 'The handoff document is written.'),
    ],
  ],
])('an answered request stays answered where the agent that writes the document %s [C4][C15]', async (_, after) => {
  const { keep, store } = await shop()
  const writing = { id: 'w', name: 'Write', arguments: { file_path: '/shop/one.md', content: '# Handoff' } }
  await store.append('claude:1', [
    opened,
    ...work,
    said('user', ask),
    { kind: 'tool_call', payload: { calls: [writing] } },
    ...after,
  ])
  const { kept } = await keep('one.md', undefined, 'claude:1')
  expect(kept).toContain('Answered: the last turn ended')
  for (const words of ['Write /shop/one.md', 'Interrupted', 'is written']) expect(kept).not.toContain(words)
})

test('what the user typed behind the request for a document is work like any other [C4]', async () => {
  const { keep, store } = await shop()
  await store.append('claude:1', [
    opened,
    ...work,
    said('user', `${ask} Also rename the basket to cart.`),
    ...ran('1', 'git mv basket cart', ''),
    said('assistant', 'The basket is named cart now.'),
    over,
  ])
  const { kept } = await keep('one.md', undefined, 'claude:1')
  expect(kept).toContain('Answered: the last turn ended')
  expect(kept).toContain('The basket is named cart now.')
})
