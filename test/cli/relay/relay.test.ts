import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { listen } from '../../notify/listener.ts'
import { baton, batonProcess, program, records } from '../cli.ts'
import { ask, place, team, trace } from './workspace.ts'

test('a request as its agents see it: asked, claimed, answered, and looked up [P4, P9, P15]', async () => {
  const { relay } = await place()
  const asked = await relay(
    ...ask('generator', 'researcher', '--missing', 'market:object:its size', '--missing', 'name:string'),
  )
  expect(asked).toMatchObject({ code: 0, err: '' })
  const id = asked.out.trim()
  expect((await relay('inbox', 'researcher')).out).toMatch(
    new RegExp(`^${id}  medium +generator .*A plan for a bakery$`, 'm'),
  )
  const [claim] = records(await relay('claim', 'researcher', '--lease', '60000', '--json'))
  expect(claim).toMatchObject({ requestId: id, leaseMs: 60_000, envelope: { hops: 1 } })
  const again = await relay('claim', 'researcher')
  expect(again).toMatchObject({ code: 4, out: '' })
  expect(again.err).toContain('Nothing waits for researcher')
  expect((await relay('status', id)).out).toContain('claimed by ')
  // The beginning of an id is enough.
  expect((await relay('status', id.slice(0, 4))).out).toContain('claimed by ')
  const traceId = (claim!.envelope as { request: { traceId: string } }).request.traceId
  expect((await relay('history', traceId.slice(0, 4))).out).toMatch(new RegExp(`${id} +claimed by `))

  await relay('release', id, '--token', String(claim!.token))
  const taken = await relay('claim', 'researcher')
  const command = /baton relay (answer .+ --status resolved --input market=OBJECT --input name=STRING)$/m.exec(
    taken.out,
  )
  const words = command![1]!.replace('OBJECT', '{"size":3}').replace('STRING', '42').split(' ')
  const late = await relay(...words.map((word) => (word === words[3] ? String(claim!.token) : word)))
  expect(late).toMatchObject({ code: 3, out: '' })
  expect(late.err).toContain('it is kept, but changes nothing')
  const wrong = await relay(...words.map((word) => word.replace('{"size":3}', '3')))
  expect(wrong).toMatchObject({ code: 2, err: 'baton: providedInputs.market must be object, not 3\n' })
  const answered = await relay(...words)
  expect(answered.out).toMatch(/^resolved by researcher after \d.*\n {2}market = \{"size":3\}\n {2}name = "42"\n$/)
  expect((await relay(...words)).out).toContain('That answer is already there')
  expect(records(await relay('status', id, '--json'))).toMatchObject([
    { status: 'resolved', response: { status: 'resolved', providedInputs: { market: { size: 3 }, name: '42' } } },
  ])
  expect((await relay('status')).out).toContain('1 request so far: 1 resolved')
  expect(await relay('answer', 'nobody', '--status', 'failed', '--failure', 'x')).toMatchObject({ code: 4 })
})

test('what is refused says why, and ends with 1; what is wrong names its field, and ends with 2 [P1, P2, P3, P5]', async () => {
  const { relay } = await place()
  const refusals = [
    [ask('researcher', 'generator'), 'researcher → generator is forbidden: research does not start writing'],
    [ask('orchestrator', 'generator'), 'orchestrator → generator is not a declared route'],
  ] as const
  for (const [args, why] of refusals) {
    const refused = await relay(...args)
    expect(refused).toMatchObject({ code: 1, out: '' })
    expect(refused.err).toContain(`baton: Not handed over: ${why}`)
  }
  const same = ask('generator', 'researcher', '--trace', trace, '--missing', 'market:object')
  expect((await relay(...same)).code).toBe(0)
  const circle = await relay(...same, '--json')
  expect(circle.code).toBe(1)
  expect(records(circle)).toMatchObject([{ status: 'rejected', rejection: 'circular' }])
  await relay(...ask('generator', 'validator', '--trace', trace))
  const over = await relay(...ask('generator', 'orchestrator', '--trace', trace))
  expect(over).toMatchObject({ code: 1 })
  expect(over.err).toMatch(/has had its 3 handoffs/)

  const mistakes: [string[], string][] = [
    [ask('generater', 'researcher'), 'there is no agent "generater"\n  Did you mean generator'],
    [ask('generator', 'researcher', '--missing', 'x:strin'), 'missingInputs[0].expectedType'],
    [ask('generator', 'researcher', '--missing', 'x'), '"x" is not KEY:TYPE'],
    [ask('generator', 'researcher', '--priority', 'soon'), 'priority must be one of critical, high, medium, low'],
    // Not hexadecimal: it cannot be the beginning of a trace by chance.
    [ask('generator', 'researcher', '--trace', 'xyz'), 'traceId'],
    [['request', '--from', 'generator', '--to', 'researcher'], 'A request needs --reason'],
    [ask('generator', 'researcher', '--output', 'draft={"pages":'), 'The input "draft" is not JSON: '],
    [['claim', 'researcher', '--lease', '0'], 'leaseMs: it must be at least 1, not 0'],
    [['status', '--wait'], '--wait needs a request'],
    [['claim'], "Missing required argument 'agent'"],
  ]
  for (const [args, why] of mistakes) {
    const run = await relay(...args)
    expect(run, why).toMatchObject({ code: 2, out: '' })
    expect(run.err).toContain(why)
  }
})

test('a request from a file, with options over it; the same id is the same request [P1, P4]', async () => {
  const { cwd, relay } = await place()
  const [schema] = records(await relay('schema', 'request', '--json'))
  expect(schema).toMatchObject({
    title: 'Baton handoff request',
    required: expect.arrayContaining(['traceId']) as unknown,
  })
  const file = path.join(cwd, 'request.json')
  fs.writeFileSync(
    file,
    JSON.stringify({
      schemaVersion: '1.0.0',
      traceId: trace,
      timestamp: '2026-11-15T12:00:00Z',
      sourceAgent: 'generator',
      sourceContext: { documentType: 'plan', currentStep: 2, attemptNumber: 1 },
      canHandle: false,
      handoffTo: 'researcher',
      reason: 'missing_required_input',
      reasonDetail: 'no data',
      contextForTarget: { summary: 'A plan' },
      priority: 'low',
    }),
  )
  const args = ['request', '--file', file, '--priority', 'high', '--output', 'draft={"pages":3}', '--request-id', 'r1']
  expect((await relay(...args)).out).toBe('r1\n')
  expect((await relay(...args)).out).toBe('r1\n')
  const again = ask('generator', 'validator', '--request-id', 'r2')
  expect([(await relay(...again)).out, (await relay(...again)).out]).toEqual(['r2\n', 'r2\n'])
  expect((await relay(...again, '--priority', 'low')).code).toBe(3)
  expect(records(await relay('status', 'r1', '--json'))).toMatchObject([
    {
      envelope: {
        request: {
          traceId: trace,
          priority: 'high',
          sourceContext: { documentType: 'plan', currentStep: 2 },
          contextForTarget: { summary: 'A plan', relevantOutputs: { draft: { pages: 3 } } },
        },
      },
    },
  ])
  fs.writeFileSync(
    file,
    JSON.stringify({ ...(JSON.parse(fs.readFileSync(file, 'utf8')) as object), schemaVersion: '2.0.0' }),
  )
  expect((await relay('request', '--file', file)).err).toContain('schemaVersion must be one of 1.0.0, not "2.0.0"')
  fs.writeFileSync(file, JSON.stringify({ sourceContext: 'none', contextForTarget: [] }))
  const odd = await relay(
    'request',
    '--file',
    file,
    '--from',
    'generator',
    '--to',
    'researcher',
    '--reason',
    'validation_failure',
  )
  expect(odd.code).toBe(2)
  expect(odd.err).toContain(
    'sourceContext must be an object, not "none"; contextForTarget must be an object, not a list',
  )
  fs.writeFileSync(file, '[]')
  expect((await relay('request', '--file', file)).err).toContain('must be a JSON object')
  expect((await relay('request', '--file', path.join(cwd, 'gone.json'))).code).toBe(4)
})

test('whoever waits is given the answer: an agent that asked, and one that watches its inbox [P6, P9]', async () => {
  const { cwd, relay } = await place()
  const watching = stream(cwd, ['relay', 'inbox', 'researcher', '--watch', '--json'])
  const asking = baton(cwd, ['relay', ...ask('generator', 'researcher', '--missing', 'market:object', '--wait')])
  const { requestId } = JSON.parse(await watching.next()) as { requestId: string }
  await relay('answer', requestId, '--status', 'partial', '--unresolved', 'market', '--recommend', 'try later')
  expect(await asking).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^partial by researcher .*\n {2}market stays missing\n {2}> try later\n$/) as string,
  })
  const second = baton(cwd, ['relay', ...ask('generator', 'researcher', '--wait', '--json')])
  const { requestId: other } = JSON.parse(await watching.next()) as { requestId: string }
  await relay('answer', other, '--status', 'failed', '--failure', 'no source')
  const failed = await second
  expect(failed.code).toBe(1)
  expect(records(failed)).toMatchObject([
    { status: 'failed', response: { status: 'failed', failureReason: 'no source' } },
  ])
  expect(await watching.interrupt()).toBe(130)
})

test('claim --wait takes the next that comes; Ctrl-C while waiting leaves the request [P9]', async () => {
  const { cwd, relay } = await place()
  const claiming = baton(cwd, ['relay', 'claim', 'validator', '--wait', '--json'])
  const { out } = await relay(...ask('generator', 'validator'))
  expect(records(await claiming)).toMatchObject([{ requestId: out.trim(), agent: 'validator' }])
  const waiting = stream(cwd, ['relay', ...ask('generator', 'researcher', '--request-id', 'r9', '--wait')])
  await expect.poll(async () => (await relay('inbox', 'researcher')).out, { timeout: 30_000 }).toContain('r9')
  expect(await waiting.interrupt()).toBe(130)
  expect((await relay('inbox', 'researcher')).out).toContain('r9')
})

test('people are asked, told how to answer, and answer once [P6, P15, C16]', async () => {
  const web = await listen()
  const { cwd, relay, escalations } = await place({}, { notify: { channels: [{ type: 'webhook', url: web.url }] } })
  expect((await escalations('ls')).out).toBe('Nothing is waiting for you.\n')
  const detail = 'Is \x1b[31mthis\x07 fine?'
  const low = await relay(...ask('validator', 'human', '--priority', 'low', '--detail', detail))
  expect(low.err).toMatch(/^A person is asked: baton escalations show e\d+\n$/)
  const missing = ['--missing', 'buy:boolean:yes or no', '--missing', "name:'a' | 'b'", '--missing', 'note:string']
  const waiting = baton(cwd, ['relay', ...ask('researcher', 'human', ...missing, '--priority', 'critical', '--wait')])
  await expect.poll(async () => records(await escalations('ls', '--json')).length, { timeout: 30_000 }).toBe(2)

  const table = (await escalations('ls')).out.split('\n')
  expect(table[1]).toMatch(/^e\d+ +critical .*researcher +buy:boolean, name:'a' \| 'b', note:string/)
  expect(table[2]).toMatch(/^e\d+ +low .*validator .*Is \[31mthis fine\?$/)
  const id = table[1]!.split(' ')[0]!
  const command = `baton escalations answer ${id} --input buy=BOOLEAN --input name=JSON --input note=STRING`
  expect((await escalations('show', id)).out).toContain(`Answer it with:\n  ${command}\n`)
  await expect.poll(() => web.received.length, { timeout: 30_000 }).toBe(2)
  expect(JSON.parse(web.received[1]!.body)).toMatchObject({
    level: 'critical',
    action: command,
    body: expect.stringContaining('- buy (boolean): yes or no') as string,
  })

  const answer = (...inputs: string[]) =>
    escalations('answer', id, '--by', 'anna', ...inputs.flatMap((each) => ['--input', each]))
  expect((await answer('buy=maybe', 'name=a', 'note=x')).err).toContain('providedInputs.buy must be boolean')
  expect((await answer('buy=true', 'name=c', 'note=x')).code).toBe(2)
  expect((await answer('buy=true', 'name=a')).err).toContain('It is not resolved without note')
  expect((await answer('buy')).err).toContain('"buy" is not an input: it must be KEY=JSON')
  expect((await answer('buy=true', 'buy=false')).err).toContain('given twice')
  expect((await answer('__proto__=1', 'buy=true', 'name=a', 'note=x')).code).toBe(2)
  expect((await answer('buy=true', 'name=a', 'note=007')).out).toContain('note = "007"')
  expect(await waiting).toMatchObject({ code: 0, out: expect.stringContaining('resolved by human') as string })
  expect((await answer('buy=false', 'name=a', 'note=007')).code).toBe(3)
  expect((await escalations('show', id)).out).toContain('Answered by anna on ')
  expect(records(await escalations('ls', '--json'))).toMatchObject([{ priority: 'low' }])
  expect((await escalations('answer', 'e999')).code).toBe(4)
})

test('relay check says what is wrong, and what was waived and why [P13]', async () => {
  const { cwd, relay } = await place()
  const sound = await relay('check')
  expect(sound).toMatchObject({ code: 0, err: '' })
  expect(sound.out).toContain('ok      routes     4 allowed routes\n')
  expect(sound.out).toContain('nobody is notified when a person is asked')
  const write = (relay: unknown) => fs.writeFileSync(path.join(cwd, 'baton.config.json'), JSON.stringify({ relay }))
  write({ ...team, forbidden: [], latencyBudgetMs: undefined, waive: { forbidden: 'a small team' } })
  const failed = await relay('check')
  expect(failed.code).toBe(1)
  expect(failed.out).toMatch(
    /^waived {2}forbidden {2}0 forbidden routes, where at least 2 are expected\n +because: a small team$/m,
  )
  expect(failed.out).toMatch(/^FAILED {2}latency {4}latencyBudgetMs is not set/m)
  expect(records(await relay('check', '--json')).filter(({ ok }) => ok === false)).toMatchObject([{ rule: 'latency' }])
  write({ ...team, limits: { maxHandoffsPerItem: 0 } })
  const broken = await relay('check')
  expect(broken.code).toBe(1)
  expect(broken.out).toMatch(/^FAILED {2}settings .*relay\.limits\.maxHandoffsPerItem must be at least 1, not 0$/m)
})

test('routes as a table and as a diagram [P2]', async () => {
  const { relay } = await place()
  const { out } = await relay('routes')
  expect(out).toMatch(/^generator +researcher +allowed +market data is missing$/m)
  expect(out).toMatch(/^researcher +generator +forbidden +research does not start writing$/m)
  expect(out).toMatch(/^any agent +human +allowed/m)
  const mermaid = (await relay('routes', '--format', 'mermaid')).out
  expect(mermaid).toContain('flowchart LR\n  a1["generator"]\n')
  expect(mermaid).toContain('  a1 -->|"a check #quot;before#quot; validation"| a2\n')
  expect(mermaid).toContain('  a3 -.-x|"research does not start writing"| a1\n')
  expect(records(await relay('routes', '--json'))).toHaveLength(7)
})

test('an alert comes on, is told once, and says what to do [P5, P12]', async () => {
  const web = await listen()
  const { relay } = await place({}, { notify: { channels: [{ type: 'webhook', url: web.url, name: 'ops' }] } })
  expect(records(await relay('alerts', '--json')).filter(({ on }) => on === true)).toEqual([])
  const same = ask('generator', 'researcher', '--trace', trace, '--missing', 'market:object')
  await relay(...same)
  expect((await relay(...same)).code).toBe(1)
  const { out } = await relay('alerts')
  expect(out).toMatch(/^circular_blocked +WARNING +1 +0 +\S+/m)
  expect(out).toContain('ops was notified')
  expect(web.received.map(({ body }) => (JSON.parse(body) as { title: string }).title)).toEqual([
    'Relay: 1 handoff in a circle stopped in the last hour',
  ])
})

test('a channel that cannot be reached stops nothing, and is said [P6, C16]', async () => {
  const channels = [{ type: 'command', command: ['/no/such/program'] }]
  const { cwd, relay } = await place({}, { notify: { channels, retries: 0 } })
  const asked = await relay(...ask('validator', 'human', '--request-id', 'r1'))
  expect(asked).toMatchObject({ code: 0, out: 'r1\n' })
  expect(asked.err).toContain(
    'baton: command /no/such/program could not be notified of "validator asks a person (medium): A plan for a bakery": ',
  )
  const kept = records(await baton(cwd, ['tape', 'read', 'relay/notices', '--json']))
  expect(JSON.stringify(kept)).toContain('there is no program')
})

test('telemetry that is asked for without an SDK is said once, and stops nothing [P11]', async () => {
  const { cwd } = await place()
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = 'http://127.0.0.1:1'
  onTestFinished(() => void delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT)
  const run = await batonProcess(cwd, ['relay', 'status'])
  expect(run.code).toBe(0)
  expect(run.err).toBe(
    'baton: no telemetry is sent, though OTEL_… variables ask for it: @opentelemetry/sdk-node is not installed beside Baton\n',
  )
})

/** A command that goes on: its lines, and how it ends when it is interrupted. */
function stream(cwd: string, args: readonly string[]) {
  const env = { ...process.env, HOME: cwd, NO_COLOR: '1' }
  const child = spawn(process.execPath, [program, ...args], { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  return {
    async next(): Promise<string> {
      const { value, done } = (await lines.next()) as IteratorResult<string, undefined>
      if (done === true) throw new Error(`baton ${args.join(' ')} has ended`)
      return value
    },
    interrupt(): Promise<number | null> {
      child.kill('SIGINT')
      return ended
    },
  }
}
