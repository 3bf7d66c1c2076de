import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import type { Store } from '../../src/store/index.ts'
import { Tape, tokenCounter } from '../../src/tape/index.ts'
import { estimateTextTokens } from '../../src/tape/token-estimate.ts'
import { temporaryStore } from '../support/workspace.ts'

const root = path.join(import.meta.dirname, '../..')
const file = (name: string) => fs.readFileSync(path.join(root, name), 'utf8').slice(0, 40_000)
const rows = (n: number, row: (i: number) => string) => Array.from({ length: n }, (_, i) => row(i)).join('\n')

const samples: Record<string, string> = {
  'English prose': file('docs/handoff.md'),
  TypeScript: file('src/tape/context/context.ts'),
  JSON: file('package.json'),
  'a lock file': file('package-lock.json'),
  'a log': rows(
    200,
    (i) => `2026-11-17T19:00:${10 + (i % 50)}.123Z INFO [worker-${i % 8}] GET /api/users/${i * 13} 200 ${i}ms`,
  ),
  'a test report': rows(200, (i) => ` ✓ test/tape/context.test.ts > drops the oldest turns ${i} (${i % 90} ms)`),
  'a table': rows(100, (i) => `| value ${i} | ${i * 37} | yes |\n| ------- | ---- | --- |`),
  numbers: rows(500, (i) => `${i} ${(i * 7919.37).toFixed(2)}`),
  hexadecimal: rows(100, (i) => (i * 2654435761).toString(16).padStart(40, 'b7e1')),
  rules: rows(50, () => `${'='.repeat(80)}\nTitle\n${'-'.repeat(80)}`),
  German:
    'Bitte schreibe den Importer neu und ändere die öffentliche Schnittstelle nicht. Alle Tests müssen danach laufen.',
  French:
    'Veuillez réécrire l’importateur sans toucher à l’interface publique. Tous les tests doivent passer avant la fin.',
  Russian: 'Пожалуйста, перепиши импортёр и не меняй публичный интерфейс. После этого все тесты должны проходить.',
  Chinese: '请把导入程序重写一遍，不要改动公共接口。测试必须全部通过，然后提交代码。如果遇到问题，请先告诉我。',
  Korean: '가져오기 프로그램을 다시 작성하고 공개 인터페이스는 건드리지 마세요. 모든 테스트가 통과해야 합니다.',
  Arabic: 'يرجى إعادة كتابة برنامج الاستيراد وعدم لمس الواجهة العامة. يجب أن تنجح جميع الاختبارات.',
}

test.each(Object.keys(samples))('the estimate for %s is within 15 %% of a tokenizer [T10]', async (name) => {
  const count = await tokenCounter()
  const text = samples[name]!
  const ratio = estimateTextTokens(text) / count(text)
  expect(ratio).toBeGreaterThan(0.85)
  expect(ratio).toBeLessThan(1.15)
})

async function talk(): Promise<Tape> {
  const tape = new Tape(await temporaryStore(), 'main')
  await tape.append([{ kind: 'message', payload: { role: 'user', content: 'long ago' } }])
  await tape.handoff('phase', { state: { goal: 'finish the importer', files: ['src/import.ts'] } })
  for (let i = 0; i < 10; i++) {
    await tape.append([
      {
        kind: 'message',
        payload: { role: 'user', content: `Look at part ${i} of the importer and say what is wrong.` },
      },
      { kind: 'tool_call', payload: { calls: [{ id: `c${i}`, name: 'fs.read', arguments: { path: `src/${i}.ts` } }] } },
      {
        kind: 'tool_result',
        payload: { results: [{ call_id: `c${i}`, output: file('src/tape/lineage/fork.ts').slice(0, 3_000) }] },
      },
      { kind: 'message', payload: { role: 'assistant', content: 'The row is split before its quotes are read.' } },
      { kind: 'event', payload: { name: 'usage', data: { note: 'x'.repeat(2_000) } }, meta: { key: 'usage' } },
    ])
  }
  return tape
}

async function counted(tape: Tape, query = {}): Promise<number> {
  const count = await tokenCounter()
  return count(JSON.stringify((await tape.context(query)).messages))
}

/** The store as somebody else has it open, and how many entries they have read. */
function counting(store: Store) {
  let entries = 0
  const seen = new Proxy(store, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name)
      if (typeof found !== 'function') return found
      if (name !== 'read') return found.bind(target) as unknown
      return async function* (...query: Parameters<Store['read']>) {
        for await (const entry of target.read(...query)) {
          entries += 1
          yield entry
        }
      }
    },
  })
  return { store: seen, entriesRead: () => entries }
}

test('info counts what the context takes, within 15 %, also as the tape grows [T10]', async () => {
  const tape = await talk()
  const near = async () => {
    const ratio = (await tape.info()).contextTokens / (await counted(tape))
    expect(ratio).toBeGreaterThan(0.85)
    expect(ratio).toBeLessThan(1.15)
  }
  await near()
  await tape.append([{ kind: 'message', payload: { role: 'user', content: file('docs/tapes.md').slice(0, 20_000) } }])
  await near()
  const before = (await tape.info()).contextTokens
  const { store, entriesRead } = counting(tape.store)
  expect((await new Tape(store, 'main').info()).contextTokens).toBe(before)
  // Whoever has the same store open need not read the entries again.
  const once = entriesRead()
  expect(once).toBeGreaterThan(30)
  await Promise.all([new Tape(store, 'main').info(), new Tape(store, 'main').info()])
  expect(entriesRead()).toBe(once)
  await tape.handoff('next', { state: { left: 'nothing' } })
  expect((await tape.info()).contextTokens).toBeLessThan(100)
})

test('a large message counts as its preview, or whole where it is given whole [T10, T25]', async () => {
  const tape = await talk()
  await tape.append([{ kind: 'message', payload: { role: 'user', content: file('docs/cli.md').repeat(6) } }])
  for (const wholeText of [0, 1_000_000]) {
    const ratio = (await tape.info({ wholeText })).contextTokens / (await counted(tape, { wholeText }))
    expect(ratio).toBeGreaterThan(0.85)
    expect(ratio).toBeLessThan(1.15)
  }
})
