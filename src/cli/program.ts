// The commands and their options. What a command does is loaded when it runs: hooks start this program often.

import { Command, CommanderError, type OutputConfiguration } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import { lazily, pathOf, sentence, whenBare } from './base/commands.ts'
import { addChat } from './chat/commands.ts'
import { addConnect } from './connect/commands.ts'
import { addDemo } from './demo/commands.ts'
import { report } from './base/failure.ts'
import { InvalidError } from '../errors.ts'
import { addExamples } from './examples.ts'
import { addItself } from './itself/commands.ts'
import { addHandoff } from './handoff/commands.ts'
import type { Io } from './base/io.ts'
import type { Globals } from './base/output.ts'
import { addNotify, addRelay } from './relay/commands.ts'
import { addSessions } from './sessions/commands.ts'
import { addSupervise } from './supervise/commands.ts'
import { addTape } from './tape/commands.ts'
import { addTask } from './task/commands.ts'
import { addUp } from './up/commands.ts'

/** Runs a command and resolves with its exit code. */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  // Only if it stands alone: a command may have a --version that means something else.
  if (argv.length === 1 && /^(--version|-v|-V)$/.test(argv[0]!)) {
    io.stdout.write(`${manifest.version}\n`)
    return 0
  }
  const program = build(io)
  try {
    await program.parseAsync(argv, { from: 'user' })
    return io.exit.code
  } catch (error) {
    if (!(error instanceof CommanderError)) return report(error, program.opts<Globals>())
    if (error.exitCode === 0) return 0
    return error.code === 'commander.help'
      ? 2
      : report(misuse(error, commandIn(program, argv)), program.opts<Globals>())
  }
}

/** The command that the words name, as far as they name one. */
function commandIn(program: Command, argv: readonly string[]): Command {
  let command = program
  for (const word of argv.filter((each) => !each.startsWith('-'))) {
    const below = command.commands.find((each) => each.name() === word || each.aliases().includes(word))
    if (below !== undefined) command = below
  }
  return command
}

/** What commander finds wrong with the arguments, in the words of all other errors. */
function misuse({ message }: CommanderError, command: Command): InvalidError {
  const [first = '', ...more] = message.replace(/^error: /, '').split('\n')
  const close = /\((Did you mean .+\?)\)/.exec(more.join(' '))?.[1]
  const path = pathOf(command)
  const hint = close ?? `See "${path} --help".`
  // As in: option '--budget <tokens>' argument 'abc' is invalid. It must be a whole number.
  const value =
    /^option '(?<name>[^']+)' argument '(?<given>.*)' is invalid\.(?<why>.*)$/.exec(first) ??
    /^command-argument value '(?<given>.*)' is invalid for argument '(?<name>[^']+)'\.(?<why>.*)$/.exec(first)
  if (value?.groups !== undefined) {
    const { name = '', given = '', why = '' } = value.groups
    const choices = /Allowed choices are (.+?)\.?$/.exec(why)?.[1]
    return new InvalidError(`"${given}" is not valid for ${name}`, {
      hint: choices === undefined ? why.trim() : `Choose one of ${choices}.`,
    })
  }
  const most = /^too many arguments.*Expected (\d+) argument/.exec(first)?.[1]
  if (most !== undefined) {
    const takes = most === '0' ? 'takes no arguments' : `takes at most ${most} argument${most === '1' ? '' : 's'}`
    return new InvalidError(`"${path}" ${takes}`, { hint })
  }
  const text = first.replace(/\.$/, '')
  return new InvalidError(text.charAt(0).toUpperCase() + text.slice(1), { hint })
}

/** What commander itself prints: the help. */
function outputOf({ stdout, stderr }: Io): OutputConfiguration {
  return {
    writeOut: (text) => stdout.write(text),
    writeErr: (text) => stderr.write(text),
    // What is wrong is reported once, when the command ends.
    outputError: () => {},
    getOutHelpWidth: () => stdout.columns ?? 80,
    getErrHelpWidth: () => stderr.columns ?? 80,
    getOutHasColors: () => false,
    getErrHasColors: () => false,
  }
}

/** All commands. Each finds `io` among its options. */
export function build(io: Io): Command {
  const program = new Command('baton')
  program
    .description('Passes work from one AI agent to the next and loses nothing.')
    .option(
      '--workspace <dir>',
      'the workspace folder (default: BATON_HOME, the nearest .baton, or one that Baton keeps for you)',
    )
    .option('--store <url>', 'the store: file:DIR, postgres://… or nats://… (default: BATON_STORE)')
    .option('--json', 'print data as JSON, one record per line')
    .option('--quiet', 'print only the result')
    .option('--no-color', 'print without colours')
    .setOptionValue('io' satisfies keyof Globals, io)
    .configureOutput(outputOf(io))
    .exitOverride()
    .configureHelp({
      showGlobalOptions: true,
      // Those of a command that has commands below it, as `baton handoff`, are its own.
      visibleGlobalOptions: (command) => (command === program ? [] : program.options.filter(({ hidden }) => !hidden)),
      commandDescription: (command) => sentence(command.description()),
    })
    .helpOption('-h, --help', 'show this help')
    .enablePositionalOptions(false)
  const group = (heading: string, ...rooms: ((program: Command) => void)[]) => {
    program.commandsGroup(heading)
    for (const add of rooms) add(program)
  }
  group('Sessions of agents:', addSessions)
  group('Hand over:', addHandoff, addChat)
  group('Agents around the clock:', addSupervise, addDemo)
  group('Inside your agents:', addConnect)
  group('Between agents and people:', addTask, addRelay, addNotify)
  group('For programs and browsers:', addUp)
  group('The workspace:', addWorkspace, addTape)
  group('Baton itself:', addItself)
  addExamples(program)
  return program
}

function addWorkspace(program: Command): void {
  const config = program.command('config').description('check baton.config.json, or print its schema')
  whenBare(config, async (globals) => (await import('./config.ts')).check(globals))
  const add = lazily(config, () => import('./config.ts'))
  add('check', 'validate baton.config.json; --json prints the effective settings', 'check')
  add('schema', 'print the JSON schema of baton.config.json, for editors', 'schema')
  lazily(program, () => import('./base/workspace.ts'))(
    'init',
    'make a workspace in this folder (.baton) for it and every folder below',
    'init',
  )
  const store = program.command('store').description('copy or verify a whole workspace, on any engine')
  whenBare(store)
  const addStore = lazily(store, () => import('./store.ts'))
  addStore('copy <from> <to>', 'copy everything to another store, or finish a copy that was cut short', 'copy')
  addStore('verify [other]', 'read everything and check it, or compare it with another store', 'verify')
}
