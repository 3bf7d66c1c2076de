import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/workspace.ts'
import { expectAccessible, message, openPage, startServer, useBrowser } from './dashboard.ts'

useBrowser()

/** Writes the transcript of a session of Claude Code, as that agent does. */
function writeSession(home: string, name: string, turns: number): string {
  const id = createHash('sha256')
    .update(name)
    .digest('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*/, '$1-$2-$3-$4-$5')
  const folder = path.join(home, '.claude/projects', name)
  fs.mkdirSync(folder, { recursive: true })
  const common = { sessionId: id, cwd: `/srv/${name}`, gitBranch: 'main', timestamp: new Date().toISOString() }
  const lines = Array.from({ length: turns }, (_, n) => [
    {
      ...common,
      type: 'user',
      uuid: `${n}u`,
      message: { role: 'user', content: n === 0 ? `Job of ${name}` : 'go on' },
    },
    {
      ...common,
      type: 'assistant',
      uuid: `${n}a`,
      message: {
        id: `msg_${n}`,
        model: 'claude-sonnet-4-5',
        role: 'assistant',
        stop_reason: 'end_turn',
        content: [{ type: 'text', text: `Done with part ${n}` }],
        usage: { input_tokens: 10, cache_read_input_tokens: 20_000 * (n + 1), output_tokens: 50 },
      },
    },
  ]).flat()
  const file = path.join(folder, `${id}.jsonl`)
  fs.writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  return file
}

test('the first page shows each session with its context, and what waits; new ones come by themselves [W1, W9]', async () => {
  const folder = temporaryFolder()
  writeSession(folder, 'shop', 3)
  const server = await startServer(folder)
  await server.client.relayAsk({
    from: 'generator',
    to: 'human',
    summary: 'Which currency do refunds have?',
    missing: ['currency'],
  })
  const page = await openPage(server)
  const session = page.getByRole('link', { name: /Job of shop/ }).first()
  await session.waitFor()
  await expect.poll(() => session.textContent()).toMatch(/claude.*shop.*main.*at its prompt.*30 %.*60k tokens/s)
  await page.getByRole('region', { name: 'Waits for you' }).getByText('Which currency do refunds have?').waitFor()
  writeSession(folder, 'ledger', 1)
  await page.getByText('Job of ledger').first().waitFor()
  await server.client.tapeAppend({ tape: 'main', entries: [message('hello')] })
  const { document } = await server.client.documentWrite({ tape: 'main', goal: 'finish the refunds' })
  await page.getByRole('link', { name: /finish the refunds/ }).click()
  await page.waitForURL(`**/handoffs/main/${document.id}`)
})

test.each(['light', 'dark'] as const)(
  'no page has a serious axe violation, %s, wide and narrow [W9]',
  async (theme) => {
    const folder = temporaryFolder()
    writeSession(folder, 'shop', 3)
    const server = await startServer(folder)
    await server.client.tapeAppend({
      tape: 'main',
      entries: [message('Build the parser'), message('Done', 'assistant')],
    })
    await server.client.tapeHandoff({ tape: 'main', name: 'phase/two', state: { summary: 'half done' } })
    const { document } = await server.client.documentWrite({ tape: 'main' })
    for (const width of [1280, 390]) {
      const page = await openPage(server, '/', { theme, width })
      for (const to of [
        '/',
        '/tapes',
        '/tapes/main?find=parser',
        '/handoffs',
        `/handoffs/main/${document.id}`,
        '/handoffs?write=main',
      ]) {
        await page.goto(`${server.url}${to}`)
        await page.getByRole('heading', { level: 1 }).waitFor()
        await page.waitForLoadState('networkidle').catch(() => undefined)
        await expectAccessible(page)
        expect([to, width, await page.evaluate<number>('document.documentElement.scrollWidth')]).toEqual([
          to,
          width,
          width,
        ])
      }
    }
  },
)

test('a session found on this machine is opened with a press, and followed [W10, W2]', async () => {
  const folder = temporaryFolder()
  writeSession(folder, 'shop', 2)
  const server = await startServer(folder)
  const page = await openPage(server)
  await page.getByText('Job of shop').first().click()
  await page.getByText('Done with part 1').waitFor()
  writeSession(folder, 'shop', 3)
  await page.getByText('Done with part 2').waitFor()
  expect(await page.getByRole('meter', { name: 'Context used' }).getAttribute('aria-valuenow')).toBe('30')
})

test('on an empty machine one button runs the demo, whose handoffs are watched to its end [W10]', async () => {
  const folder = temporaryFolder()
  const server = await startServer(folder)
  const page = await openPage(server)
  await page.getByRole('heading', { name: 'No agent has worked here yet' }).waitFor()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Run the demo' }).click()
  const row = page.getByRole('link', { name: /scripted/ }).first()
  await row.waitFor({ timeout: 60_000 })
  await page.getByText('handing over').waitFor({ timeout: 60_000 })
  await page
    .getByRole('region', { name: 'Handed over' })
    .getByRole('link', { name: /cycle/ })
    .first()
    .waitFor({ timeout: 60_000 })
  await expect.poll(() => row.textContent(), { timeout: 100_000 }).toMatch(/[12] handoffs?/)
})

test('the first page is at most 200 kB on the wire and 200 updating sessions cause no long task [W1, W9]', async () => {
  const folder = temporaryFolder()
  for (let n = 0; n < 200; n++) writeSession(folder, `project-${n}`, 2)
  const server = await startServer(folder)
  const { gzipSync } = await import('node:zlib')
  const page = await openPage(server)
  await page.getByText('Job of project-').first().waitFor()
  const assets = await page.evaluate<string[]>("performance.getEntriesByType('resource').map((each) => each.name)")
  let bytes = 0
  for (const name of assets.filter((each) => each.includes('/assets/'))) {
    const body = Buffer.from(await (await fetch(name)).arrayBuffer())
    bytes += name.endsWith('.woff2') ? body.length : gzipSync(body).length
  }
  console.log(`first page: ${bytes} bytes with fonts`)
  expect(bytes).toBeLessThanOrEqual(200_000)
  await watchLongTasks(page)
  for (let round = 3; round < 6; round++) {
    for (let n = 0; n < 200; n++) writeSession(folder, `project-${n}`, round)
    const percent = String(round * 10)
    await expect
      .poll(() => page.getByRole('meter').first().getAttribute('aria-valuenow'), { timeout: 60_000 })
      .toBe(percent)
  }
  const longest = await page.evaluate<number>('Math.max(0, ...window.longTasks)')
  console.log(`longest task: ${longest} ms`)
  expect(await page.getByRole('listitem').count()).toBeLessThan(60)
  // On a machine that others use, a task waits for its turn; the bar itself is for a quiet one.
  expect(longest).toBeLessThan(250)
})

async function watchLongTasks(page: Page): Promise<void> {
  await page.evaluate(`
    window.longTasks = []
    new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map((each) => each.duration)))
      .observe({ type: 'longtask', buffered: false })`)
}
