// pi loads extensions from its agent folder and runs them in its own process: a small one forwards what happens to `baton hook`,
// and shows Baton's part of the status line.

import os from 'node:os'
import path from 'node:path'
import { type AgentConnection, handoffPrompt, type ConnectionPlace, forwarding } from '../connection.ts'

export const piConnection: AgentConnection = {
  home: (env) => env.PI_CODING_AGENT_DIR || path.join(env.HOME || os.homedir(), '.pi', 'agent'),
  changes(place) {
    const top = place.scope === 'user' ? piConnection.home(place.env) : path.join(place.project, '.pi')
    return [
      { type: 'file', path: path.join(top, 'extensions', 'baton.ts'), content: extension(place) },
      {
        type: 'file',
        path: path.join(top, 'prompts', 'baton-handoff.md'),
        content: `${handoffPrompt(place, '$@')}\nAsk them to type /new.\n`,
      },
    ]
  },
  notes: () => ['pi 0.x does not support MCP, so its model calls Baton through the shell (/baton-handoff).'],
}

function extension(place: ConnectionPlace): string {
  return `// @ts-nocheck
${forwarding(place, 'pi')}
export default function (pi) {
  const tell = (event, ctx, more = {}) => {
    const file = ctx.sessionManager?.getSessionFile?.()
    const session = ctx.sessionManager?.getSessionId?.() ?? file
    return session ? call(event, { session_id: session, transcript_path: file, cwd: ctx.cwd, ...more }) : undefined
  }
  pi.on('session_start', async (event, ctx) => void (await tell('start', ctx, { source: event.reason ?? 'startup' })))
  pi.on('before_agent_start', async (_event, ctx) => {
    const text = await tell('prompt', ctx)
    return text ? { message: { customType: 'baton', content: text, display: true } } : undefined
  })
  pi.on('session_before_compact', async (_event, ctx) => void (await tell('compact', ctx)))
  pi.on('agent_end', async (_event, ctx) => {
    // First: the context may belong to an earlier session by the time the call answers, and refuses everything then.
    const percent = ctx.getContextUsage?.()?.percent
    if (typeof percent === 'number') ctx.ui?.setStatus?.('baton', 'ctx ' + Math.round(percent) + ' %')
    await tell('turn', ctx)
  })
  pi.on('session_shutdown', async (event, ctx) => void (await tell('end', ctx, { reason: event.reason })))
}
`
}
