// The commands about the program itself: its help, its pages, its completion, and its end.

import { Argument, type Command } from 'commander'
import manifest from '../../../package.json' with { type: 'json' }
import { helpOn, lazily } from '../base/commands.ts'
import { type Globals, Output } from '../base/output.ts'

export function addItself(program: Command): void {
  program
    .command('help [command...]')
    .description('show how a command is used')
    .action((words: string[]) => helpOn(program, words))
  lazily(program, () => import('./docs.ts'))('docs [topic]', 'read the documentation, offline', 'docs')
  lazily(program, () => import('./completion.ts'))(
    'completion',
    'print a script that completes commands and ids in your shell',
    'completion',
  ).addArgument(new Argument('<shell>', 'your shell').choices(['bash', 'zsh', 'fish']))
  lazily(program, () => import('./uninstall.ts'))(
    'uninstall',
    'list everything that Baton put on this machine, hooks included, and remove it',
    'uninstall',
  )
    .option('--dry-run', 'only list it')
    .option('--yes', 'remove it without asking')
  program
    .command('version')
    .description('print the version of this program')
    .action((_options, command: Command) =>
      new Output(command.optsWithGlobals<Globals>()).record({ version: manifest.version }, manifest.version),
    )
  program
    .command('complete [words...]', { hidden: true })
    .description('what completion scripts call')
    .action(async (words: string[], _options, command: Command) =>
      (await import('./completion.ts')).complete(command.optsWithGlobals<Globals>(), words, program),
    )
  program
    .command('man', { hidden: true })
    .description('the man page, for the package')
    .action(async (_options, command: Command) =>
      (await import('./completion.ts')).man(command.optsWithGlobals<Globals>(), program),
    )
}
