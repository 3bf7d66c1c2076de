// Whether a script may run what a rule names. A rule means a program, not its spelling: `rm -rf` is also `rm -fr` and
// `rm --recursive --force`.

import { programName, commandsOf } from './running.ts'

/** Short and long spellings of the same option. `*` holds for every program. */
const spellings: Readonly<Record<string, string>> = {
  rm: 'r=R=recursive f=force i=interactive v=verbose d=dir',
  chmod: 'R=recursive f=silent=quiet v=verbose',
  chown: 'R=recursive f=silent=quiet v=verbose',
  cp: 'r=R=recursive f=force a=archive',
  mv: 'f=force n=no-clobber',
  'git push': 'f=force d=delete n=dry-run u=set-upstream',
  'git clean': 'f=force n=dry-run q=quiet',
  'git branch': 'd=delete f=force m=move',
  'git checkout': 'f=force',
  'git commit': 'a=all m=message n=no-verify',
  'git add': 'A=all f=force u=update',
  'git rm': 'f=force r q=quiet',
  'git tag': 'd=delete f=force a=annotate',
  git: 'f=force',
  docker: 'f=force a=all d=detach v=volumes',
  podman: 'f=force a=all',
  kubectl: 'n=namespace A=all-namespaces f=filename',
  npm: 'g=global D=save-dev f=force',
  pip: 'U=upgrade r=requirement y=yes',
  apt: 'y=yes=assume-yes',
  'apt-get': 'y=yes=assume-yes',
  yum: 'y=assumeyes',
  dnf: 'y=assumeyes',
  curl: 'k=insecure X=request d=data u=user o=output T=upload-file',
  wget: 'O=output-document',
  tar: 'x=extract=get c=create',
  kill: '9=KILL=SIGKILL',
  pkill: '9=KILL=SIGKILL f=full',
  killall: '9=KILL=SIGKILL',
  terraform: '',
  mkfs: '',
  dd: '',
  shutdown: 'h r',
}

/** Verbs of a program that mean the same. */
const sameVerb: Readonly<Record<string, string>> = {
  'npm i': 'install',
  'npm add': 'install',
  'npm in': 'install',
  'npm un': 'uninstall',
  'npm rm': 'uninstall',
  'npm remove': 'uninstall',
  'npm r': 'uninstall',
  'npm t': 'test',
  'npm tst': 'test',
  'npm run-script': 'run',
  'npm x': 'exec',
  'npm up': 'update',
  'pnpm i': 'install',
  'pnpm rm': 'remove',
  'docker container': '',
  'docker image': '',
  'kubectl del': 'delete',
  'apt-get purge': 'remove',
  'apt purge': 'remove',
  'cargo t': 'test',
  'cargo b': 'build',
  'cargo r': 'run',
}

/** Whether any command of the script may be the one that the rule names, as far as that can be known. */
export function mayRun(script: string, rule: readonly string[]): boolean {
  if (rule.length === 0) return true
  const wanted = parsed(rule)
  const { commands, understood } = commandsOf(script)
  if (commands.some(({ words }) => meets(words, wanted))) return true
  return !understood && mayRunRoughly(roughWords(script), roughWords(rule.join(' ')))
}

interface Parsed {
  readonly program: string
  readonly operands: readonly string[]
  /** Each in the first of its spellings. */
  readonly options: ReadonlySet<string>
}

function parsed(words: readonly string[]): Parsed {
  const [first = '', ...rest] = words
  const program = programName(first)
  const operands: string[] = []
  const raw: string[] = []
  let isOver = false
  for (const word of rest) {
    if (isOver || !/^-./.test(word)) operands.push(sameVerb[`${program} ${word}`] ?? word)
    else if (word === '--') isOver = true
    else raw.push(word)
  }
  const verb = operands.find((word) => word !== '') ?? ''
  const table = `${spellings[`${program} ${verb}`] ?? ''} ${spellings[program] ?? ''}`
  const options = new Set(raw.flatMap((word) => optionsOf(word, table, program)))
  return { program, operands: operands.filter((word) => word !== ''), options }
}

/** `-rf` is `r` and `f`, and so is `--recursive --force`; a long option may be cut short. */
function optionsOf(word: string, table: string, program: string): string[] {
  const groups = table.split(' ').map((group) => group.split('='))
  const first = (name: string) => groups.find((group) => group.includes(name))?.[0] ?? name
  if (word.startsWith('--')) {
    const name = word.slice(2).replace(/=.*$/s, '')
    const whole = groups.flat().filter((each) => each.length > 1 && name.length >= 2 && each.startsWith(name))
    return [first(whole.length === 1 ? whole[0]! : name)]
  }
  if (/^(?:kill|pkill|killall)$/.test(program)) return [first(word.slice(1))]
  const letters = /^-[A-Za-z0-9]+$/.test(word) ? word.slice(1).split('') : [word.slice(1)]
  // `-C` and the like may be one long name in some programs, as `find -delete`.
  return [...letters.map(first), word.slice(1)]
}

function meets(words: readonly string[], wanted: Parsed): boolean {
  const [first = ''] = words
  if (wanted.program === 'rm' && removes(words, wanted)) return true
  if (programName(first) !== wanted.program) return false
  const has = parsed(words)
  let at = 0
  for (const word of has.operands) if (word === wanted.operands[at]) at += 1
  if (at < wanted.operands.length) return false
  return [...wanted.options].every((option) => has.options.has(option) || isWithin(option, has.options))
}

/** `git branch -D` is `--delete --force`. */
function isWithin(option: string, has: ReadonlySet<string>): boolean {
  if (option === 'D') return has.has('d') && has.has('f')
  // A cluster such as `-rf` in the rule is in the set by its letters too.
  return (
    /^[A-Za-z0-9]{2,4}$/.test(option) &&
    option.split('').every((letter) => has.has(letter) || (letter === 'R' && has.has('r')))
  )
}

/** Other programs that remove what the rule protects: a tree, or a file where the rule asks for no option. */
function removes([first = '', ...rest]: readonly string[], { options, operands }: Parsed): boolean {
  if (operands.length > 0) return false
  const name = programName(first)
  if (name === 'find' || name === 'fd') return rest.includes('-delete')
  if (name === 'rsync')
    return (
      options.has('r') && rest.includes('--delete') && rest.some((word) => word === '/dev/null' || /empty/.test(word))
    )
  return options.size === 0 && (name === 'unlink' || name === 'shred')
}

/** For a script that cannot be parsed: the words count anywhere in it, as long as they come in this order. */
function mayRunRoughly(script: readonly string[], words: readonly string[]): boolean {
  const program = script.findIndex((word) => word.slice(word.lastIndexOf('/') + 1) === words[0])
  if (program < 0) return false
  let at = 0
  for (const word of script.slice(program))
    if (word === words[at] || (at === 0 && word.endsWith(`/${words[0]}`))) at += 1
  return at === words.length
}

/** Splits at everything that could end a word, without regard to quotes. */
function roughWords(script: string): string[] {
  return script
    .replaceAll(/\\\n|\$?["']|\\/g, '')
    .split(/[\s;&|()<>{}[\]`$,=#]+/)
    .filter((word) => word !== '')
}
