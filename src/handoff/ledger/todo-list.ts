// The agent's todo list: the latest whole list wins; agents that keep single items change them one by one.

import type { Todo } from './facts.ts'
import type { Call } from './vocabulary.ts'

export class TodoList {
  private items = new Map<string, Todo>()

  replace(todos: readonly Omit<Todo, 'id'>[], id: number): void {
    this.items = new Map(todos.map((todo, index) => [String(index + 1), { ...todo, id }]))
  }

  /** Claude Code numbers its tasks; the result names the number. */
  add(text: string, output: string, id: number): void {
    const key = /#(\w+)/.exec(output)?.[1] ?? String(this.items.size + 1)
    this.items.set(key, { text, status: 'pending', id })
  }

  set({ key, status, text }: Call & { kind: 'todo-set' }, id: number): void {
    const known = this.items.get(key)
    if (status === 'deleted') this.items.delete(key)
    else if (known) this.items.set(key, { text: text ?? known.text, status: status ?? known.status, id })
    else if (text !== undefined) this.items.set(key, { text, status: status ?? 'pending', id })
  }

  get empty(): boolean {
    return this.items.size === 0
  }

  facts(): Todo[] {
    return [...this.items.values()]
  }
}
