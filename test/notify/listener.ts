// A web server that a notification really reaches: what came, and answers by script.

import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

interface Received {
  readonly path: string
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
}

export type Answer = (response: http.ServerResponse, received: Received) => void

export interface Listener {
  readonly url: string
  readonly received: Received[]
  /** Used up one by one; after that everything is answered with 200. */
  readonly answers: Answer[]
}

export function status(code: number, headers: http.OutgoingHttpHeaders = {}, body = ''): Answer {
  return (response) => response.writeHead(code, headers).end(body)
}

export async function listen(...answers: Answer[]): Promise<Listener> {
  const received: Received[] = []
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = []
    request
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('end', () => {
        const one = { path: request.url!, headers: request.headers, body: Buffer.concat(chunks).toString('utf8') }
        received.push(one)
        const answer = answers.shift() ?? status(200)
        answer(response, one)
      })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received, answers }
}
