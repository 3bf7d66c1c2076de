import fs from 'node:fs'
import path from 'node:path'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { figuresRequest, licenceQuestion } from '../../scripts/sample-day.mjs'
import { openFileStore } from '../../src/store/index.ts'
import { recordEdge } from '../../src/tape/index.ts'
import { temporaryFolder } from '../support/workspace.ts'
import { message, openPage, type Server, startServer, useBrowser, violationsOn, writeSession } from './dashboard.ts'

useBrowser()

/** Something on every page; the address of each page, by its path in the table of pages. */
async function fill(folder: string): Promise<{ server: Server; addresses: Record<string, string> }> {
  const session = writeSession(folder, 'shop', 3)
  fs.writeFileSync(path.join(folder, 'plan.md'), '# Plan\n')
  const store = await openFileStore(path.join(folder, '.baton'))
  const date = new Date().toISOString()
  const row = {
    name: 'job',
    agent: 'scripted',
    project: folder,
    state: 'ended',
    cycles: 1,
    started: date,
    last_check: date,
  }
  for (const tokens of [10_000, 90_000, 140_000]) {
    const data = { ...row, tokens, window: 200_000, threshold: 0.7, context_usage: tokens / 200_000 }
    await store.append('session/job', [{ kind: 'event', payload: { name: 'row', data }, meta: { key: 'row' } }])
  }
  await recordEdge(store, { parent: 'main', child: 'side', how: 'fork' })
  await store.close()
  const server = await startServer(folder)
  const { client } = server
  await client.tapeAppend({ tape: 'main', entries: [message('Build the parser'), message('Done', 'assistant')] })
  await client.tapeHandoff({ tape: 'main', name: 'phase/two', state: { summary: 'half done' } })
  const { document } = await client.documentWrite({ tape: 'main', goal: 'finish the parser' })
  for (const request of [licenceQuestion, figuresRequest]) await client.relayAsk(request)
  await client.taskCreate({ task: 'LOGIN', title: 'Log in with a passkey' })
  await client.taskHandoff({
    task: 'LOGIN',
    handoff: {
      source_agent: 'planner',
      target_agent: 'coder',
      phase: 'planning',
      artifacts: [{ path: 'plan.md', artifact_type: 'doc' }],
      decisions: [{ decision: 'Use WebAuthn', rationale: 'No passwords to lose', alternatives: ['magic links'] }],
    },
  })
  // A mistake made while the server runs.
  fs.writeFileSync(
    path.join(folder, 'baton.config.json'),
    JSON.stringify({ supervisor: { threshold: 0.7 }, notify: { nonsense: true } }),
  )
  const addresses = {
    '/': '/',
    '/inbox': '/inbox',
    '/handoffs': '/handoffs',
    '/handoffs/:tape/:id': `/handoffs/main/${document.id}`,
    '/tapes': '/tapes',
    '/tapes/:tape': '/tapes/main?find=parser',
    '/sessions/:agent/:id': `/sessions/claude/${session}`,
    '/supervisor': '/supervisor?all=1',
    '/supervisor/:name': '/supervisor/job',
    '/tasks': '/tasks',
    '/tasks/:task': '/tasks/LOGIN',
    '/relay': '/relay',
    '/lineage': '/lineage',
    '/settings': '/settings',
    '/doctor': '/doctor',
  }
  return { server, addresses }
}

async function visit(page: Page, url: string): Promise<void> {
  await page.goto(url)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await expect.poll(() => page.getByRole('status', { name: 'Loading' }).count()).toBe(0)
}

test('every page of the table is visited here', () => {
  const table = fs.readFileSync(path.resolve(import.meta.dirname, '../../src/web/shell/pages.ts'), 'utf8')
  const paths = [...table.matchAll(/^\s*(?:\{ )?path: '([^']+)'/gm)].map(([, each]) => each)
  const here = fs.readFileSync(import.meta.filename, 'utf8')
  expect(paths.length).toBeGreaterThan(10)
  expect(paths.filter((each) => !here.includes(`    '${each}':`))).toEqual([])
})

test.each(['light', 'dark'] as const)(
  'no page has a serious axe violation or scrolls sideways, %s, from 390 to 1,920 px [W9]',
  async (theme) => {
    const { server, addresses } = await fill(temporaryFolder())
    const page = await openPage(server, '/', { theme, width: 1280 })
    const wrong: unknown[] = []
    for (const to of Object.values(addresses)) {
      await visit(page, server.url + to)
      for (const width of [1920, 390, 1280]) {
        await page.setViewportSize({ width, height: 800 })
        // Axe at one of the widths in each theme.
        const found = width === (theme === 'light' ? 1280 : 390) ? await violationsOn(page) : []
        const needed = await page.evaluate<number>('document.documentElement.scrollWidth')
        if (found.length > 0 || needed > width) wrong.push({ to, width, needed, found })
      }
      const headings = await page.getByRole('heading', { level: 1 }).count()
      if (headings !== 1) wrong.push({ to, headings })
    }
    expect(wrong).toEqual([])
  },
  // Fifteen pages, each looked through by axe: a busy machine needs minutes.
  600_000,
)

test('everything that can be pressed is reached and seen by keyboard [W9]', async () => {
  const { server } = await fill(temporaryFolder())
  const page = await openPage(server)
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  // g and a letter goes to a page; the keys of the page itself count there.
  await page.keyboard.press('g')
  await page.keyboard.press('h')
  await page.waitForURL('**/handoffs')
  await page.getByRole('link', { name: /finish the parser/ }).waitFor()
  const pressable = await page.locator('main :is(a, button, input):visible').count()
  const reached = new Set<string>()
  await page.locator('main input').first().focus()
  for (let n = 0; n < pressable; n++) {
    const seen = await page.evaluate<{ name: string; ring: boolean }>(`(() => {
      const it = document.activeElement
      const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(it)
      return { name: it.outerHTML.slice(0, 120), ring: (outlineStyle !== 'none' && outlineWidth !== '0px') || boxShadow !== 'none' }
    })()`)
    expect([seen.name, seen.ring]).toEqual([seen.name, true])
    reached.add(seen.name)
    await page.keyboard.press('Tab')
  }
  expect(reached.size).toBe(pressable)
  // A dialog keeps the focus, closes with Escape, and gives it back.
  const write = page.getByRole('button', { name: 'Write one' })
  await write.focus()
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog')
  await dialog.waitFor()
  for (let n = 0; n < 12; n++) {
    await page.keyboard.press('Tab')
    expect(await page.evaluate("document.activeElement.closest('dialog, body').tagName")).not.toBe('MAIN')
  }
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
})
