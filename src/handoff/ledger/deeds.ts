// What was done for good: commits, and what reached beyond the working folder. Whoever goes on must know of it, for doing
// it again is wrong, and undoing it is more than a checkout.

import type { Deed } from './facts.ts'
import { gitVerb, programOf } from './footprint.ts'
import type { ShellOutput } from './output.ts'
import type { Step } from './steps.ts'
import { line } from './vocabulary.ts'

/** The latest of a kind that is repeated are the ones that matter. */
const MOST = 200

export class DeedBook {
  private readonly deeds = new Map<string, Deed>()

  add(text: string, id: number): void {
    this.deeds.delete(text)
    this.deeds.set(text, { text, id })
    if (this.deeds.size > MOST) for (const oldest of this.deeds.keys()) return void this.deeds.delete(oldest)
  }

  /** Books a step of a script that succeeded. */
  book(step: Step, output: ShellOutput, id: number): void {
    const text = deedOf(step, output)
    if (text !== undefined) this.add(text, id)
  }

  facts(): Deed[] {
    return [...this.deeds.values()]
  }
}

/** Also scripts of a project that are called so. */
const PACKAGES =
  /^(?:(?:npm )?(?:publish|unpublish|deprecate|version)\b|(?:run(?:-script)? )(?:\S*[:_-])?(?:publish|release|deploy|version)(?![\w]))/
const GIT = new Set('push merge rebase cherry-pick revert am'.split(' '))
/** Programs that act elsewhere, each with the words that say so. */
const OUTWARD: Record<string, RegExp> = {
  gh: /^(?:pr (?:create|merge|close|reopen|ready)|issue (?:create|close|comment)|release (?:create|upload|delete)|repo create|workflow run)\b/,
  glab: /^(?:mr (?:create|merge|close)|issue (?:create|close)|release create)\b/,
  npm: PACKAGES,
  pnpm: PACKAGES,
  yarn: PACKAGES,
  bun: PACKAGES,
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

function deedOf(step: Step, { head, tail }: ShellOutput): string | undefined {
  const program = programOf(step)
  if (program === 'git') return gitDeed(step, head, tail)
  const words = wordsOf(step)
  if (!Object.hasOwn(OUTWARD, program) || !OUTWARD[program]!.test(words) || /(?:^|\s)--(?:dry-run|help)\b/.test(words))
    return undefined
  const link = program === 'gh' || program === 'glab' ? /https:\/\/\S+/.exec(tail)?.[0] : undefined
  return line(`Ran ${program} ${words}${link === undefined ? '' : ` → ${link}`}`)
}

function gitDeed(step: Step, head: string, tail: string): string | undefined {
  const { verb, rest } = gitVerb(step)
  const words = rest.map(({ text }) => text ?? '$…')
  if (words.includes('--dry-run') || words.includes('--abort')) return undefined
  if (verb === 'commit') {
    const option = words.findIndex((word) => /^-[a-z]*m$|^--message$/.test(word))
    const message = option < 0 ? undefined : words[option + 1]?.split('\n')[0]
    const told = committed(head, tail, message)
    return line(`Committed ${[told?.[2], told?.[3] ?? message].filter((part) => part !== undefined).join(': ')}`)
  }
  const named = words.some((word) => !word.startsWith('-'))
  const listing = words.some((word) =>
    /^(?:-l|--list|-d|--delete|-v|--verify|-n\d*|--contains|--points-at)$/.test(word),
  )
  if (!GIT.has(verb) && !(verb === 'tag' && named && !listing)) return undefined
  return line(`Ran git ${[verb, ...words].join(' ')}`)
}

/** What git said of a commit: of several in one script, the one with that subject. */
function committed(head: string, tail: string, subject: string | undefined): RegExpExecArray | undefined {
  const every = new RegExp(COMMITTED, 'gm')
  const told = [...tail.matchAll(every), ...(head === tail ? [] : head.matchAll(every))]
  return told.find((each) => each[3] === subject) ?? told[0]
}

/** `[main 45ffe0a] Subject`. */
export const COMMITTED = /^\[([^\s\]]+)(?: \(root-commit\))? ([0-9a-f]{7,40})\](?: (.+))?$/m

function wordsOf({ args }: Step): string {
  return args.map(({ text }) => text ?? '$…').join(' ')
}
