import type { Dialect } from '../dialect.ts'

export const baton: Dialect = {
  begin: (w) => w.add('anchor', { name: 'session/start', state: { cwd: w.folder } }),
  run: (w, command, output, exit) => w.tool('bash', { command }, { stdout: output, stderr: '', exit_code: exit }),
  read: (w, { path, content }) => w.tool('fs.read', { path }, content),
  write: (w, { path, content, isNew }) => w.tool('fs.write', { path, content }, { created: isNew }),
  edit(w, { path, before, after, found }) {
    const args = { path, old: before, new: after }
    if (found) return w.tool('fs.edit', args, { ok: true })
    return w.tool('fs.edit', args, 'the text to replace was not found', { is_error: true })
  },
  search: (w, { pattern, output }) => w.tool('fs.grep', { pattern }, output),
  todos: (w, todos) => w.tool('todos.set', { todos }, { ok: true }),
}
