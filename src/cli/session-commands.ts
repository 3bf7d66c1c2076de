// The commands about sessions of other agents, and what `baton` alone shows.

import { type Command, InvalidArgumentError, Option } from 'commander'
import { InvalidError } from '../errors.ts'

/** As in transcripts/agent.ts, which is not loaded for a line of help. */
const agents = ['claude', 'codex', 'pi', 'gemini', 'opencode']

export function addSessions(program: Command): void {
  // Without a command the list is shown; a word that is no command is still refused.
  program.allowExcessArguments().action(async (_options, command: Command) => {
    const [word] = command.args
    if (word !== undefined) throw new InvalidError(`There is no command "${word}"`, { hint: 'See "baton --help".' })
    await (await import('./sessions.ts')).home(command.optsWithGlobals())
  })
  program
    .command('ls')
    .description("this machine's agent sessions, newest first")
    .addOption(agentOption())
    .option('--here', 'only those of this folder and below')
    .option('--subagents', 'those of subagents too')
    .option('--watch', 'keep the list up to date')
    .action(async (_options, command: Command) => (await import('./sessions.ts')).ls(command.optsWithGlobals()))
  session(program, 'import', 'bring a session onto a tape, or what is new of it').action(
    async (ref: string | undefined, _options, command: Command) =>
      (await import('./import.ts')).importOne(ref, command.optsWithGlobals()),
  )
  session(program, 'follow', 'keep the tape of a session up to date while it goes on').action(
    async (ref: string | undefined, _options, command: Command) =>
      (await import('./follow.ts')).followOne(ref, command.optsWithGlobals()),
  )
  program
    .command('log')
    .description('what happened in a session: turns, files, commits, tests, failures, questions, spend')
    .argument('[session]', 'its id, the beginning of it, the path of a transcript, or the tape of an import')
    .addOption(agentOption())
    .option('--since <time>', 'only from then on: 8h, 30m, 2d, or a date', since)
    .action(async (ref: string | undefined, _options, command: Command) =>
      (await import('./log.ts')).log(ref, command.optsWithGlobals()),
    )
}

function session(program: Command, name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .argument('[session]', 'its id, the beginning of it, or the path of a transcript')
    .option('--tape <tape>', 'the tape (else AGENT:SESSION)')
    .addOption(agentOption())
}

function agentOption(): Option {
  return new Option('--agent <agent>', 'only of this agent').choices(agents)
}

/** A moment, as an ISO date. */
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
