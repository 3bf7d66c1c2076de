// Questions about tool calls: how one looks, how it is answered, and that they are asked one at a time.

import { type Component, Key, matchesKey, truncateToWidth } from '@earendil-works/pi-tui'
import type { Access, Answer, Question } from '../../agent/index.ts'
import { fitted, type Folding, hanging } from './screen/blocks.ts'
import { visible } from './screen/sanitise.ts'
import type { ChatScreen } from './screen/screen.ts'
import type { Theme } from './screen/theme.ts'

const shownLines = 12

class QuestionBlock implements Component {
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
    const keys = this.#isWriting()
      ? ['Send what you are writing, or empty it (Ctrl+C), to answer; Escape denies']
      : [
          'y allow once',
          'n deny (Escape)',
          `a always allow ${rules.length === 0 ? `what ${visible(name)} does` : rules.map((rule) => visible(inWords(rule))).join(', ')}`,
        ]
    return fitted([head, ...shown, ...keys.map((key) => dim(truncateToWidth(`  ${key}`, width, '…')))], width)
  }

  invalidate(): void {}
}

const deeds: Readonly<Record<string, string>> = {
  'fs.edit': 'edits',
  'fs.write': 'writing files',
  'fs.read': 'reading files',
  'fs.list': 'listing files',
  'fs.search': 'searching files',
}

/** A rule as people would say it: `fs.edit **` is "edits in this project". */
function inWords(rule: string): string {
  const [tool = '', ...rest] = rule.split(' ')
  const what = rest.join(' ')
  if (tool === 'bash') return what.endsWith(' (just so)') ? 'exactly this command' : `commands that begin with ${what}`
  const deed = deeds[tool] ?? `what ${tool} does`
  if (what === '' || what === '**') return `${deed} in this project`
  return what.endsWith('/**') ? `${deed} in ${what.slice(0, -3)}` : `${deed}: ${what}`
}

function answerFor(key: string): Answer | undefined {
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

interface Asked {
  readonly block: QuestionBlock
  readonly answer: (answer: Answer) => void
}

export class PermissionQuestions {
  readonly #screen: ChatScreen
  readonly #asked: Asked[] = []

  constructor(screen: ChatScreen) {
    this.#screen = screen
  }

  get isOpen(): boolean {
    return this.#asked.length > 0
  }

  /** Resolves with the answer; a question that is taken back counts as denied. */
  put(question: Question): Promise<Answer> {
    const { theme, log } = this.#screen
    return new Promise((resolve) => {
      const answer = (given: Answer) => {
        this.#asked.splice(this.#asked.indexOf(asked), 1)
        question.signal.removeEventListener('abort', withdrawn)
        this.#show()
        resolve(given)
      }
      const withdrawn = () => answer('deny')
      const isWriting = () => this.#screen.editor.getText() !== ''
      const asked: Asked = { block: new QuestionBlock(question, log.folding, theme, isWriting), answer }
      this.#asked.push(asked)
      question.signal.addEventListener('abort', withdrawn)
      this.#show()
    })
  }

  /** Whether the key was an answer. */
  answer(key: string): boolean {
    const [asked] = this.#asked
    const answer = asked === undefined ? undefined : answerFor(key)
    if (answer === undefined) return false
    asked!.answer(answer)
    return true
  }

  #show(): void {
    this.#screen.ask(this.#asked[0]?.block)
  }
}
