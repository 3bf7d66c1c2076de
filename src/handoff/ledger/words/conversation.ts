// Who said what, in the order of the tape: what the user's words ask for and what of them stands, which questions are open,
// and what the assistant said that it decided.

import type { Decision, Instruction, Question, Quote, Todo } from '../facts.ts'
import type { Script } from '../shell/shell-book.ts'
import type { Asked, Call } from '../tools/tool-calls.ts'
import { answered } from './decisions.ts'
import { InstructionBook } from './instructions.ts'
import { questionIn } from './message-text.ts'
import { answers, QuestionBook } from './question-book.ts'
import { StatementBook } from './statements.ts'
import { haystackOf } from './terms.ts'

/** Of the input of a call, or of a reply, this much is read. */
const longestInput = 50_000
/** Of a message that a document quotes, this much is sure to be read. */
const sureToBeRead = 1_500

export class Conversation {
  readonly #instructions = new InstructionBook()
  readonly #statements = new StatementBook()
  readonly #questions = new QuestionBook()

  assistantSaid({ text, id }: Quote): void {
    const heard = haystackOf(text.slice(0, longestInput))
    this.#instructions.hear(heard, 'reply')
    this.#questions.hear(heard)
    this.#statements.hear(text, id)
  }

  /** `script`: of a command, what it does. */
  called(call: Call, input: unknown, script?: Script): void {
    const heard = haystackOf(textsIn(input))
    this.#instructions.hear(heard, 'call')
    this.#questions.hear(heard)
    this.#statements.called(doesOf(call, script), call.kind === 'shell')
    if (call.kind !== 'files') return
    for (const effect of call.effects)
      if ('path' in effect && effect.action !== 'read') this.#instructions.changed(effect.path)
  }

  /** The user refused to have a file changed. */
  refused(path: string): void {
    this.#statements.refused(path)
  }

  turnEnded(how: 'done' | 'cut'): void {
    this.#instructions.end(how)
  }

  /** A dialog was closed without an answer. */
  dialogLeft(asked: readonly Asked[], id: number): void {
    this.#questions.ask(asked, id)
  }

  /** A dialog was answered with a question. */
  askedBack(asked: readonly Asked[], id: number): void {
    this.#questions.askedBack(asked, id)
  }

  /**
   * The user's words, `before` them what the assistant had said last, if the user has not spoken since. Returns the
   * decision that they are, where they answer a question.
   */
  userSaid(
    quote: Quote,
    before: Quote | undefined,
    todos: readonly Todo[],
    refused?: string,
  ): Omit<Decision, 'id'> | undefined {
    const question = before === undefined ? undefined : questionIn(before.text)
    const isAnswer = question !== undefined && answers({ text: question }, quote.text, before!.text)
    this.#knowTodos(todos)
    this.#instructions.add(quote, {
      ...(isAnswer && { answers: before!.id }),
      ...(refused !== undefined && { refused }),
    })
    this.#questions.answer(quote.text, before)
    this.#statements.settle(question !== undefined, { text: isAnswer ? '' : quote.text, id: quote.id })
    return isAnswer && isChoice(quote.text) ? answered({ text: question }, quote.text) : undefined
  }

  /** What the user typed while the assistant worked. */
  userAdded(quote: Quote, todos: readonly Todo[]): void {
    this.#knowTodos(todos)
    this.#instructions.add(quote, { within: true })
  }

  /** A list of what is to be done is words that the assistant has before it. */
  #knowTodos(todos: readonly Todo[]): void {
    if (todos.length > 0) this.#instructions.know(haystackOf(todos.map(({ text }) => text).join('\n')))
  }

  has(text: string): boolean {
    return this.#instructions.has(text)
  }

  facts(state: {
    readonly calls: readonly { readonly call: Call; readonly id: number }[]
    readonly lastWords: Quote | undefined
    readonly answeredId: number
    readonly todos: readonly Todo[]
    /** Those that a person confirmed or that are on record. */
    readonly decisions: readonly Decision[]
  }): {
    goal: Instruction | undefined
    lastRequest: Instruction | undefined
    instructions: Instruction[]
    questions: Question[]
    decisions: Decision[]
  } {
    const { calls, lastWords, answeredId, todos, decisions } = state
    this.#knowTodos(todos)
    const instructions = this.#instructions.facts()
    const told = [
      ...instructions.map(({ text }) => text.slice(0, sureToBeRead)),
      ...decisions.map(({ text }) => text),
      ...(lastWords ? [lastWords.text.slice(0, sureToBeRead)] : []),
    ]
    const said = this.#statements.facts(told)
    return {
      goal: this.#instructions.first,
      lastRequest: this.#instructions.last,
      instructions,
      questions: this.#questions.facts(calls, lastWords, answeredId),
      decisions: [
        ...decisions,
        ...said.map(({ text, id }, rank): Decision => ({ text, by: 'assistant', source: 'said', id, rank })),
      ],
    }
  }
}

export type Deed = 'changes' | 'runs' | 'looks' | 'notes'

/** What a call does to the work, as far as it tells what the words before it meant. */
export function doesOf(call: Call, script: Script | undefined): Deed {
  switch (call.kind) {
    case 'files':
      return call.effects.some(({ action }) => action !== 'read') ? 'changes' : 'looks'
    case 'subagent':
    case 'plan':
    case 'questions':
      return 'changes'
    case 'look':
    case 'poll':
      return 'looks'
    case 'todos':
    case 'todo-add':
    case 'todo-set':
    case 'todo-list':
    case 'result':
      return 'notes'
    case 'shell':
      if (script?.looks === true) return 'looks'
      return script?.effects.some((each) => each.some(({ action }) => action !== 'read')) === true ? 'changes' : 'runs'
    case 'stop':
    case 'unknown':
      return 'runs'
  }
}

/** A choice in a line, rather than a question in return or a command for the agent's program. */
function isChoice(text: string): boolean {
  return text.length <= 120 && !text.includes('\n') && !/[?？؟]/.test(text) && !/^\/[\w:-]*$/.test(text)
}

/** All texts in the input of a call. */
function textsIn(input: unknown): string {
  const texts: string[] = []
  let left = longestInput
  const read = (value: unknown, depth: number): void => {
    if (left <= 0 || depth > 8) return
    if (typeof value === 'string') {
      texts.push(value.slice(0, left))
      left -= value.length
    } else if (Array.isArray(value)) for (const each of value as unknown[]) read(each, depth + 1)
    else if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) read(each, depth + 1)
  }
  read(input, 0)
  return texts.join('\n')
}
