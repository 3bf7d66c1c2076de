// Plain connections beside Node's own server: whoever sends bytes, however they are cut, gets the same answers from both.
import http from 'node:http'
import net, { type AddressInfo, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, it, onTestFinished } from 'vitest'
import { type Exchange, NodeExchange, type Target, targetOf } from '../../src/server/http/exchange.ts'
import { type Head, PlainConnections, readHead } from '../../src/server/http/plain.ts'
import { isFull } from '../support/full.ts'

const shown = ['host', 'x-a', 'content-type', 'content-length', 'connection', 'authorization', 'cookie']

/** Answers with what was understood, some turns later if the query says so. */
async function echo(exchange: Exchange): Promise<void> {
  const body = (await exchange.bytes(10_000)).toString()
  for (let turns = Number(exchange.query().get('turns')); turns > 0; turns--) await turn()
  const { method, path } = exchange
  const headers = Object.fromEntries(shown.map((name) => [name, exchange.header(name)]))
  exchange.send({ status: 200, headers: { 'x-path': path }, body: JSON.stringify({ method, path, headers, body }) })
}

interface Door {
  readonly server: http.Server
  readonly plain: PlainConnections | undefined
  readonly port: number
  /** The server's side of the connections, the newest last. */
  readonly sockets: Socket[]
}

/** `isPlain`: false is Node's own server. */
async function door(isPlain: boolean, options: http.ServerOptions = {}): Promise<Door> {
  const sockets: Socket[] = []
  const server = http.createServer({ requireHostHeader: false, ...options }, (incoming, outgoing) => {
    // Who was cut off gets no answer.
    echo(new NodeExchange(incoming, outgoing)).catch(() => {})
  })
  const serve = ({ path }: Target) => (path.startsWith('/page') ? undefined : echo)
  const plain = isPlain ? new PlainConnections(server, serve) : undefined
  server.on('connection', (socket) => sockets.push(socket))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    plain?.closeAll()
    server.closeAllConnections()
    server.close()
  })
  return { server, plain, port: (server.address() as AddressInfo).port, sockets }
}

/**
 * All that a connection answers until the server closes it. The pieces are read one by one; the first of them, as many as `inTurn`
 * says, are requests whose answer is awaited.
 */
async function conversation({ port, sockets }: Door, pieces: readonly Buffer[], inTurn = 0): Promise<string> {
  const before = sockets.length
  const socket = net.connect(port, '127.0.0.1').setNoDelay(true)
  let answer = ''
  socket.setEncoding('latin1').on('data', (text: string) => (answer += text))
  // A server that has refused what came first need not read the rest.
  socket.on('error', () => {})
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()))
  while (sockets.length === before) await turn()
  const there = sockets[before]!
  let sent = 0
  for (const [at, piece] of pieces.entries()) {
    socket.write(piece)
    sent += piece.length
    while (there.bytesRead < sent && !there.destroyed && !there.isPaused()) await turn()
    const awaited = Math.min(at + 1, inTurn)
    while (answer.split('x-path:').length - 1 < awaited) await turn()
  }
  await closed
  return comparable(answer)
}

/** Without what may differ: when it was, and what is said of the connection while it lasts. */
function comparable(answer: string): string {
  return answer
    .replaceAll(/^(date|keep-alive|connection: keep-alive).*\r\n/gim, '')
    .replaceAll(/^[\w-]+(?=: )/gm, (name) => name.toLowerCase())
    .replaceAll(/(?:^[a-z-]+: .*\r\n)+/gm, (headers) => headers.split('\r\n').toSorted().join('\r\n'))
}

const end = 'GET /end HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n'

const target = fc.constantFrom('/', '/a/b%20c?x=1&y', '/a?turns=3', '/a?turns=30', '/page', '/page?turns=3')
const header = fc.constantFrom(
  'X-A: 1',
  'x-a:',
  'x-a:  \t spaced\t ',
  'X-A: \u00e9',
  'Authorization: Bearer abc.d~e+f/=-',
  'Cookie: a=1; b=2',
  'Connection: keep-alive',
  'Connection: Keep-Alive',
  'Connection: keep-alive, x-a',
  'Expect: 100-continue',
  'Accept-Encoding: gzip',
)
const request = fc
  .record({
    method: fc.constantFrom('GET', 'GET', 'GET', 'POST', 'POST', 'PUT', 'DELETE', 'HEAD', 'PATCH'),
    target,
    headers: fc.array(header, { maxLength: 2 }),
    body: fc.constantFrom(undefined, '', '{}', '{"a":"GET / HTTP/1.1\\r\\n\\r\\n"}', 'x'.repeat(1001)),
    isChunked: fc.boolean(),
  })
  .map(({ method, target, headers, body, isChunked }) => {
    const length =
      body === undefined ? [] : [isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`]
    const content =
      body === undefined || !isChunked
        ? (body ?? '')
        : `${body === '' ? '' : `${body.length.toString(16)}\r\n${body}\r\n`}0\r\n\r\n`
    return `${method} ${target} HTTP/1.1\r\n${['Host: h', ...headers, ...length].join('\r\n')}\r\n\r\n${content}`
  })

/** Where the bytes are cut, beside the ends of requests: behind heads, and anywhere. */
const cuts = fc.record({
  isHeadAlone: fc.boolean(),
  places: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 3 }),
})

type Cuts = typeof cuts extends fc.Arbitrary<infer T> ? T : never

function piecesOf(requests: readonly string[], { isHeadAlone, places }: Cuts, together: boolean) {
  const text = requests.join('')
  const at = new Set(places.map((place) => Math.floor(place * text.length)))
  if (!together) requests.reduce((sum, one) => (at.add(sum + one.length), sum + one.length), 0)
  if (isHeadAlone) for (const { index } of text.matchAll(/\r\n\r\n/g)) at.add(index + 4)
  const ends = [...at].filter((place) => place > 0 && place < text.length).toSorted((a, b) => a - b)
  return [...ends, text.length].map((place, i) => Buffer.from(text.slice(ends[i - 1] ?? 0, place), 'latin1'))
}

it('requests get the answers of Node’s own server, however they are cut, pipelined or mixed [D2, D3]', async () => {
  const [plain, own] = [await door(true), await door(false)]
  await fc.assert(
    fc.asyncProperty(fc.array(request, { maxLength: 6 }), cuts, fc.boolean(), async (requests, cut, together) => {
      const pieces = piecesOf([...requests, end], cut, together)
      expect(await conversation(plain, pieces)).toBe(await conversation(own, pieces))
    }),
    { numRuns: isFull ? 5_000 : 100 },
  )
})

const broken = fc.constantFrom(
  'GET /a HTTP/1.1\nHost: h\n\n',
  'GET /a HTTP/1.1\r\nHost : h\r\n\r\n',
  'GET /a HTTP/1.1\r\nHost: h\r\n folded\r\n\r\n',
  'GET /a HTTP/1.1\r\nHost: h\r\nX-A: a\rb\r\n\r\n',
  'GET /a HTTP/1.1\r\nHost: h\r\nX-A: a\0b\r\n\r\n',
  'GET /a  HTTP/1.1\r\nHost: h\r\n\r\n',
  'GET /a HTTP/1.0\r\nHost: h\r\n\r\n',
  'GET http://evil/a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n',
  'POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
  'POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\nConnection: close\r\n\r\n0\r\n\r\n',
  'POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: +2\r\n\r\nab',
  'POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 0x2\r\n\r\nab',
  'POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 2, 2\r\n\r\nab',
  `GET /a HTTP/1.1\r\nHost: h\r\nX-A: ${'a'.repeat(17_000)}\r\n\r\n`,
  'BREW /a HTTP/1.1\r\nHost: h\r\n\r\n',
  '\0\u0001\r\n\r\n',
)

it('what is broken is refused as Node’s own server refuses it, behind requests that were served [D3]', async () => {
  const [plain, own] = [await door(true), await door(false)]
  await fc.assert(
    fc.asyncProperty(fc.array(request, { maxLength: 2 }), broken, cuts, async (requests, last, cut) => {
      const before = requests.map((text) => Buffer.from(text, 'latin1'))
      const pieces = [...before, ...piecesOf([last, end], cut, true)]
      expect(await conversation(plain, pieces, before.length)).toBe(await conversation(own, pieces, before.length))
    }),
    { numRuns: isFull ? 5_000 : 100 },
  )
})

/** The request that Node's own parser finds in the bytes; undefined if they are not exactly one that leaves the connection open. */
async function asNodeReads(bytes: Buffer): Promise<object | undefined> {
  const found: object[] = []
  let isWrong = false
  const server = http.createServer({ requireHostHeader: false }, (incoming, outgoing) => {
    let body = ''
    incoming.setEncoding('latin1').on('data', (text: string) => (body += text))
    incoming.on('end', () => {
      const { method, url, headers } = incoming
      const target = targetOf(method!, url!)
      found.push({ target, headers: { ...headers }, body, lasts: outgoing.shouldKeepAlive })
    })
  })
  server.on('clientError', () => (isWrong = true))
  const connection = new Duplex({ read() {}, write: (_bytes, _encoding, done) => done() })
  server.emit('connection', connection)
  connection.push(bytes)
  await turn()
  // Whatever is behind a whole request begins another one, which this byte makes a wrong one.
  const wasWrong = isWrong
  connection.push('\0')
  await turn()
  connection.destroy()
  return wasWrong || !isWrong || found.length !== 1 ? undefined : found[0]
}

const piece = fc.oneof(
  { weight: 3, arbitrary: request },
  fc.constantFrom(
    '\r\n',
    '\n',
    '\r',
    '\0',
    ' ',
    ':',
    'GET',
    ' HTTP/1.1',
    'Content-Length: 1\r\n',
    'Host: h\r\n',
    'é',
    '0',
  ),
  fc.string({ unit: 'binary', maxLength: 3 }),
)
/** Plain requests with pieces put in somewhere and others taken out. */
const nearly = fc
  .tuple(
    request.filter((text) => readHead(Buffer.from(text, 'latin1')) !== undefined),
    fc.array(fc.tuple(fc.nat(150), fc.nat(2), piece), { maxLength: 2 }),
  )
  .map(([text, changes]) =>
    changes.reduce((sum, [at, length, put]) => sum.slice(0, at) + put + sum.slice(at + length), text),
  )

it('what is read as a plain request, Node reads as the same request, and nothing behind it [D3]', async () => {
  let taken = 0
  await fc.assert(
    fc.asyncProperty(nearly, async (text) => {
      const bytes = Buffer.from(text, 'latin1')
      const head = readHead(bytes)
      if (head === undefined) return
      taken++
      expect({ ...asRead(head, bytes), lasts: true }).toEqual(await asNodeReads(bytes))
    }),
    { numRuns: isFull ? 50_000 : 1_000 },
  )
  expect(taken).toBeGreaterThan(100)
})

function asRead(head: Head, bytes: Buffer) {
  const body = head.bodyIn(bytes)!.toString('latin1')
  const headers = Object.fromEntries(head.headers)
  if ('content-length' in headers) headers['content-length'] = String(body.length)
  return { target: head.target, headers, body }
}

it('a head that is sent again is read as if it were the first, with the body that it has now [D3]', async () => {
  let known = 0
  const lengths = fc.constantFrom('0', '00', '1', '12', '012', '1001', '1000000000', '-1', '1 ', '')
  const sent = fc.tuple(
    nearly,
    fc.oneof(lengths, fc.nat(200).map(String)),
    fc.string({ unit: 'binary', maxLength: 200 }),
  )
  fc.assert(
    fc.property(nearly, sent, (first, [again, length, body]) => {
      const head = readHead(Buffer.from(first, 'latin1'))
      const [start] = first.split('\r\n\r\n')
      const same = `${start!.replace(/(content-length: ?)\d+/i, `$1${length}`)}\r\n\r\n`
      for (const text of [again, same, same + body, same + body.slice(0, Number(length))]) {
        const bytes = Buffer.from(text, 'latin1')
        if (head?.bodyIn(bytes) === undefined) continue
        known++
        expect(asRead(head, bytes)).toEqual(asRead(readHead(bytes)!, bytes))
      }
    }),
    { numRuns: isFull ? 50_000 : 1_000 },
  )
  expect(known).toBeGreaterThan(100)
})

/** What a connection is answered until it is closed, by its status. */
function closed(port: number, text: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = net.connect(port, '127.0.0.1', () => socket.write(text))
    socket.setEncoding('latin1').on('data', (part: string) => (answer += part))
    socket.on('close', () => resolve(answer.slice(0, 12)))
  })
}

const whole = 'GET /a HTTP/1.1\r\nHost: h\r\n\r\n'

it('who is silent, or trickles a request, holds no connection [D3]', async () => {
  const limits = { headersTimeout: 50, requestTimeout: 50, keepAliveTimeout: 50, connectionsCheckingInterval: 10 }
  const { port, server } = await door(true, limits)
  expect(await closed(port, 'GET /a HTTP/1.1\r\nHost:')).toBe('HTTP/1.1 408')
  expect(await closed(port, 'POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\na')).toBe('HTTP/1.1 408')
  expect(await closed(port, '')).toBe('')
  expect(await closed(port, whole)).toBe('HTTP/1.1 200')
  const count = () => new Promise((resolve) => server.getConnections((_error, open) => resolve(open)))
  await expect.poll(count).toBe(0)
})

it('closing ends what is idle at once, and what is at work with its answer [D1]', async () => {
  const { port, server, plain, sockets } = await door(true)
  const idle = closed(port, '')
  const atWork = closed(port, 'GET /a?turns=50 HTTP/1.1\r\nHost: h\r\n\r\n')
  while (sockets.length < 2 || sockets.every(({ bytesRead }) => bytesRead === 0)) await turn()
  const ended = new Promise((resolve) => server.close(resolve))
  plain!.closeIdle()
  expect([await idle, await atWork]).toEqual(['', 'HTTP/1.1 200'])
  await ended
})

it('who leaves before the answer is noticed [D4]', async () => {
  const server = http.createServer()
  const left = new Promise<void>((resolve) => {
    const wait = (exchange: Exchange) =>
      new Promise<void>((done) => {
        exchange.signal.addEventListener('abort', () => (resolve(), done()))
        caller.destroy()
      })
    const plain = new PlainConnections(server, () => wait)
    onTestFinished(() => (plain.closeAll(), void server.close()))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const caller = net.connect((server.address() as AddressInfo).port, '127.0.0.1', () => caller.write(whole))
  await expect(left).resolves.toBeUndefined()
})
