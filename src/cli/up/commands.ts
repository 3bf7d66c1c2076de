// The commands of the server: `baton up`, `baton down`, `baton token …`.

import { type Command, Option } from 'commander'
import { port, wholeNumber, lazily, whenBare } from '../base/commands.ts'

export function addUp(program: Command): void {
  const server = lazily(program, () => import('./up.ts'))
  server(
    'up',
    'start the server and dashboard of this workspace: REST, live streams and MCP; prints an address that signs you in',
    'up',
  )
    .option('--port <number>', 'the port; 0 picks any free one (default: 4747, or the next that is free)', port)
    .option('--host <address>', 'where to listen', '127.0.0.1')
    .option('--cert <file>', 'the TLS certificate, needed for a --host other than this machine')
    .option('--key <file>', 'the key of the certificate')
    .option('--plain-http', 'serve other machines without TLS: tokens can be read on the way')
    .option('--no-supervisor', 'do not supervise sessions that have no supervisor')
    .option('--demo', 'use a new workspace, with a demo agent that outgrows its context')
    .option('--open', 'open the dashboard in the browser')
  server('down', 'stop the server of this workspace', 'down')

  const token = program.command('token').description('manage who may call the server and what they may do')
  whenBare(token, async (globals) => (await import('./token.ts')).ls(globals))
  const add = lazily(token, () => import('./token.ts'))
  add('create [name]', 'create a token and print it once', 'create')
    .addOption(
      new Option('--scope <scope>', 'what it may do; each scope includes the one before')
        .choices(['read', 'write', 'operate', 'admin'])
        .default('read'),
    )
    .option('--agent', "for an agent, which may not approve anything in a person's name")
    .option('--days <number>', 'after how many days it expires (default: never)', wholeNumber)
  add('ls', 'list the valid tokens', 'ls')
  add('revoke <name>', 'revoke a token by name or id, and close its open streams', 'revoke')
}
