import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Answers } from '../../src/server/routes/idempotency.ts'
import { SignIn } from '../../src/server/access/sign-in.ts'
import { problemIn, servedWorkspace } from './served.ts'

let served: Awaited<ReturnType<typeof servedWorkspace>>
beforeAll(async () => {
  served = await servedWorkspace()
})
afterAll(() => served.close())

const message = (content: string) => ({ kind: 'message', payload: { role: 'user', content } })
const append = (tape: string, content: string, headers: Record<string, string> = {}) =>
  served.ask(`POST /v1/tapes/${encodeURIComponent(tape)}/entries`, { body: { entries: [message(content)] }, headers })

describe('REST [D3]', () => {
  it('appends with If-Match and tells of a conflict what was found and what to do', async () => {
    expect((await append('match', 'one', { 'if-match': '"0"' })).status).toBe(200)
    const late = await append('match', 'two', { 'if-match': '"0"' })
    expect([late.status, await late.json()]).toMatchObject([
      409,
      {
        code: 'conflict',
        actual: 1,
        type: 'urn:baton:problem:conflict',
        hint: expect.stringContaining('read it again'),
      },
    ])
    expect((await append('match', 'two', { 'if-match': 'W/1' })).status).toBe(400)
  })

  it('a kind that is longer than any entry is the kind of none', async () => {
    await append('kinds', 'one')
    const none = await served.ask(`GET /v1/tapes/kinds/entries?kinds=${'x'.repeat(4_000)}`)
    expect([none.status, await none.json()]).toMatchObject([200, { entries: [] }])
  })

  it('names with every character reach the tape of that name', async () => {
    for (const name of ['telegram:123', 'a/b', 'ä ö', '100%', '%2F', 'a#b?c&d=e+f']) {
      expect([name, (await append(name, 'hello')).status]).toEqual([name, 200])
      expect((await served.workspace.store.info(name))?.lastId).toBe(1)
    }
  })

  it('lists in pages with a cursor', async () => {
    for (const name of ['page-a', 'page-b', 'page-c']) await append(name, 'x')
    const first = (await (await served.ask('GET /v1/tapes?prefix=page-&limit=2')).json()) as {
      tapes: { tape: string }[]
      next: string
    }
    expect([first.tapes.map(({ tape }) => tape), first.next]).toEqual([['page-a', 'page-b'], 'page-b'])
    const second = await (await served.ask(`GET /v1/tapes?prefix=page-&limit=2&after=${first.next}`)).json()
    expect(second).toMatchObject({ tapes: [{ tape: 'page-c' }] })
  })

  it.each([
    ['GET /v1/tapes/main/entries?limit=0', undefined, 'limit'],
    ['GET /v1/tapes/main/entries?limit=ten', undefined, 'limit'],
    ['GET /v1/tapes/main/entries?colour=red', undefined, 'colour'],
    ['POST /v1/tapes/main/entries', { entries: [] }, 'entries'],
    ['POST /v1/tapes/main/entries', { entries: [{ payload: {} }] }, 'entries[0].kind'],
    ['POST /v1/tapes/main/entries', { entries: [message('x')], more: 1 }, 'more'],
    ['POST /v1/tapes/main/entries', { entries: [{ kind: 'anchor', payload: {} }] }, 'payload.name'],
    ['POST /v1/tapes/task%2FX/entries', { entries: [message('x')] }, undefined],
  ])('%s with %j is refused with the field at fault', async (route, body, field) => {
    const answer = await served.ask(route, body === undefined ? {} : { body })
    expect(answer.status).toBe(400)
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    const problem = await problemIn(answer)
    expect(problem).toMatchObject({ code: 'invalid', ...(field === undefined ? {} : { field }) })
    expect(problem.hint ?? '').not.toBe('')
    expect(problem.detail).not.toMatch(/Invalid|expected|received/)
  })

  it('a body that is wrong as a whole names no field', async () => {
    const problem = await problemIn(await served.ask('POST /v1/sign-in', { body: [] }))
    expect(problem).toMatchObject({ code: 'invalid', detail: 'the input must be an object, not a list' })
    expect(problem).not.toHaveProperty('field')
  })

  it('a body that is not JSON, not UTF-8, too large or of another type is refused', async () => {
    const plain = await served.ask('POST /v1/tapes/main/entries', {
      body: {},
      headers: { 'content-type': 'text/plain' },
    })
    expect([plain.status, (await problemIn(plain)).code]).toEqual([415, 'media_type'])
    const list = await served.ask('POST /v1/tapes/main/entries', { body: [1] })
    expect([list.status, (await problemIn(list)).code]).toEqual([400, 'invalid'])
    const large = await served.ask('POST /v1/tapes/main/entries', {
      body: { entries: [message('x'.repeat(5_000_000))] },
    })
    expect([large.status, (await problemIn(large)).code]).toEqual([413, 'too_large'])
    // What is not UTF-8 would come back as something else than was sent.
    const latin = Buffer.from(JSON.stringify({ entries: [message('caf\u00e9')] }), 'latin1')
    const garbled = await served.ask('POST /v1/tapes/main/entries', { body: latin })
    expect([garbled.status, (await problemIn(garbled)).detail]).toEqual([400, 'The body is not UTF-8'])
  })

  it('an address takes its methods and says which', async () => {
    const answer = await served.ask('DELETE /v1/tapes/main/entries')
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST, GET'])
    const elsewhere = await served.ask('GET http://other.example/v1/tapes')
    expect([elsewhere.status, (await problemIn(elsewhere)).code]).toEqual([404, 'no_route'])
  })

  it('streams an export as JSON lines and takes it back', async () => {
    await append('travel', 'one')
    await append('travel', 'two')
    const text = await (await served.ask('GET /v1/tapes/travel/export')).text()
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object)
    expect(lines).toHaveLength(2)
    const made = await served.ask('POST /v1/tapes/arrived/import', { body: { lines, source: 'test' } })
    expect(await made.json()).toMatchObject({ tape: 'arrived', entries: 2 })
  })

  it('keeps blobs and gives them back in ranges', async () => {
    const bytes = 'a'.repeat(1000) + 'b'.repeat(1000)
    const put = await served.ask('POST /v1/blobs', { body: bytes })
    const { sha256 } = (await put.json()) as { sha256: string }
    const part = await served.ask(`GET /v1/blobs/${sha256}`, { headers: { range: 'bytes=999-1002' } })
    // The body was sent as JSON, so a quotation mark comes first.
    expect([part.status, await part.text()]).toEqual([206, 'aabb'])
    expect((await served.ask(`GET /v1/blobs/${sha256}`, { headers: { range: 'bytes=5-1' } })).status).toBe(400)
    expect((await served.ask(`GET /v1/blobs/${'1'.repeat(64)}`)).status).toBe(404)
  })

  it('describes itself as OpenAPI 3.1, with every route', async () => {
    const { openapi, paths } = (await (await served.ask('GET /openapi.json')).json()) as {
      openapi: string
      paths: Record<string, object>
    }
    expect(openapi).toBe('3.1.0')
    expect(Object.keys(paths)).toEqual(
      expect.arrayContaining(['/v1/tapes/{tape}/entries', '/v1/live', '/v1/blobs/{sha256}']),
    )
  })
})

describe('an Idempotency-Key [D3]', () => {
  const keyed = (key: string) => ({ 'idempotency-key': key })

  it('repeats the answer of an append, and refuses another request', async () => {
    const first = await (await append('keyed', 'once', keyed('k1'))).text()
    expect(await (await append('keyed', 'once', keyed('k1'))).text()).toBe(first)
    expect((await served.workspace.store.info('keyed'))?.lastId).toBe(1)
    const other = await append('keyed', 'twice', keyed('k1'))
    expect([other.status, (await problemIn(other)).code]).toEqual([422, 'key_reused'])
  })

  it('repeats the answer of any other write, and does it once', async () => {
    await append('forked', 'x')
    const fork = () => served.ask('POST /v1/tapes/forked/forks', { body: { child: 'forked-2' }, headers: keyed('k2') })
    const [first, beside] = await Promise.all([fork(), fork()])
    const text = await first.text()
    expect([first.status, await beside.text()]).toEqual([200, text])
    const again = await fork()
    expect([await again.text(), again.headers.get('idempotency-replayed')]).toEqual([text, 'true'])
    expect((await served.ask('POST /v1/tapes/forked/forks', { body: { child: 'forked-2' } })).status).toBe(409)
  })

  it('counts for a day, over restarts, and work that was cut off is not done again unasked', async () => {
    const { store } = served.workspace
    let now = Date.parse('2026-03-01T23:00:00Z')
    const answers = () => new Answers(store, () => now)
    const work = async () => ({ status: 200, body: String(now) })
    const first = await answers().once('a', 'r', work)
    now += 23 * 3_600_000
    expect(await answers().once('a', 'r', work)).toEqual({ ...first, repeated: true })
    now += 30 * 3_600_000
    await answers().sweep()
    expect(await answers().once('a', 'r', work)).toMatchObject({ body: String(now), repeated: false })
    const cut = answers().once('b', 'r', () => Promise.reject(new Error('killed')))
    await expect(cut).rejects.toThrow('killed')
    await expect(answers().once('b', 'r', work)).rejects.toMatchObject({ code: 'unknown_outcome' })
  })
})

describe('tokens and sign-in [D8]', () => {
  it('a code in the fragment signs a browser in, once, with a cookie that no script and no other site can use', async () => {
    const code = served.signIn.newCode()
    const signIn = () =>
      served.ask('POST /v1/sign-in', {
        body: { code },
        headers: { authorization: '', origin: 'http://127.0.0.1:4747' },
      })
    const answer = await signIn()
    const cookie = answer.headers.get('set-cookie')!
    expect(cookie).toMatch(/HttpOnly/)
    expect(cookie).toMatch(/SameSite=Strict/)
    const value = cookie.split(';')[0]!
    const asBrowser = { authorization: '', cookie: value }
    expect((await served.ask('GET /v1/me', { headers: asBrowser })).status).toBe(200)
    // Without an Origin it may be another site's form.
    const bare = await served.ask('POST /v1/tapes/main/reset', { headers: asBrowser })
    expect([bare.status, (await problemIn(bare)).code]).toEqual([403, 'foreign_origin'])
    // The value behind a cookie is no token.
    expect((await served.ask('GET /v1/me', { token: value.split('=')[1]! })).status).toBe(401)
    expect((await signIn()).status).toBe(401)
    const leaving = { ...asBrowser, origin: 'http://127.0.0.1:4747' }
    expect((await served.ask('POST /v1/sign-out', { headers: leaving })).status).toBe(200)
    expect((await served.ask('GET /v1/me', { headers: asBrowser })).status).toBe(401)
  })

  it('a code counts for a minute, and failed sign-ins are slowed down', () => {
    let now = 0
    const signIn = new SignIn(() => now)
    const old = signIn.newCode()
    now += 61_000
    expect(() => signIn.redeem(old)).toThrow('is not valid')
    expect(() => signIn.redeem('x')).toThrow('is not valid')
    expect(() => signIn.redeem('x')).toThrow('is not valid')
    const good = signIn.newCode()
    expect(() => signIn.redeem(good)).toThrow('Too many')
    now += 10_000
    signIn.redeem(good)
    expect(() => signIn.redeem(good)).toThrow('is not valid')
  })

  it('a revoked token counts no more, whoever revoked it', async () => {
    const value = await served.token('read')
    expect((await served.ask('GET /v1/tapes', { token: value })).status).toBe(200)
    const { Tokens } = await import('../../src/server/access/tokens.ts')
    // As the command line does it, in another process.
    const others = new Tokens(served.workspace.folder)
    await others.revoke(others.find(value)!.id)
    expect((await served.ask('GET /v1/tapes', { token: value })).status).toBe(401)
  })

  it('revoking a token ends the streams that it has open', async () => {
    await append('streamed', 'one')
    const value = await served.token('read')
    const stream = (await served.ask('GET /v1/live?tapes=streamed%230', { token: value })).text()
    await served.tokens.revoke(served.tokens.find(value)!.id)
    expect(await stream).toContain('"content":"one"')
  })

  it('a revoked token no longer counts, also on a connection that has used it', async () => {
    const value = await served.token('read')
    const status = async () => {
      const answer = await served.ask('GET /v1/tapes', { token: value })
      await answer.text()
      return answer.status
    }
    expect([await status(), await status()]).toEqual([200, 200])
    await served.tokens.revoke(served.tokens.find(value)!.id)
    expect(await status()).toBe(401)
  })

  it('what operates is on the audit tape, with who did it and how it ended', async () => {
    await append('audited', 'x')
    await served.ask('POST /v1/tapes/audited/reset', { body: {} })
    await served.ask('POST /v1/tapes/nowhere/reset', { body: {} })
    const { entries } = (await (await served.ask('GET /v1/tapes/server%2Faudit/entries?reverse=1')).json()) as {
      entries: { payload: { data: object } }[]
    }
    const [failed, , done, asked] = entries.map(({ payload }) => payload.data)
    expect(asked).toMatchObject({ operation: 'tape.reset', by: { scope: 'admin' }, input: { tape: 'audited' } })
    expect([done, failed]).toMatchObject([{ outcome: 'done' }, { outcome: 'not_found' }])
  })

  it('pages come with a policy that allows nothing from elsewhere', async () => {
    const answer = await served.ask('GET /', { headers: { authorization: '' } })
    const policy = answer.headers.get('content-security-policy')!
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toContain('unsafe')
    expect(await answer.text()).not.toMatch(/<script(?![^>]*src="\/)/)
  })
})

it.each(['GET /v1/tapes/main/watch', 'GET /v1/live?tapes=main', 'GET /v1/live?waiting=1'])(
  '%s says that it is alive while nothing happens, and goes on with what does [D4]',
  async (route) => {
    const quiet = await servedWorkspace({ heartbeatMs: 20 })
    try {
      const answer = await quiet.ask(route, { headers: { accept: 'text/event-stream' } })
      const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
      let text = ''
      const until = async (words: string) => {
        while (!text.includes(words)) text += (await reader.read()).value ?? ''
      }
      await until(': alive\n\n: alive\n\n')
      if (route.includes('main')) {
        await quiet.workspace.store.append('main', [message('something')])
        await until('"something"')
      }
      expect(text).toMatch(/: alive\n\n: alive\n\n/)
      await reader.cancel()
    } finally {
      await quiet.close()
    }
  },
)
