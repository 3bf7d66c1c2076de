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

/** Whether every command of the script begins with the words of one of the prefixes. */
export function allAllowed(script: string, prefixes: readonly string[]): boolean {
  const commands = plainCommands(script)
  if (commands === undefined) return false
  // What the strict reading cannot read is no prefix of anything.
  const allowed = prefixes.map(plainCommands).flatMap((read) => (read?.length === 1 ? read : []))
  return commands.every((command) => allowed.some((prefix) => startsWith(command, prefix)))
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

/** What "always" stands for: the command and its verb where it has one, else the whole of it. One rule per command. */
export function prefixesFor(script: string): string[] | undefined {
  const commands = plainCommands(script)
  return commands?.map((words) => {
    const [program = '', verb = '', object = ''] = words
    const isVerb = (word: string) => /^[a-z][\w:-]*$/.test(word)
    if (!withVerbs.has(program) || !isVerb(verb)) return quoted(words)
    return quoted(verb === 'run' && isVerb(object) ? [program, verb, object] : [program, verb])
  })
}

function quoted(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./^-]+$/.test(word) ? word : quote(word))).join(' ')
}

function quote(word: string): string {
  return word.includes("'") ? `"${word}"` : `'${word}'`
}
