// Every operation of the table, called over REST with an input that works. One that is added without a call here fails.
import { afterAll, beforeAll, expect, it } from 'vitest'
import * as z from 'zod'
import { createClient, ProblemError, UnreachableError } from '../../src/client/index.ts'
import { routes } from '../../src/client/routes.ts'
import { isLive, type Operation, operations, table } from '../../src/operations/index.ts'
import { request } from '../relay/team.ts'
import { problemIn, servedWorkspace } from './served.ts'

let served: Awaited<ReturnType<typeof servedWorkspace>>
beforeAll(async () => {
  served = await servedWorkspace()
})
afterAll(() => served.close())

const message = (content: string) => ({ kind: 'message', payload: { role: 'user', content } })

/** Name: input, in an order in which each works; a function sees the answers so far. */
type Call = Record<string, unknown> | ((answers: Record<string, never>) => Record<string, unknown>)
const handoff = { source_agent: 'ada', target_agent: 'bob', phase: 'implementation' }
const calls: [string, Call][] = [
  ['tape.append', { tape: 'main', entries: [message('Build the parser'), message('and test it')] }],
  ['tape.list', {}],
  ['tape.info', { tape: 'main' }],
  ['tape.read', { tape: 'main', kinds: ['message'] }],
  ['tape.search', { tape: 'main', text: 'parser' }],
  ['tape.handoff', { tape: 'main', name: 'next', state: { summary: 'half done' } }],
  ['tape.anchors', { tape: 'main' }],
  ['tape.context', { tape: 'main', format: 'anthropic' }],
  ['tape.tokens', { tape: 'main' }],
  ['meter.history', { tape: 'main' }],
  ['activity.show', { hours: 1 }],
  ['spending.show', { since: '2026-01-01T00:00:00Z' }],
  ['tape.fork', { tape: 'main', child: 'side' }],
  ['tape.merge', { tape: 'side' }],
  ['tape.verify', { tape: 'main' }],
  ['tape.repair', { tape: 'main' }],
  ['tape.import', { tape: 'brought', lines: [message('hello')] }],
  ['lineage.show', { tape: 'side' }],
  ['reference.show', { ref: 'main#1' }],
  ['reference.facts', { ref: 'main#1..2', kind: 'instructions' }],
  ['reference.section', { ref: 'main#1..2', title: 'Next Steps' }],
  ['tape.give', { tape: 'brought', from: 'ada', to: 'bob', summary: 'look at it' }],
  ['context.inbox', { agent: 'bob' }],
  ['context.receive', { agent: 'bob' }],
  ['workspace.info', {}],
  ['workspace.verify', {}],
  ['document.write', { tape: 'main', goal: 'finish it', budget: 1000 }],
  ['document.list', { tape: 'main' }],
  ['document.show', { tape: 'main' }],
  ['document.items', { tape: 'main' }],
  ['document.check', { tape: 'main' }],
  ['document.diff', (got) => ({ tape: 'main', from: documentIn(got) })],
  ['demo.start', {}],
  ['session.list', { here: true }],
  ['work.list', {}],
  ['supervised.list', { all: true }],
  ['relay.request', { request: request('r1'), requestId: 'r1' }],
  ['relay.ask', { from: 'generator', to: 'researcher', summary: 'How large is it?', missing: ['size'] }],
  ['relay.status', {}],
  ['relay.inbox', { agent: 'researcher' }],
  ['relay.claim', { agent: 'researcher', requestId: 'r1' }],
  ['relay.heartbeat', (got) => ({ requestId: 'r1', token: tokenIn(got) })],
  ['relay.progress', { requestId: 'r1', text: 'looking' }],
  ['relay.show', { requestId: 'r1' }],
  ['relay.release', (got) => ({ requestId: 'r1', token: tokenIn(got) })],
  ['relay.answer', { requestId: 'r1', answer: { status: 'resolved', providedInputs: { marketSize: 42 } } }],
  ['relay.cancel', { requestId: 'r1' }],
  ['relay.history', { limit: 10 }],
  ['relay.dead', {}],
  ['trace.archive', { keep: 10 }],
  ['relay.alerts', {}],
  ['relay.metrics', {}],
  ['escalation.list', {}],
  ['waiting.list', {}],
  ['relay.recent', {}],
  ['settings.show', {}],
  ['doctor.check', {}],
  ['task.create', { task: 'PARSER', title: 'Build the parser' }],
  ['task.list', {}],
  ['task.show', { task: 'PARSER' }],
  ['task.history', { task: 'PARSER' }],
  ['task.receive', { task: 'PARSER' }],
  ['task.gate', { task: 'PARSER' }],
  ['task.ready', {}],
  ['tape.continue', { tape: 'side', into: 'side-2' }],
  ['tape.reset', { tape: 'side' }],
  ['tape.purge', { tape: 'side' }],
  ['tape.delete', { tape: 'brought', force: true }],
  ['tape.prune', { days: 1, dryRun: true }],
]

/** What needs something that is not there answers so: the operation, its input, the code of the problem. */
const refused: [string, Record<string, unknown>, string][] = [
  ['session.import', { session: 'abcd1234' }, 'not_found'],
  ['session.import', { session: '/etc/passwd' }, 'invalid'],
  ['session.log', { session: 'abcd1234' }, 'not_found'],
  ['session.continue', { session: 'abcd1234', in: 'codex' }, 'not_found'],
  ['supervised.show', { name: 'nobody' }, 'not_found'],
  ['supervised.logs', { name: 'nobody' }, 'not_found'],
  ['supervised.cycles', { name: 'nobody' }, 'not_found'],
  ['meter.history', { tape: 'session/nobody' }, 'not_found'],
  ['session.meters', { session: 'abcd1234' }, 'not_found'],
  ['supervised.control', { name: 'nobody', command: 'pause' }, 'not_found'],
  ['supervised.run', { name: 'x', agent: 'no-such-agent' }, 'refused'],
  ['relay.reply', { requestId: 'none', answer: 1 }, 'not_found'],
  ['relay.retry', { requestId: 'none' }, 'not_found'],
  ['relay.drop', { requestId: 'none' }, 'not_found'],
  ['trace.owner', { trace: 'none' }, 'invalid'],
  ['trace.return', { trace: 'none', from: 'ada', reason: 'done' }, 'invalid'],
  ['escalation.show', { id: 'none' }, 'not_found'],
  ['escalation.answer', { id: 'none', inputs: {} }, 'not_found'],
  ['task.handoff', { task: 'NONE', handoff }, 'invalid'],
  ['task.diff', { task: 'NONE' }, 'not_found'],
  ['task.decide', { task: 'NONE', verdict: 'approve', version: 1 }, 'not_found'],
]

function documentIn(answers: Record<string, never>): number {
  return (answers['document.write'] as unknown as { document: { id: number } }).document.id
}

function tokenIn(answers: Record<string, never>): string {
  return (answers['relay.claim'] as unknown as { claim: { token: string } }).claim.token
}

function send(name: string, input: Record<string, unknown>): Promise<Response> {
  const [method = '', template = ''] = table.find((each) => each.name === name)!.route.split(' ')
  const rest = { ...input }
  const path = template.replaceAll(/\{(\w+)\}/g, (_, field: string) => {
    const value = encodeURIComponent(String(rest[field]))
    delete rest[field]
    return value
  })
  if (method !== 'GET') return served.ask(`${method} /v1${path}`, { body: rest })
  const query = new URLSearchParams(
    Object.entries(rest).map(([field, value]): [string, string] => [field, String(value)]),
  )
  return served.ask(`GET /v1${path}?${query.toString()}`)
}

it('every operation answers over REST what its schema says [D2, D3]', async () => {
  const answers: Record<string, never> = {}
  for (const [name, call] of calls) {
    const answer = await send(name, typeof call === 'function' ? call(answers) : call)
    const body = (await answer.json()) as never
    expect([name, answer.status, answer.status === 200 ? '' : body]).toEqual([name, 200, ''])
    answers[name] = body
    const { output } = table.find((each) => each.name === name) as Operation
    expect([name, z.safeParse(output, body).error?.issues]).toEqual([name, undefined])
  }
  for (const [name, input, code] of refused) {
    const answer = await send(name, input)
    expect([name, (await problemIn(answer)).code]).toEqual([name, code])
  }
  const called = new Set([...calls.map(([name]) => name), ...refused.map(([name]) => name)])
  expect(table.filter((each) => !isLive(each) && !called.has(each.name)).map(({ name }) => name)).toEqual([])
})

it('the client has the address of every operation [D9]', () => {
  const expected = Object.fromEntries(Object.entries(operations).map(([name, { route }]) => [name, route]))
  expect(routes).toEqual(expected)
})

it('the client says which server does not answer, and why; an abort stays an abort [D9]', async () => {
  const attempts: string[] = []
  const client = createClient({
    url: 'http://127.0.0.1:1/',
    fetch: (address, init) => {
      attempts.push(String(address))
      return fetch(address, init)
    },
  })
  const error = await client.tapeList({}).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(UnreachableError)
  expect(String(error)).toMatch(
    /The server at http:\/\/127\.0\.0\.1:1 does not answer \(.+\)\. Start it with "baton up"\./,
  )
  expect(attempts).toHaveLength(4)
  await expect(client.tapeList({}, { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough')
})

it('the client calls, follows, resumes and reports problems by their code [D9, D4]', async () => {
  let cuts = 0
  const client = createClient({
    url: 'http://127.0.0.1:4747',
    token: await served.token('admin'),
    fetch: async (address, init) => {
      const { pathname, search } = new URL(String(address))
      const headers = Object.fromEntries(new Headers(init?.headers).entries())
      const body = typeof init?.body === 'string' ? { body: JSON.parse(init.body) as unknown } : {}
      const answer = await served.ask(`${init?.method ?? 'GET'} ${pathname}${search}`, { headers, ...body })
      // The answer to the first write is lost on the way: the retry must not write twice.
      if (init?.method === 'POST' && pathname.endsWith('/entries') && cuts++ === 0)
        throw new TypeError('connection lost')
      return answer
    },
  })
  await client.tapeAppend({ tape: 'followed', entries: [message('one')] })
  expect((await client.tapeRead({ tape: 'followed' })).entries.map(({ id }) => id)).toEqual([1])
  await expect(client.tapeInfo({ tape: 'folowed' })).rejects.toMatchObject({
    problem: { code: 'not_found', nearest: ['followed'] },
  })
  await expect(client.tapeRead({ tape: 'followed', limit: 0 })).rejects.toBeInstanceOf(ProblemError)
  const exported = []
  for await (const record of client.tapeExport({ tape: 'followed' })) exported.push(record)
  expect(exported).toHaveLength(1)
  const stop = new AbortController()
  const seen: number[] = []
  for await (const event of client.live({ tapes: { followed: 0 }, signal: stop.signal })) {
    if (event.type !== 'entry') continue
    seen.push(event.entry.id)
    if (event.entry.id === 1) await client.tapeAppend({ tape: 'followed', entries: [message('two'), message('three')] })
    if (event.entry.id === 3) break
  }
  stop.abort()
  expect(seen).toEqual([1, 2, 3])
  const fromNow: string[] = []
  const news = client.live({
    tapes: ['followed'],
    onState: () => void client.tapeAppend({ tape: 'followed', entries: [message('four')] }),
  })
  for await (const event of news) {
    if (event.type === 'entry') fromNow.push(`${event.tape}#${event.entry.id}`)
    if (fromNow.length > 0) break
  }
  expect(fromNow).toEqual(['followed#4'])
  expect(() => client.live({ tape: 'followed' } as object)).toThrow('client.live has no option "tape"')
  expect(() => client.live({ tapes: { followed: true as never } })).toThrow('the id of the last entry')
  expect(() => client.live({ tapes: 'followed' as never })).toThrow('the id of the last entry')
  expect(() => client.tapeList({}, { key: '1' } as object)).toThrow('client.tapeList has no option "key"')
  await expect(async () => client.tapeRead({ name: 'followed' } as never)).rejects.toThrow('tape is missing')
  expect(() => createClient({ baseUrl: 'http://127.0.0.1:1' } as never)).toThrow('createClient needs the url')
})

it('the client takes what "baton token create --json" prints, an address with a slash, and the answer of a proxy [D9]', async () => {
  const answers = [
    new Response('{"error":"upstream"}', { status: 502 }),
    new Response('{"tapes":[]}'),
    new Response('{"error":"none of mine"}', { status: 404 }),
  ]
  const asked: string[] = []
  const printed = { token: 't', id: 'b6b3013e', name: 'ci', scope: 'read' }
  const client = createClient({
    url: 'http://127.0.0.1:1/',
    ...printed,
    fetch: async (address) => {
      asked.push(String(address))
      return answers.shift()!
    },
  })
  expect(await client.tapeList({}, { signal: undefined, queryKey: undefined } as object)).toEqual({ tapes: [] })
  await expect(client.tapeList({})).rejects.toThrow('The server answered 404')
  expect(asked).toEqual(Array(3).fill('http://127.0.0.1:1/v1/tapes'))
})
