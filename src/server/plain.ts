// Requests as programs send them: whole in one read, with nothing in their head that would need more than looking at it. Node's
// objects for a request and its response cost twice what an append does, so these go without them. Reading them is strict: whatever
// is unusual, cut in two, pipelined or wrong is given to Node's own server with the connection, and stays there.

import { type Server, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { type Answer, type Chunk, Exchange, ownHeaders, tooLarge } from './exchange.ts'
import type { Proven } from './tokens.ts'

/** As Node's own server allows. */
const mostHeadBytes = 16 * 1024

interface Request {
  readonly method: string
  readonly url: string
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
}

const firstLine = /^(GET|POST|PUT|DELETE) (\/[\x21-\x7e]*) HTTP\/1\.1\r\n/
const headerLine = /([!#$%&'*+.^_`|~\w-]+):[ \t]*([\t\x20-\x7e]*)\r\n/y

/** Headers that ask for more than an answer. */
const special = ['transfer-encoding', 'expect', 'upgrade', 'proxy-connection']

/** One plain request that is all there is in the bytes. Whatever is read here, Node reads as the same. */
export function readRequest(bytes: Buffer): Request | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0 || end > mostHeadBytes) return undefined
  const head = bytes.toString('latin1', 0, end + 2)
  const first = firstLine.exec(head)
  if (first === null) return undefined
  const headers = new Map<string, string>()
  headerLine.lastIndex = first[0].length
  while (headerLine.lastIndex < head.length) {
    const line = headerLine.exec(head)
    if (line === null) return undefined
    const name = line[1]!.toLowerCase()
    if (headers.has(name)) return undefined
    headers.set(name, line[2]!.trimEnd())
  }
  const [, method = '', url = ''] = first
  const length = headers.get('content-length') ?? '0'
  if (!/^\d{1,9}$/.test(length) || bytes.length !== end + 4 + Number(length)) return undefined
  if (method === 'GET' && Number(length) > 0) return undefined
  if (special.some((name) => headers.has(name))) return undefined
  const connection = headers.get('connection')
  if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return undefined
  return { method, url, headers, body: bytes.subarray(end + 4) }
}

/** Answers a request and resolves when that is done; undefined if it is nothing for plain connections. */
type Serve = (exchange: Exchange) => Promise<void> | undefined

/** The connections of a server that have only sent plain requests so far. */
export class PlainConnections {
  readonly #open = new Set<PlainConnection>()
  #isClosing = false

  /**
   * Every connection of the server begins here from now on. The server listens itself and is not given connections by another, since
   * Node looks after the time limits of its connections only in a server that listens.
   */
  constructor(server: Server, serve: Serve) {
    const takers = server.listeners('connection')
    const handOver = (socket: Socket, bytes: Buffer) => {
      for (const take of takers) Reflect.apply(take, server, [socket])
      socket.emit('data', bytes)
    }
    server.removeAllListeners('connection')
    server.on('connection', (socket: Socket) => {
      const connection = new PlainConnection(socket, server.keepAliveTimeout, serve, handOver, (isLast) => {
        if (isLast) this.#open.delete(connection)
        else if (this.#isClosing) connection.closeIfIdle()
      })
      this.#open.add(connection)
    })
  }

  /** From now on a connection ends with its request. */
  closeIdle(): void {
    this.#isClosing = true
    for (const connection of this.#open) connection.closeIfIdle()
  }

  closeAll(): void {
    for (const connection of this.#open) connection.close()
  }
}

class PlainConnection {
  readonly #socket: Socket
  readonly #serve: Serve
  readonly #handOverTo: (socket: Socket, bytes: Buffer) => void
  /** Told when a request was answered, and for the last time when the connection is no longer ours. */
  readonly #onDone: (isLast: boolean) => void
  readonly #proven: Proven = {}
  /** The request that is not answered yet. */
  #exchange: PlainExchange | undefined
  /** What came before the last request was answered. */
  #early: Buffer | undefined

  constructor(
    socket: Socket,
    idleMs: number,
    serve: Serve,
    handOver: (socket: Socket, bytes: Buffer) => void,
    onDone: (isLast: boolean) => void,
  ) {
    this.#socket = socket
    this.#serve = serve
    this.#handOverTo = handOver
    this.#onDone = onDone
    socket.setTimeout(idleMs, this.#onSilence)
    socket.on('data', this.#onData).on('end', this.#onEnd).on('error', this.#onError).on('close', this.#onClose)
  }

  closeIfIdle(): void {
    if (this.#exchange === undefined) this.#socket.end()
  }

  close(): void {
    this.#socket.destroy()
  }

  readonly #onData = (bytes: Buffer): void => {
    if (this.#exchange !== undefined) {
      // A paused socket keeps what comes next to itself.
      this.#early = bytes
      return void this.#socket.pause()
    }
    const request = readRequest(bytes)
    if (request === undefined) return this.#handOver(bytes)
    const exchange = new PlainExchange(request, this.#socket, this.#proven)
    const served = this.#serve(exchange)
    if (served === undefined) return this.#handOver(bytes)
    this.#exchange = exchange
    void served.then(this.#onServed)
  }

  readonly #onServed = (): void => {
    this.#exchange = undefined
    if (this.#early !== undefined) this.#handOver(this.#early)
    else this.#onDone(false)
  }

  #handOver(bytes: Buffer): void {
    const socket = this.#socket
    if (socket.destroyed) return
    socket.setTimeout(0, this.#onSilence)
    socket.off('data', this.#onData).off('end', this.#onEnd).off('error', this.#onError).off('close', this.#onClose)
    this.#onDone(true)
    this.#handOverTo(socket, bytes)
    socket.resume()
  }

  readonly #onSilence = (): void => {
    if (this.#exchange === undefined) this.#socket.destroy()
  }

  /** As Node's own server does: who closes its side awaits no answer. */
  readonly #onEnd = (): void => void this.#socket.end()

  readonly #onError = (): void => void this.#socket.destroy()

  readonly #onClose = (): void => {
    this.#exchange?.gone()
    this.#onDone(true)
  }
}

class PlainExchange extends Exchange {
  readonly #request: Request
  protected readonly outlet: Socket
  readonly proven: Proven
  gone: () => void = () => {}

  constructor(request: Request, socket: Socket, proven: Proven) {
    super(request.method, request.url)
    this.#request = request
    this.outlet = socket
    this.proven = proven
  }

  header(name: string): string | undefined {
    return this.#request.headers.get(name)
  }

  protected whenGone(call: () => void): void {
    this.gone = call
  }

  bytes(most: number): Buffer {
    const { body } = this.#request
    if (body.length > most) throw tooLarge(most)
    return body
  }

  send({ status, headers, body }: Answer): void {
    const bytes = Buffer.byteLength(body)
    const text = `${headText(status, headers)}Content-Length: ${bytes}\r\n\r\n${body}`
    // Where every character is one byte, as in most answers, nothing needs to be encoded.
    this.outlet.write(text, bytes === body.length ? 'latin1' : 'utf8')
  }

  protected begin(headers: Readonly<Record<string, string>>): void {
    this.outlet.write(`${headText(200, headers)}Transfer-Encoding: chunked\r\n\r\n`)
  }

  protected put(part: string | Chunk): boolean {
    if (typeof part !== 'string') return this.outlet.write(part.framed)
    return part === '' || this.outlet.write(`${Buffer.byteLength(part).toString(16)}\r\n${part}\r\n`)
  }

  protected finish(): void {
    if (!this.outlet.destroyed) this.outlet.write('0\r\n\r\n')
  }
}

let lastHead = { status: 0, headers: {}, second: 0, text: '' }

/** The head of an answer but for its end. Most answers have the same for a second. */
function headText(status: number, headers: Readonly<Record<string, string>>): string {
  const second = Math.floor(Date.now() / 1000)
  if (lastHead.status === status && lastHead.headers === headers && lastHead.second === second) return lastHead.text
  const fields = Object.entries({ ...ownHeaders, ...headers }).map(([name, value]) => `${name}: ${value}`)
  const date = `Date: ${new Date(second * 1000).toUTCString()}`
  const first = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}`
  const text = [first, ...fields, date, 'Connection: keep-alive', ''].join('\r\n')
  lastHead = { status, headers, second, text }
  return text
}
