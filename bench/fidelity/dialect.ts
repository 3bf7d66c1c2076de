// What an agent says in its own way: how a session begins, and the steps that it has tools for. All else it does in the
// shell or in words.

import path from 'node:path'
import { type Entry, entryFrom } from '../../src/store/index.ts'
import type { Session, Step, Todo } from './session.ts'

type Of<Deed extends Step['do']> = Step & { readonly do: Deed }

export interface Dialect {
  begin(writer: Writer): void
  run(writer: Writer, command: string, output: string, exit: number): void
  read(writer: Writer, step: Of<'read'>): void
  write(writer: Writer, step: Of<'write'>): void
  edit(writer: Writer, step: Of<'edit'>): void
  remove?(writer: Writer, step: Of<'remove'>): void
  search(writer: Writer, step: Of<'search'>): void
  todos(writer: Writer, todos: readonly Todo[]): void
  ask?(writer: Writer, step: Of<'ask'>): void
}

export class Writer {
  readonly entries: Entry[] = []
  readonly folder: string
  readonly base: string
  /** Agents that have changed their tools appear in both forms. */
  readonly isNewer: boolean
  private readonly started: number
  private calls = 0
  /** For agents that change a list item by item. */
  listed: readonly Todo[] = []

  constructor(session: Session, variant: number) {
    this.folder = session.world.folder
    this.base = session.world.base
    this.isNewer = variant % 2 === 0
    this.started = Date.parse(session.started)
  }

  add(kind: string, payload: unknown): void {
    const id = this.entries.length + 1
    this.entries.push(entryFrom({ kind, payload }, id, new Date(this.started + id).toISOString()))
  }

  says(role: 'user' | 'assistant', text: string): void {
    this.add('message', { role, content: this.isNewer ? text : [{ type: 'text', text }] })
  }

  tool(name: string, args: unknown, output: unknown, more: { is_error?: boolean; exit?: number } = {}): void {
    const id = `call_${(this.calls += 1)}`
    this.add('tool_call', { calls: [{ id, name, arguments: args }] })
    this.add('tool_result', { results: [{ call_id: id, name, output, ...more }] })
  }

  at(name: string): string {
    return path.join(this.folder, name)
  }
}

export function speak(dialect: Dialect, writer: Writer, step: Step): void {
  switch (step.do) {
    case 'user':
      return writer.says('user', step.text)
    case 'say':
      return writer.says('assistant', step.text)
    case 'shell':
      return dialect.run(writer, step.command, step.output, step.exit)
    case 'read':
      return dialect.read(writer, step)
    case 'write':
      return dialect.write(writer, step)
    case 'edit':
      return dialect.edit(writer, step)
    case 'remove':
      if (dialect.remove !== undefined) return dialect.remove(writer, step)
      return dialect.run(writer, `rm ${step.path}`, '', 0)
    case 'move':
      return dialect.run(writer, `mkdir -p ${path.dirname(step.to)} && mv ${step.from} ${step.to}`, '', 0)
    case 'search':
      return dialect.search(writer, step)
    case 'todos':
      return dialect.todos(writer, step.todos)
    case 'ask':
      if (dialect.ask !== undefined) return dialect.ask(writer, step)
      writer.says('assistant', [step.question, ...step.options.map((option) => `- ${option}`)].join('\n'))
      return writer.says('user', step.answer)
  }
}

/** As a tool for questions is given one. */
export function choice({ question, options }: Of<'ask'>, described = false) {
  return {
    question,
    header: 'Choice',
    options: options.map((label) => (described ? { label, description: label } : { label })),
  }
}

/** How Claude Code and opencode tell the model of an answer. */
export function answered({ question, answer }: Of<'ask'>): string {
  return `User has answered your questions: "${question}"="${answer}". You can now continue with the user's answers in mind.`
}
