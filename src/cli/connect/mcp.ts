// `baton mcp`: the MCP server on standard input and output, as agents start it.

import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { findProject, trustedWorkspace } from '../../config/index.ts'
import { mcpFactory } from '../../mcp/index.ts'
import { openWorkspace } from '../../operations/index.ts'
import { untilStopped } from '../base/io.ts'
import type { Globals } from '../base/output.ts'

export async function mcp({ io, store, workspace: folder }: Globals): Promise<void> {
  const { env, self } = io
  // Agents start their servers in the folder they work in, or say which it is.
  const cwd = env.CLAUDE_PROJECT_DIR || env.GEMINI_PROJECT_DIR || io.cwd()
  const { address } = trustedWorkspace({ store, workspace: folder, cwd, env })
  const workspace = await openWorkspace({ address, cwd: findProject(cwd), env, self })
  // The caller is no person: a model speaks through this pipe.
  const handle = serveStdio(mcpFactory(workspace, { name: 'mcp', scope: 'write' }))
  await untilStopped(io, async (signal) => {
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve())
      io.stdin.once('close', () => resolve()).once('end', () => resolve())
    })
  })
  await handle.close()
  await workspace.close()
  io.exit.code = 0
}
