// The commands that a script may run, behind `sudo`, in `sh -c '…'`, in a substitution or an alias, for rules that deny or ask. Here it
// is better to find too much, but text is not a command: nothing in `echo "git push is dangerous"` runs. What cannot be
// found this way is listed in docs/agent.md.

import { commandsIn, type SimpleCommand } from '../../system/index.ts'

/** One command as it would run, behind `sudo`, in `sh -c '…'`, or in a substitution. */
interface Running {
  readonly words: readonly string[]
  readonly reads: readonly string[]
  readonly writes: readonly string[]
}

interface Reading {
  readonly commands: readonly Running[]
  readonly understood: boolean
}

const maxDepth = 6

/** Programs that run their arguments as another program, with how many words after their options are still theirs. */
const wrappers = new Map(
  Object.entries({
    sudo: 0,
    doas: 0,
    env: 0,
    nice: 0,
    ionice: 0,
    nohup: 0,
    time: 0,
    timeout: 1,
    stdbuf: 0,
    setsid: 0,
    command: 0,
    builtin: 0,
    exec: 0,
    xargs: 0,
    watch: 0,
    strace: 0,
    ltrace: 0,
    unbuffer: 0,
    chroot: 1,
    busybox: 0,
    toybox: 0,
    flock: 1,
    parallel: 0,
    caffeinate: 0,
    taskset: 1,
    chrt: 1,
    entr: 0,
    gosu: 1,
    proxychains: 0,
    torsocks: 0,
    firejail: 0,
    faketime: 1,
  }),
)
const shells = new Set('sh bash zsh dash ksh ash fish rbash'.split(' '))
const interpreters = new Set(
  'python python2 python3 node nodejs deno bun perl ruby php lua osascript pwsh powershell'.split(' '),
)
/** Programs whose arguments are text to them: nothing in it runs. */
const speakers = new Set(
  'echo printf grep egrep fgrep rg ag ack sed cat tac head tail less more wc sort uniq cut tr diff cmp test [ [[ true false : cd pwd ls stat touch mkdir cp mv ln chmod chown file which type man jq yq tee read export unset set shift return exit local declare readonly git gh glab hub rm rmdir unlink tar zip unzip gzip curl wget npm pnpm yarn cargo go make pip pip3 tsc eslint prettier vitest jest pytest kill sleep date basename dirname realpath readlink'.split(
    ' ',
  ),
)

export function commandsOf(script: string): Reading {
  const commands: Running[] = []
  let understood = true
  const read = (text: string, depth: number): void => {
    const parsed = commandsIn(written(text))
    understood &&= parsed.understood && depth <= maxDepth
    if (depth > maxDepth) return
    const known = parsed.variables
    for (const command of parsed.commands) {
      const words = command.words.flatMap((word) => filledIn(word, known))
      const running = {
        words,
        reads: command.reads.map((file) => filledIn(file, known).join(' ')),
        writes: command.writes.map((file) => filledIn(file, known).join(' ')),
      }
      commands.push(running)
      for (const inner of scriptsIn(running.words, command)) read(inner, depth + 1)
      unwrap(running, (next) => {
        commands.push(next)
        for (const inner of scriptsIn(next.words, command)) read(inner, depth + 1)
      })
    }
  }
  read(script, 0)
  return { commands, understood }
}

/** `$(echo rm)` is `rm`. */
function written(script: string): string {
  return script.replaceAll(
    /\$\(\s*(?:echo|printf)\s+(?:-n\s+)?([\w\s./-]+)\)|`\s*(?:echo|printf)\s+([\w\s./-]+)`/g,
    (_, a?: string, b?: string) => (a ?? b ?? '').trim(),
  )
}

/** A word with the variables that the script sets itself; `${IFS}` separates words. */
function filledIn(word: string, known: ReadonlyMap<string, string>): string[] {
  if (!word.includes('$')) return [word]
  let text = word.replaceAll('$IFS', ' ')
  for (let i = 0; i < 3 && text.includes('$'); i += 1)
    text = text.replaceAll(/\$(\w+)/g, (all, name: string) => known.get(name) ?? all)
  return text.split(/\s+/).filter((part) => part !== '')
}

/** Scripts that a command runs: `sh -c '…'`, `eval …`, what is piped into a shell, code of an interpreter that starts programs. */
function scriptsIn(words: readonly string[], { input }: SimpleCommand): string[] {
  const [program = '', ...rest] = words
  const name = programName(program)
  if (
    shells.has(name) ||
    name === 'su' ||
    name === 'script' ||
    name === 'npx' ||
    name === 'npm' ||
    name === 'pnpm' ||
    name === 'docker'
  ) {
    const at = rest.findIndex((word) => /^-[a-z]*c$|^--(?:command|call)$/.test(word))
    const inner =
      at >= 0 ? rest[at + 1] : rest.find((word) => /^--(?:command|call)=/.test(word))?.replace(/^[^=]*=/, '')
    if (inner !== undefined) return [inner]
    return shells.has(name) && input !== undefined ? [input] : []
  }
  if (name === 'eval') return [rest.join(' ')]
  if (name === 'trap' || name === 'alias' || name === 'at' || name === 'batch')
    return [...rest.map((word) => word.replace(/^[\w.-]+=/, '')), ...(input === undefined ? [] : [input])]
  if (name === 'xargs' && input !== undefined)
    return [`${rest.filter((word, i) => !word.startsWith('-') || i > 0).join(' ')} ${input}`]
  if (name === 'git') return gitScripts(rest)
  if (interpreters.has(name) || name === 'awk' || name === 'gawk') return rest.flatMap(quotedTexts)
  if (name === 'find' || name === 'fd') return []
  if (speakers.has(name) || wrappers.has(name)) return []
  // What an unknown program does with a text of several words is not known: `tmux send-keys 'git push'`.
  return rest.filter((word) => /\s/.test(word))
}

function gitScripts(rest: readonly string[]): string[] {
  const scripts: string[] = []
  for (const [i, word] of rest.entries()) {
    const next = rest[i + 1]
    if (/^(?:--exec|-x|foreach|--tree-filter|--index-filter|--msg-filter)$/.test(word) && next !== undefined)
      scripts.push(next)
    const set = /^alias\.\S+?=(.*)$/s.exec(word)?.[1] ?? (/^alias\.\S+$/.test(word) ? next : undefined)
    if (set !== undefined) scripts.push(set.startsWith('!') ? set.slice(1) : `git ${set}`)
    if (word === 'bisect' && next === 'run') scripts.push(rest.slice(i + 2).join(' '))
  }
  return scripts
}

/** The texts in quotes of a piece of code, and a list of them as one command: `['git', 'push']`. */
function quotedTexts(code: string): string[] {
  const texts = [...code.matchAll(/"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|`([^`]*)`/g)].map(
    ([, a, b, c]) => a ?? b ?? c ?? '',
  )
  return texts.length > 1 ? [...texts, texts.join(' ')] : texts
}

/** The command that a wrapper runs, and each that `find -exec` runs. */
function unwrap({ words, reads, writes }: Running, found: (next: Running) => void): void {
  const [program = '', ...rest] = words
  const name = programName(program)
  const after = (inner: readonly string[]) => {
    if (inner.length === 0) return
    const next = { words: inner, reads, writes }
    found(next)
    unwrap(next, found)
  }
  const own = wrappers.get(name)
  if (own !== undefined) {
    let at = 0
    let operands = own
    while (at < rest.length) {
      const word = rest[at]!
      if (/^[A-Za-z_]\w*=/.test(word) && name === 'env') at += 1
      else if (word.startsWith('-') && word !== '-') at += takesValue.has(`${name} ${word}`) ? 2 : 1
      else if (operands > 0) {
        operands -= 1
        at += 1
      } else break
    }
    after(rest.slice(at))
    return
  }
  if (name === 'find') {
    for (const [i, word] of rest.entries())
      if (/^-(?:exec|execdir|ok|okdir)$/.test(word)) after(rest.slice(i + 1, endOfExec(rest, i + 1)))
    return
  }
  const git = /^git-(.+)$/.exec(name)?.[1]
  if (git !== undefined) after(['git', git, ...rest])
}

function endOfExec(words: readonly string[], from: number): number {
  const end = words.findIndex((word, i) => i >= from && (word === ';' || word === '+'))
  return end < 0 ? words.length : end
}

/** Options of wrappers that are followed by a value. */
const takesValue = new Set([
  'sudo -u',
  'sudo -g',
  'sudo -C',
  'sudo -h',
  'doas -u',
  'env -u',
  'env -C',
  'env -S',
  'nice -n',
  'ionice -c',
  'ionice -n',
  'timeout -s',
  'timeout -k',
  'xargs -n',
  'xargs -I',
  'xargs -P',
  'xargs -L',
  'xargs -d',
  'xargs -a',
  'watch -n',
  'strace -e',
  'strace -o',
  'parallel -j',
  'stdbuf -o',
  'stdbuf -i',
  'stdbuf -e',
  'time -f',
  'time -o',
  'exec -a',
  'flock -w',
])

export function programName(program: string): string {
  const name = program.slice(program.lastIndexOf('/') + 1).replace(/\.exe$/i, '')
  return sameProgram.get(name) ?? name
}

const sameProgram = new Map(
  Object.entries({
    pip3: 'pip',
    nodejs: 'node',
    python3: 'python',
    python2: 'python',
    gmake: 'make',
    gsed: 'sed',
    gfind: 'find',
    grm: 'rm',
  }),
)
