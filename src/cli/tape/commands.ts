// The commands `baton show`, `baton lineage` and `baton tape …` with their options. What they do is in the files beside this one.

import { type Command, Option } from 'commander'
import { json, wholeNumber, words, lazily, whenBare } from '../base/commands.ts'

export function addTape(program: Command): void {
  addReading(program)
  const tape = program.command('tape').description('work with tapes as they are stored (plumbing)')
  whenBare(tape, async (globals) => (await import('./tape.ts')).ls(globals))
  const add = lazily(tape, () => import('./tape.ts'))
  add('ls', 'list the tapes of the workspace', 'ls')
  add('append <name>', 'append entries: JSON lines from stdin or --file', 'append')
    .option('--as <agent>', 'who appends, if the tape belongs to an agent')
    .option('--file <file>', 'read them from a file')
    .option('--atomic', 'append all of them in one batch, or none')
    .option('--expect <id>', 'only if this is the last entry (N), or the last one with a key (KEY=N); implies --atomic')
  add('read <name>', 'print entries', 'read')
    .option('--after <id>', 'only entries after this one', wholeNumber)
    .option('--before <id>', 'only entries before this one', wholeNumber)
    .option('--kinds <kinds>', 'only these kinds, separated by commas', words)
    .option('--limit <n>', 'at most this many', wholeNumber)
    .option('--reverse', 'newest first')
  add('handoff <name> <anchor>', 'start a new phase: an anchor with a state', 'handoff')
    .option('--as <agent>', 'who hands off, if the tape belongs to an agent')
    .option('--state <json>', 'the state', (text: string) => ({ value: json(text) })) // commander makes a bare null empty
    .option('--summary <text>', 'what was done; kept in the state')
    .option('--next-steps <text>', 'what comes next; kept in the state')
    .option('--keep-from <id>', 'the first entry that stays in the context', wholeNumber)
  add('anchors <name>', 'list the anchors of a tape', 'anchors').option('--limit <n>', 'only the newest N', wholeNumber)
  add('context <name>', 'print the context that a model is given', 'context')
    .option('--anchor <name>', 'start at this anchor')
    .option('--full', 'ignore anchors')
    .option('--max-tokens <n>', 'leave out the oldest turns to fit this size', wholeNumber)
    .addOption(
      new Option('--format <format>', 'the format of the messages').choices(['openai', 'anthropic', 'ai-sdk', 'text']),
    )
  add('search <name> <text>', 'find entries by text, newest first', 'search')
    .option('--kinds <kinds>', 'only these kinds, separated by commas', words)
    .option('--from <date>', 'from this day or time on')
    .option('--to <date>', 'up to this day or time')
    .option('--limit <n>', 'at most this many', wholeNumber)
    .option('--archived', 'search the archives of earlier resets too')
  add('info <name>', 'show how long a tape is and how full its context is', 'info')
  add('fork <name> <new>', 'make a new tape that continues from here', 'fork')
    .option('--from <anchor>', 'copy from this anchor on')
    .option('--next-steps <text>', 'what the fork should do')
    .option('--context-summary <text>', 'what it should know')
    .option('--on-complete <word>', 'notify the parent when it is done')
  add('merge <child>', "append a fork's new entries to its parent", 'merge').option(
    '--into <tape>',
    'a tape other than its parent',
  )
  const addGive = lazily(tape, () => import('./give.ts'))
  addGive('give <name>', 'pass a context to another agent; the tape is then its own', 'give')
    .requiredOption('--to <agent>', 'the other agent')
    .requiredOption('--as <agent>', 'who passes it on')
    .option('--reason <text>', 'why')
    .option('--summary <text>', 'what it has to know first')
    .option('--next-steps <text>', 'what it should do')
    .option('--anchor <name>', 'where it starts reading (default: the last anchor)')
    .option('--share', 'stay the owner: the other agent may read, and fork to write')
  addGive('inbox <agent>', 'list the contexts that were passed to an agent', 'inbox').option(
    '--take',
    'take the oldest one',
  )
  addGive('owner <name>', 'show which agent a tape belongs to', 'owner')
  add('reset <name>', 'archive the entries and start with an empty tape', 'reset')
  add('purge <name>', 'delete the archives of a tape for good', 'purge')
  const addDelete = lazily(tape, () => import('./delete.ts'))
  const force = 'even if it is open, supervised or owned, or another tape came from it'
  const forGood = 'delete its archives too, for good'
  addDelete('delete <name>', 'take a tape off the list; its entries go to the archive', 'deleteOne')
    .option('--force', force)
    .option('--purge', forGood)
  addDelete('discard <fork>', 'delete a fork and leave its parent as it is', 'discard')
    .option('--force', force)
    .option('--purge', forGood)
  addDelete('prune', 'delete the tapes of "baton chat -p" (print, print-2, …)', 'prune')
    .option('--days <n>', 'only tapes without new entries for this many days', wholeNumber, 7)
    .option('--dry-run', 'only list them')
    .option('--purge', 'delete their archives too, for good')
  add('tail <name>', 'print entries as they arrive', 'tail').option(
    '--after <id>',
    'only entries after this one',
    wholeNumber,
  )
  add('verify [name]', 'check every byte of a tape, or of all tapes', 'verify')
  add('repair <name>', 'set damaged parts aside so that the tape can be used again', 'repair')
  add('export <name>', 'print a tape as lines that can be imported elsewhere', 'exportOne')
  add('import <name>', 'make a tape from exported lines', 'importOne').option('--file <file>', 'read them from a file')
}

function addReading(program: Command): void {
  lazily(program, () => import('./show.ts'))(
    'show <ref>',
    'print what a reference points to: main#12, main#12..40, main@anchor, tape://…, blob:…',
    'show',
  )
    .option('--offset <bytes>', 'for a blob: where to begin', wholeNumber)
    .option('--length <bytes>', 'for a blob: how many bytes to print', wholeNumber)
    .option('--files', 'for a range: the files it changed or read')
    .option('--commands', 'for a range: the commands it ran')
    .option('--failures', 'for a range: what failed')
    .option('--todos', 'for a range: its last todo list')
    .option('--instructions', "for a range: the user's words")
    .option('--decisions', 'for a range: what was decided')
    .option('--section <title>', 'for a range: one section of its handoff document, in full')
    .option(
      '--left-out <document>',
      'for a range: what a document about it left out; with --section, only in that section',
    )
    .addOption(new Option('--profile <profile>', 'with --section: the kind of document').choices(['session', 'cycle']))
  lazily(program, () => import('./lineage.ts'))(
    'lineage [tape]',
    'show which tape came from which',
    'lineage',
  ).addOption(new Option('--format <format>', 'the format to draw it in').choices(['tree', 'mermaid']).default('tree'))
}
