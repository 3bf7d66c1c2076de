import path from 'node:path'
import { expect, test } from 'vitest'
import { openFileStore } from '../../src/store/index.ts'
import { isFull } from '../support/full.ts'
import { temporaryFolder } from '../support/workspace.ts'
import { message, openPage, startServer, useBrowser, writeSession } from './dashboard.ts'

useBrowser()

const evil = [
  '<script>window.hacked = 1</script>',
  '<img src=x onerror="window.hacked = 1">',
  '<svg onload="window.hacked = 1"><a href="javascript:window.hacked=1">x</a></svg>',
  '[x](javascript:window.hacked=1) javascript:window.hacked=1',
  '\u001B]0;title\u0007\u001B[2J\u001B[31mred\u001B[0m',
  'left \u202Ethgir\u202C \u2066isolated\u2069 \u200Bzero',
  `"'; touch hacked #{{constructor.constructor("window.hacked=1")()}}`,
]
/** What would turn, hide or steer text if it came through. */
// oxlint-disable-next-line no-control-regex
const marks = /[\u001B\u202A-\u202E\u2066-\u2069\u200B]/

test('what others wrote does nothing, in any field of any page [W8]', async () => {
  const folder = temporaryFolder()
  evil.forEach((text, n) => writeSession(folder, `project ${n} <img src=x onerror=window.hacked=1>`, 1, text))
  const server = await startServer(folder)
  const { client } = server
  const tape = `<img src=x onerror=window.hacked=1>'; touch hacked; '`
  const entries = evil.flatMap((text) => [
    message(text),
    message(text, text),
    {
      kind: 'message',
      payload: {
        role: 'user',
        content: [
          { type: 'image', mediaType: 'image/svg+xml', data: text },
          { type: text, text },
        ],
      },
    },
    { kind: 'tool_call', payload: { calls: [{ id: text, name: text, arguments: { [text]: text } }] } },
    { kind: 'tool_result', payload: { results: [{ call_id: text, name: text, output: text, is_error: true }] } },
    { kind: 'event', payload: { name: text, data: text } },
    { kind: 'error', payload: { kind: text, message: text } },
    { kind: text.slice(0, 60), payload: text },
    { kind: 'system', payload: { content: text } },
  ])
  for (const entry of entries) await client.tapeAppend({ tape, entries: [entry] })
  for (const text of evil.slice(0, 3)) {
    const handoff = {
      source_agent: text,
      target_agent: text,
      phase: text,
      decisions: [{ decision: text, rationale: text }],
    }
    await client.tapeHandoff({ tape, name: text, state: { summary: text } })
    await client.documentWrite({ tape, goal: text })
    await client.relayAsk({
      from: 'writer',
      to: 'human',
      summary: text,
      missing: [{ key: text, expectedType: 'string', description: text }],
    })
    await client.taskCreate({ task: 'HOSTILE', title: text }).catch(() => undefined)
    await client.taskHandoff({ task: 'HOSTILE', handoff }).catch(() => undefined)
  }
  const { documents } = await client.documentList({ tape, limit: 1 })
  const page = await openPage(server, `/tapes/${encodeURIComponent(tape)}`)
  await page.getByRole('article').first().waitFor()
  const headers = (await page.request.get(server.url)).headers()
  expect(headers['content-security-policy']).toMatch(/default-src 'none'|default-src 'self'/)
  expect(headers['content-security-policy']).not.toMatch(/unsafe/)
  const addresses = [
    `/tapes/${encodeURIComponent(tape)}?at=1`,
    `/tapes/${encodeURIComponent(tape)}?at=${Math.floor(entries.length / 2)}`,
    `/tapes/${encodeURIComponent(tape)}?at=javascript:1`,
    `/tapes/${encodeURIComponent(tape)}?find=hacked`,
    '/',
    '/inbox',
    '/handoffs',
    `/handoffs/${encodeURIComponent(tape)}/${documents[0]!.id}`,
    '/tapes',
    '/supervisor',
    '/tasks',
    '/tasks/HOSTILE',
    '/relay',
    '/lineage',
    '/settings',
  ]
  for (const to of addresses) {
    await page.goto(server.url + to)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await expect.poll(() => page.getByRole('status', { name: 'Loading' }).count()).toBe(0)
    // Whatever is folded is opened.
    await page.evaluate("document.querySelectorAll('main [aria-expanded=false]').forEach((each) => each.click())")
    const found = await page.evaluate<{ text: string; bad: string[] }>(`({
      text: document.body.textContent,
      bad: [...document.querySelectorAll('main script, main img, main iframe, main style, main [style*=url], a')]
        .filter((each) => each.tagName !== 'A' || !/^(https?:|blob:)/.test(each.href))
        .map((each) => each.outerHTML),
    })`)
    expect([to, found.bad]).toEqual([to, []])
    expect([to, marks.exec(found.text)?.[0]]).toEqual([to, undefined])
  }
  expect(await page.evaluate('window.hacked')).toBeUndefined()

  // What is copied into a terminal names the tape and nothing else.
  await page.goto(`${server.url}/handoffs/${encodeURIComponent(tape)}/${documents[0]!.id}`)
  await page.getByRole('button', { name: 'Continue in…' }).click()
  const command = (await page.getByRole('dialog').locator('code').first().textContent())!
  expect(command).toContain(`'${tape.replaceAll("'", String.raw`'\''`)}#${documents[0]!.id}'`)
  await client.tapeAppend({ tape: 'marks', entries: [message(evil[5]!)] })
  await page.goto(`${server.url}/tapes/marks`)
  await page.getByText('U+202E').waitFor()
})

test('huge lines and a flood of entries leave the page usable [W8]', async () => {
  const server = await startServer()
  // A line of 10 MB is kept beside the tape; its beginning is shown, and the whole can be had.
  const huge = 'y'.repeat(10_000_000)
  const stored = await fetch(`${server.url}/v1/blobs`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.token}` },
    body: huge,
  })
  const part = { type: 'blob', ...((await stored.json()) as object), preview: huge.slice(0, 2_000) }
  await server.client.tapeAppend({
    tape: 'long',
    entries: [message('x'.repeat(800_000)), { kind: 'message', payload: { role: 'user', content: [part] } }],
  })
  const page = await openPage(server, '/tapes/long')
  await expect.poll(() => page.getByText('Download the whole').count()).toBe(2)
  expect(await page.evaluate<number>('document.body.textContent.length')).toBeLessThan(50_000)

  // The page follows to the last entry and still answers.
  const store = await openFileStore(path.join(server.folder, '.baton'))
  await store.append('flood', [message('first')])
  await page.goto(`${server.url}/tapes/flood`)
  await page.getByRole('article').first().waitFor()
  const total = isFull ? 100_000 : 20_000
  for (let n = 0; n < total; n += 1_000) {
    await store.append(
      'flood',
      Array.from({ length: 1_000 }, (_, at) => message(`flood ${n + at}`)),
    )
  }
  await store.close()
  await page.getByRole('article', { name: `Entry ${total + 1},` }).waitFor({ timeout: 90_000 })
  expect(await page.getByRole('article').count()).toBeLessThan(60)
  // It is a person who leaves the end, and comes back to it.
  await page.getByRole('region', { name: 'Entries' }).hover()
  await page.mouse.wheel(0, -3_000)
  await page.getByRole('button', { name: /follow/i }).click()
  await page.getByRole('article', { name: `Entry ${total + 1},` }).waitFor()
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keyboard' }).waitFor()
})
