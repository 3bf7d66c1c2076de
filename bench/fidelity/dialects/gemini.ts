import { choice, type Dialect } from '../dialect.ts'

export const gemini: Dialect = {
  begin: (w) => w.add('event', { name: 'session', data: { cwd: w.folder } }),
  run(w, command, output, exit) {
    const old = `Command: ${command}\nDirectory: (root)\nStdout: ${output || '(empty)'}\nStderr: (empty)\nError: (none)\nExit Code: ${exit}\nSignal: (none)\nBackground PIDs: (none)\nProcess Group PGID: 4711`
    const now = `Output: ${output || '(empty)'}${exit === 0 ? '' : `\nExit Code: ${exit}`}\nProcess Group PGID: 4711`
    w.tool('run_shell_command', { command, description: 'Run a command' }, w.isNewer ? now : old)
  },
  read: (w, { path, content }) =>
    w.tool('read_file', w.isNewer ? { file_path: path } : { absolute_path: w.at(path) }, content),
  write(w, { path, content, isNew }) {
    const output = isNew
      ? `Successfully created and wrote to new file: ${w.at(path)}.`
      : `Successfully overwrote file: ${w.at(path)}.`
    w.tool('write_file', { file_path: w.at(path), content }, output)
  },
  edit(w, { path, before, after, found }) {
    const args = { file_path: w.at(path), instruction: 'Change it', old_string: before, new_string: after }
    if (found) return w.tool('replace', args, `Successfully modified file: ${w.at(path)} (1 replacements).`)
    const error = `Failed to edit, 0 occurrences found for old_string in ${w.at(path)}. No edits made.`
    return w.tool('replace', args, error, { is_error: true })
  },
  search: (w, { pattern, output }) => w.tool('search_file_content', { pattern }, output || 'No matches found'),
  todos: (w, todos) =>
    w.tool(
      'write_todos',
      { todos: todos.map(({ text, status }) => ({ description: text, status })) },
      'Successfully updated the todo list.',
    ),
  ask(w, step) {
    const { question, header, options } = choice(step, true)
    const args = { questions: [{ question, header, type: 'choice', options }] }
    w.tool('ask_user', args, JSON.stringify({ answers: { '0': step.answer } }))
  },
}
