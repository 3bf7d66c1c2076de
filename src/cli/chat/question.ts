// A call that waits for the person: what it would do and where, answered by one key.

import { type Component, Key, matchesKey, truncateToWidth } from '@earendil-works/pi-tui'
import type { Access, Answer, Question } from '../../agent/tool.ts'
import { fitted, type Folding, hanging } from './blocks.ts'
import { visible } from './neutral.ts'
import type { Theme } from './theme.ts'

const shownLines = 12

export class QuestionBlock implements Component {
  readonly #question: Question
  readonly #folding: Folding
  readonly #theme: Theme
  readonly #isWriting: () => boolean

  /** `isWriting`: keys are letters then, not answers. */
  constructor(question: Question, folding: Folding, theme: Theme, isWriting: () => boolean) {
    this.#question = question
    this.#isWriting = isWriting
    this.#folding = folding
    this.#theme = theme
  }

  render(width: number): string[] {
    const { bold, dim, warn, good, bad } = this.#theme
    const { name, access, input, always: rules = [] } = this.#question
    const head = warn(truncateToWidth(`? ${visible(name)} wants to ${verb(access)}`, width, '…'))
    const lines = [
      ...subject(access, input).flatMap((each) => hanging(visible(each), '  ', width, bold)),
      ...changed(input, ['old_string']).flatMap((each) => hanging(visible(each), bad('- '), width, bad)),
      ...changed(input, ['new_string', 'content']).flatMap((each) => hanging(visible(each), good('+ '), width, good)),
    ]
    const more = this.#folding.folded ? lines.length - shownLines : 0
    const shown = more > 0 ? [...lines.slice(0, shownLines), warn(`  … ${more} more lines (ctrl+o shows them)`)] : lines
    const always = rules.length === 0 ? '' : `: ${visible(rules.join(', '))}`
    const keys = this.#isWriting()
      ? ['Send what you are writing, or empty it (Ctrl+C), to answer; Escape denies']
      : ['y allow once', 'n deny (Escape)', `a always${always}`]
    return fitted([head, ...shown, ...keys.map((key) => dim(truncateToWidth(`  ${key}`, width, '…')))], width)
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

/** The lines of what would be written, or written over. */
function changed(input: unknown, fields: readonly string[]): string[] {
  const given = (typeof input === 'object' && input !== null ? input : {}) as Record<string, unknown>
  const texts = fields.map((field) => given[field]).filter((value) => typeof value === 'string')
  return texts.flatMap((text) => text.replace(/\n$/, '').split('\n'))
}
