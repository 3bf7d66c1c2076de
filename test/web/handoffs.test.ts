import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { expectAccessible, message, openPage, startServer, useBrowser } from './dashboard.ts'

useBrowser()

test('a document is written in the browser, read, compared, and each fact leads to its entry [W3]', async () => {
  const server = await startServer()
  const call = {
    id: 'c1',
    name: 'Write',
    arguments: { file_path: 'src/parser.ts', content: 'export const parse = 1\n' },
  }
  await server.client.tapeAppend({
    tape: 'main',
    entries: [
      message('Build the parser. Never change the public names.'),
      { kind: 'tool_call', payload: { calls: [call] } },
      { kind: 'tool_result', payload: { results: [{ call_id: 'c1', name: 'Write', output: 'written' }] } },
      message('The parser is there; its tests are next.', 'assistant'),
    ],
  })
  const page = await openPage(server, '/handoffs')
  await page.getByText('No handoff yet').waitFor()
  await page.keyboard.press('w')
  await page.getByLabel('About').selectOption('main')
  await page.getByLabel('What the next session is for').fill('write its tests')
  await page.getByLabel('Length, in tokens').fill('1500')
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Write', exact: true }).click()
  await page.waitForURL(/\/handoffs\/main\/\d+$/)
  await page.getByRole('heading', { level: 1, name: /write its tests/ }).waitFor()
  await page.getByText(/\d+ verified/).waitFor()
  await page.getByText('Never change the public names', { exact: false }).first().waitFor()
  const first = Number(page.url().split('/').at(-1))
  await page.getByText('tape confirms it').waitFor()
  await page.getByRole('button', { name: 'Continue in…' }).click()
  await page
    .getByRole('dialog')
    .getByText(`baton handoff show main#${first} | baton run codex --task - --detach`)
    .waitFor()
  await page.keyboard.press('Escape')

  // A fact opens its entry.
  const fact = page.locator('.fact', { hasText: 'src/parser.ts' }).first()
  await fact.locator('.reference').first().click()
  await page.waitForURL(/\/tapes\/main\?at=\d+/)
  await page.locator('.entry-marked').waitFor()

  // The next document of the chain, compared with the one before.
  await server.client.tapeAppend({ tape: 'main', entries: [message('Use tabs in the tests.')] })
  const { document } = await server.client.documentWrite({ tape: 'main', goal: 'use tabs' })
  await page.goto(`${server.url}/handoffs/main/${document.id}`)
  await page.getByRole('button', { name: 'Compare' }).click()
  await page.getByText('Use tabs in the tests').first().waitFor()
  expect(new URL(page.url()).searchParams.get('against')).toBe(String(first))

  // Over two hops, the chain leads to the document that each parent had by then.
  await server.client.tapeFork({ tape: 'main', child: 'side' })
  await server.client.tapeAppend({ tape: 'side', entries: [message('Try spaces.')] })
  const { document: ofSide } = await server.client.documentWrite({ tape: 'side', goal: 'try spaces' })
  await server.client.tapeFork({ tape: 'side', child: 'leaf' })
  const { document: ofLeaf } = await server.client.documentWrite({ tape: 'leaf', goal: 'end it' })
  // Written after the fork, so nothing of it was handed over.
  await server.client.documentWrite({ tape: 'side', goal: 'too late' })
  await page.goto(`${server.url}/handoffs/leaf/${ofLeaf.id}`)
  const hops = page.getByRole('region', { name: 'Chain' }).locator('.chain-origin')
  await hops.getByRole('link', { name: `#${ofSide.id} try spaces` }).waitFor()
  await hops.getByRole('link', { name: `#${document.id} use tabs` }).waitFor()
  expect(await hops.count()).toBe(2)
  expect(await hops.getByText('too late').count()).toBe(0)
  await expectAccessible(page)
  await hops.getByRole('link', { name: 'try spaces' }).click()
  await page.waitForURL(`**/handoffs/side/${ofSide.id}`)
  await expectAccessible(page)
})

test('cancelling while a model writes ends its request, and no document is left [W3]', async () => {
  // A model that is asked and never answers; whether it is still asked is seen by its connection.
  let isAsked: () => void
  let isLeft: () => void
  const asked = new Promise<void>((resolve) => (isAsked = resolve))
  const left = new Promise<void>((resolve) => (isLeft = resolve))
  const model = http.createServer((request, response) => {
    response.on('close', () => isLeft())
    request.resume().on('end', () => isAsked())
  })
  await new Promise<void>((resolve) => model.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    model.closeAllConnections()
    model.close()
  })
  const address = `http://127.0.0.1:${(model.address() as AddressInfo).port}/v1`
  const server = await startServer(undefined, { env: { BATON_BASE_URL: address, OPENAI_API_KEY: 'none' } })
  await server.client.tapeAppend({ tape: 'main', entries: [message('Build the parser.')] })
  const page = await openPage(server, '/handoffs')
  await page.getByText('No handoff yet').waitFor()
  await page.keyboard.press('w')
  await page.getByLabel('About').selectOption('main')
  await page.getByLabel('Written by').selectOption('model')
  await page.getByRole('textbox', { name: 'Model' }).fill('openai/slow')
  await page.getByRole('button', { name: 'Write', exact: true }).click()
  await asked
  await page.getByRole('dialog').getByRole('status').waitFor()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await left
  await page.getByText('Cancelled: no document was written.').waitFor()
  expect((await server.client.documentList({})).documents).toEqual([])
})
