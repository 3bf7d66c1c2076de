// The agent's todo list: the latest whole list wins; agents that keep single items change them one by one.

import type { Quote, Todo } from '../facts.ts'
import { sentencesOf } from '../words/sentences.ts'
import { sharedWith, termsOf, weightIn } from '../words/terms.ts'
import type { Call } from './tool-calls.ts'

export class TodoList {
  #items = new Map<string, Todo>()

  replace(todos: readonly Omit<Todo, 'id'>[], id: number): void {
    this.#items = new Map(todos.map((todo, index) => [String(index + 1), { ...todo, id }]))
  }

  /** A list that could not be written tells what has changed: of the old one, only what both say is still true. */
  doubt(todos: readonly Omit<Todo, 'id'>[]): void {
    const said = new Map(todos.map(({ text, status }) => [text, status]))
    for (const [key, { text, status }] of this.#items) if (said.get(text) !== status) this.#items.delete(key)
  }

  /** Claude Code numbers its tasks; the result names the number. */
  add(text: string, output: string, id: number): void {
    const key = /#(\w+)/.exec(output)?.[1] ?? String(this.#items.size + 1)
    this.#items.set(key, { text, status: 'pending', id })
  }

  set({ key, status, text }: Call & { kind: 'todo-set' }, id: number): void {
    const known = this.#items.get(key)
    if (status === 'deleted') this.#items.delete(key)
    else if (known) this.#items.set(key, { text: text ?? known.text, status: status ?? known.status, id })
    else if (text !== undefined) this.#items.set(key, { text, status: status ?? 'pending', id })
  }

  /** The list as Claude Code prints it, `#3 [pending] Write the page`: what is not on it is gone. */
  readList(printed: string, id: number): void {
    const rows = [...printed.matchAll(/^\s*(?:[-*] )?#(\w+)\.? \[(pending|in_progress|completed|cancelled)\] (.+)$/gm)]
    if (rows.length === 0) {
      if (/^\W*no (?:tasks|todos|items)\b/i.test(printed)) this.#items.clear()
      return
    }
    this.#items = new Map(
      rows.map(([, key = '', status, text = '']): [string, Todo] => {
        const known = this.#items.get(key)
        if (known !== undefined && known.status === status) return [key, known]
        return [key, { text: known?.text ?? text.trim(), status: status as Todo['status'], id }]
      }),
    )
  }

  get empty(): boolean {
    return this.#items.size === 0
  }

  facts(): Todo[] {
    return [...this.#items.values()]
  }
}

/** A todo that says less could be about anything. */
const leastWeight = 6
/** A sentence is about a todo when it has this part of its words. */
const aboutIt = 0.5

/** The open todos with what the user said about them later: plans change, and lists are often not written anew. */
export function withMentions(todos: readonly Todo[], said: readonly Quote[]): Todo[] {
  return todos.map((todo) => {
    if (todo.status !== 'pending' && todo.status !== 'in_progress') return todo
    const later = said.filter(({ id }) => id > todo.id)
    const terms = termsOf(todo.text)
    if (later.length === 0 || weightIn(terms) < leastWeight) return todo
    const mentioned = later
      .flatMap(({ text }) => sentencesOf(text))
      .findLast((sentence) => sharedWith(terms, termsOf(sentence)) >= aboutIt)
    return mentioned === undefined ? todo : { ...todo, mentioned }
  })
}
