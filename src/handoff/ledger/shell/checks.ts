// Commands that check the work (tests, types, lint, builds): which program runs, and on what part of the work. A later
// success covers an earlier failure only if it is the same program on at least the same part.

import { gitVerb, programOf } from './file-effects.ts'
import { joinPath } from '../files/paths.ts'
import type { Arg, Step } from './steps.ts'

export interface Check {
  /** E.g. `vitest`, `tsc`, `npm run build`. */
  readonly runner: string
  readonly test: boolean
  readonly cwd: string
  /** Paths it is limited to; empty: everything in `cwd`. */
  readonly selection: readonly string[]
  /** Names, projects and the like that it is limited to. */
  readonly filters: readonly string[]
  /** A script of the project: what it runs is told by its output. */
  readonly script: boolean
}

const testPrograms = new Set(
  (
    'vitest jest mocha ava tap pytest py.test nose2 unittest tox nox rspec minitest phpunit pest ctest playwright cypress ' +
    'behave cucumber bats busted karma jasmine uvu lua-busted stack-test'
  ).split(' '),
)
const checkPrograms = new Set(
  'tsc tsgo vue-tsc eslint oxlint biome prettier oxfmt ruff mypy pyright flake8 pylint black clippy rubocop golangci-lint knip stylelint shellcheck standard xo'.split(
    ' ',
  ),
)
/** Subcommands of build tools; a `test` is a test run. */
const buildPrograms: Record<string, readonly string[]> = {
  cargo: ['test', 'nextest', 'build', 'check', 'clippy', 'fmt', 'run', 'bench'],
  go: ['test', 'build', 'vet', 'run'],
  deno: ['test', 'check', 'lint', 'fmt'],
  bun: ['test', 'build'],
  dotnet: ['test', 'build'],
  swift: ['test', 'build'],
  mix: ['test', 'compile'],
  mvn: ['test', 'verify', 'package', 'compile', 'install'],
  gradle: ['test', 'build', 'check', 'assemble'],
  sbt: ['test', 'compile'],
  rake: ['test', 'spec'],
  rails: ['test'],
  zig: ['test', 'build'],
  flutter: ['test', 'analyze', 'build'],
  dart: ['test', 'analyze'],
  npm: ['ci', 'install', 'i', 'audit'],
}
/** Programs that run the program named behind them, with the verbs that do so. */
const launchers: Record<string, readonly string[]> = {
  npx: [],
  bunx: [],
  pnpx: [],
  uvx: [],
  pnpm: ['exec', 'dlx'],
  yarn: ['exec', 'dlx', 'run'],
  npm: ['exec', 'x'],
  bun: ['x', 'run'],
  uv: ['run'],
  mise: ['exec', 'x'],
  poetry: ['run'],
  pipenv: ['run'],
  hatch: ['run'],
  rye: ['run'],
  bundle: ['exec'],
  turbo: ['run'],
}
/** Options whose value limits what is checked. */
const filterOption =
  /^(?:-t|-k|-m|-g|-f|-run|-p|-w|--testNamePattern|--test-name-pattern|--grep|--filter|--project|--package|--workspace|--testPathPattern|--bench|--bin|--lib|--tags|--example|--name|--only|-Dtest|--tests|--last-failed|--lf|--changed|--onlyChanged|--only-failures|--related|--shard|--test)$/
/** Options with a value that limits nothing. */
const valuedOptions =
  /^(?:-c|-n|-j|-o|-r|--reporter|--config|--maxWorkers|--pool|--timeout|--tb|--rootdir|--seed|--jobs|--color|--format|--outDir|--target|--ext|--max-warnings|--retries|--workers|-count|-timeout|-parallel|--profile|--cov|--testTimeout|--max-old-space-size)$/

export function readCheck(step: Step): Check | undefined {
  let program = programOf(step).replace(/^(mvn|gradle)w$/, '$1')
  let args = step.args
  const cwd = step.cwd
  if (cwd === undefined) return undefined
  for (let rounds = 0; rounds < 3; rounds += 1) {
    const verbs = Object.hasOwn(launchers, program) ? launchers[program] : undefined
    if (!verbs) break
    const rest = behindOptions(args)
    const first = rest[0]?.text ?? ''
    if (verbs.length > 0 && !verbs.includes(first)) {
      // `yarn vitest` and `pnpm tsc` launch without a verb.
      if ((program === 'yarn' || program === 'pnpm') && (testPrograms.has(first) || checkPrograms.has(first))) {
        program = first
        args = rest.slice(1)
        continue
      }
      break
    }
    const words = behindOptions(verbs.length > 0 ? rest.slice(1) : rest)
    const next = words[0]?.text
    if (next === undefined) return undefined
    // `yarn run test`, `bun run test`: a script, unless it names a known program.
    if (
      verbs.includes('run') &&
      (program === 'yarn' || program === 'bun' || program === 'turbo') &&
      !testPrograms.has(next) &&
      !checkPrograms.has(next)
    )
      break
    program = next.slice(next.lastIndexOf('/') + 1).replace(/@[\d.]+$|@latest$/, '')
    args = words.slice(1)
  }
  if (/^python[\d.]*$/.test(program) && args[0]?.text === '-m') {
    program = args[1]?.text ?? ''
    args = args.slice(2)
  }
  if (program === 'py.test') program = 'pytest'
  if (program === 'python' || program === 'python3' || program === 'manage.py') {
    const django = args.findIndex(({ text }) => text === 'test')
    const managed = program === 'manage.py' || args[0]?.text?.endsWith('manage.py')
    return managed && django >= 0 ? check('django test', true, cwd, args.slice(django + 1)) : undefined
  }
  if (program === 'node' && args.some(({ text }) => text === '--test')) {
    const others = args.filter(({ text }) => text !== '--test')
    return check('node --test', true, cwd, others)
  }
  if (program === 'xcodebuild') {
    // Its options have values, and its verb may stand anywhere or be left out.
    const words = args.map(({ text }) => text ?? '?')
    return check(['xcodebuild', ...words].join(' '), words.includes('test'), cwd, [])
  }
  const script = scriptOf(program, args)
  if (script) return { ...check(script.runner, script.test, cwd, script.args), script: true }
  if (testPrograms.has(program))
    return check(program, true, cwd, withoutVerb(args, ['run', 'test', 'watch', 'related']))
  if (checkPrograms.has(program))
    return check(program, false, cwd, withoutVerb(args, ['check', 'lint', 'format', 'ci']))
  const verbs = Object.hasOwn(buildPrograms, program) ? buildPrograms[program] : undefined
  const words = behindOptions(args)
  // Maven and Gradle take several goals: `mvn clean test`.
  const rest = words[0]?.text === 'clean' ? behindOptions(words.slice(1)) : words
  const verb = rest[0]?.text ?? ''
  if (verbs?.includes(verb)) {
    const runner = `${program} ${verb}`
    return check(runner, /^(?:test|nextest|spec|verify)$/.test(verb), cwd, rest.slice(1))
  }
  return undefined
}

function check(runner: string, test: boolean, cwd: string, args: readonly Arg[]): Check {
  const selection: string[] = []
  const filters: string[] = []
  const rust = runner.startsWith('cargo')
  for (let at = 0; at < args.length; at += 1) {
    const text = args[at]?.text
    if (text === undefined) filters.push('?')
    else if (text === '--') continue
    else if (text.startsWith('-')) {
      const equals = text.indexOf('=')
      const option = equals < 0 ? text : text.slice(0, equals)
      if (filterOption.test(option)) {
        const value = equals < 0 ? args[at + 1]?.text : text.slice(equals + 1)
        const alone = /^--(?:lf|last-failed|changed|onlyChanged|only-failures|lib|workspace)$/.test(option)
        filters.push(alone ? option : `${option} ${value ?? '?'}`)
        if (equals < 0 && !alone) at += 1
      } else if (equals < 0 && valuedOptions.test(option)) at += 1
    } else if (rust) filters.push(text)
    else if (text === '.' || text === './...' || text === './') continue
    else selection.push(joinPath(cwd, text.replace(/\/\.\.\.$/, '')))
  }
  return {
    runner,
    test,
    cwd,
    selection: [...new Set(selection)].sort(),
    filters: [...new Set(filters)].sort(),
    script: false,
  }
}

/** Programs that run a task of the project by its name, with the verbs that do so. */
const taskRunners: Record<string, readonly string[]> = {
  mise: ['run', 'r'],
  deno: ['task'],
  composer: ['run', 'run-script'],
  pixi: ['run'],
  pdm: ['run'],
  hatch: ['run'],
  rush: ['run'],
  nx: ['run'],
  moon: ['run'],
}

/** `npm test`, `yarn build`, `make check`, `just test`. */
function scriptOf(
  program: string,
  args: readonly Arg[],
): { runner: string; test: boolean; args: readonly Arg[] } | undefined {
  if (/^(?:npm|pnpm|yarn|bun|turbo)$/.test(program)) {
    const words = behindOptions(args)
    const verb = words[0]?.text ?? ''
    if (program === 'bun' && verb === 'test') return undefined
    const name =
      verb === 'run' || verb === 'run-script'
        ? behindOptions(words.slice(1))[0]?.text
        : verb === 't' || verb === 'tst'
          ? 'test'
          : verb
    if (!name || (verb !== 'run' && verb !== 'run-script' && program === 'npm' && name !== 'test' && name !== 'start'))
      return undefined
    if (
      /^(?:install|i|add|remove|rm|uninstall|ci|init|create|link|publish|pack|version|audit|outdated|ls|list|view|info|why|config|cache|login|whoami|up|update|upgrade|dedupe|prune|exec|dlx|x)$/.test(
        name,
      )
    )
      return undefined
    const rest = words.slice(verb === 'run' || verb === 'run-script' ? 2 : 1)
    // `npm --prefix packages/a test` and `npm -w a test` check another part.
    const where = args
      .slice(0, args.length - words.length)
      .map(({ text }) => text ?? '?')
      .filter((text) => text !== '-s' && text !== '--silent')
    const runner = [name === 'test' ? `${program} test` : `${program} run ${name}`, ...where].join(' ')
    return { runner, test: isTestName(name), args: rest }
  }
  const named = Object.hasOwn(taskRunners, program) ? taskRunners[program] : undefined
  if (named) {
    const words = behindOptions(args)
    if (!named.includes(words[0]?.text ?? '')) return undefined
    const task = behindOptions(words.slice(1))[0]?.text
    if (task === undefined) return undefined
    const rest = words.slice(words.findIndex(({ text }) => text === task) + 1)
    return { runner: `${program} run ${task}`, test: isTestName(task), args: rest }
  }
  if (/^(?:make|gmake|just|task|ninja)$/.test(program)) {
    const targets = args.flatMap(({ text }) => (text && !text.startsWith('-') && !text.includes('=') ? [text] : []))
    return { runner: [program, ...targets].join(' '), test: targets.some(isTestName), args: [] }
  }
  return undefined
}

function isTestName(name: string): boolean {
  return /^(?:test|tests|spec|e2e|unit|integration)(?:$|[:_-])|[:_-](?:test|tests|spec|e2e)$/.test(name)
}

function withoutVerb(args: readonly Arg[], verbs: readonly string[]): readonly Arg[] {
  const first = args.findIndex(({ text }) => !text?.startsWith('-'))
  return first >= 0 && verbs.includes(args[first]?.text ?? '') ? args.toSpliced(first, 1) : args
}

function behindOptions(args: readonly Arg[]): readonly Arg[] {
  let at = 0
  for (; at < args.length; at += 1) {
    const text = args[at]?.text
    if (text === '--') return args.slice(at + 1)
    if (!text?.startsWith('-')) break
    if (/^(?:-w|-C|-F|-p|--prefix|--dir|--filter|--workspace|--package|--with|--cwd|--project)$/.test(text)) at += 1
  }
  return args.slice(at)
}

/** Whether a success of `wide` says that `narrow` would succeed too. */
export function covers(wide: Check, narrow: Check): boolean {
  if (wide.runner !== narrow.runner && !impliedRunners(wide).includes(narrow.runner)) return false
  if (!wide.filters.every((filter) => filter !== '?' && narrow.filters.includes(filter))) return false
  if (wide.selection.length === 0) return wide.cwd === narrow.cwd || (!wide.script && isInside(narrow.cwd, wide.cwd))
  const parts = narrow.selection.length > 0 ? narrow.selection : undefined
  // Everything is not covered by a part, unless that part is the folder it ran in.
  if (!parts) return wide.selection.includes(narrow.cwd) && narrow.cwd !== ''
  return parts.every((part) => wide.selection.some((path) => isInside(part, path)))
}

/** What has to succeed before tests can run at all: in compiled languages, the build of what they test. */
export function impliedRunners({ runner, test }: Check): readonly string[] {
  const [program = '', verb] = runner.split(' ')
  if (!test || verb === undefined || !Object.hasOwn(compilingVerbs, program)) return []
  return compilingVerbs[program]!.map((each) => `${program} ${each}`)
}

const compilingVerbs: Record<string, readonly string[]> = {
  go: ['build', 'vet'],
  cargo: ['build', 'check'],
  mvn: ['compile'],
  gradle: ['assemble'],
  dotnet: ['build'],
  swift: ['build'],
  mix: ['compile'],
  sbt: ['compile'],
  zig: ['build'],
}

export function isGlob(path: string): boolean {
  return /[*?[{]/.test(path)
}

/** A pattern of the shell: `*` stays within a folder, `**` does not. */
function globPattern(glob: string): RegExp {
  const source = glob
    .replaceAll(/[.+^${}()|\\\]]/g, String.raw`\$&`)
    .replaceAll(/\*\*\/?|\*|\?/g, (found) => (found === '*' ? '[^/]*' : found === '?' ? '[^/]' : '.*'))
  try {
    return new RegExp(`^${source}$`)
  } catch {
    return /^$(?!)/
  }
}

export function isInside(path: string, folder: string): boolean {
  if (path === folder) return true
  if (isGlob(folder)) return globPattern(folder).test(path)
  if (folder === '') return !path.startsWith('/') && !path.startsWith('..') && !path.startsWith('~')
  return path.startsWith(`${folder}/`) || path.startsWith(`${folder}::`) || path.startsWith(`${folder}:`)
}

/** Looking at files is not running them: what they say is neither a failure nor a success of the work. */
const readingPrograms = new Set(
  (
    'cat bat head tail less more nl grep egrep fgrep rg ag ack find fd ls tree wc sort uniq cut tr column jq yq diff cmp stat file ' +
    'echo printf true pwd which type whereis whoami date env printenv history du df ps top pgrep lsof id uname hostname basename ' +
    'dirname realpath readlink test [ [[ awk gawk sed xxd od hexdump strings md5sum sha1sum sha256sum sleep wait seq fold paste ' +
    'comm tac rev expr command hash man info clear tput locale nproc free uptime : false read jobs exit return kill pkill'
  ).split(' '),
)
const gitReadingVerbs = new Set(
  'log diff show status blame branch ls-files ls-tree grep rev-parse remote describe reflog shortlog cat-file tag config stash'.split(
    ' ',
  ),
)

export function onlyReads(step: Step): boolean {
  const program = programOf(step)
  if (program === '') return true
  if (program === 'git') return gitReadingVerbs.has(gitVerb(step).verb)
  if (program === 'sed') return !step.args.some(({ text }) => /^-[nErsuz]*i|^--in-place/.test(text ?? ''))
  return readingPrograms.has(program)
}

/** Exit status 1 of these is an answer (nothing found, files differ), not a failure. */
const answeringPrograms = new Set(
  'grep egrep fgrep rg ag ack diff cmp test [ [[ pgrep which type command expr pidof lsof kill pkill'.split(' '),
)

export function answersWithOne(step: Step): boolean {
  const program = programOf(step)
  if (program === 'git') {
    const { verb, rest } = gitVerb(step)
    return (
      verb === 'grep' ||
      (verb === 'diff' && rest.some(({ text }) => /^--(?:quiet|exit-code|no-index)$/.test(text ?? ''))) ||
      verb === 'check-ignore' ||
      verb === 'merge-base' ||
      verb === 'config'
    )
  }
  return answeringPrograms.has(program)
}
