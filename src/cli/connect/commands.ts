// The commands that put Baton beside the agents that a person works with.

import { Argument, type Command } from 'commander'
import { agentNames } from '../../agents/index.ts'
import { lazily } from '../base/commands.ts'

export function addConnect(program: Command): void {
  const add = lazily(program, () => import('./connect.ts'))
  placed(
    add(
      'connect',
      'let an agent use Baton: adds hooks, MCP tools and a status line, and shows what it changes',
      'connect',
    ),
  )
  placed(add('disconnect', 'remove exactly what connect added', 'disconnect'))
  lazily(program, () => import('./mcp.ts'))('mcp', 'run the MCP server on standard input and output, for agents', 'mcp')
  lazily(program, () => import('./connect.ts'))(
    'doctor',
    'check that everything Baton needs is there and works, and say how to fix what is not',
    'doctor',
  )
  lazily(program, () => import('./connect.ts'))(
    'trust [folder]',
    'let what a project brings (baton.config.json, .baton) run commands, send messages and open sessions',
    'trust',
  )
    .option('--remove', 'stop trusting it')
    .option('--list', 'list the projects that you trust')
  lazily(program, () => import('./connect.ts'))(
    'hook [agent] [event]',
    'handle an event of a connected agent; agents call this themselves',
    'hookCommand',
  ).option('--work', 'do the work that hooks left for later')
}

function placed(command: Command): void {
  command
    .addArgument(new Argument('<agent>', 'the agent').choices(agentNames))
    .option('--user', 'for all your projects (the default)')
    .option('--project', 'in this project only')
    .option('--dry-run', 'only show what would change')
}
