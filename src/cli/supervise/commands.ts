// The commands that run agents under supervision, and those that say what is wanted of them.

import { type Command, InvalidArgumentError, Option } from 'commander'
import { wholeNumber, lazily } from '../base/commands.ts'

const driver = () =>
  new Option(
    '--driver <driver>',
    'tmux (a screen you can attach to) or headless (default: tmux, if it is installed)',
  ).choices(['tmux', 'headless'])

export function addSupervise(program: Command): void {
  const add = lazily(program, () => import('./run.ts'))
  const run = add(
    'run',
    'run an agent under supervision: when its context fills, it hands over to itself and carries on',
    'run',
  )
    .argument('<agent>', 'claude, codex, pi, gemini, opencode, or one from baton.config.json')
    .argument('[args...]', 'options for the agent itself, after --')
    .option('--name <name>', 'what to call the session (default: AGENT-FOLDER)')
    .option('--cwd <dir>', 'the project (default: this folder)')
    .addOption(driver())
    .option('--task <file>', 'a file with its first prompt; - is standard input')
    .option('--beside', 'start even if another agent already works in this folder')
  bounded(run)
  lazily(program, () => import('./watch.ts'))(
    'watch',
    'run as a service: supervise what a crash or a reboot left behind, and agents that run in tmux, on the whole machine',
    'watch',
  ).option('--dry-run', 'only report what it would supervise')
  const resume = add(
    'resume',
    'resume a session that was paused or has ended, or supervise one that never was',
    'resume',
  )
    .argument('<session>', 'the name of a supervised session, or an id from "baton ls"')
    .option('--name <name>', 'what to call it')
    .addOption(driver())
  bounded(resume)
  lazily(program, () => import('./background.ts'))(
    'supervise <session>',
    'what --detach runs in the background',
    'superviseDetached',
    { hidden: true },
  )
  lazily(program, () => import('./setup.ts'))('deliver', 'what sends alerts after the end of a run', 'deliver', {
    hidden: true,
  })
  addControl(program)
}

/** The commands about a session that is supervised already. */
function addControl(program: Command): void {
  const add = lazily(program, () => import('./control.ts'))
  add('pause <session>', 'leave a session alone until it is resumed: no cycles, no prompts', 'pause')
  add('unpause <session>', 'former name of resume', 'unpause', { hidden: true })
  add('stop <session>', 'end a session and its agent for good', 'stop')
  add('cycle <session>', 'make a session hand over now, however full its context is', 'cycle')
  add('attach <session>', "open the agent's own screen", 'attach')
  lazily(program, () => import('./logs.ts'))('logs <session>', 'former name of log', 'logs', {
    hidden: true,
  }).option('-f, --follow', 'keep printing new entries')
  lazily(program, () => import('./health.ts'))(
    'health [session]',
    'show how supervised sessions are doing; exits with 1 when something needs a person',
    'health',
  )
    .option('--history', 'show every change')
    .option('--all', 'include sessions that have ended')
}

/** Adds the options that bound a run, and --detach. */
function bounded(command: Command): void {
  command
    .addOption(
      new Option('--until <command>', 'end when this command succeeds; it is run after each turn').argParser(line),
    )
    .addOption(new Option('--max-usd <dollars>', 'end when it has cost this much').argParser(positive))
    .addOption(new Option('--max-hours <hours>', 'end after this many hours').argParser(positive))
    .addOption(new Option('--max-cycles <cycles>', 'end after this many cycles').argParser(wholeNumber))
    .addOption(new Option('--max-turns <turns>', 'end after this many turns').argParser(wholeNumber))
    .option('--detach', 'supervise it in the background')
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
