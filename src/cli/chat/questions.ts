// The calls that wait for the person, one in sight at a time.

import type { Answer, Question } from '../../agent/tool.ts'
import { answerFor, QuestionBlock } from './question.ts'
import type { Screen } from './screen.ts'

interface Asked {
  readonly block: QuestionBlock
  readonly answer: (answer: Answer) => void
}

export class Questions {
  readonly #screen: Screen
  readonly #asked: Asked[] = []

  constructor(screen: Screen) {
    this.#screen = screen
  }

  get isOpen(): boolean {
    return this.#asked.length > 0
  }

  /** Resolves with the answer; a question that is taken back counts as denied. */
  put(question: Question): Promise<Answer> {
    const { theme, transcript } = this.#screen
    return new Promise((resolve) => {
      const answer = (given: Answer) => {
        this.#asked.splice(this.#asked.indexOf(asked), 1)
        question.signal.removeEventListener('abort', withdrawn)
        this.#show()
        resolve(given)
      }
      const withdrawn = () => answer('deny')
      const isWriting = () => this.#screen.editor.getText() !== ''
      const asked: Asked = { block: new QuestionBlock(question, transcript.folding, theme, isWriting), answer }
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
