// The commands that run agents under supervision, and those that say what is wanted of them.

import { type Command, InvalidArgumentError, Option } from 'commander'
import { wholeNumber } from './arguments.ts'

const driver = () =>
  new Option('--driver <driver>', 'tmux (a screen you can attach to) or headless (else tmux, if it is there)').choices([
    'tmux',
    'headless',
  ])

const until = () =>
  new Option('--until <command>', 'end when this command succeeds; it is run after each turn').argParser(line)
const maxUsd = () => new Option('--max-usd <dollars>', 'end when it has cost so much').argParser(positive)
const maxHours = () => new Option('--max-hours <hours>', 'end after so long').argParser(positive)
const maxCycles = () => new Option('--max-cycles <cycles>', 'end after so many cycles').argParser(wholeNumber)

export function addSupervise(program: Command): void {
  program
    .command('run')
    .description('run an agent under supervision: when its context fills, it hands over to itself and goes on')
    .argument('<agent>', 'claude, codex, pi, gemini, opencode, or one from baton.config.json')
    .argument('[args...]', 'behind --: for the agent itself')
    .option('--name <name>', 'what to call the session (else AGENT-FOLDER)')
    .option('--cwd <dir>', 'the project (else this folder)')
    .addOption(driver())
    .option('--task <file>', 'its first prompt; - is standard input')
    .addOption(until())
    .addOption(maxUsd())
    .addOption(maxHours())
    .addOption(maxCycles())
    .option('--detach', 'supervise it in the background')
    .action(async (agent: string, args: string[], _options, command: Command) =>
      (await import('./run.ts')).run(command.optsWithGlobals(), agent, args),
    )
  program
    .command('watch')
    .description('supervise the agents that run already, and those that a crash or a reboot left')
    .option('--dry-run', 'only tell which')
    .action(async (_options, command: Command) => (await import('./watch.ts')).watch(command.optsWithGlobals()))
  program
    .command('resume')
    .description('reopen a session as its agent does, under supervision')
    .argument('<session>', 'the name of a supervised session, or an id from "baton ls"')
    .option('--name <name>', 'what to call it')
    .addOption(driver())
    .addOption(until())
    .addOption(maxUsd())
    .addOption(maxHours())
    .addOption(maxCycles())
    .option('--detach', 'supervise it in the background')
    .action(async (session: string, _options, command: Command) =>
      (await import('./run.ts')).resume(command.optsWithGlobals(), session),
    )
  program
    .command('supervise <session>', { hidden: true })
    .description('what --detach runs in the background')
    .action(async (session: string, _options, command: Command) =>
      (await import('./detach.ts')).superviseDetached(command.optsWithGlobals(), session),
    )
  wish(program, 'pause', 'leave a session alone: no cycles, no prompts')
  wish(program, 'unpause', 'supervise it again')
  wish(program, 'stop', 'end a session and its agent; it stays ended')
  wish(program, 'cycle', 'hand over now, however full the context is')
  program
    .command('attach <session>')
    .description("the agent's own screen")
    .action(async (session: string, _options, command: Command) =>
      (await import('./attach.ts')).attach(command.optsWithGlobals(), session),
    )
  program
    .command('logs <session>')
    .description('what the supervisor did with a session, and why')
    .option('-f, --follow', 'go on with what comes')
    .action(async (session: string, _options, command: Command) =>
      (await import('./logs.ts')).logs(command.optsWithGlobals(), session),
    )
  program
    .command('health [session]')
    .description('what is well and what is not, of all supervised sessions or one')
    .option('--history', 'every change')
    .action(async (session: string | undefined, _options, command: Command) =>
      (await import('./health.ts')).health(command.optsWithGlobals(), session),
    )
}

function wish(program: Command, name: 'pause' | 'unpause' | 'stop' | 'cycle', description: string): void {
  program
    .command(`${name} <session>`)
    .description(description)
    .action(async (session: string, _options, command: Command) =>
      (await import('./control.ts')).wish(command.optsWithGlobals(), session, name),
    )
}

function line(text: string): string {
  if (text.trim() !== '') return text
  throw new InvalidArgumentError('It must be a command.')
}

function positive(text: string): number {
  const number = Number(text)
  if (Number.isFinite(number) && number > 0) return number
  throw new InvalidArgumentError('It must be a number above zero.')
}
