import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openRelay, relaySection } from '../../../src/relay/index.ts'
import { openFileStore } from '../../../src/store/index.ts'
import { listen } from '../../notify/listener.ts'
import { baton, records } from '../cli.ts'
import { startBaton } from '../live.ts'
import { ask, place, trace } from './workspace.ts'

/** An agent that is a program: it says how large what it was asked about is. */
const agent = `
const chunks = []
process.stdin.on('data', (chunk) => chunks.push(chunk)).on('end', () => {
  const { requestId, request } = JSON.parse(Buffer.concat(chunks))
  if (requestId !== process.env.BATON_REQUEST_ID || request.traceId !== process.env.BATON_TRACE_ID) process.exit(7)
  if (request.contextForTarget.summary === 'hang') return setInterval(() => {}, 1000)
  if (request.contextForTarget.summary === 'break') {
    console.error('line\\n'.repeat(20) + '\\u001b[31mno data set\\u001b[0m\\npassword=hunter2hunter2 is wrong')
    process.exit(3)
  }
  if (request.contextForTarget.summary === 'babble') return console.log('Here you are: 42')
  if (request.contextForTarget.summary === 'flood') return process.stdin.destroy(), setInterval(() => console.log('x'.repeat(1e5)), 1)
  const more = request.contextForTarget.summary === 'large' ? { text: 'x'.repeat(3e6) } : {}
  const answer = () => console.log(JSON.stringify({ status: 'resolved', providedInputs: { size: 42, ...more } }))
  setTimeout(answer, request.contextForTarget.summary === 'slow' ? 1500 : 0)
})
`

async function serving(...options: string[]) {
  const at = await place()
  fs.writeFileSync(path.join(at.cwd, 'agent.mjs'), agent)
  const served = startBaton(at.cwd, ['relay', 'serve', 'researcher', ...options, '--', process.execPath, 'agent.mjs'])
  const asked = (summary: string, ...more: string[]) =>
    at.relay(...ask('generator', 'researcher', '--missing', 'size:integer', '--wait', '--summary', summary, ...more))
  return { ...at, served, asked }
}

test('a command serves as an agent: it is asked on stdin, and what it prints is the answer [P9, P15]', async () => {
  const { served, asked, relay } = await serving('--lease', '300')
  expect(await asked('quick')).toMatchObject({ code: 0, out: expect.stringContaining('size = 42') as string })
  // Longer than its lease: it is kept by heartbeats, and nobody else gets it.
  const slow = asked('slow', '--request-id', 'slow')
  await served.line((line) => line.startsWith('slow  generator: slow'))
  expect(await slow).toMatchObject({ code: 0, out: expect.stringContaining('size = 42') as string })
  const failed = (await asked('break')).out
  expect(failed).toMatch(/ended with 3: line\n *line\n *line\n *no data set\n *password=\[redacted: .*\] is wrong/)
  expect((await asked('babble')).out).toContain('is not JSON')
  expect((await asked('flood')).out).toContain('printed more than')
  const large = records(await asked('large', '--missing', 'text:string', '--json'))
  expect(large).toMatchObject([{ inputs: { size: 42, text: 'x'.repeat(3e6) } }])
  const [status] = records(await relay('status', '--json'))
  expect(status).toMatchObject({ pending: 0, claimed: 0, counters: { requests: 6, resolved: 3, failed: 3, late: 0 } })
  expect(await served.stop()).toBe(130)
})

test('a command that is ended gives its request back; one that cannot be run takes none [P9]', async () => {
  const { cwd, served, asked, relay } = await serving()
  const hanging = asked('hang', '--request-id', 'hang', '--timeout', '600000')
  await served.line((line) => line.startsWith('hang  generator'))
  expect(await served.stop()).toBe(130)
  expect((await relay('inbox', 'researcher')).out).toContain('hang')
  const broken = await baton(cwd, ['relay', 'serve', 'researcher', '--', './no-such-agent'])
  expect(broken).toMatchObject({ code: 4, err: expect.stringContaining('./no-such-agent cannot be run') as string })
  expect((await relay('inbox', 'researcher')).out).toContain('hang')
  await relay('answer', 'hang', '--status', 'failed', '--failure', 'nobody is there')
  expect((await hanging).code).toBe(1)
})

test('a shell keeps its claim with heartbeats, for as long as it is its own [P9]', async () => {
  const { relay } = await place()
  const id = (await relay(...ask('generator', 'researcher'))).out.trim()
  const [claim] = records(await relay('claim', 'researcher', '--lease', '600000', '--json'))
  const token = String(claim!.token)
  const before = records(await relay('status', id, '--json'))[0] as { claim: { until: string } }
  const [held] = records(await relay('heartbeat', id, '--token', token, '--json'))
  expect(held).toMatchObject({ requestId: id, status: 'held' })
  expect(Date.parse(String(held!.until))).toBeGreaterThan(Date.parse(before.claim.until))
  expect((await relay('heartbeat', id, '--token', 'another')).code).toBe(3)
  await relay('release', id, '--token', token)
  const lost = await relay('heartbeat', id, '--token', token)
  expect(lost).toMatchObject({
    code: 3,
    err: expect.stringContaining('is not yours any more: it is pending') as string,
  })
  expect((await relay('heartbeat', 'no-such', '--token', token)).code).toBe(4)
})

test('relay watch ends what is out of time, tells people and of alerts, and shows what happens [P3, P6, P12]', async () => {
  const web = await listen()
  const notify = { channels: [{ type: 'webhook', url: web.url, name: 'ops' }] }
  const { cwd, relay } = await place({ alerts: { failed: 1_000 } }, { notify })
  const watching = startBaton(cwd, ['relay', 'watch', '--every', '1', '--json'])
  const next = async (fits: (row: Record<string, unknown>) => boolean) =>
    JSON.parse(await watching.line((line) => fits(JSON.parse(line) as Record<string, unknown>))) as object
  const seen = new AbortController()
  const first = next(({ type }) => type === 'requested').finally(() => seen.abort())
  // Nobody looks at these: it is the watching that ends them.
  while (!seen.signal.aborted) await relay(...ask('generator', 'researcher', '--timeout', '1'))
  expect(await first).toMatchObject({ envelope: { hops: 1 } })
  expect(await next(({ type }) => type === 'answered')).toMatchObject({ timedOut: true })
  const same = ask('generator', 'researcher', '--trace', trace, '--missing', 'market:object')
  await relay(...same)
  expect((await relay(...same)).code).toBe(1)
  expect(await next(({ type }) => type === 'alert')).toMatchObject({ name: 'circular_blocked', on: true, value: 1 })
  await relay(...ask('generator', 'human', '--request-id', 'q'))
  expect(await next(({ type }) => type === 'escalated')).toMatchObject({ requestId: 'q' })
  expect(await watching.stop()).toBe(130)
  const titles = web.received.map(({ body }) => (JSON.parse(body) as { title: string }).title)
  expect(titles).toEqual([
    'Relay: 1 handoff in a circle stopped in the last hour',
    'generator asks a person (medium): A plan for a bakery',
  ])
})

test('relay watch ends although a channel hangs [P6]', async () => {
  const web = await listen(() => {})
  const notify = { channels: [{ type: 'webhook', url: web.url }], timeoutMs: 600_000 }
  const { cwd, relay } = await place({}, { notify: { channels: [] } })
  await relay(...ask('generator', 'human', '--request-id', 'q'))
  const config = path.join(cwd, 'baton.config.json')
  fs.writeFileSync(config, JSON.stringify({ ...(JSON.parse(fs.readFileSync(config, 'utf8')) as object), notify }))
  const watching = startBaton(cwd, ['relay', 'watch'])
  await expect.poll(() => web.received, { timeout: 30_000 }).toHaveLength(1)
  expect(await watching.stop()).toBe(130)
})

test('ask in one line: the answer of a worker, progress and a question on the way; cancel reaches it [P2, P9]', async () => {
  const { cwd, relay } = await place({ agents: {}, routes: [], forbidden: [], recovery: [] })
  const store = await openFileStore(path.join(cwd, '.baton'))
  const worker = await openRelay({ store, settings: relaySection.parse({}) })
  onTestFinished(async () => {
    await worker.close()
    await store.close()
  })
  let isAborted = false
  void worker.serve(
    'researcher',
    async ({ contextForTarget }, { progress, clarify, signal }) => {
      if (contextForTarget.summary === 'for ever') {
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        isAborted = true
      }
      await progress({ text: 'reading', percent: 50 })
      const year = contextForTarget.summary === 'ask back' ? await clarify('Which year?') : 2026
      return { status: 'resolved', providedInputs: { year } }
    },
    { concurrency: 3 },
  )
  const run = await relay('ask', 'writer', 'researcher', 'Which year is it?', '--missing', 'year:number')
  expect(run).toMatchObject({ code: 0, out: expect.stringContaining('year = 2026') as string })
  expect(run.err).toContain('50% · reading')

  await relay(...ask('writer', 'researcher', '--summary', 'ask back', '--request-id', 'q'))
  await expect.poll(async () => (await relay('status', 'q')).out).toContain('asks back: Which year?')
  expect((await relay('reply', 'q', '--answer', '1291')).code).toBe(0)
  expect((await relay('status', 'q', '--wait')).out).toContain('year = 1291')

  await relay(...ask('writer', 'researcher', '--summary', 'for ever', '--request-id', 'x'))
  await expect.poll(async () => (await relay('status', 'x')).out).toContain('claimed')
  expect((await relay('cancel', 'x', '--reason', 'Not needed')).code).toBe(0)
  await expect.poll(() => isAborted).toBe(true)
  expect((await relay('status', 'x')).out).toContain('Not needed')
})

test('owner, return, history and dead letters from the command line [P9, P14]', async () => {
  const { relay } = await place({ limits: { handoffCooldownMs: 0, maxDeliveries: 1, handoffTimeoutMs: 600_000 } })
  await relay(...ask('generator', 'researcher', '--trace', trace, '--request-id', 'r1', '--mode', 'pass_control'))
  expect((await relay('owner', trace)).out).toContain('researcher, who was given control')
  await relay('claim', 'researcher', '--lease', '1')
  expect((await relay('claim', 'researcher')).code).toBe(4)
  const dead = await relay('dead')
  expect(dead.out).toContain('r1')
  expect((await relay('alerts')).out).toMatch(/^dead_letters +WARNING +1 +0/m)
  expect((await relay('dead', '--retry', 'r1')).code).toBe(0)
  await relay('answer', 'r1', '--status', 'resolved')
  expect((await relay('dead')).out).toContain('No request has killed its workers')
  expect((await relay('return', trace, '--from', 'researcher', '--reason', 'done')).out).toContain('generator')
  expect(records(await relay('history', trace, '--json')).map(({ type }) => type)).toContain('owner')
  expect((await relay('history', trace)).out).toContain('generator → researcher')
  expect((await relay('status', 'r1')).out).toContain('resolved')
  expect((await relay('dead', '--drop', 'r1')).code).toBe(4)
})

test('closed traces are archived on demand, and are still found [P12]', async () => {
  const { relay } = await place()
  await relay(...ask('generator', 'researcher', '--missing', 'size:integer', '--request-id', 'old', '--trace', trace))
  await relay('answer', 'old', '--status', 'resolved', '--input', 'size=3')
  await relay(...ask('generator', 'researcher', '--missing', 'size:integer', '--request-id', 'open'))
  expect((await relay('archive', '--older-than', '30')).out).toContain('There is no closed trace to archive')
  expect((await relay('archive')).out).toContain('Archived 1 trace with 1 request; 1 open trace stayed.')
  expect(records(await relay('archive', '--json'))).toEqual([{ traces: 0, requests: 0 }])
  expect((await relay('history', trace)).out).toContain('resolved by researcher')
  expect((await relay('status', 'old')).out).toContain('size = 3')
  expect((await relay('inbox', 'researcher')).out).toContain('open')
})
