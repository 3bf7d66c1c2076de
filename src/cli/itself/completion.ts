// What is made of the table of commands: scripts with which a shell completes commands, options and ids (they ask `baton complete`,
// which knows the commands of this very version), and the man page.

import type { Command, Option } from 'commander'
import manifest from '../../../package.json' with { type: 'json' }
import { InvalidError } from '../../errors.ts'
import { isHidden } from '../base/commands.ts'
import { chosenWorkspace, isMissingFolder } from '../base/chosen-workspace.ts'
import { entryCount, type Globals, Output } from '../base/output.ts'
import type { Door } from '../base/workspace.ts'
import { examplesOf } from '../examples.ts'

const scripts = {
  bash: `# baton for bash: baton completion bash >> ~/.bashrc
_baton() {
  local typed="\${COMP_LINE:0:COMP_POINT}" before='' current words=() line
  read -ra words <<< "$typed"
  [[ $typed == *[[:space:]] ]] && words+=('')
  current="\${words[\${#words[@]}-1]}"
  # Bash begins another word after a colon: what comes before it is no part of the answer.
  [[ $COMP_WORDBREAKS == *:* ]] && before="\${current%"\${current##*:}"}"
  COMPREPLY=()
  while IFS= read -r line; do
    line="\${line%%$'\\t'*}"
    COMPREPLY+=("\${line#"$before"}")
  done < <(baton complete -- "\${words[@]:1}" 2>/dev/null)
}
complete -o default -F _baton baton
`,
  zsh: `#compdef baton
# baton for zsh: baton completion zsh > "\${fpath[1]}/_baton"
_baton() {
  local -a found
  local line
  for line in "\${(@f)$(baton complete -- "\${words[@]:1:$((CURRENT-1))}" 2>/dev/null)}"; do
    [[ -n $line ]] && found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( \${#found} )); then _describe baton found; else _files; fi
}
if [ "$funcstack[1]" = "_baton" ]; then _baton "$@"; else compdef _baton baton; fi
`,
  fish: `# baton for fish: baton completion fish > ~/.config/fish/completions/baton.fish
function __baton_complete
  set -l found (baton complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)
  if set -q found[1]
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c baton -f -a '(__baton_complete)'
`,
} as const

export async function completion(globals: Globals, shell: string): Promise<void> {
  const found = Object.entries(scripts).find(([name]) => name === shell)
  if (found === undefined)
    throw new InvalidError(`There is no completion for "${shell}"`, { hint: 'bash, zsh or fish.' })
  new Output(globals).write(found[1])
}

interface Candidate {
  readonly word: string
  readonly about: string
}

/** Prints the candidates for the last word, one a line, each with a tab and what it means. */
export async function complete(globals: Globals, words: readonly string[], program: Command): Promise<void> {
  const out = new Output(globals)
  const begun = words.at(-1) ?? ''
  const place = reached(program, words.slice(0, -1))
  const found = begun.startsWith('-') ? optionsOf(place.command, program) : await argumentsOf(globals, place)
  for (const { word, about } of found) if (word.startsWith(begun)) out.line(`${word}\t${about}`)
}

interface Place {
  readonly command: Command
  /** The option whose value comes next. */
  readonly option: Option | undefined
  /** How many arguments of the command are there already. */
  readonly given: number
}

function reached(program: Command, words: readonly string[]): Place {
  let place: Place = { command: program, option: undefined, given: 0 }
  for (const word of words) {
    const { command, option, given } = place
    const next = command.commands.find((each) => each.name() === word || each.aliases().includes(word))
    const named = [...command.options, ...program.options].find(({ long, short }) => long === word || short === word)
    if (option !== undefined) place = { command, option: undefined, given }
    else if (named !== undefined) place = { command, option: named.required ? named : undefined, given }
    else if (next !== undefined && given === 0) place = { command: next, option: undefined, given: 0 }
    else if (!word.startsWith('-')) place = { command, option: undefined, given: given + 1 }
  }
  return place
}

function optionsOf(command: Command, program: Command): Candidate[] {
  const all: readonly Option[] = command === program ? program.options : [...command.options, ...program.options]
  const help = { word: '--help', about: 'how it is used' }
  return [
    ...all.flatMap(({ long, description, hidden }) => (long && !hidden ? [{ word: long, about: description }] : [])),
    help,
  ]
}

async function argumentsOf(globals: Globals, { command, option, given }: Place): Promise<Candidate[]> {
  const chosen = (choices: readonly string[] = []) => choices.map((word) => ({ word, about: '' }))
  if (option !== undefined)
    return [...chosen(option.argChoices), ...(await idsOf(globals, option.long?.slice(2), command))]
  const verbs = given > 0 ? [] : command.commands.filter((each) => !isHidden(each))
  const last = command.registeredArguments.at(-1)
  const argument = command.registeredArguments[given] ?? (last?.variadic === true ? last : undefined)
  return [
    ...verbs.map((each) => ({ word: each.name(), about: each.description() })),
    ...chosen(argument?.argChoices),
    ...(await idsOf(globals, argument?.name(), command)),
  ]
}

/** Ids that stand where an argument of that name does. */
async function idsOf(globals: Globals, kind: string | undefined, command: Command): Promise<Candidate[]> {
  const noun = command.parent?.name()
  if (kind === 'session') return sessionIds(globals)
  if (kind === 'tape' || (noun === 'tape' && (kind === 'name' || kind === 'child' || kind === 'fork')))
    return tapes(globals)
  if (kind === 'ref') return newestEntries(globals)
  if (noun === 'task' && kind === 'id') return tasks(globals)
  if (noun === 'escalations' && kind === 'id') return escalations(globals)
  if (command.name() === 'run' && kind === 'agent') return agents(globals)
  if (kind === 'topic') return (await import('./docs.ts')).topics(globals)
  return []
}

/** Those that Baton knows, and those that the configuration describes. */
async function agents({ io }: Globals): Promise<Candidate[]> {
  const { agentNamed, agentNames } = await import('../../agents/index.ts')
  const { loadConfig } = await import('../../config/index.ts')
  const { supervisorSection } = await import('../../supervisor/index.ts')
  const own = Object.keys(loadConfig(io.cwd()).section('supervisor', supervisorSection).agents)
  return [
    ...agentNames.map((name) => ({ word: name, about: agentNamed(name).label })),
    ...own.filter((name) => !agentNames.some((known) => known === name)).map((word) => ({ word, about: '' })),
  ]
}

async function escalations(globals: Globals): Promise<Candidate[]> {
  const { escalationList } = await import('../../operations/index.ts')
  const found = await inWorkspace(globals, ({ run }) => run(escalationList, { limit: 100, answered: false }))
  return (found?.escalations ?? []).map(({ id, summary }) => ({ word: id, about: summary.slice(0, 60) }))
}

async function sessionIds(globals: Globals): Promise<Candidate[]> {
  const { listSessions } = await import('../../transcripts/index.ts')
  const { shortIds } = await import('../sessions/table.ts')
  const { supervisedEverywhere } = await import('../supervise/supervised.ts')
  const sessions = listSessions({ env: globals.io.env })
  const ids = shortIds(sessions.map(({ id }) => id))
  const held = await supervisedEverywhere(globals)
  return [
    ...held.map(({ row }) => ({ word: row.name, about: `${row.agent}, ${row.state}` })),
    ...sessions.map(({ id, agent, title }) => ({ word: ids.get(id)!, about: `${agent} ${title ?? ''}`.slice(0, 60) })),
  ]
}

async function tapes(globals: Globals): Promise<Candidate[]> {
  return (await tapesHere(globals)).map(({ tape, entries }) => ({ word: tape, about: entryCount(entries) }))
}

/** A reference to the newest entry of each tape: its number shows how far the others go. */
async function newestEntries(globals: Globals): Promise<Candidate[]> {
  return (await tapesHere(globals)).map(({ tape, lastId }) => ({
    word: `${tape}#${lastId}`,
    about: 'the newest entry',
  }))
}

async function tapesHere(globals: Globals) {
  const { tapeList } = await import('../../operations/index.ts')
  return (await inWorkspace(globals, ({ run }) => run(tapeList, { limit: 1000 })))?.tapes ?? []
}

async function tasks(globals: Globals): Promise<Candidate[]> {
  const { taskList } = await import('../../operations/index.ts')
  const found = await inWorkspace(globals, ({ run }) => run(taskList, {}))
  return (found?.tasks ?? []).map(({ task_id, task_title }) => ({ word: task_id, about: task_title }))
}

/** Undefined where there is no workspace yet: pressing a key makes none. */
async function inWorkspace<T>(globals: Globals, work: (door: Door) => Promise<T>): Promise<T | undefined> {
  const { withWorkspace } = await import('../base/workspace.ts')
  return isMissingFolder(chosenWorkspace(globals).address) ? undefined : withWorkspace(globals, work)
}

export async function man(globals: Globals, program: Command): Promise<void> {
  new Output(globals).write(page(program))
}

function page(program: Command): string {
  const lines = [
    `.TH BATON 1 "" "baton ${manifest.version}" "Baton"`,
    '.SH NAME',
    `baton \\- ${escaped(program.description())}`,
    '.SH SYNOPSIS',
    '.B baton',
    '[options] [command]',
    '.SH OPTIONS',
    ...optionLines(program),
    '.SH COMMANDS',
    ...program.commands.flatMap((each) => commandLines(each, [])),
    '.SH EXIT STATUS',
    ...['0: done', '1: failed', '2: incorrect use', '3: conflict', '4: not found', '130: cancelled'].flatMap((each) => [
      '.br',
      escaped(each),
    ]),
    '.SH SEE ALSO',
    'baton docs',
  ]
  return `${lines.join('\n')}\n`
}

function commandLines(command: Command, above: readonly string[]): string[] {
  if (isHidden(command)) return []
  const words = [...above, command.name()]
  const name = words.join(' ')
  const examples = examplesOf(name).flatMap((each) => ['.br', `.I ${escaped(each)}`])
  return [
    `.SS "baton ${escaped(name)} ${escaped(command.usage())}"`,
    escaped(command.description()),
    ...optionLines(command),
    ...(examples.length === 0 ? [] : ['.PP', 'For example:', ...examples]),
    ...command.commands.flatMap((each) => commandLines(each, words)),
  ]
}

function optionLines(command: Command): string[] {
  return command.options.flatMap(({ flags, description }) => ['.TP', `.B ${escaped(flags)}`, escaped(description)])
}

/** The formatter of man pages takes a line that begins with a dot or a quote for a command. */
function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('"', '\\(dq')
    .replace(/^([.'])/, '\\&$1')
}
