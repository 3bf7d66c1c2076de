// Agents that run already: found in the panes of the tmux servers that a person is likely to use.

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
  const sockets = new Set([
    ...(env.TMUX === undefined || env.TMUX === '' ? [] : [env.TMUX.split(',')[0]!]),
    socketPath('default', env),
    socketPath('baton', env),
  ])
  const found = await Promise.all([...sockets].map((socket) => inServer(socket, adapters)))
  return found.flat()
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
