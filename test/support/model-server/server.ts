// The stand-in for a language model: speaks the providers' protocols on loopback and says what a script tells it. It is
// strict where a test could pass by accident (a script that runs out, an unreadable body) and lenient where real agents
// differ (base paths, probes, fields it does not know).
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { chatCompletions } from './chat-completions.ts'
import { Delivery } from './delivery.ts'
import { generateContent } from './generate-content.ts'
import { Ledger } from './ledger.ts'
import { messages } from './messages.ts'
import { afterPieces, type HttpFailure, type Protocol } from './protocol.ts'
import type { AnyApi, ModelRequest } from './request.ts'
import { responses } from './responses.ts'
import { modelList, routeOf } from './route.ts'
import { asFunction, type Script } from './script.ts'
import { tokens, turnOf } from './turn.ts'

interface ModelServerOptions {
  script: Script
  /** What `/v1/models` lists. */
  models?: readonly string[]
  clock?: () => number
  id?: () => string
}

export interface ModelServer extends AsyncDisposable {
  /** `http://127.0.0.1:port`, without `/v1`. */
  url: string
  /** Model calls in order of arrival. */
  requests: readonly ModelRequest[]
  /** Everything else that was asked, with the answer's status: `HEAD / 200`. */
  probes: readonly string[]
  /** What went wrong on the script's side; each was also answered with a 500. A test expects this empty. */
  problems: readonly string[]
  /** The oldest request no `next` has returned yet and that fits, or the next to arrive. Rejects on `close`. */
  next(predicate?: (request: ModelRequest) => boolean): Promise<ModelRequest>
  /** Resolves when no model call is being answered. */
  idle(): Promise<void>
  /** Breaks off what is still being answered. */
  close(): Promise<void>
}

export async function startModelServer(options: ModelServerOptions): Promise<ModelServer> {
  const { models = ['scripted'], clock = Date.now, id = () => randomUUID().replaceAll('-', '') } = options
  const decide = asFunction(options.script)
  const protocols: Record<AnyApi, Protocol> = {
    'chat-completions': chatCompletions,
    responses: responses(),
    messages,
    'generate-content': generateContent,
  }
  const ledger = new Ledger()
  const probes: string[] = []
  const problems: string[] = []

  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const delivery = new Delivery(response)
    const path = new URL(incoming.url ?? '/', 'http://localhost').pathname
    const method = incoming.method ?? ''
    const bytes = await readAll(incoming)
    const route = routeOf(method, path)
    if (route.to === 'model') return answerModel(protocols[route.api], { incoming, response, delivery, path, bytes })
    probes.push(`${method} ${path} ${route.to === 'nowhere' ? 404 : 200}`)
    if (route.to === 'models') delivery.json(200, modelList(models, clock()))
    else if (route.to === 'count-tokens') delivery.json(200, countOf(tokens(bytes.length), path))
    else if (route.to === 'hello') delivery.json(200, {})
    else
      delivery.json(404, {
        error: { message: `Unknown request URL: ${method} ${path}`, type: 'invalid_request_error' },
      })
  }

  const answerModel = async (protocol: Protocol, exchange: Exchange): Promise<void> => {
    const { delivery, bytes } = exchange
    try {
      const raw: unknown = JSON.parse(bytes.toString('utf8'))
      const request: ModelRequest = {
        ...protocol.read(raw, exchange.path),
        api: protocol.api,
        path: exchange.path,
        headers: exchange.incoming.headers,
        raw,
        when: clock(),
        ended: delivery.ended,
      }
      const own = protocol.aside?.(raw)
      if (own === undefined) ledger.add(request)
      else probes.push(`POST ${exchange.path} 200`)
      const reply = own ?? (await decide(request))
      const turn = turnOf(reply, { model: request.model, requestBytes: bytes.length, id, clock })
      const { error } = reply
      if (error && (error.after === undefined || !request.stream))
        return await delivery.failure(protocol.failure(error, turn), reply)
      if (!request.stream) return await delivery.whole(protocol.whole(turn, raw), reply)
      const frames = protocol.stream(turn, raw)
      if (!error) return await delivery.stream(frames, reply)
      const begun = frames.slice(0, afterPieces(frames, error.after ?? 0))
      await delivery.stream([...begun, ...protocol.streamFailure(error, turn, begun.length)], reply)
    } catch (cause) {
      const problem = cause instanceof Error ? cause.message : String(cause)
      problems.push(problem)
      if (exchange.response.headersSent) exchange.response.destroy()
      else await delivery.failure(scriptFailure(protocol, problem, id()))
    }
  }

  const server = createServer((incoming, response) => {
    answer(incoming, response).catch((cause: unknown) => {
      // Only a request that broke off while it was being read ends here: there is no one left to answer.
      if (!incoming.destroyed) problems.push(String(cause))
      response.destroy()
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the model server has no port')

  let closing: Promise<void> | undefined
  const close = (): Promise<void> => {
    closing ??= new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
      ledger.close()
    })
    return closing
  }

  return {
    url: `http://127.0.0.1:${address.port}`,
    requests: ledger.requests,
    probes,
    problems,
    next: (predicate) => ledger.next(predicate),
    idle: () => ledger.idle(),
    close,
    [Symbol.asyncDispose]: close,
  }
}

interface Exchange {
  incoming: IncomingMessage
  response: ServerResponse
  delivery: Delivery
  path: string
  bytes: Buffer
}

/** A mistake in the test, not a provider's failure: agents are asked not to try again. */
function scriptFailure(protocol: Protocol, problem: string, id: string): HttpFailure {
  const message = `scripted model: ${problem}`
  const failure = protocol.failure({ kind: 'status', status: 500, message }, { id, model: 'scripted' })
  return { ...failure, headers: { ...failure.headers, 'x-should-retry': 'false' } }
}

function countOf(count: number, path: string): object {
  return path.endsWith(':countTokens') ? { totalTokens: count } : { input_tokens: count }
}

async function readAll(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks)
}
