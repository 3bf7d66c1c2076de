// The agent's list of what is to be done. It is kept on the tape under a key, so that every handoff takes it along.

import * as z from 'zod'
import { defineTool } from './tool.ts'

const todo = z.object({
  text: z.string().min(1),
  status: z.enum(['pending', 'in_progress', 'completed']).default('pending'),
})
const kept = z.array(todo)

export const todoTool = defineTool('todo', {
  description:
    'Keep a list of what is to be done in a task of several steps. Give the whole list each time something begins or is done; without a list, the current one is shown.',
  input: z.object({ todos: z.array(todo).max(100).optional() }),
  async run({ todos }, { tape }) {
    if (todos !== undefined) await tape.set('todos', todos)
    const list = todos ?? kept.safeParse(await tape.get('todos')).data ?? []
    return { output: list.length === 0 ? 'The list is empty' : list.map(line).join('\n') }
  },
})

const marks = { pending: '[ ]', in_progress: '[>]', completed: '[x]' }

function line({ text, status }: z.output<typeof todo>): string {
  return `${marks[status]} ${text}`
}
