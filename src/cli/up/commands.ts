// The commands of the server: `baton up`, `baton down`, `baton token …`.

import { type Command, Option } from 'commander'
import { port, wholeNumber, lazily } from '../base/commands.ts'

export function addUp(program: Command): void {
  const server = lazily(program, () => import('./up.ts'))
  server('up', 'the server of this workspace: REST, live streams and MCP; prints an address that signs in', 'up')
    .option('--port <number>', 'the port; 0 is any free one (4747, or the next that is free)', port)
    .option('--host <address>', 'where to listen', '127.0.0.1')
    .option('--cert <file>', 'the certificate for TLS, which a --host beyond this machine needs')
    .option('--key <file>', 'its key')
    .option('--plain-http', 'beyond this machine without TLS: tokens travel readable')
    .option('--no-supervisor', 'leave sessions without a supervisor alone')
    .option('--demo', 'in a workspace of its own, with an agent that outgrows its context')
    .option('--open', 'open its page in the browser')
  server('down', 'end the server of this workspace', 'down')

  const token = program.command('token').description('who may call the server, and what they may do')
  const add = lazily(token, () => import('./token.ts'))
  add('create [name]', 'create a token and print it, only this once', 'create')
    .addOption(
      new Option('--scope <scope>', 'what it may do, each including the one before')
        .choices(['read', 'write', 'operate', 'admin'])
        .default('read'),
    )
    .option('--agent', "for an agent: it approves nothing in a person's name")
    .option('--days <number>', 'after how many days it expires (never, unless given)', wholeNumber)
  add('ls', 'the valid tokens', 'ls')
  add('revoke <name>', 'end a token, by name or id, and the streams that it has open', 'revoke')
}
