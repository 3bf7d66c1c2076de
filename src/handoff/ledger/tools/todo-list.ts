// The agent's todo list: the latest whole list wins; agents that keep single items change them one by one.

import type { Quote, Todo } from '../facts.ts'
import { sentencesOf } from '../words/sentences.ts'
import { asAmong, type Terms, termsOf, weightIn } from '../words/terms.ts'
import type { OpenCall } from './open-calls.ts'
import type { Output } from './output.ts'
import type { Call } from './tool-calls.ts'

type TodoCall = Call & { kind: 'todos' | 'todo-add' | 'todo-list' | 'todo-set' }

export class TodoList {
  #items = new Map<string, Todo>()

  /** A call that reads or changes the list was answered. */
  settle(call: TodoCall, output: Output, id: number, resultId: number): void {
    switch (call.kind) {
      case 'todos':
        if (!output.isError) this.replace(call.todos, id)
        else if (isDisabled(output)) this.replace([], id)
        else this.#doubt(call.todos)
        return
      case 'todo-add':
        if (isDisabled(output)) this.replace([], id)
        else if (!output.isError) this.#add(call.text, output.head.slice(0, 200), id)
        return
      case 'todo-list':
        if (!output.isError) this.#readList(output.head === output.tail ? output.head : '', resultId)
        return
      case 'todo-set':
        if (isGone(output)) this.#set({ ...call, status: 'deleted' }, id)
        // The result of a toggle says whether the item is done now.
        else if (!output.isError)
          this.#set(
            /\bun(?:completed|done|checked)\b/i.test(output.head.slice(0, 200)) ? { ...call, status: 'pending' } : call,
            id,
          )
    }
  }

  replace(todos: readonly Omit<Todo, 'id'>[], id: number): void {
    this.#items = new Map(todos.map((todo, index) => [String(index + 1), { ...todo, id }]))
  }

  /** A list that could not be written tells what has changed: of the old one, only what both say is still true. */
  #doubt(todos: readonly Omit<Todo, 'id'>[]): void {
    const said = new Map(todos.map(({ text, status }) => [text, status]))
    for (const [key, { text, status }] of this.#items) if (said.get(text) !== status) this.#items.delete(key)
  }

  /** Claude Code numbers its tasks; the result names the number. */
  #add(text: string, output: string, id: number): void {
    const key = /#(\w+)/.exec(output)?.[1] ?? String(this.#items.size + 1)
    this.#items.set(key, { text, status: 'pending', id })
  }

  #set({ key, status, text }: Call & { kind: 'todo-set' }, id: number): void {
    const known = this.#items.get(key)
    if (status === 'deleted') this.#items.delete(key)
    else if (known) this.#items.set(key, { text: text ?? known.text, status: status ?? known.status, id })
    else if (text !== undefined) this.#items.set(key, { text, status: status ?? 'pending', id })
  }

  /** The list as Claude Code prints it, `#3 [pending] Write the page`: what is not on it is gone. */
  #readList(printed: string, id: number): void {
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

  /** A list that was written but not yet answered is still what the agent plans. */
  factsWith(open: readonly OpenCall[]): Todo[] {
    const latest = open.findLast(({ call }) => call.kind === 'todos')
    if (latest?.call.kind !== 'todos') return this.facts()
    return latest.call.todos.map((todo) => ({ ...todo, id: latest.id }))
  }
}

/** The agent has no list at all, as Claude Code says of some models: what stood in an earlier one is not its plan. */
function isDisabled({ head }: Output): boolean {
  return /^(?:<tool_use_error>)?(?:Error: )?\S+ (?:is|are) (?:disabled|not (?:available|enabled))\b/i.test(head)
}

/** The agent knows no such item any more: its list began anew. */
function isGone({ head }: Output): boolean {
  return /^(?:<tool_use_error>)?(?:Error: )?(?:task|todo|item)\b.{0,40}\b(?:not found|does not exist)/i.test(head)
}

/** A todo that says less could be about anything. */
const leastWeight = 6
/** A sentence is about a todo when it has this part of its words, or a name that no other todo has. */
const aboutIt = 0.5
/** Words are cut to less, so what is longer is the name of a thing, in whatever language it is spoken of. */
const leastName = 6

/** The open todos with what the user said about them later: plans change, and lists are often not written anew. */
export function withMentions(todos: readonly Todo[], said: readonly Quote[]): Todo[] {
  const isOpen = ({ status }: Todo) => status === 'pending' || status === 'in_progress'
  const first = Math.min(...todos.filter(isOpen).map(({ id }) => id))
  const sentences = new Sentences(said.filter(({ id }) => id > first))
  const spread = new Map<string, number>()
  for (const { text } of todos) for (const stem of termsOf(text).keys()) spread.set(stem, (spread.get(stem) ?? 0) + 1)
  return todos.map((todo) => {
    if (!isOpen(todo)) return todo
    const terms = termsOf(todo.text)
    const isOwnName = (stem: string) => stem.length >= leastName && spread.get(stem) === 1
    const mentioned = weightIn(terms) < leastWeight ? undefined : sentences.lastAbout(terms, todo.id, isOwnName)
    return mentioned === undefined ? todo : { ...todo, mentioned }
  })
}

/** What the user said, sentence by sentence, to be found by what it is about. */
class Sentences {
  readonly #texts: string[] = []
  readonly #ids: number[] = []
  /** Stem: the sentences that have it. */
  readonly #holders = new Map<string, number[]>()

  constructor(said: readonly Quote[]) {
    for (const { text, id } of said) {
      for (const sentence of sentencesOf(text)) {
        const place = this.#texts.push(sentence) - 1
        this.#ids.push(id)
        for (const stem of termsOf(sentence).keys()) {
          const holders = this.#holders.get(stem)
          if (holders) holders.push(place)
          else this.#holders.set(stem, [place])
        }
      }
    }
  }

  /** The last sentence behind that entry which has so many of the terms, or one that is enough by itself. */
  lastAbout(terms: Terms, after: number, isEnough: (stem: string) => boolean): string | undefined {
    const whole = weightIn(terms)
    const shared = new Map<number, number>()
    for (const [stem, weight] of terms) {
      const places = new Set(asAmong(stem).flatMap((each) => this.#holders.get(each) ?? []))
      for (const place of places) shared.set(place, (shared.get(place) ?? 0) + (isEnough(stem) ? whole : weight))
    }
    let last: number | undefined
    for (const [place, weight] of shared)
      if (this.#ids[place]! > after && weight / whole >= aboutIt && place > (last ?? -1)) last = place
    return last === undefined ? undefined : this.#texts[last]
  }
}
