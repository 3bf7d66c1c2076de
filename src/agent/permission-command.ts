// Which programs a script runs, for a permission. Two readings of one script: a strict one for what is allowed without
// a question, which understands plain words, quotes and lists and nothing else, so that no expansion, substitution,
// assignment or redirection slips through; and a wide one for what is denied, which would rather refuse too much.

import { type List, type Node, parseShell } from '../handoff/ledger/shell.ts'
import type { Word } from '../handoff/ledger/shell-scanner.ts'

/** The commands of a script as their words, or undefined where the shell would do more than split them. */
export function plainCommands(script: string): string[][] | undefined {
  const commands: string[][] = [[]]
  let goesOn = false
  // What none of these matches, such as `$`, `<`, a backslash or a carriage return, is not plain.
  const token =
    /[ \t]+|(?<list>&&|\|\||;|\||\n)|(?:(?:[12]?>|&>) ?\/dev\/null|2>&1)(?=[\s;&|]|$)|(?<word>(?:[\w@%+=:,./~^*?[\]\u{a1}-\u{10ffff}-]|'[^']*'|"[^"$`\\!]*")+)/uy
  while (token.lastIndex < script.length) {
    const match = token.exec(script)
    if (match === null) return undefined
    const { list, word } = match.groups ?? {}
    const words = commands.at(-1)!
    if (list !== undefined) {
      // `a && && b` is an error of the shell; an empty line, or a `;` at the end, is nothing.
      if (words.length === 0 && list !== '\n') return undefined
      if (words.length > 0) {
        commands.push([])
        goesOn = list !== ';' && list !== '\n'
      }
    } else if (word !== undefined) {
      // `1>x` would have been a redirection; `A=b` in front of a command changes what the command is.
      if (words.length === 0 && /^[\w[\]]+\+?=/.test(word)) return undefined
      if (words.length === 0 && /[*?[\]~]/.test(word)) return undefined
      goesOn = false
      words.push(word.replaceAll(/'([^']*)'|"([^"]*)"/g, '$1$2'))
    }
  }
  const filled = commands.filter((words) => words.length > 0)
  return filled.length === 0 || goesOn ? undefined : filled
}

/** What the shell may make other words of; in quotes it means itself, and the words of a command do not tell. */
const expands = /[*?[\]~]/

/** Whether every command of the script is of one of the kinds. */
export function allAllowed(script: string, kinds: readonly Kind[]): boolean {
  const commands = plainCommands(script)
  if (commands === undefined) return false
  // What the strict reading cannot read is no kind of anything.
  const allowed = kinds.flatMap(({ words, exactly }) => {
    const read = exactly && expands.test(words) ? undefined : plainCommands(words)
    return read?.length === 1 ? [{ prefix: read[0]!, exactly }] : []
  })
  return commands.every((command) =>
    allowed.some(
      ({ prefix, exactly }) => startsWith(command, prefix) && (!exactly || command.length === prefix.length),
    ),
  )
}

/** Whether any command of the script may begin with the words of the prefix, as far as that can be told. */
export function mayRun(script: string, prefix: string): boolean {
  const words = wordsOf(prefix)
  if (words.length === 0) return true
  const named = words.map((word) => word.replaceAll(/[\\^$.|+()[\]{}*?]/g, String.raw`\$&`)).join(String.raw`["'\s\\]+`)
  // Wherever the words stand: behind `sudo`, in `sh -c '…'`, in a substitution.
  if (new RegExp(`(?<![\\w.-])${named}(?![\\w-])`, 'su').test(script)) return true
  return commandsIn(parseShell(script)).some((command) => holdsInOrder(command, words))
}

/** Options may stand between a program and its verb, as in `git -C folder push`. */
function holdsInOrder([program = '', ...rest]: readonly string[], [first, ...verbs]: readonly string[]): boolean {
  if (program.slice(program.lastIndexOf('/') + 1) !== first) return false
  let at = 0
  for (const word of rest) if (word === verbs[at]) at += 1
  return at === verbs.length
}

function wordsOf(prefix: string): string[] {
  return plainCommands(prefix)?.[0] ?? prefix.trim().split(/\s+/)
}

function startsWith(command: readonly string[], prefix: readonly string[]): boolean {
  return prefix.every((word, i) => command[i] === word)
}

function commandsIn(list: List): string[][] {
  return list.flatMap(({ node }) => commandsOf(node))
}

function commandsOf(node: Node): string[][] {
  switch (node.kind) {
    case 'simple':
      return [node.words.map(asText)]
    case 'pipeline':
      return node.stages.flatMap(commandsOf)
    default:
      return commandsIn(node.body)
  }
}

function asText(word: Word): string {
  return word.parts.map((part) => (typeof part === 'string' ? part : `$${part.name}`)).join('')
}

/** Programs whose first word says what they do. */
const withVerbs = new Set(
  'git gh npm pnpm yarn bun cargo go docker podman kubectl helm pip pip3 poetry uv dotnet gradle mvn make just bundle terraform brew apt'.split(
    ' ',
  ),
)
/** Verbs behind which any program may stand, or a setting that names one. */
const carriers = new Set(
  'exec x dlx run tool foreach compose container api alias config bisect rebase difftool mergetool filter-branch submodule'.split(
    ' ',
  ),
)
/** Their `run` is followed by the name of a script of the project. */
const scriptRunners = new Set(['npm', 'pnpm', 'yarn', 'bun'])

/** What "always" stands for, one for each command: the words that it begins with, or all of them and no more. */
export interface Kind {
  readonly words: string
  readonly exactly: boolean
}

/** The command and its verb where the verb says what is done, else the very command. Undefined: only the script as a whole. */
export function kindsOf(script: string): Kind[] | undefined {
  const kinds = plainCommands(script)?.map((words): Kind => {
    const [program = '', verb = '', object = ''] = words
    const isName = (word: string) => /^[a-z][\w:-]*$/.test(word)
    const begins = (count: number) => ({ words: quoted(words.slice(0, count)), exactly: false })
    if (scriptRunners.has(program) && verb === 'run' && isName(object)) return begins(3)
    if (withVerbs.has(program) && isName(verb) && !carriers.has(verb)) return begins(2)
    return { words: quoted(words), exactly: true }
  })
  return kinds?.some(({ words, exactly }) => exactly && expands.test(words)) === true ? undefined : kinds
}

function quoted(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./^-]+$/.test(word) ? word : quote(word))).join(' ')
}

function quote(word: string): string {
  return word.includes("'") ? `"${word}"` : `'${word}'`
}
