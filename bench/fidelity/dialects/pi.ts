import type { Dialect } from '../dialect.ts'

const text = (content: string) => [{ type: 'text', text: content }]

export const pi: Dialect = {
  begin: (w) => w.add('event', { name: 'session', data: { cwd: w.folder } }),
  run: (w, command, output, exit) =>
    exit === 0
      ? w.tool('bash', { command }, text(output || '(no output)'))
      : w.tool('bash', { command }, text(`${output}\n\nCommand exited with code ${exit}`), { is_error: true }),
  read: (w, { path, content }) => w.tool('read', { path }, text(content)),
  write: (w, { path, content }) =>
    w.tool('write', { path, content }, text(`Successfully wrote ${content.length} bytes to ${path}`)),
  edit(w, { path, before, after, found }) {
    const change = { oldText: before, newText: after }
    const args = w.isNewer ? { path, ...change } : { path, edits: [change] }
    if (found) return w.tool('edit', args, text(`Successfully replaced text in ${path}.`))
    const error = `Could not find the exact text in ${path}. The old text must match exactly including all whitespace and newlines.`
    return w.tool('edit', args, text(error), { is_error: true })
  },
  search: (w, { pattern, output }) => w.tool('grep', { pattern, path: 'src' }, text(output || 'No matches found')),
  /** Its own tool knows no "in progress"; its todo extension adds and toggles. */
  todos(w, todos) {
    for (const [at, todo] of todos.entries()) {
      const known = w.listed[at]
      if (known === undefined)
        w.tool('todo', { action: 'add', text: todo.text }, text(`Added todo #${at + 1}: ${todo.text}`))
      if (todo.status === 'completed' && known?.status !== 'completed') {
        w.tool('todo', { action: 'toggle', id: at + 1 }, text(`Todo #${at + 1} completed`))
      }
    }
    w.listed = [...todos]
  },
}
