// Codex groups some of its tools: a call to one of them names the group in a field of its own, which the scripted model
// knows nothing of. This stands between the two and adds it.

import http from 'node:http'
import { buffer } from 'node:stream/consumers'

const group = { tools: ['spawn_agent', 'wait_agent', 'close_agent'], name: 'multi_agent_v1' }

export async function startNamespaceProxy(model: string): Promise<{ url: string; close: () => void }> {
  const server = http.createServer((incoming, response) => {
    void answer(incoming, response).catch(() => response.destroy())
  })
  const answer = async (incoming: http.IncomingMessage, response: http.ServerResponse) => {
    const body = await buffer(incoming)
    const given = await fetch(`${model}${incoming.url ?? '/'}`, {
      method: incoming.method ?? 'GET',
      headers: { 'content-type': 'application/json' },
      ...(body.length > 0 ? { body } : {}),
    })
    const text = await given.text()
    const named = group.tools.reduce(
      (all, tool) => all.replaceAll(`"name":"${tool}"`, `"name":"${tool}","namespace":"${group.name}"`),
      text,
    )
    response.writeHead(given.status, { 'content-type': given.headers.get('content-type') ?? 'text/plain' })
    response.end(named)
  }
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port')
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${address.port}`, close }
}
