// Requests as programs send them: whole in one read, with nothing in their head that would need more than looking at it. Node's
// objects for a request and its response cost twice what an append does, so these go without them. Reading them is strict: whatever
// is unusual, cut in two, pipelined or wrong is given to Node's own server with the connection, and stays there.

import { type Server, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { type Answer, type Chunk, Exchange, ownHeaders, type Target, targetOf, tooLarge } from './exchange.ts'

/** As Node's own server allows. */
const mostHeadBytes = 16 * 1024

const firstLine = /^(GET|POST|PUT|DELETE) (\/[\x21-\x7e]*) HTTP\/1\.1\r\n/
const headerLine = /([!#$%&'*+.^_`|~\w-]+):[ \t]*([\t\x20-\x7e]*)\r\n/y

/** Headers that ask for more than an answer. */
const special = ['transfer-encoding', 'expect', 'upgrade', 'proxy-connection']

/**
 * The head of a plain request. A program sends the same head again and again on its connection, but for the length of the body, so
 * whatever was found out of a head need not be found out again.
 */
export class Head {
  readonly target: Target
  readonly headers: ReadonlyMap<string, string>
  /** The bytes up to the length of the body, and behind it; the whole head, where it names no length. */
  readonly #before: Buffer
  readonly #after: Buffer | undefined

  constructor(target: Target, headers: ReadonlyMap<string, string>, before: Buffer, after: Buffer | undefined) {
    this.target = target
    this.headers = headers
    this.#before = Buffer.from(before)
    this.#after = after && Buffer.from(after)
  }

  /** The body, if the bytes are this head, perhaps with another length, and a body of that length. */
  bodyIn(bytes: Buffer): Buffer | undefined {
    let at = this.#before.length
    let length = 0
    if (!isSame(bytes, 0, this.#before)) return undefined
    if (this.#after !== undefined) {
      const start = at
      while (at < start + mostDigits && isDigit(bytes[at])) length = 10 * length + bytes[at++]! - zero
      const isUsual = at === start + 1 || bytes[start] !== zero
      if (at === start || !isUsual || !isSame(bytes, at, this.#after)) return undefined
      at += this.#after.length
    }
    if (bytes.length !== at + length || (length > 0 && this.target.method === 'GET')) return undefined
    return bytes.subarray(at)
  }
}

const zero = 0x30
const mostDigits = 9

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= zero && byte < zero + 10
}

/**
 * A proxy lets many callers use one connection, and a token stands in a head: the time that this takes does not tell how much is right.
 */
function isSame(bytes: Buffer, start: number, others: Buffer): boolean {
  if (bytes.length < start + others.length) return false
  let differing = 0
  for (let i = 0; i < others.length; i++) differing |= bytes[start + i]! ^ others[i]!
  return differing === 0
}

/** The head of the plain request that is all there is in the bytes. Whatever is read here, Node reads as the same. */
export function readHead(bytes: Buffer): Head | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0 || end > mostHeadBytes) return undefined
  const text = bytes.toString('latin1', 0, end + 2)
  const first = firstLine.exec(text)
  if (first === null) return undefined
  const headers = new Map<string, string>()
  let length: { readonly start: number; readonly end: number } | undefined
  headerLine.lastIndex = first[0].length
  while (headerLine.lastIndex < text.length) {
    const line = headerLine.exec(text)
    if (line === null) return undefined
    const name = line[1]!.toLowerCase()
    const value = line[2]!.trimEnd()
    if (headers.has(name)) return undefined
    headers.set(name, value)
    if (name === 'content-length') {
      if (!/^(0|[1-9]\d{0,8})$/.test(value)) return undefined
      const start = headerLine.lastIndex - 2 - line[2]!.length
      length = { start, end: start + value.length }
    }
  }
  if (special.some((name) => headers.has(name))) return undefined
  const connection = headers.get('connection')
  if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return undefined
  const [, method = '', url = ''] = first
  const before = bytes.subarray(0, length?.start ?? end + 4)
  const head = new Head(targetOf(method, url), headers, before, length && bytes.subarray(length.end, end + 4))
  return head.bodyIn(bytes) && head
}

/** Answers a request and resolves when that is done. */
export type Serve = (exchange: Exchange) => Promise<void>

/** What answers the requests with that head; undefined if they are nothing for plain connections. */
type FindServe = (target: Target) => Serve | undefined

/** The connections of a server that have only sent plain requests so far. */
export class PlainConnections {
  readonly #open = new Set<PlainConnection>()
  #isClosing = false

  /**
   * Every connection of the server begins here from now on. The server listens itself and is not given connections by another, since
   * Node looks after the time limits of its connections only in a server that listens.
   */
  constructor(server: Server, findServe: FindServe) {
    const takers = server.listeners('connection')
    const handOver = (socket: Socket, bytes: Buffer) => {
      for (const take of takers) Reflect.apply(take, server, [socket])
      socket.emit('data', bytes)
    }
    server.removeAllListeners('connection')
    server.on('connection', (socket: Socket) => {
      const connection = new PlainConnection(socket, findServe, handOver, (isLast) => {
        if (isLast) this.#open.delete(connection)
        else if (this.#isClosing) connection.closeIfIdle()
      })
      this.#open.add(connection)
    })
    // One timer for all: a timer for each would be set anew with every read and write.
    const look = setInterval(() => {
      for (const connection of this.#open) connection.closeIfSilent()
    }, server.keepAliveTimeout).unref()
    server.once('close', () => clearInterval(look))
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
  readonly #findServe: FindServe
  readonly #handOverTo: (socket: Socket, bytes: Buffer) => void
  /** Told when a request was answered, and for the last time when the connection is no longer ours. */
  readonly #onDone: (isLast: boolean) => void
  /** The head of the last request, and what answers such requests. */
  #last: { readonly head: Head; readonly serve: Serve } | undefined
  /** The request that is not answered yet. */
  #exchange: PlainExchange | undefined
  #isSilent = false
  /** What came before the last request was answered. */
  #early: Buffer | undefined

  constructor(
    socket: Socket,
    findServe: FindServe,
    handOver: (socket: Socket, bytes: Buffer) => void,
    onDone: (isLast: boolean) => void,
  ) {
    this.#socket = socket
    this.#findServe = findServe
    this.#handOverTo = handOver
    this.#onDone = onDone
    socket.on('data', this.#onData).on('end', this.#onEnd).on('error', this.#onError).on('close', this.#onClose)
  }

  /** Ends it if nothing has happened since this was asked before. */
  closeIfSilent(): void {
    if (this.#isSilent && this.#exchange === undefined) this.#socket.destroy()
    this.#isSilent = true
  }

  closeIfIdle(): void {
    if (this.#exchange === undefined) this.#socket.end()
  }

  close(): void {
    this.#socket.destroy()
  }

  readonly #onData = (bytes: Buffer): void => {
    this.#isSilent = false
    if (this.#exchange !== undefined) {
      // A paused socket keeps what comes next to itself.
      this.#early = bytes
      return void this.#socket.pause()
    }
    const last = this.#last
    const body = last?.head.bodyIn(bytes)
    if (body !== undefined) return this.#answer(last!.head, body, last!.serve)
    const head = readHead(bytes)
    const serve = head && this.#findServe(head.target)
    if (serve === undefined) return this.#handOver(bytes)
    this.#last = { head: head!, serve }
    this.#answer(head!, head!.bodyIn(bytes)!, serve)
  }

  #answer(head: Head, body: Buffer, serve: Serve): void {
    this.#exchange = new PlainExchange(head, body, this.#socket)
    void serve(this.#exchange).then(this.#onServed)
  }

  readonly #onServed = (): void => {
    this.#isSilent = false
    this.#exchange = undefined
    if (this.#early !== undefined) this.#handOver(this.#early)
    else this.#onDone(false)
  }

  #handOver(bytes: Buffer): void {
    const socket = this.#socket
    if (socket.destroyed) return
    socket.off('data', this.#onData).off('end', this.#onEnd).off('error', this.#onError).off('close', this.#onClose)
    this.#onDone(true)
    this.#handOverTo(socket, bytes)
    socket.resume()
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
  readonly #headers: ReadonlyMap<string, string>
  readonly #body: Buffer
  protected readonly outlet: Socket
  gone: () => void = () => {}

  constructor({ target, headers }: Head, body: Buffer, socket: Socket) {
    super(target)
    this.#headers = headers
    this.#body = body
    this.outlet = socket
  }

  header(name: string): string | undefined {
    const value = this.#headers.get(name)
    return value !== undefined && name === 'content-length' ? String(this.#body.length) : value
  }

  protected whenGone(call: () => void): void {
    this.gone = call
  }

  bytes(most: number): Buffer {
    if (this.#body.length > most) throw tooLarge(most)
    return this.#body
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
