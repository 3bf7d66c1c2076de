// The commands and their options. What a command does is loaded when it runs: hooks start this program often.

import { Command, CommanderError, Option } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import { wholeNumber } from './arguments.ts'
import { addChat } from './chat-commands.ts'
import { addDemo } from './demo-commands.ts'
import { report } from './failure.ts'
import { addHandoff } from './handoff-commands.ts'
import { addNotify } from './notify-commands.ts'
import { lazily } from './lazy-command.ts'
import { endQuietlyWithoutReader, type Globals } from './output.ts'
import { addRelay } from './relay-commands.ts'
import { addSessions } from './session-commands.ts'
import { addSupervise } from './supervise-commands.ts'
import { addTape } from './tape-commands.ts'
import { addTask } from './task-commands.ts'

export async function run(argv: readonly string[]): Promise<number> {
  endQuietlyWithoutReader()
  const program = build()
  // Only on its own: a command may have a --version that means something else.
  if (argv.length === 3 && (argv[2] === '--version' || argv[2] === '-V')) {
    process.stdout.write(`${manifest.version}\n`)
    return 0
  }
  try {
    await program.parseAsync(argv)
    return Number(process.exitCode ?? 0)
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    return report(error, program.opts<Globals>())
  }
}

function build(): Command {
  const program = new Command('baton')
  program
    .description('Passes work from one AI agent to the next and loses nothing.')
    .option('--workspace <dir>', 'the workspace folder (else BATON_HOME, the nearest .baton, or one of your own)')
    .option('--store <url>', 'the store, such as file:DIR (else BATON_STORE)')
    .option('--json', 'print data as JSON, one record a line')
    .option('--quiet', 'print only what was asked for')
    .option('--no-color', 'no colours')
    .addHelpText('after', '\nbaton --version prints the version.')
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('Run it with --help to see how it is used.')
    .enablePositionalOptions(false)
  const group = (heading: string, ...rooms: ((program: Command) => void)[]) => {
    program.commandsGroup(heading)
    for (const add of rooms) add(program)
  }
  group('Sessions of agents:', addSessions)
  group('Hand over:', addHandoff, addChat)
  group('Agents around the clock:', addSupervise, addDemo)
  group('Between agents and people:', addTask, addRelay, addNotify)
  group('The workspace:', addWorkspace, addTape)
  return program
}

function addWorkspace(program: Command): void {
  const config = program.command('config').description('what baton.config.json says, and what it may say')
  const add = lazily(config, () => import('./config.ts'))
  add('check', 'whether it is right; --json shows all that counts', 'check')
  add('schema', 'its JSON schema, for editors', 'schema')
  program
    .command('init')
    .description('make a workspace in this folder (.baton), for every folder below it')
    .action(async (_options, command: Command) => (await import('./workspace.ts')).init(command.optsWithGlobals()))
  program
    .command('show')
    .description('print what a reference points at: main#12, main#12..40, main@anchor, tape://…, blob:…')
    .argument('<ref>')
    .option('--offset <bytes>', 'of a blob: where to begin', wholeNumber)
    .option('--length <bytes>', 'of a blob: how much', wholeNumber)
    .option('--files', 'of a range: the files it changed or read')
    .option('--commands', 'of a range: the commands it ran')
    .option('--failures', 'of a range: what failed')
    .option('--todos', 'of a range: its last todo list')
    .option('--instructions', "of a range: the user's words")
    .option('--decisions', 'of a range: what was decided')
    .action(async (ref: string, _options, command: Command) =>
      (await import('./show.ts')).show(ref, command.optsWithGlobals()),
    )
  program
    .command('lineage')
    .description('which tape came from which')
    .argument('[tape]')
    .addOption(new Option('--format <format>', 'how to draw it').choices(['tree', 'mermaid']).default('tree'))
    .action(async (tape: string | undefined, _options, command: Command) =>
      (await import('./lineage.ts')).lineage(tape, command.optsWithGlobals()),
    )
}
