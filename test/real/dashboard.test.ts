// A real agent in a pane, watched from a browser.

import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/workspace.ts'
import { openPage, startServer, useBrowser } from '../web/dashboard.ts'
import { runAlone } from './alone.ts'

useBrowser()

const seconds = 240

test(
  'a cycle of a real agent is watched to its end: its screen, and each step without a reload [W7]',
  async () => {
    const folder = temporaryFolder()
    const project = path.join(folder, 'project')
    const run = runAlone(
      new URL('./supervise.ts', import.meta.url),
      ['pi', 'tmux', folder, String(seconds)],
      seconds + 20,
    )
    await expect
      .poll(() => fs.existsSync(path.join(project, '.baton/tape/session%2Fjob.jsonl')), { timeout: 60_000 })
      .toBe(true)
    const server = await startServer(project)
    const page = await openPage(server, '/supervisor')
    await page.getByRole('link', { name: /job/ }).click()
    const screen = page.getByLabel('What the agent shows')
    await expect.poll(() => screen.textContent({ timeout: 60_000 }), { timeout: 60_000 }).toMatch(/\S/)
    const first = page
      .getByRole('article')
      .filter({ hasText: 'Cycle 1' })
      .filter({ hasNotText: /Cycle 1\d/ })
    await first.getByText('done', { exact: true }).waitFor({ timeout: 120_000 })
    expect(await first.getByRole('listitem').allTextContents()).toEqual([
      expect.stringContaining('asked for the document'),
      expect.stringContaining('document stored'),
      expect.stringContaining('context cleared'),
      expect.stringContaining('asked to resume'),
      expect.stringContaining('resumption checked'),
      expect.stringContaining('carried on'),
    ])
    expect(JSON.parse(await run)).toMatchObject({ code: 0, problems: [] })
    await page.getByText('ended', { exact: true }).first().waitFor()
  },
  (seconds + 60) * 1000,
)
