// `baton completion`: scripts with which a shell completes commands, options and ids. They ask `baton complete`, which knows the
// commands of this very version.

import type { Command, Option } from 'commander'
import { InvalidError } from '../../errors.ts'
import { isHidden } from '../base/commands.ts'
import { type Globals, Output } from '../base/output.ts'

const scripts = {
  bash: `# baton for bash: baton completion bash >> ~/.bashrc
_baton() {
  local IFS=$'\\n' word
  COMPREPLY=()
  while read -r word; do COMPREPLY+=("\${word%%$'\\t'*}"); done < <(baton complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
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
complete -c baton -a '(baton complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
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

/** Prints what may stand in the place of the last word, one a line, with a tab before what it means. */
export async function complete(globals: Globals, words: readonly string[], program: Command): Promise<void> {
  const out = new Output(globals)
  const begun = words.at(-1) ?? ''
  const { command, before } = reached(program, words.slice(0, -1))
  const found = begun.startsWith('-') ? optionsOf(command, program) : await argumentsOf(globals, command, before)
  for (const { word, about } of found) if (word.startsWith(begun)) out.line(`${word}\t${about}`)
}

function reached(program: Command, words: readonly string[]): { command: Command; before: string | undefined } {
  let command = program
  for (const word of words) {
    const next = command.commands.find((each) => each.name() === word || each.aliases().includes(word))
    if (next !== undefined) command = next
  }
  return { command, before: words.at(-1) }
}

function optionsOf(command: Command, program: Command): Candidate[] {
  const all: readonly Option[] = command === program ? program.options : [...command.options, ...program.options]
  const help = { word: '--help', about: 'how it is used' }
  return [
    ...all.flatMap(({ long, description, hidden }) => (long && !hidden ? [{ word: long, about: description }] : [])),
    help,
  ]
}

async function argumentsOf(globals: Globals, command: Command, before: string | undefined): Promise<Candidate[]> {
  const option = command.options.find(({ long, short }) => long === before || short === before)
  if (option?.argChoices !== undefined) return option.argChoices.map((word) => ({ word, about: '' }))
  const verbs = command.commands.filter((each) => !isHidden(each))
  const words = verbs.map((each) => ({ word: each.name(), about: each.description() }))
  const [argument] = command.registeredArguments
  if (argument?.argChoices !== undefined) words.push(...argument.argChoices.map((word) => ({ word, about: '' })))
  const kind = option === undefined ? argument?.name() : option.long?.slice(2)
  return [...words, ...(await idsOf(globals, kind, command))]
}

/** Ids that stand where an argument of that name does. */
async function idsOf(globals: Globals, kind: string | undefined, command: Command): Promise<Candidate[]> {
  const noun = command.parent?.name()
  if (kind === 'session') return sessionIds(globals)
  if (kind === 'tape' || (noun === 'tape' && (kind === 'name' || kind === 'child' || kind === 'fork')))
    return tapes(globals)
  if (noun === 'task' && kind === 'id') return tasks(globals)
  return []
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
  const { withWorkspace } = await import('../base/workspace.ts')
  const { tapeList } = await import('../../operations/index.ts')
  const { tapes } = await withWorkspace(globals, ({ run }) => run(tapeList, { limit: 1000 }))
  return tapes.map(({ tape, entries }) => ({ word: tape, about: `${entries} entries` }))
}

async function tasks(globals: Globals): Promise<Candidate[]> {
  const { withWorkspace } = await import('../base/workspace.ts')
  const { taskList } = await import('../../operations/index.ts')
  const { tasks } = await withWorkspace(globals, ({ run }) => run(taskList, {}))
  return tasks.map(({ task_id, task_title }) => ({ word: task_id, about: task_title }))
}
