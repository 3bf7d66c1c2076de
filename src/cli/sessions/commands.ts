// The commands about sessions of other agents, and `baton` without a command.

import { type Command, InvalidArgumentError, Option } from 'commander'
import { agentNames } from '../../agents/index.ts'
import { noCommand, wholeNumber, lazily } from '../base/commands.ts'

export function addSessions(program: Command): void {
  // Without a command the list is shown; a word that is no command is still refused.
  program.allowExcessArguments().action(async (_options, command: Command) => {
    const [word] = command.args
    if (word !== undefined) throw await noCommand(command, word)
    await (await import('./list.ts')).home(command.optsWithGlobals())
  })
  lazily(program, () => import('./list.ts'))('ls', 'list the agent sessions on this machine, newest first', 'ls')
    .addOption(agentOption())
    .option('--here', 'only sessions in this folder and below')
    .option('--project <name>', 'only projects whose path contains this')
    .option('--since <time>', 'only sessions active since then: 8h, 30m, 2d, or a date', since)
    .option('--limit <n>', 'at most this many', wholeNumber)
    .option('--subagents', 'include the sessions of subagents')
    .option('--watch', 'keep the list up to date')
  const add = lazily(program, () => import('./import.ts'))
  onto(add('import', 'copy a session to a tape, or add what is new in it', 'importOne'))
  onto(add('follow', 'keep the tape of a session up to date while it is running', 'followOne'))
  lazily(program, () => import('./log.ts'))(
    'log',
    'show what happened in a session: turns, files, commits, tests, failures, cost; and what Baton did, if it is supervised',
    'log',
  )
    .argument(
      '[session]',
      'its id or the beginning of the id, the path of a transcript, an imported tape, or the name of a supervised session',
    )
    .addOption(agentOption())
    .option('--since <time>', 'only what happened since then: 8h, 30m, 2d, or a date', since)
    .option('--all', 'show everything, however long')
    .option('-f, --follow', 'for a supervised session: keep printing new entries')
}

function onto(command: Command): void {
  command
    .argument('[session]', 'its id or the beginning of the id, or the path of a transcript')
    .option('--tape <tape>', 'the tape to write to (default: AGENT:SESSION)')
    .addOption(agentOption())
}

function agentOption(): Option {
  return new Option('--agent <agent>', 'only sessions of this agent').choices(agentNames)
}

/** Parses a span such as 8h, or a date, into an ISO date. */
function since(text: string): string {
  const span = /^(\d+(?:\.\d+)?)\s*(m|min|h|d|w)$/.exec(text)
  const minutes = { m: 1, min: 1, h: 60, d: 1_440, w: 10_080 }
  if (span !== null) {
    const unit = minutes[span[2] as keyof typeof minutes]
    return new Date(Date.now() - Number(span[1]) * unit * 60_000).toISOString()
  }
  const date = Date.parse(text)
  if (Number.isNaN(date)) throw new InvalidArgumentError('It must be a span such as 8h or 2d, or a date.')
  return new Date(date).toISOString()
}
