import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { openFileStore } from '../../src/store/index.ts'
import { isFull } from '../support/full.ts'
import { temporaryFolder } from '../support/workspace.ts'
import { expectAccessible, message, openPage, startServer, useBrowser } from './dashboard.ts'
import { jumpTo } from './jump.ts'

useBrowser()

test('a tape is read, filtered, searched, followed and linked to [W2]', async () => {
  const server = await startServer()
  const talk = Array.from({ length: 400 }, (_, n) => message(`line ${n + 1}`, n % 2 === 0 ? 'user' : 'assistant'))
  await server.client.tapeAppend({ tape: 'main', entries: talk })
  await server.client.tapeHandoff({ tape: 'main', name: 'phase/two', state: { summary: 'half done' } })
  const call = { id: 'c1', name: 'Edit', arguments: { file_path: '/srv/a.ts', old_string: 'one', new_string: 'two' } }
  await server.client.tapeAppend({
    tape: 'main',
    entries: [
      { kind: 'tool_call', payload: { calls: [call] } },
      { kind: 'tool_result', payload: { results: [{ call_id: 'c1', name: 'Edit', output: 'done' }] } },
    ],
  })
  const page = await openPage(server, '/tapes/main')
  await page.getByText('phase/two').first().waitFor()
  await page.getByText('+1').first().waitFor()
  // Live: an entry that is written elsewhere appears, and the end stays on the screen.
  await server.client.tapeAppend({ tape: 'main', entries: [message('written just now')] })
  await page.getByText('written just now').waitFor()
  // An event is summed up in words.
  await page.getByText('name: phase/two · state: half done').waitFor()
  // What the model sees now.
  await page.getByRole('region', { name: 'What the model sees now' }).getByText('phase/two').waitFor()
  // A permalink opens its place.
  await page.goto(`${server.url}/tapes/main?at=120`)
  await page.getByRole('article', { name: 'Entry 120, assistant' }).waitFor()
  await page.getByLabel('Find text, or go to an id').fill('line 33')
  await page.keyboard.press('Enter')
  const hits = page.getByRole('complementary', { name: 'Found' }).getByRole('link')
  await expect.poll(() => hits.count()).toBeGreaterThan(5)
  // As words, not as the entry is stored.
  expect(await hits.last().textContent()).toMatch(/line 33$/)
  await hits.last().click()
  await page.getByRole('article', { name: 'Entry 33,' }).waitFor()
  await page.getByRole('button', { name: 'Phases' }).click()
  await expect.poll(() => page.getByRole('article').count()).toBeLessThan(4)
  await expectAccessible(page)
})

test('a damaged tape shows what can be read of it and what to do, and hides no document of another [W2, W3]', async () => {
  const folder = temporaryFolder()
  const store = await openFileStore(path.join(folder, '.baton'))
  for (const text of ['first', 'second', 'third']) await store.append('torn', [message(text)])
  await store.append('main', [message('Build the parser')])
  await store.close()
  const file = path.join(folder, '.baton/tape/torn.jsonl')
  fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace('second', 'secund'))
  const server = await startServer(folder)
  await server.client.documentWrite({ tape: 'main', goal: 'finish the parser' })
  const page = await openPage(server, '/tapes/torn', { expected: /409/ })
  await page.getByRole('article', { name: 'Entry 3, user' }).waitFor()
  await page.getByRole('article', { name: 'Entry 1, user' }).waitFor()
  expect(await page.getByRole('article').count()).toBe(2)
  await page
    .getByRole('alert')
    .getByText(/its bytes have changed/)
    .waitFor()
  await page.getByText('baton tape repair torn').waitFor()
  await expectAccessible(page)
  await page.goto(`${server.url}/handoffs`)
  await page.getByRole('link', { name: /finish the parser/ }).waitFor()
  await page
    .getByRole('alert')
    .getByText(/Not every document of torn/)
    .waitFor()
  await expectAccessible(page)
})

test('a tape of a million entries keeps few rows, and any id is as near as on a short one [W2]', async () => {
  const counts = { short: 1_000, long: isFull ? 1_000_000 : 200_000 }
  const folder = temporaryFolder()
  const store = await openFileStore(path.join(folder, '.baton'))
  for (const [tape, count] of Object.entries(counts)) {
    for (let n = 0; n < count; n += 1_000) {
      await store.append(
        tape,
        Array.from({ length: 1_000 }, (_, at) => message(`entry ${n + at + 1} of many`)),
      )
    }
  }
  await store.close()
  const server = await startServer(folder)
  const page = await openPage(server, '/tapes/short')
  const jumps: Record<string, number[]> = {}
  for (const [tape, count] of Object.entries(counts)) {
    await page.goto(`${server.url}/tapes/${tape}`)
    await page.getByRole('article', { name: `Entry ${count},` }).waitFor()
    await page.getByRole('region', { name: 'What the model sees now' }).getByText('From').waitFor()
    const times: number[] = []
    for (const share of [0.5, 0.1, 0.9, 0.33, 0.7]) {
      times.push(Math.round(await page.evaluate<number>(jumpTo(share))))
      const shown = await page.getByRole('article').first().getAttribute('aria-label')
      const id = Number(/\d+/.exec(shown ?? '')?.[0])
      expect(Math.abs(id - count * share)).toBeLessThan(count * 0.01 + 60)
      expect(await page.getByRole('article').count()).toBeLessThan(60)
    }
    jumps[tape] = times.sort((a, b) => a - b)
  }
  const memory = await page.evaluate<number>('performance.memory.usedJSHeapSize')
  console.log(`jumps in ms: ${JSON.stringify(jumps)}, heap ${Math.round(memory / 1e6)} MB`)
  expect(memory).toBeLessThan(150_000_000)
  expect(jumps['long']![2]).toBeLessThan(3 * jumps['short']![2]! + 100)
})
