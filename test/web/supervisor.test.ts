import fs from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { open } from '../support/supervised-job.ts'
import { expectAccessible, openPage, startServer, useBrowser } from './dashboard.ts'

useBrowser()

test('an agent is started, paused, resumed, handed over and stopped in the browser [W7]', async () => {
  // More to do than the test takes, and a context that does not fill by itself.
  const door = open(onTestFinished, { modules: 60, perTurn: 1, growth: 500, pace: 150 })
  const server = await startServer(door.project, { env: door.env })
  const page = await openPage(server, '/supervisor')
  await page.getByText('No agent is supervised in this workspace').waitFor()
  await page.keyboard.press('n')
  await page.getByRole('combobox', { name: 'Agent' }).selectOption('scripted')
  await page.getByLabel('Name').fill('job')
  await page.getByLabel('Task').fill(fs.readFileSync(door.task, 'utf8'))
  await page.getByLabel('Dollars, at most').fill('5')
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Start', exact: true }).click()
  await page.waitForURL('**/supervisor/job')
  onTestFinished(async () => {
    const { sessions } = await server.client.supervisedList({ all: true })
    for (const { supervisor } of sessions) if (supervisor !== undefined) process.kill(supervisor.pid, 'SIGKILL')
  })
  const state = (word: string) => page.locator('.page-head').getByText(word, { exact: true })
  await expect.poll(() => page.getByLabel('What the agent shows').textContent()).toMatch(/●/)
  await page.getByRole('button', { name: 'Pause' }).click()
  await state('paused').waitFor()
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByRole('button', { name: 'Pause' }).waitFor()
  await page.getByRole('button', { name: 'Hand over now' }).click()
  const cycle = page.getByRole('region', { name: 'Cycles' }).getByRole('article').first()
  await cycle.getByText('done', { exact: true }).waitFor({ timeout: 90_000 })
  await cycle.getByText('context cleared').waitFor()
  // What proved the steps is said in words, and leads to the entry that recorded it.
  const step = (words: string) => cycle.getByRole('listitem').filter({ hasText: words })
  await step('document stored')
    .getByText(/wrote.* \S+\.md, and it is stored as entry \d+\./)
    .waitFor()
  await step('context cleared')
    .getByText(/^Its transcript is in a new context/)
    .waitFor()
  const proof = step('asked to resume').getByText('The prompt to resume is in its transcript.')
  await proof.waitFor()
  const { cycles } = await server.client.supervisedCycles({ name: 'job' })
  const resuming = cycles[0]!.steps.find(({ step }) => step === 'resuming')!
  expect(resuming.proof!.id).toBeGreaterThan(resuming.id)
  const links = await step('asked to resume').getByRole('link').all()
  expect(await links[1]!.getAttribute('href')).toContain(`at=${resuming.proof!.id}`)
  await page.getByRole('img', { name: /Context of \d+ measurements.*1 marks?/ }).waitFor()
  await expectAccessible(page)

  // What cannot be taken back asks first.
  await page.getByRole('button', { name: 'Stop' }).click()
  const question = page.getByRole('dialog', { name: 'Stop job?' })
  await question.getByRole('button', { name: 'Cancel' }).click()
  await question.waitFor({ state: 'detached' })
  expect((await server.client.supervisedShow({ name: 'job' })).session.state).not.toBe('ended')
  await page.getByRole('button', { name: 'Stop' }).click()
  await question.getByRole('button', { name: 'Stop it' }).click()
  await state('ended').waitFor()
  expect(await page.getByRole('button', { name: 'Stop' }).count()).toBe(0)
})
