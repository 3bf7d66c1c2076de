import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { program } from '../cli/cli.ts'
import { openStore } from '../../src/store/index.ts'
import { recordEdge } from '../../src/tape/index.ts'
import { outputOf } from '../support/processes.ts'
import { expectAccessible, openPage, type Server, startServer, useBrowser } from './dashboard.ts'

useBrowser()

/** A command of another process, in the workspace of the server. */
async function command(server: Server, args: readonly string[]): Promise<string> {
  const env = { ...process.env, HOME: server.folder, BATON_HOME: path.join(server.folder, '.baton'), BATON_TRUST: '1' }
  const child = spawn(process.execPath, [program, ...args], { cwd: server.folder, env })
  const { code, out, err } = await outputOf(child)
  if (code !== 0) throw new Error(`${code}: ${err}`)
  return out
}

test('an answer in the browser releases an agent that waits in another process [W5]', async () => {
  const server = await startServer()
  const page = await openPage(server, '/inbox')
  await page.getByText('Nothing is waiting for you').waitFor()
  const { requestId } = await server.client.relayAsk({
    from: 'writer',
    to: 'human',
    summary: 'Which licence should the package have?',
    missing: [{ key: 'licence', expectedType: 'string', description: 'Its short name' }],
  })
  const released = command(server, ['--json', 'relay', 'status', requestId, '--wait'])
  // It appears without a reload.
  await page.getByRole('heading', { name: 'Which licence should the package have?' }).waitFor()
  await expectAccessible(page)
  await page.getByRole('textbox', { name: /licence/ }).fill('MIT')
  await page.getByRole('button', { name: 'Send the answer' }).click()
  expect(JSON.parse(await released)).toMatchObject({
    status: 'resolved',
    response: { providedInputs: { licence: 'MIT' } },
  })
  await page.getByText('answered').first().waitFor()

  // What was answered is still there, and the keyboard is enough for the next one.
  await server.client.relayAsk({ from: 'coder', to: 'human', summary: 'Which port?', missing: ['port'] })
  await page.goto(`${server.url}/inbox`)
  await page.getByRole('heading', { name: 'Which port?' }).waitFor()
  await page.keyboard.press('e')
  await page.keyboard.type('8080')
  await page.keyboard.press('Control+Enter')
  const history = page.getByRole('region', { name: 'Answered' })
  await history.getByRole('button', { name: /Which port\?/ }).waitFor()
  await history.getByRole('button', { name: /Which licence/ }).click()
  await page.getByText('MIT', { exact: true }).waitFor()
  await expectAccessible(page)
})

test('an answer that came too late says so [W5]', async () => {
  const server = await startServer()
  await server.client.relayAsk({ from: 'writer', to: 'human', summary: 'Which colour?', missing: ['colour'] })
  const { escalations } = await server.client.escalationList({})
  const page = await openPage(server, '/inbox', { expected: /409/ })
  await page.getByRole('textbox', { name: /colour/ }).fill('red')
  await server.client.escalationAnswer({ id: escalations[0]!.id, inputs: { colour: 'blue' } })
  await page.getByText('answered').first().waitFor()
  expect(await page.getByText('blue').count()).toBe(1)
})

test('a task shows its decisions, its drift and its versions, and a person approves what it waits for [W6]', async () => {
  const server = await startServer()
  fs.writeFileSync(path.join(server.folder, 'plan.md'), 'first')
  await server.client.taskCreate({ task: 'LOGIN', title: 'Log in with a passkey' })
  const handoff = {
    source_agent: 'planner',
    target_agent: 'coder',
    phase: 'planning',
    artifacts: [{ path: 'plan.md', artifact_type: 'doc' }],
    decisions: [{ decision: 'Use WebAuthn', rationale: 'No passwords to lose', alternatives: ['magic links'] }],
  }
  await server.client.taskHandoff({ task: 'LOGIN', handoff })
  fs.writeFileSync(path.join(server.folder, 'plan.md'), 'second')
  const page = await openPage(server, '/tasks')
  await page.getByRole('link', { name: /Log in with a passkey/ }).click()
  await page.getByText('Use WebAuthn').first().waitFor()
  await page.getByText('changed since').waitFor()
  await page.getByText('ruled out: magic links').waitFor()
  await expectAccessible(page)
  const asking = {
    ...handoff,
    artifacts: [],
    decisions: [],
    waivers: [{ path: 'plan.md', reason: 'edited by hand' }],
    blocking_issues: [{ issue: 'Delete the old table?', severity: 'blocker', requires_human: true }],
  }
  await server.client.taskHandoff({ task: 'LOGIN', handoff: asking }).catch(() => undefined)
  await page.getByText('Delete the old table?').first().waitFor()
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.getByText('Approved. The task can be handed over.').waitFor()
  expect((await server.client.taskShow({ task: 'LOGIN' })).questions).toEqual([])
})

test('the relay shows who asks whom, and how requests ended, without a reload [W4]', async () => {
  const server = await startServer()
  const page = await openPage(server, '/relay')
  await page.getByText('No requests yet').waitFor()
  await server.client.relayAsk({
    from: 'writer',
    to: 'researcher',
    summary: 'Numbers for the introduction',
    missing: ['n'],
  })
  await page.getByRole('region', { name: 'Who asks whom' }).getByText('researcher').waitFor()
  await page.getByText('Numbers for the introduction').waitFor()
  const { items } = await server.client.relayInbox({ agent: 'researcher' })
  expect(items).toHaveLength(1)
  // The configured limits, with what the open request has used of them.
  const limits = page.getByRole('region', { name: 'Limits' })
  await limits.getByText('1 of 3', { exact: true }).waitFor()
  await limits.getByText('1 of 10', { exact: true }).waitFor()
  await limits.getByText('0 of 20', { exact: true }).waitFor()
  await limits.getByText('30 s', { exact: true }).waitFor()
  await limits.getByText('5 s', { exact: true }).waitFor()
  await expectAccessible(page)
})

test('the lineage of a thousand tapes is drawn, searched and folded [W4]', async () => {
  const server = await startServer()
  const store = await openStore(path.join(server.folder, '.baton'))
  const parent = (at: number) => (at === 0 ? 'root' : `tape-${Math.floor((at - 1) / 2)}`)
  await Promise.all(
    Array.from({ length: 1_000 }, (_, at) =>
      recordEdge(store, { parent: parent(at), child: `tape-${at}`, how: 'fork' }),
    ),
  )
  await store.close()
  const page = await openPage(server, '/lineage')
  const graph = page.getByRole('region', { name: 'Lineage of the tapes' })
  await page.getByText('1,001 tapes').waitFor()
  // Only what is on the screen is drawn.
  expect(await graph.locator('.graph-box').count()).toBeLessThan(60)
  await page.getByRole('searchbox').fill('tape-777')
  await page.getByText('1 found').waitFor()
  await graph.getByText('root').waitFor()
  await graph.getByRole('button', { name: 'fold' }).first().click()
  await graph.getByText(/\d folded/).waitFor()
  await expectAccessible(page)
})

test.each(['light', 'dark'] as const)(
  'settings and doctor say what counts and what is missing, %s [W9]',
  async (theme) => {
    const folder = (await startServer()).folder
    fs.writeFileSync(path.join(folder, 'baton.config.json'), JSON.stringify({ supervisor: { threshold: 0.7 } }))
    const server = await startServer(folder, { args: ['--no-supervisor'] })
    const page = await openPage(server, '/settings', { theme, width: theme === 'dark' ? 390 : 1280 })
    await page.getByRole('row', { name: /threshold 0\.7 set/ }).waitFor()
    await expectAccessible(page)
    await page.goto(`${server.url}/doctor`)
    await page.getByText(`Node ${process.versions.node}`).waitFor()
    expect(await page.getByRole('listitem').count()).toBeGreaterThan(5)
    await expectAccessible(page)
  },
)
