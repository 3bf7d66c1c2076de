// What a step of a shell script does to files, where its words tell. `xargs`, `find -exec`, scripts and generators do not
// tell; git finds those.

import { countLines, type Effect } from '../files/effect.ts'
import { scriptEffects } from './inline-script.ts'
import { readPatch } from '../files/patch.ts'
import { joinPath } from '../files/paths.ts'
import type { Arg, Step } from './steps.ts'

/** Paths come out relative to where the script started, or absolute. */
export function fileEffects(step: Step): Effect[] {
  const effects: Effect[] = []
  for (const { path, append } of step.outputs) {
    const file = path === undefined ? undefined : pathIn(step, path)
    if (file === undefined || file.startsWith('/dev/')) continue
    const lines = step.program === 'cat' && step.args.length === 0 ? step.input : undefined
    const known = lines === undefined ? {} : { lines: countLines(lines) }
    effects.push({ action: append ? 'append' : 'write', path: file, ...known })
  }
  const program = programOf(step)
  const read = Object.hasOwn(programReaders, program) ? programReaders[program] : undefined
  if (read) effects.push(...read(step))
  return effects
}

export function programOf(step: Step): string {
  return step.program.slice(step.program.lastIndexOf('/') + 1)
}

/** Options and operands apart; operands that cannot be told are undefined. */
function split(args: readonly Arg[], valued?: RegExp): { options: string[]; operands: Arg[] } {
  const options: string[] = []
  const operands: Arg[] = []
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at]
    if (!arg) continue
    if (arg.text === '--') {
      operands.push(...args.slice(at + 1))
      break
    }
    if (arg.text?.startsWith('-') && arg.text !== '-') {
      options.push(arg.text)
      if (valued?.test(arg.text)) at += 1
    } else operands.push(arg)
  }
  return { options, operands }
}

function pathIn(step: Step, path: string): string | undefined {
  if (path === '' || path.length > 4096) return undefined
  if (step.cwd === undefined && !/^[/~]/.test(path)) return undefined
  return joinPath(step.cwd ?? '', path)
}

/** The operands that are plain paths. */
function paths(step: Step, operands: readonly Arg[]): string[] {
  return operands.flatMap(({ text, glob }) => {
    const path = text === undefined || glob || text === '-' ? undefined : pathIn(step, text)
    return path === undefined ? [] : [path]
  })
}

const each =
  (action: 'read' | 'touch' | 'mkdir', valued?: RegExp) =>
  (step: Step): Effect[] =>
    paths(step, split(step.args, valued).operands).map((path) => ({ action, path }))

const programReaders: Record<string, (step: Step) => Effect[]> = {
  cat: each('read'),
  bat: each('read', /^-[rlH]$/),
  nl: each('read', /^-[bhfnsvw]$/),
  less: each('read'),
  more: each('read'),
  head: each('read', /^-[nc]$/),
  tail: each('read', /^-[nc]$/),
  touch: each('touch', /^-[drt]$/),
  mkdir: each('mkdir', /^-m$/),
  sed,
  python: inlineScript,
  python3: inlineScript,
  node: inlineScript,
  bun: (step) => [...npm(step), ...inlineScript(step)],
  perl: inPlaceScript,
  ruby: inPlaceScript,
  awk: gawk,
  gawk,
  tee: (step) => {
    const { options, operands } = split(step.args)
    const append = options.some((option) => /^-[a-z]*a|^--append$/.test(option))
    return paths(step, operands)
      .filter((path) => !path.startsWith('/dev/'))
      .map((path) => ({
        action: append ? 'append' : 'write',
        path,
        ...(step.input === undefined ? {} : { lines: countLines(step.input) }),
      }))
  },
  truncate: (step) => paths(step, split(step.args, /^-[sr]$/).operands).map((path) => ({ action: 'edit', path })),
  dd: (step) =>
    step.args.flatMap(({ text }) => {
      const path = text?.startsWith('of=') ? pathIn(step, text.slice(3)) : undefined
      return path && !path.startsWith('/dev/') ? [{ action: 'write', path }] : []
    }),
  ln: (step) => {
    const { operands } = split(step.args)
    return operands.length === 2 ? paths(step, operands.slice(1)).map((path) => ({ action: 'create', path })) : []
  },
  mv: (step) => transfer(step, 'rename', step.args),
  cp: (step) => transfer(step, 'copy', step.args),
  rm: (step) => remove(step, step.args),
  unlink: (step) => remove(step, step.args),
  rmdir: (step) => remove(step, step.args),
  trash: (step) => remove(step, step.args),
  patch: (step) => (step.input === undefined ? [] : patched(step, step.input, strip(step.args))),
  apply_patch: applyPatch,
  applypatch: applyPatch,
  git,
  npm,
  pnpm: npm,
  yarn: npm,
  cargo: (step) => manifest(step, { add: 'edit', remove: 'edit', init: 'create' }, ['Cargo.toml']),
  go: (step) =>
    step.args[0]?.text === 'mod' && step.args[1]?.text === 'init' ? named(step, 'create', ['go.mod']) : [],
  uv: (step) => manifest(step, { add: 'edit', remove: 'edit', init: 'create' }, ['pyproject.toml']),
  poetry: (step) => manifest(step, { add: 'edit', remove: 'edit', init: 'create' }, ['pyproject.toml']),
  curl: (step) => download(step, /^(?:-o|--output)$/),
  wget: (step) => download(step, /^-O$/),
}

function sed(step: Step): Effect[] {
  const valued = /^-(?:[a-zA-Z]*[ef]|l|-expression|-file)$/
  const { options, operands } = split(step.args, valued)
  const inPlace = options.some((option) => /^-[nErsuz]*i|^--in-place/.test(option))
  const scripted = options.some((option) => /^-[a-zA-Z]*[ef]$|^--(?:expression|file)/.test(option))
  // BSD: the suffix is a word of its own, mostly empty.
  const rest = operands[0]?.text === '' ? operands.slice(1) : operands
  const files = paths(step, scripted ? rest : rest.slice(1))
  return files.map((path) => ({ action: inPlace ? 'edit' : 'read', path }))
}

/** `python3 - <<'EOF'`, `python -c '…'`, `node -e '…'`: the program stands on the command line. */
function inlineScript(step: Step): Effect[] {
  const option = step.args.findIndex(({ text }) => /^(?:-c|-e|-p|-pe|--eval|--input-type=module)$/.test(text ?? ''))
  const given = option < 0 ? undefined : step.args.slice(option + 1).find(({ text }) => !text?.startsWith('-'))?.text
  const runsFile = step.args.some(({ text }) => text !== undefined && !text.startsWith('-'))
  const script = given ?? (runsFile ? undefined : step.input)
  if (script === undefined) return []
  return scriptEffects(script).flatMap((effect): Effect[] => {
    const path = 'path' in effect ? pathIn(step, effect.path) : undefined
    return path === undefined || 'to' in effect || !('path' in effect) ? [] : [{ ...effect, path }]
  })
}

/** `perl -pi -e '…' file`, `ruby -i -pe '…' file`. */
function inPlaceScript(step: Step): Effect[] {
  const { options, operands } = split(step.args, /^-[a-zA-Z0-9]*[eE]$/)
  const inPlace = options.some((option) => /^-[a-zA-Z0-9]*i/.test(option) && !/^-[MI]/.test(option))
  const scripted = options.some((option) => /^-[a-zA-Z0-9]*[eE]$/.test(option))
  return inPlace && scripted ? paths(step, operands).map((path) => ({ action: 'edit', path })) : []
}

function gawk(step: Step): Effect[] {
  const inPlace = step.args.findIndex(({ text }) => text === 'inplace')
  if (inPlace < 1) return []
  const { operands } = split(step.args, /^-[ivFf]$/)
  return paths(step, operands.slice(1)).map((path) => ({ action: 'edit', path }))
}

function remove(step: Step, args: readonly Arg[]): Effect[] {
  const { options, operands } = split(args)
  const recursive = options.some((option) => /^-[a-zA-Z]*[rR]|^--recursive$/.test(option))
  return operands.flatMap(({ text, glob }): Effect[] => {
    const path = text === undefined ? undefined : pathIn(step, text)
    if (path === undefined) return []
    if (glob) return [{ action: 'delete-all', path, glob }]
    return [recursive || text?.endsWith('/') ? { action: 'delete-all', path } : { action: 'delete', path }]
  })
}

/** A target that ends in `/`, and the target of several sources, is a folder; the file table knows of some more. */
function transfer(step: Step, action: 'rename' | 'copy', args: readonly Arg[]): Effect[] {
  const { options, operands } = split(args, /^-[tS]$/)
  if (options.includes('-t') || operands.length < 2) return []
  const target = operands.at(-1)
  const to = target?.text === undefined || target.glob ? undefined : pathIn(step, target.text)
  if (target?.text === undefined || to === undefined) return []
  const folder = operands.length > 2 || target.text.endsWith('/') || target.text === '.' || target.text.endsWith('..')
  const sources = paths(step, operands.slice(0, -1))
  // Even if the source is unknown, the target exists now.
  if (sources.length === 0 && !folder && /\.\w+$/.test(target.text)) return [{ action: 'write', path: to }]
  return sources.map((path) => ({
    action,
    path,
    to: folder ? joinPath(to, path.slice(path.lastIndexOf('/') + 1)) : to,
  }))
}

function applyPatch(step: Step): Effect[] {
  const text = step.input ?? step.args.find(({ text }) => text?.includes('*** Begin Patch'))?.text
  return text === undefined ? [] : patched(step, text, 0)
}

function strip(args: readonly Arg[]): number {
  const level = args.map(({ text }) => /^-p(\d+)$/.exec(text ?? '')?.[1]).find((level) => level !== undefined)
  return level === undefined ? 0 : Math.max(0, Number(level) - 1)
}

/** `a/` and `b/` are already gone, which is one level of `-p`. */
function patched(step: Step, text: string, level: number): Effect[] {
  const shorten = (path: string): string | undefined => pathIn(step, path.split('/').slice(level).join('/') || path)
  return readPatch(text).flatMap((effect): Effect[] => {
    if (!('path' in effect)) return []
    const path = shorten(effect.path)
    if (path === undefined) return []
    if (!('to' in effect)) return [{ ...effect, path }]
    const to = shorten(effect.to)
    return to === undefined ? [] : [{ ...effect, path, to }]
  })
}

function git(step: Step): Effect[] {
  const { folder, verb, rest } = gitVerb(step)
  const at = folder === undefined ? step : { ...step, cwd: pathIn(step, folder) }
  const { options, operands } = split(rest, /^-[mCcF]$|^--(?:message|source|author|date)$/)
  switch (verb) {
    case 'mv':
      return transfer(at, 'rename', rest)
    case 'rm':
      return options.includes('--cached') ? [] : remove(at, rest)
    case 'commit':
      return options.includes('--dry-run') ? [] : [{ action: 'commit' }]
    case 'apply':
      return step.input === undefined || options.includes('--check') ? [] : patched(at, step.input, 0)
    case 'checkout': {
      const dashes = rest.findIndex(({ text }) => text === '--')
      // Without `--`, a word may also be a branch; undoing what was never changed does nothing, so that is harmless.
      if (dashes < 0) return options.length === 0 ? undo(at, operands) : []
      // `git checkout <commit> -- file` takes it from elsewhere: an edit, unless the commit is HEAD.
      const source = rest.slice(0, dashes).find(({ text }) => !text?.startsWith('-'))
      if (source && source.text !== 'HEAD')
        return paths(at, rest.slice(dashes + 1)).map((path) => ({ action: 'edit', path }))
      return undo(at, rest.slice(dashes + 1))
    }
    case 'restore':
      if (options.some((option) => /^(?:-s|--source)/.test(option))) return []
      if (
        options.some((option) => /^(?:-S|--staged)$/.test(option)) &&
        !options.some((option) => /^(?:-W|--worktree)$/.test(option))
      )
        return []
      return undo(at, operands)
    case 'reset':
      return options.includes('--hard') && (operands.length === 0 || operands[0]?.text === 'HEAD')
        ? [{ action: 'undo-all', path: '' }]
        : []
    default:
      return []
  }
}

function undo(step: Step, operands: readonly Arg[]): Effect[] {
  return operands.flatMap(({ text, glob }): Effect[] => {
    const path = text === undefined || glob ? undefined : pathIn(step, text)
    if (path === undefined) return []
    return [text === '.' || text?.endsWith('/') ? { action: 'undo-all', path } : { action: 'undo', path }]
  })
}

/** The subcommand of a git call, behind its global options. */
export function gitVerb(step: Step): { folder: string | undefined; verb: string; rest: readonly Arg[] } {
  let folder: string | undefined
  for (let at = 0; at < step.args.length; at += 1) {
    const text = step.args[at]?.text
    if (text === '-C') folder = step.args[(at += 1)]?.text
    else if (text === '-c' || text === '--git-dir' || text === '--work-tree') at += 1
    else if (!text?.startsWith('-')) return { folder, verb: text ?? '', rest: step.args.slice(at + 1) }
  }
  return { folder, verb: '', rest: [] }
}

function npm(step: Step): Effect[] {
  const program = programOf(step)
  const { options, operands } = split(step.args, /^(?:--prefix|-C|--dir|-w|--workspace|--filter|-F)$/)
  if (options.some((option) => /^(?:-g|--global|--no-save|--prefix|-C|--dir|-w|--workspace|--filter|-F)/.test(option)))
    return []
  const [verb, ...rest] = operands.map(({ text }) => text ?? '')
  if (verb === 'init' && rest.length === 0) return named(step, 'create', ['package.json'])
  const adds = verb === 'add' || verb === 'remove' || verb === 'rm' || verb === 'uninstall' || verb === 'un'
  const installs = program === 'npm' && (verb === 'install' || verb === 'i')
  if (rest.length === 0 || !(adds || installs)) return []
  const lock = { npm: 'package-lock.json', pnpm: 'pnpm-lock.yaml', yarn: 'yarn.lock', bun: 'bun.lock' }[program]
  return named(step, 'edit', lock ? ['package.json', lock] : ['package.json'])
}

function manifest(step: Step, verbs: Record<string, 'edit' | 'create'>, files: string[]): Effect[] {
  const verb = step.args[0]?.text ?? ''
  const action = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined
  const target = step.args.slice(1).some(({ text }) => text !== undefined && !text.startsWith('-'))
  // `cargo init folder` writes elsewhere.
  return action && (action === 'edit') === target ? named(step, action, files) : []
}

function named(step: Step, action: 'edit' | 'create', files: readonly string[]): Effect[] {
  return files.flatMap((file) => {
    const path = pathIn(step, file)
    return path === undefined ? [] : [{ action, path }]
  })
}

function download(step: Step, option: RegExp): Effect[] {
  const at = step.args.findIndex(({ text }) => text !== undefined && option.test(text))
  return at < 0
    ? []
    : paths(step, step.args.slice(at + 1, at + 2)).flatMap((path) =>
        path.startsWith('/dev/') ? [] : [{ action: 'write', path }],
      )
}
