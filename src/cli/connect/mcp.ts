// `baton mcp`: the MCP server on standard input and output, as agents start it.

import { Transform } from 'node:stream'
import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCMessage,
} from '@modelcontextprotocol/server'
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { findProject, isNamed, trustedWorkspace } from '../../config/index.ts'
import { mcpFactory } from '../../mcp/index.ts'
import { openWorkspace, type Workspace } from '../../operations/index.ts'
import { type Io, untilStopped } from '../base/io.ts'
import type { Globals } from '../base/output.ts'

/** How long requests that came before the end of the input are still worked on. */
const lastAnswersMs = 10_000

export async function mcp({ io, store, workspace: folder }: Globals): Promise<void> {
  const { env, self } = io
  // Agents start their servers in the folder they work in, or say which it is.
  const cwd = env.CLAUDE_PROJECT_DIR || env.GEMINI_PROJECT_DIR || io.cwd()
  const found = trustedWorkspace({ store, workspace: folder, cwd, env })
  const { address } = found
  const workspace = await openWorkspace({ address, named: isNamed(found), cwd: findProject(cwd), env, self })
  await untilStopped(io, (signal) => serve(workspace, io, signal))
  await workspace.close()
  io.exit.code = 0
}

/** Serves until the input has ended and what came before that is answered, or until the signal. */
async function serve(workspace: Workspace, { stdin, stdout }: Io, signal: AbortSignal): Promise<void> {
  const open = new Set<unknown>()
  let onAnswered = () => {}
  let patience: NodeJS.Timeout | undefined
  // The transport drops what it is working on when its input ends, so that the end is told to it only then.
  const input = new Transform({
    transform: (chunk, _, done) => done(null, chunk),
    flush: (done) => {
      patience = setTimeout(done, lastAnswersMs)
      onAnswered = () => {
        if (open.size > 0 || input.readableLength > 0) return
        onAnswered = () => {}
        clearTimeout(patience)
        done()
      }
      setImmediate(() => onAnswered())
    },
  })
  const settle = (id: unknown) => {
    open.delete(id)
    onAnswered()
  }
  // Each answer that waits for a slow reader listens for itself.
  stdout.setMaxListeners(0)
  const transport = new StdioServerTransport(input, stdout)
  // The caller is no person: a model speaks through this pipe.
  const handle = serveStdio(mcpFactory(workspace, { name: 'mcp', scope: 'write' }), { transport })
  const { onmessage: receive } = transport
  const send = transport.send.bind(transport)
  Object.assign(transport, {
    onmessage: (message: JSONRPCMessage) => {
      // A subscription ends with the connection.
      if (isJSONRPCRequest(message) && message.method !== 'subscriptions/listen') open.add(message.id)
      else if (isJSONRPCNotification(message) && message.method === 'notifications/cancelled') {
        settle(message.params?.['requestId'])
      }
      receive?.(message)
    },
    send: async (message: JSONRPCMessage) => {
      await send(message)
      if (isJSONRPCResponse(message)) settle(message.id)
    },
  })
  await new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve())
    input.once('end', () => resolve())
    stdin.pipe(input)
    stdin.once('close', () => input.end())
  })
  clearTimeout(patience)
  stdin.unpipe(input)
  await handle.close()
}
