// The commands and their options. What a command does is loaded when it runs: hooks start this program often.

import { Command, CommanderError, Option } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import { json, wholeNumber, words } from './arguments.ts'
import { report } from './failure.ts'
import { addHandoff } from './handoff-commands.ts'
import { endQuietlyWithoutReader, type Globals } from './output.ts'
import { addSessions } from './session-commands.ts'
import { addTask } from './task-commands.ts'

type Tapes = typeof import('./tape.ts')

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
  addSessions(program)
  addWorkspace(program)
  addHandoff(program)
  addTask(program)
  addTape(program)
  return program
}

function addWorkspace(program: Command): void {
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

function addTape(program: Command): void {
  const tape = program.command('tape').description('plumbing: tapes as they are stored')
  const add = (usage: string, description: string, action: keyof Tapes) =>
    tape
      .command(usage)
      .description(description)
      .action(async (...given: unknown[]) => {
        const command = given.pop() as Command
        given.pop()
        const commands = (await import('./tape.ts')) as Record<
          keyof Tapes,
          (globals: never, ...words: unknown[]) => Promise<void>
        >
        await commands[action](command.optsWithGlobals(), ...given)
      })
  add('ls', 'the tapes of the workspace', 'ls')
  add('append <name>', 'append entries, JSON lines from stdin or --file', 'append')
    .option('--file <file>', 'read them from a file')
    .option('--atomic', 'all of them in one batch, or none')
    .option('--expect <id>', 'only if that is the last entry (N), or the last with a key (KEY=N); implies --atomic')
  add('read <name>', 'print entries', 'read')
    .option('--after <id>', 'only later ones', wholeNumber)
    .option('--before <id>', 'only earlier ones', wholeNumber)
    .option('--kinds <kinds>', 'only these kinds, separated by commas', words)
    .option('--limit <n>', 'at most so many', wholeNumber)
    .option('--reverse', 'newest first')
  add('handoff <name> <anchor>', 'start a new phase: an anchor with a state', 'handoff')
    .option('--state <json>', 'the state', json)
    .option('--summary <text>', 'what was done, into the state')
    .option('--next-steps <text>', 'what comes next, into the state')
    .option('--keep-from <id>', 'the first entry that stays in the context', wholeNumber)
  add('anchors <name>', 'the anchors of a tape', 'anchors').option('--limit <n>', 'the newest so many', wholeNumber)
  add('context <name>', 'what a model is given', 'context')
    .option('--anchor <name>', 'start at that anchor')
    .option('--full', 'ignore anchors')
    .option('--max-tokens <n>', 'leave out the oldest turns to fit', wholeNumber)
    .addOption(new Option('--format <format>', 'whose messages').choices(['openai', 'anthropic', 'ai-sdk', 'text']))
  add('search <name> <text>', 'find entries by text, newest first', 'search')
    .option('--kinds <kinds>', 'only these kinds, separated by commas', words)
    .option('--from <date>', 'not before that day or time')
    .option('--to <date>', 'up to that day or time')
    .option('--limit <n>', 'at most so many', wholeNumber)
  add('info <name>', 'how long a tape is and how full its context', 'info')
  add('fork <name> <new>', 'a new tape that goes on from here', 'fork')
    .option('--from <anchor>', 'copy from that anchor on')
    .option('--next-steps <text>', 'what the fork is to do')
    .option('--context-summary <text>', 'what it should know')
    .option('--on-complete <word>', 'tell the parent when it is done')
  add('merge <child>', "append a fork's new entries to its parent", 'merge').option(
    '--into <tape>',
    'another tape than its parent',
  )
  add('reset <name>', 'archive the entries and start afresh', 'reset')
  add('purge <name>', 'delete the archives of a tape for good', 'purge')
  add('tail <name>', 'print entries as they come', 'tail').option('--after <id>', 'from that entry on', wholeNumber)
  add('verify [name]', 'check every byte of a tape, or of all', 'verify')
  add('repair <name>', 'set damage aside so that the tape can go on', 'repair')
  add('export <name>', 'print a tape so that it can be imported elsewhere', 'exportOne')
  add('import <name>', 'make a tape of exported lines', 'importOne').option('--file <file>', 'read them from a file')
}
