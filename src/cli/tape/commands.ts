// The commands `baton show`, `baton lineage` and `baton tape …` with their options. What they do is in the files beside this one.

import { type Command, Option } from 'commander'
import { json, wholeNumber, words, lazily, whenBare } from '../base/commands.ts'

export function addTape(program: Command): void {
  addReading(program)
  const tape = program.command('tape').description('plumbing: tapes as they are stored')
  whenBare(tape, async (globals) => (await import('./tape.ts')).ls(globals))
  const add = lazily(tape, () => import('./tape.ts'))
  add('ls', 'the tapes of the workspace', 'ls')
  add('append <name>', 'append entries, JSON lines from stdin or --file', 'append')
    .option('--as <agent>', 'who appends, where the tape belongs to an agent')
    .option('--file <file>', 'read them from a file')
    .option('--atomic', 'all of them in one batch, or none')
    .option('--expect <id>', 'only if that is the last entry (N), or the last with a key (KEY=N); implies --atomic')
  add('read <name>', 'print entries', 'read')
    .option('--after <id>', 'only later ones', wholeNumber)
    .option('--before <id>', 'only earlier ones', wholeNumber)
    .option('--kinds <kinds>', 'only these kinds, separated by commas', words)
    .option('--limit <n>', 'at most this many', wholeNumber)
    .option('--reverse', 'newest first')
  add('handoff <name> <anchor>', 'start a new phase: an anchor with a state', 'handoff')
    .option('--as <agent>', 'who hands off, where the tape belongs to an agent')
    .option('--state <json>', 'the state', (text: string) => ({ value: json(text) })) // commander makes a bare null empty
    .option('--summary <text>', 'what was done, into the state')
    .option('--next-steps <text>', 'what comes next, into the state')
    .option('--keep-from <id>', 'the first entry that stays in the context', wholeNumber)
  add('anchors <name>', 'the anchors of a tape', 'anchors').option('--limit <n>', 'only the newest N', wholeNumber)
  add('context <name>', 'what a model is given', 'context')
    .option('--anchor <name>', 'start at that anchor')
    .option('--full', 'ignore anchors')
    .option('--max-tokens <n>', 'leave out the oldest turns to fit', wholeNumber)
    .addOption(new Option('--format <format>', 'whose messages').choices(['openai', 'anthropic', 'ai-sdk', 'text']))
  add('search <name> <text>', 'find entries by text, newest first', 'search')
    .option('--kinds <kinds>', 'only these kinds, separated by commas', words)
    .option('--from <date>', 'not before that day or time')
    .option('--to <date>', 'up to that day or time')
    .option('--limit <n>', 'at most this many', wholeNumber)
    .option('--archived', 'also in the archives of earlier resets')
  add('info <name>', 'how long a tape is and how full its context is', 'info')
  add('fork <name> <new>', 'a new tape that continues from here', 'fork')
    .option('--from <anchor>', 'copy from that anchor on')
    .option('--next-steps <text>', 'what the fork should do')
    .option('--context-summary <text>', 'what it should know')
    .option('--on-complete <word>', 'notify the parent when it is done')
  add('merge <child>', "append a fork's new entries to its parent", 'merge').option(
    '--into <tape>',
    'another tape than its parent',
  )
  const addGive = lazily(tape, () => import('./give.ts'))
  addGive('give <name>', 'pass a context to another agent; the tape is then its own', 'give')
    .requiredOption('--to <agent>', 'the other agent')
    .requiredOption('--as <agent>', 'who passes it on')
    .option('--reason <text>', 'why')
    .option('--summary <text>', 'what it has to know first')
    .option('--next-steps <text>', 'what it should do')
    .option('--anchor <name>', 'where it starts reading (else the last anchor)')
    .option('--share', 'notify it of the tape, and stay its owner: it may read, and fork to write')
  addGive('inbox <agent>', 'the contexts that were passed to an agent', 'inbox').option(
    '--take',
    'take the oldest, once',
  )
  addGive('owner <name>', 'the agent that a tape belongs to', 'owner')
  add('reset <name>', 'archive the entries and start afresh', 'reset')
  add('purge <name>', 'delete the archives of a tape for good', 'purge')
  const addDelete = lazily(tape, () => import('./delete.ts'))
  const force = 'also if it is open, supervised, owned, or another tape came from it'
  const forGood = 'delete its archives too, for good'
  addDelete('delete <name>', 'take a tape off the list; its entries go to the archive', 'deleteOne')
    .option('--force', force)
    .option('--purge', forGood)
  addDelete('discard <fork>', 'delete a fork and leave its parent as it is', 'discard')
    .option('--force', force)
    .option('--purge', forGood)
  addDelete('prune', 'delete the tapes of "baton chat -p" (print, print-2, …)', 'prune')
    .option('--days <n>', 'only those without new entries for this many days', wholeNumber, 7)
    .option('--dry-run', 'only list them')
    .option('--purge', 'delete their archives too, for good')
  add('tail <name>', 'print entries as they come', 'tail').option('--after <id>', 'from that entry on', wholeNumber)
  add('verify [name]', 'check every byte of a tape, or of all', 'verify')
  add('repair <name>', 'set damage aside so that the tape can be used again', 'repair')
  add('export <name>', 'print a tape so that it can be imported elsewhere', 'exportOne')
  add('import <name>', 'make a tape of exported lines', 'importOne').option('--file <file>', 'read them from a file')
}

function addReading(program: Command): void {
  lazily(program, () => import('./show.ts'))(
    'show <ref>',
    'print what a reference points at: main#12, main#12..40, main@anchor, tape://…, blob:…',
    'show',
  )
    .option('--offset <bytes>', 'of a blob: where to begin', wholeNumber)
    .option('--length <bytes>', 'of a blob: how much', wholeNumber)
    .option('--files', 'of a range: the files it changed or read')
    .option('--commands', 'of a range: the commands it ran')
    .option('--failures', 'of a range: what failed')
    .option('--todos', 'of a range: its last todo list')
    .option('--instructions', "of a range: the user's words")
    .option('--decisions', 'of a range: what was decided')
    .option('--section <title>', 'of a range: a section of its handoff document, whole')
    .option('--left-out <document>', 'of a range: what that document about it left out; with --section, of one section')
    .addOption(new Option('--profile <profile>', 'with --section: the kind of document').choices(['session', 'cycle']))
  lazily(program, () => import('./lineage.ts'))('lineage [tape]', 'which tape came from which', 'lineage').addOption(
    new Option('--format <format>', 'how to draw it').choices(['tree', 'mermaid']).default('tree'),
  )
}
