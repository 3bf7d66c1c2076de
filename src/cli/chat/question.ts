// A call that waits for the person: what it would do and where, answered by one key.

import { type Component, Key, matchesKey, truncateToWidth } from '@earendil-works/pi-tui'
import type { Access, Answer, Question } from '../../agent/tool.ts'
import { fitted, hanging } from './blocks.ts'
import { visible } from './neutral.ts'
import type { Theme } from './theme.ts'

const shownLines = 12

export class QuestionBlock implements Component {
  readonly #question: Question
  /** What "always" would allow from now on. */
  readonly #always: readonly string[]
  readonly #theme: Theme

  constructor(question: Question, always: readonly string[], theme: Theme) {
    this.#question = question
    this.#always = always
    this.#theme = theme
  }

  render(width: number): string[] {
    const { bold, dim, warn } = this.#theme
    const { name, access, input } = this.#question
    const head = warn(truncateToWidth(`? ${visible(name)} wants to ${verb(access)}`, width, '…'))
    const lines = subject(access, input).flatMap((each) => hanging(visible(each), '  ', width, bold))
    const more = lines.length - shownLines
    const shown = more > 0 ? [...lines.slice(0, shownLines), dim(`  … ${more} more lines`)] : lines
    const always = this.#always.length === 0 ? '' : `: ${visible(this.#always.join(', '))}`
    const keys = [`y allow once`, `n deny (Escape)`, `a always${always}`]
    return fitted(['', head, ...shown, ...keys.map((key) => dim(truncateToWidth(`  ${key}`, width, '…')))], width)
  }

  invalidate(): void {}
}

export function answerFor(key: string): Answer | undefined {
  if (matchesKey(key, Key.escape) || matchesKey(key, 'n')) return 'deny'
  if (matchesKey(key, 'y')) return 'allow'
  return matchesKey(key, 'a') ? 'always' : undefined
}

function verb(access: Access): string {
  if (access.kind === 'command') return 'run'
  return access.kind === 'none' ? 'run with' : access.kind
}

function subject(access: Access, input: unknown): readonly string[] {
  if (access.kind === 'command') return [access.command]
  return access.kind === 'none' ? [JSON.stringify(input)] : access.paths
}
