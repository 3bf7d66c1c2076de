// What a script is allowed to run without a question. There are two readings of a script. This strict one understands plain words,
// quotes and lists and nothing else, so that no expansion, substitution, assignment or redirection slips through. The wide one in
// running.ts decides what is denied, and would rather refuse too much.

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

/** Characters that the shell may expand to other words. In quotes they mean themselves, but a command's words no longer show the quotes. */
const expands = /[*?[\]~]/

/** Whether every command of the script is allowed by one of the kinds. */
export function allAllowed(script: string, kinds: readonly Kind[]): boolean {
  const commands = plainCommands(script)
  if (commands === undefined) return false
  // A rule that the strict reading cannot parse allows nothing.
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

/** The words of a rule. */
export function wordsOf(prefix: string): string[] {
  return plainCommands(prefix)?.[0] ?? prefix.trim().split(/\s+/)
}

function startsWith(command: readonly string[], prefix: readonly string[]): boolean {
  return prefix.every((word, i) => command[i] === word)
}

function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.split(' '))
}

/** Programs whose first argument is a verb that says what they do. */
const withVerbs = wordSet(
  'git gh npm pnpm yarn bun cargo go docker podman kubectl helm pip pip3 poetry uv dotnet gradle mvn make just bundle terraform brew apt',
)
/** Verbs whose arguments may name any program, or a setting that names one. */
const carriers = wordSet(
  'exec x dlx run tool foreach compose container api alias config bisect rebase difftool mergetool filter-branch submodule',
)
/** Programs whose `run` is followed by the name of a script of the project. */
const scriptRunners = new Set(['npm', 'pnpm', 'yarn', 'bun'])

/** What an "always" allows: commands that begin with these words or, if `exactly`, this command alone. */
export interface Kind {
  readonly words: string
  readonly exactly: boolean
}

/**
 * For each command of the script, the program and its verb where the verb says what is done, else the whole command. Undefined where
 * only the script as a whole can be allowed.
 */
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
