import { answered, choice, type Dialect, type Writer } from '../dialect.ts'
import type { Todo } from '../session.ts'

export const claude: Dialect = {
  begin(w) {
    w.add('event', { name: 'session', data: { cwd: w.folder, gitBranch: 'main' } })
    w.says('user', '<system-reminder>\nAs you answer, you must never mention this reminder.\n</system-reminder>')
  },
  run(w, command, output, exit) {
    const args = { command, description: 'Run a command' }
    if (exit === 0) return w.tool('Bash', args, output.trimEnd())
    return w.tool('Bash', args, `Exit code ${exit}\n${output.trimEnd()}`, { is_error: true })
  },
  read(w, { path, content }) {
    const numbered = content.split('\n').map((line, at) => `${String(at + 1).padStart(6)}→${line}`)
    w.tool('Read', { file_path: w.at(path) }, numbered.join('\n'))
  },
  write(w, { path, content, isNew }) {
    const output = isNew ? `File created successfully at: ${w.at(path)}` : updated(w.at(path))
    w.tool('Write', { file_path: w.at(path), content }, output)
  },
  edit(w, { path, before, after, found }) {
    const args = { file_path: w.at(path), old_string: before, new_string: after, replace_all: false }
    if (found) return w.tool('Edit', args, updated(w.at(path)))
    const error = `<tool_use_error>String to replace not found in file.\nString: ${before}</tool_use_error>`
    return w.tool('Edit', args, error, { is_error: true })
  },
  search: (w, { pattern, output }) =>
    w.tool('Grep', { pattern, output_mode: 'files_with_matches' }, output || 'No files found'),
  todos: (w, todos) => (w.isNewer ? todoWrite(w, todos) : taskTools(w, todos)),
  ask: (w, step) => w.tool('AskUserQuestion', { questions: [choice(step)] }, answered(step)),
}

const updated = (file: string) => `The file ${file} has been updated successfully.`

function todoWrite(w: Writer, todos: readonly Todo[]): void {
  const list = todos.map(({ text, status }) => ({ content: text, status, activeForm: text }))
  const output = 'Todos have been modified successfully. Ensure that you continue to use the todo list.'
  w.tool('TodoWrite', { todos: list }, output)
}

/** Some versions change their list item by item. */
function taskTools(w: Writer, todos: readonly Todo[]): void {
  for (const [at, { text, status }] of todos.entries()) {
    const known = w.listed[at]
    const id = String(at + 1)
    if (known === undefined) {
      const args = { subject: text, description: text, activeForm: text }
      w.tool('TaskCreate', args, `Task #${id} created successfully: ${text}`)
    }
    if ((known?.status ?? 'pending') !== status)
      w.tool('TaskUpdate', { taskId: id, status }, `Updated task #${id} status`)
  }
  w.listed = [...todos]
}
