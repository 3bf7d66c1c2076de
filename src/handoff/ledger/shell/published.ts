// What was done for good: commits, and what reached beyond the working folder. Whoever goes on must know of it, for doing
// it again is wrong, and undoing it is more than a checkout.

import type { Deed } from '../facts.ts'
import { gitVerb, programOf } from './file-effects.ts'
import type { ShellOutput } from '../tools/output.ts'
import type { Step } from './steps.ts'
import { line } from '../tools/tool-calls.ts'

/** The latest of a kind that is repeated are the ones that matter. */
const mostPublished = 200

export class PublishedBook {
  readonly #published = new Map<string, Deed>()

  #add({ text, kind }: Omit<Deed, 'id'>, id: number): void {
    this.#published.delete(text)
    this.#published.set(text, { text, kind, id })
    if (this.#published.size > mostPublished)
      for (const oldest of this.#published.keys()) return void this.#published.delete(oldest)
  }

  /** Books a step of a script that succeeded. */
  book(step: Step, output: ShellOutput, id: number): Deed['kind'] | undefined {
    const deed = deedOf(step, output)
    if (deed !== undefined) this.#add(deed, id)
    return deed?.kind
  }

  facts(): Deed[] {
    return [...this.#published.values()]
  }
}

/** Also scripts of a project that are called so. */
const packageVerbs =
  /^(?:(?:npm )?(?:publish|unpublish|deprecate|version)\b|(?:run(?:-script)? )(?:\S*[:_-])?(?:publish|release|deploy|version)(?![\w]))/
const gitVerbs = new Set('push merge rebase cherry-pick revert am'.split(' '))
/** Programs that act elsewhere, each with the words that say so. */
const outwardPrograms: Record<string, RegExp> = {
  gh: /^(?:pr (?:create|merge|close|reopen|ready)|issue (?:create|close|comment)|release (?:create|upload|delete)|repo create|workflow run)\b/,
  glab: /^(?:mr (?:create|merge|close)|issue (?:create|close)|release create)\b/,
  npm: packageVerbs,
  pnpm: packageVerbs,
  yarn: packageVerbs,
  bun: packageVerbs,
  make: /^(?:publish|release|deploy)\b/,
  cargo: /^(?:publish|yank|release)\b/,
  gem: /^push\b/,
  twine: /^upload\b/,
  poetry: /^publish\b/,
  uv: /^publish\b/,
  docker: /^push\b/,
  podman: /^push\b/,
  kubectl: /^(?:apply|delete|rollout (?:restart|undo|pause|resume)|scale|create|patch)\b/,
  helm: /^(?:install|upgrade|uninstall|rollback)\b/,
  terraform: /^(?:apply|destroy|import)\b/,
  pulumi: /^(?:up|destroy)\b/,
  vercel: /^(?:deploy|--prod)\b|^$/,
  netlify: /^deploy\b/,
  fly: /^deploy\b/,
  flyctl: /^deploy\b/,
  wrangler: /^(?:deploy|publish)\b/,
  firebase: /^deploy\b/,
}

/** Whether the step brings the work to others. */
export function isOutward(step: Step): boolean {
  const program = programOf(step)
  if (program === 'git') return gitVerb(step).verb === 'push'
  const words = wordsOf(step)
  return (
    Object.hasOwn(outwardPrograms, program) &&
    outwardPrograms[program]!.test(words) &&
    !/(?:^|\s)--(?:dry-run|help)\b/.test(words)
  )
}

/** Whether the step merges the branch of a pull request and deletes it, whereupon the work stands on another one. */
export function deletesBranch(step: Step): boolean {
  return programOf(step) === 'gh' && /^pr merge\b.*\s(?:-d|--delete-branch)\b/.test(wordsOf(step))
}

/** Whether the step asks a server how the checks of the project went there. */
export function asksServer(step: Step): boolean {
  const program = programOf(step)
  const words = wordsOf(step)
  if (program === 'gh') return /^(?:pr checks|run (?:view|watch|list))\b/.test(words)
  return program === 'glab' && /^(?:ci|pipeline)\b/.test(words)
}

/**
 * Whether a server said that all checks passed, by a step that succeeded. Some ways of asking fail with the checks; the others
 * succeed whatever they show, and say it in words.
 */
export function serverPassed(step: Step, output: string): boolean {
  const words = wordsOf(step)
  if (/^pr checks\b|\s--exit-status\b/.test(words)) return true
  if (/^run watch\b/.test(words)) return /\bcompleted with 'success'/.test(output)
  return /^run list\b/.test(words) && /^(?:completed\s+success|✓)\s/.test(output.trimStart())
}

function deedOf(step: Step, { head, tail }: ShellOutput): Omit<Deed, 'id'> | undefined {
  const program = programOf(step)
  if (program === 'git') return gitDeed(step, head, tail)
  if (!isOutward(step)) return undefined
  const link = program === 'gh' || program === 'glab' ? /https:\/\/\S+/.exec(tail)?.[0] : undefined
  return {
    kind: 'outward',
    text: line(`Ran ${program} ${wordsOf(step)}${link === undefined ? '' : ` → ${link}`}`),
  }
}

const stayingVerbs = new Set(['rebase', 'cherry-pick', 'revert', 'am'])

function gitDeed(step: Step, head: string, tail: string): Omit<Deed, 'id'> | undefined {
  const { verb, rest } = gitVerb(step)
  const words = rest.map(({ text }) => text ?? '$…')
  if (words.includes('--dry-run') || words.includes('--abort')) return undefined
  if (verb === 'commit') {
    const option = words.findIndex((word) => /^-[a-z]*m$|^--message$/.test(word))
    const message = option < 0 ? fromInput(step, words) : words[option + 1]?.split('\n')[0]
    const told = committed(head, tail, message)
    const subject = [told?.[2], told?.[3] ?? message].filter((part) => part !== undefined).join(': ')
    return { kind: 'commit', text: line(`Committed ${subject}`) }
  }
  const named = words.some((word) => !word.startsWith('-'))
  const listing = words.some((word) =>
    /^(?:-l|--list|-d|--delete|-v|--verify|-n\d*|--contains|--points-at)$/.test(word),
  )
  if (!gitVerbs.has(verb) && !(verb === 'tag' && named && !listing)) return undefined
  return { kind: stayingVerbs.has(verb) ? 'history' : 'outward', text: line(`Ran git ${[verb, ...words].join(' ')}`) }
}

/** `git commit -F -`: the message is what the command is given to read. */
function fromInput({ input }: Step, words: readonly string[]): string | undefined {
  const option = words.findIndex((word) => /^(?:-[a-z]*F|--file)$/.test(word))
  const file =
    option < 0
      ? words.find((word) => /^(?:--file=|-F).+/.test(word))?.replace(/^(?:--file=|-F)/, '')
      : words[option + 1]
  return file === '-' || file === '/dev/stdin' ? input : undefined
}

/** What git said of a commit: of several in one script, the one with that subject. */
function committed(head: string, tail: string, subject: string | undefined): RegExpExecArray | undefined {
  const every = new RegExp(commitLine, 'gm')
  const told = [...tail.matchAll(every), ...(head === tail ? [] : head.matchAll(every))]
  return told.find((each) => each[3] === subject) ?? told[0]
}

/** `[main 45ffe0a] Subject`. */
export const commitLine = /^\[([^\s\]]+)(?: \(root-commit\))? ([0-9a-f]{7,40})\](?: (.+))?$/m

function wordsOf({ args }: Step): string {
  return args.map(({ text }) => text ?? '$…').join(' ')
}
