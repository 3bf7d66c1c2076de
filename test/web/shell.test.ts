import { expect, test } from 'vitest'
import { expectAccessible, message, openPage, startServer, useBrowser } from './dashboard.ts'

useBrowser()

test.each(['light', 'dark'] as const)(
  'the frame has no serious axe violation, %s, wide and narrow [W9]',
  async (theme) => {
    const server = await startServer()
    for (const width of [1280, 390]) {
      const page = await openPage(server, '/', { theme, width })
      await page.getByRole('heading', { level: 1 }).waitFor()
      await expectAccessible(page)
      expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
    }
  },
)

test('a code signs in once; without one the page says how to get in [W9]', async () => {
  const server = await startServer()
  const address = await server.signInAddress()
  const page = await openPage(server, '/', { expected: /401/ })
  expect(new URL(page.url()).hash).toBe('')
  await page.context().clearCookies()
  await page.reload()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await page.getByText('baton up').waitFor()
  await page.getByLabel('Or paste').fill(address)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'No agent has worked here yet' }).waitFor()
  await page.context().clearCookies()
  await page.goto(`${address}&again`)
  await page.getByRole('alert').waitFor()
})

test('the palette finds pages and tapes by keyboard, and ? lists the keys [W9]', async () => {
  const server = await startServer()
  await server.client.tapeAppend({
    tape: 'support:42',
    entries: [message('hello')],
  })
  const page = await openPage(server)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keyboard' }).waitFor()
  await expectAccessible(page)
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+k')
  await page.getByRole('option', { name: 'Overview' }).waitFor()
  await expectAccessible(page)
  await page.keyboard.type('support')
  await expect.poll(() => page.getByRole('option').count()).toBe(1)
  await page.keyboard.press('Enter')
  await page.waitForURL('**/tapes/support%3A42')
})

test('an address that leads nowhere says so, once [W9]', async () => {
  const server = await startServer()
  const page = await openPage(server, '/nowhere', { expected: /404/ })
  await page.getByText('There is no such page').waitFor()
  for (const [place, problem] of Object.entries({
    '/tapes/none': 'There is no tape "none"',
    '/handoffs/none/3': 'There is no tape "none"',
    '/tasks/none': 'There is no task "none"',
    '/sessions/claude/none': 'There is no session "none"',
    '/supervisor/none': 'There is no supervised session "none"',
  })) {
    await page.goto(server.url + place)
    await page.getByText(problem).waitFor()
    expect(await page.getByRole('alert').count()).toBe(1)
  }
})

test('an agent is started and a document written from the palette [W9]', async () => {
  const server = await startServer()
  const page = await openPage(server, '/tasks')
  for (const [words, title] of [
    ['start an', 'Start an agent'],
    ['write a', 'Write a handoff document'],
  ] as const) {
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type(words)
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: title }).waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
  }
})

test('the server is killed and started again: the page says so and continues by itself [W9]', async () => {
  const server = await startServer()
  const page = await openPage(server, '/', { expected: /ERR_CONNECTION|ERR_INCOMPLETE_CHUNKED|ERR_NETWORK|ERR_EMPTY/ })
  await page.getByText('Live', { exact: true }).first().waitFor({ state: 'attached' })
  await page.getByRole('heading', { level: 1 }).waitFor()
  await server.kill()
  await page.getByText('The server does not answer. ').waitFor()
  await expectAccessible(page)
  const again = await startServer(server.folder, { port: Number(new URL(server.url).port) })
  await page.getByText('The server does not answer. ').waitFor({ state: 'detached' })
  await again.client.tapeAppend({
    tape: 'later',
    entries: [message('hello')],
  })
  await page.keyboard.press('Control+k')
  await page.keyboard.type('later')
  await expect.poll(() => page.getByRole('option', { name: 'later' }).count()).toBe(1)
})
