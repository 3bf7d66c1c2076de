import { answered, choice, type Dialect } from '../dialect.ts'

export const opencode: Dialect = {
  begin: (w) => w.add('event', { name: 'session', data: { cwd: w.folder } }),
  run: (w, command, output, exit) =>
    w.tool('bash', { command, description: 'Runs a command' }, output || '(no output)', {
      exit,
      ...(exit !== 0 && { is_error: true }),
    }),
  read(w, { path, content }) {
    const lines = content.split('\n').map((line, at) => `${String(at + 1).padStart(5, '0')}| ${line}`)
    const output = `<file>\n${lines.join('\n')}\n\n(End of file - total ${lines.length} lines)\n</file>`
    w.tool('read', { filePath: w.at(path) }, output)
  },
  write: (w, { path, content }) => w.tool('write', { filePath: w.at(path), content }, 'Wrote file successfully.'),
  edit(w, { path, before, after, found }) {
    const args = { filePath: w.at(path), oldString: before, newString: after }
    if (found) return w.tool('edit', args, 'Edit applied successfully.')
    const error = 'Error: Could not find oldString in the file. It must match exactly.'
    return w.tool('edit', args, error, { is_error: true })
  },
  remove(w, { path }) {
    if (w.isNewer) return opencode.run(w, `rm ${path}`, '', 0)
    const patchText = `*** Begin Patch\n*** Delete File: ${path}\n*** End Patch`
    return w.tool('apply_patch', { patchText }, `Success. Updated the following files:\nD ${path}`)
  },
  search: (w, { pattern, output }) => w.tool('grep', { pattern }, output || 'No files found'),
  todos(w, given) {
    const todos = given.map(({ text, status }) => ({ content: text, status, priority: 'medium' }))
    w.tool('todowrite', { todos }, JSON.stringify(todos, null, 2))
  },
  ask: (w, step) => w.tool('question', { questions: [choice(step, true)] }, answered(step)),
}
