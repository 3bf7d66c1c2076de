// Questions to the user that are still open: asked with a tool, or left at the end of the last words.

import type { Question, Quote } from './facts.ts'
import { questionIn } from './speech.ts'
import type { Asked, Call } from './vocabulary.ts'

export class QuestionBook {
  private questions: Question[] = []

  ask(asked: readonly Asked[], id: number): void {
    for (const each of asked) this.questions.push(questionOf(each, id))
  }

  /** Whatever was asked, the user has spoken since. */
  settle(): void {
    this.questions = []
  }

  /** `open`: calls without a result. `answeredId`: the user's last words. */
  facts(
    open: readonly { readonly call: Call; readonly id: number }[],
    lastWords: Quote | undefined,
    answeredId: number,
  ): Question[] {
    const asked = open.flatMap(({ call, id }): Question[] =>
      call.kind === 'questions' && id > answeredId ? call.questions.map((each) => questionOf(each, id)) : [],
    )
    const spoken = lastWords && lastWords.id > answeredId ? questionIn(lastWords.text) : undefined
    const said: Question[] =
      lastWords && spoken !== undefined ? [{ text: spoken, source: 'text', id: lastWords.id }] : []
    return [...this.questions, ...asked, ...said]
  }
}

function questionOf({ text, options }: Asked, id: number): Question {
  return { text, ...(options && { options }), source: 'tool', id }
}
