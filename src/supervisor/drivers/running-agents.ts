// Agents that run already: found in the panes of every tmux server of this user.

import fs from 'node:fs'
import path from 'node:path'
import type { Adapter } from '../../agents/index.ts'
import { folderOf } from '../../system/index.ts'
import type { AgentPlace } from './driver.ts'
import { socketPath, TmuxServer } from './tmux-server.ts'
import { agentIn, isAgent } from './tmux-start.ts'

export interface RunningAgent {
  readonly adapter: Adapter
  readonly place: Extract<AgentPlace, { driver: 'tmux' }>
  /** The folder that it works in. */
  readonly cwd: string
  /** Of its window. */
  readonly title: string
}

export async function runningAgents(adapters: readonly Adapter[], env = process.env): Promise<RunningAgent[]> {
  // A server may have its socket elsewhere: then its own panes say where.
  const sockets = new Set([
    ...(env.TMUX === undefined || env.TMUX === '' ? [] : [env.TMUX.split(',')[0]!]),
    ...socketsIn(path.dirname(socketPath('default', env))),
  ])
  const found = await Promise.all([...sockets].map((socket) => inServer(socket, adapters)))
  return found.flat()
}

function socketsIn(folder: string): string[] {
  try {
    const entries = fs.readdirSync(folder, { withFileTypes: true })
    return entries.filter((entry) => entry.isSocket()).map(({ name }) => path.join(folder, name))
  } catch {
    return [] // no server was ever started
  }
}

async function inServer(socket: string, adapters: readonly Adapter[]): Promise<RunningAgent[]> {
  const format = '#{pane_id}\t#{pane_pid}\t#{pane_current_path}\t#{window_name}\t#{@baton-mark}'
  // A server that does not run has no panes.
  const told = await new TmuxServer(socket).run(['list-panes', '-a', '-F', format]).catch(() => '')
  return told
    .split('\n')
    .filter((line) => line !== '')
    .flatMap((line): RunningAgent[] => {
      const [pane = '', shell = '', folder = '', title = '', mark = ''] = line.split('\t')
      // Baton started this one: it has a session already.
      if (mark !== '') return []
      for (const adapter of adapters) {
        const agent = agentIn(Number(shell), (each) => isAgent(each, adapter))
        if (agent === undefined) continue
        const place = { driver: 'tmux', socket, pane, pid: agent.pid, started: agent.started, adopted: true } as const
        return [{ adapter, place, cwd: folderOf(agent.pid) ?? folder, title }]
      }
      return []
    })
}
