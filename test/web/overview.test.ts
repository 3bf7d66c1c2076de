import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../support/workspace.ts'
import { expectAccessible, message, openPage, startServer, useBrowser, writeSession } from './dashboard.ts'

useBrowser()

/** The first page of a machine with one session, which has taken so many turns. */
async function shopWith(turns: number) {
  const folder = temporaryFolder()
  writeSession(folder, 'shop', turns)
  const page = await openPage(await startServer(folder))
  return { folder, page, job: page.getByText('Job of shop').first() }
}

test('the first page shows each session with its context, and what waits on top; new ones come by themselves [W1, W9]', async () => {
  const folder = temporaryFolder()
  writeSession(folder, 'shop', 3)
  const server = await startServer(folder)
  await server.client.tapeAppend({ tape: 'main', entries: [message('hello')] })
  await server.client.tapeHandoff({ tape: 'main', name: 'phase/two', state: { summary: 'half done' } })
  await server.client.relayAsk({
    from: 'generator',
    to: 'human',
    summary: 'Which currency do refunds have?',
    missing: ['currency'],
  })
  const page = await openPage(server)
  const session = page.getByRole('link', { name: /Job of shop/ }).first()
  await expect.poll(() => session.textContent()).toMatch(/claude.*shop.*main.*idle.*30%.*60k tokens/s)
  // What it cost is known from its tokens, and all of it was today.
  const cost = await session.locator('.session-cost').textContent()
  expect(cost).toMatch(/^\$0\.\d+$/)
  await expect.poll(() => page.locator('.figure', { hasText: 'spent today' }).textContent()).toContain(cost)
  const waiting = page.getByRole('region', { name: 'Waiting for you' })
  await waiting.getByText('Which currency do refunds have?').waitFor()
  const top = (await waiting.boundingBox())!.y
  expect(top).toBeLessThan((await page.getByRole('region', { name: 'Sessions' }).boundingBox())!.y)
  // Handoffs stand out on the timeline, and lead to their place.
  await page
    .getByRole('region', { name: 'Activity' })
    .getByRole('link', { name: /^phase\/two at/ })
    .waitFor()
  writeSession(folder, 'ledger', 1)
  await page.getByText('Job of ledger').first().waitFor()
  const { document } = await server.client.documentWrite({ tape: 'main', goal: 'finish the refunds' })
  await page.getByRole('link', { name: /finish the refunds/ }).click()
  await page.waitForURL(`**/handoffs/main/${document.id}`)
})

test('a session found on this machine is opened with a press, and followed [W10, W2]', async () => {
  const { folder, page, job } = await shopWith(2)
  await job.click()
  await page.getByText('Done with part 1').waitFor()
  writeSession(folder, 'shop', 3)
  await page.getByText('Done with part 2').waitFor()
  await expect.poll(() => page.getByRole('meter', { name: 'Context used' }).getAttribute('aria-valuenow')).toBe('30')
  await page.getByRole('region', { name: 'What the model sees now' }).getByText('Assistant').waitFor()
})

test('on an empty machine one button runs the demo, which is watched from its first line [W10]', async () => {
  // Its panes are in a tmux server of its own, which ends with the test.
  const folder = temporaryFolder()
  const server = await startServer(folder, { env: { TMUX_TMPDIR: folder } })
  const page = await openPage(server, '/404')
  // Nothing but the first run is ever shown: it is not chosen before it is known that there is nothing.
  await page.addInitScript(`
    window.headings = new Set()
    new MutationObserver(() => document.querySelectorAll('h1').forEach((each) => window.headings.add(each.textContent)))
      .observe(document, { childList: true, subtree: true })`)
  await page.goto(server.url)
  await page.getByRole('heading', { name: 'No agent has worked here yet' }).waitFor()
  expect(await page.evaluate('[...window.headings]')).toEqual(['No agent has worked here yet'])
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Run the demo' }).click()
  onTestFinished(async () => {
    for (const { supervisor } of (await server.client.supervisedList({ all: true })).sessions)
      if (supervisor !== undefined) process.kill(supervisor.pid, 'SIGKILL')
    spawnSync('tmux', ['-S', path.join(folder, `tmux-${process.getuid!()}`, 'baton'), 'kill-server'])
  })
  const row = page.getByRole('link', { name: /scripted/ }).first()
  await row.waitFor({ timeout: 60_000 })
  await expect.poll(() => row.textContent(), { timeout: 60_000 }).toMatch(/\d+%/)
  await row.click()
  await page.getByRole('article').first().waitFor({ timeout: 60_000 })
})

test('the first page is at most 200 kB on the wire [W9]', async () => {
  const { page, job } = await shopWith(1)
  await job.waitFor()
  await page.evaluate('document.fonts.ready')
  const addresses = await page.evaluate<string[]>(
    "[location.origin + '/', ...performance.getEntriesByType('resource').map((each) => each.name)]",
  )
  const sizes = addresses
    .filter((each) => !each.includes('/v1/'))
    .map(async (address) => {
      const body = Buffer.from(await (await fetch(address)).arrayBuffer())
      return address.endsWith('.woff2') ? body.length : gzipSync(body).length
    })
  const total = (await Promise.all(sizes)).reduce((sum, each) => sum + each, 0)
  console.log(`first page: ${total} bytes`)
  expect(total).toBeGreaterThan(100_000)
  expect(total).toBeLessThanOrEqual(200_000)
})
