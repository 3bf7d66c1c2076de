// A session as each agent leaves it on a tape: its names of tools and arguments, and what its tools answer. Where an agent
// has no tool for a step, it does it in the shell or in words.

import path from 'node:path'
import type { Entry } from '../../src/store/index.ts'
import type { Session, Step, Todo } from './session.ts'

export const dialects = ['claude', 'codex', 'pi', 'gemini', 'opencode', 'baton'] as const
export type Dialect = (typeof dialects)[number]

/** The entries of the session in the dialect. Agents that have changed their tools appear in both forms, by `variant`. */
export function asTape(session: Session, dialect: Dialect, variant: number): Entry[] {
  const writer = new Writer(session, variant)
  writers[dialect](writer)
  for (const step of session.steps) speak[dialect](writer, step)
  return writer.entries
}

class Writer {
  readonly entries: Entry[] = []
  readonly folder: string
  readonly base: string
  readonly variant: number
  private readonly started: number
  private calls = 0
  /** For agents that change a list item by item. */
  listed: Todo[] = []

  constructor(session: Session, variant: number) {
    this.folder = session.world.folder
    this.base = session.world.base
    this.variant = variant
    this.started = Date.parse(session.started)
  }

  add(kind: string, payload: unknown): void {
    const id = this.entries.length + 1
    this.entries.push({ id, kind, payload, meta: {}, date: new Date(this.started + id).toISOString() })
  }

  says(role: 'user' | 'assistant', text: string): void {
    this.add('message', { role, content: this.variant % 2 === 0 ? text : [{ type: 'text', text }] })
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

/** How the session begins. */
const writers: Record<Dialect, (writer: Writer) => void> = {
  claude: (w) => {
    w.add('event', { name: 'session', data: { cwd: w.folder, gitBranch: 'main' } })
    w.says('user', '<system-reminder>\nAs you answer, you must never mention this reminder.\n</system-reminder>')
  },
  codex: (w) => {
    w.add('event', {
      name: 'session_meta',
      data: { payload: { cwd: w.folder, git: { branch: 'main', commit_hash: w.base } } },
    })
    w.says('user', `<environment_context>\n  <cwd>${w.folder}</cwd>\n  <shell>bash</shell>\n</environment_context>`)
  },
  pi: (w) => w.add('event', { name: 'session', data: { cwd: w.folder } }),
  gemini: (w) => w.add('event', { name: 'session', data: { cwd: w.folder } }),
  opencode: (w) => w.add('event', { name: 'session', data: { cwd: w.folder } }),
  baton: (w) => w.add('anchor', { name: 'session/start', state: { cwd: w.folder } }),
}

const numbered = (text: string) =>
  text
    .split('\n')
    .map((line, at) => `${String(at + 1).padStart(6)}→${line}`)
    .join('\n')

function question({ question, options }: Step & { do: 'ask' }): string {
  return `${question}\n${options.map((option) => `- ${option}`).join('\n')}`
}

const speak: Record<Dialect, (writer: Writer, step: Step) => void> = {
  claude(w, step) {
    switch (step.do) {
      case 'user':
        return w.says('user', step.text)
      case 'say':
        return w.says('assistant', step.text)
      case 'read':
        return w.tool('Read', { file_path: w.at(step.path) }, numbered(step.content))
      case 'write': {
        const output = step.isNew
          ? `File created successfully at: ${w.at(step.path)}`
          : `The file ${w.at(step.path)} has been updated successfully.`
        return w.tool('Write', { file_path: w.at(step.path), content: step.content }, output)
      }
      case 'edit': {
        const args = { file_path: w.at(step.path), old_string: step.before, new_string: step.after, replace_all: false }
        if (step.found) return w.tool('Edit', args, `The file ${w.at(step.path)} has been updated successfully.`)
        const error = `<tool_use_error>String to replace not found in file.\nString: ${step.before}</tool_use_error>`
        return w.tool('Edit', args, error, { is_error: true })
      }
      case 'remove':
        return w.tool('Bash', { command: `rm ${step.path}`, description: 'Remove a file' }, '')
      case 'move':
        return w.tool('Bash', { command: `mkdir -p ${path.dirname(step.to)} && mv ${step.from} ${step.to}` }, '')
      case 'shell': {
        const args = { command: step.command, description: 'Run a command' }
        return step.exit === 0
          ? w.tool('Bash', args, step.output.trimEnd())
          : w.tool('Bash', args, `Exit code ${step.exit}\n${step.output.trimEnd()}`, { is_error: true })
      }
      case 'search':
        return w.tool(
          'Grep',
          { pattern: step.pattern, output_mode: 'files_with_matches' },
          step.output || 'No files found',
        )
      case 'todos':
        return w.variant % 2 === 0 ? todoWrite(w, step.todos) : taskTools(w, step.todos)
      case 'ask': {
        const args = {
          questions: [{ question: step.question, header: 'Choice', options: step.options.map((label) => ({ label })) }],
        }
        const output = `User has answered your questions: "${step.question}"="${step.answer}". You can now continue with the user's answers in mind.`
        return w.tool('AskUserQuestion', args, output)
      }
    }
  },

  codex(w, step) {
    const patch = (body: string, output: string) => {
      const text = `*** Begin Patch\n${body}\n*** End Patch`
      if (w.variant % 2 === 0)
        w.tool(
          'apply_patch',
          text,
          `{"output":${JSON.stringify(output)},"metadata":{"exit_code":0,"duration_seconds":0.0}}`,
        )
      else w.tool('shell', JSON.stringify({ command: ['apply_patch', text] }), codexShell(output, 0))
    }
    const lines = (text: string, mark: string) =>
      text
        .replace(/\n$/, '')
        .split('\n')
        .map((line) => mark + line)
        .join('\n')
    const run = (command: string, output: string, exit: number) => {
      if (w.variant % 2 === 0) {
        const text = `Chunk ID: 8f3a1c\nWall time: 0.0510 seconds\nProcess exited with code ${exit}\nOriginal token count: ${Math.ceil(output.length / 4)}\nOutput:\n${output}`
        w.tool('exec_command', JSON.stringify({ cmd: command, workdir: w.folder }), text)
      } else
        w.tool(
          'shell',
          JSON.stringify({ command: ['bash', '-lc', command], workdir: w.folder }),
          codexShell(output, exit),
        )
    }
    switch (step.do) {
      case 'user':
        return w.says('user', step.text)
      case 'say':
        return w.says('assistant', step.text)
      case 'read':
        return run(`sed -n '1,200p' ${step.path}`, step.content, 0)
      case 'write':
        return step.isNew
          ? patch(
              `*** Add File: ${step.path}\n${lines(step.content, '+')}`,
              `Success. Updated the following files:\nA ${step.path}\n`,
            )
          : run(`cat > ${step.path} <<'EOF'\n${step.content}EOF`, '', 0)
      case 'edit': {
        const body = `*** Update File: ${step.path}\n@@\n${lines(step.before, '-')}\n${lines(step.after, '+')}`
        if (step.found) return patch(body, `Success. Updated the following files:\nM ${step.path}\n`)
        const text = `*** Begin Patch\n${body}\n*** End Patch`
        return w.tool(
          'apply_patch',
          text,
          `apply_patch verification failed: Failed to find expected lines in ${step.path}:\n${step.before}`,
        )
      }
      case 'remove':
        return patch(`*** Delete File: ${step.path}`, `Success. Updated the following files:\nD ${step.path}\n`)
      case 'move':
        return run(`mkdir -p ${path.dirname(step.to)} && mv ${step.from} ${step.to}`, '', 0)
      case 'shell':
        return run(step.command, step.output, step.exit)
      case 'search':
        return run(`rg -l ${step.pattern} src`, step.output, step.output === '' ? 1 : 0)
      case 'todos':
        return w.tool(
          'update_plan',
          JSON.stringify({ plan: step.todos.map(({ text, status }) => ({ step: text, status })) }),
          'Plan updated',
        )
      case 'ask': {
        const args = {
          questions: [
            {
              id: 'choice',
              header: 'Choice',
              question: step.question,
              options: step.options.map((label) => ({ label })),
            },
          ],
        }
        return w.tool(
          'request_user_input',
          JSON.stringify(args),
          JSON.stringify({ answers: { choice: { answers: [step.answer] } } }),
        )
      }
    }
  },

  pi(w, step) {
    const text = (content: string) => [{ type: 'text', text: content }]
    const run = (command: string, output: string, exit: number) =>
      exit === 0
        ? w.tool('bash', { command }, text(output || '(no output)'))
        : w.tool('bash', { command }, text(`${output}\n\nCommand exited with code ${exit}`), { is_error: true })
    switch (step.do) {
      case 'user':
        return w.says('user', step.text)
      case 'say':
        return w.says('assistant', step.text)
      case 'read':
        return w.tool('read', { path: step.path }, text(step.content))
      case 'write':
        return w.tool(
          'write',
          { path: step.path, content: step.content },
          text(`Successfully wrote ${step.content.length} bytes to ${step.path}`),
        )
      case 'edit': {
        const change = { oldText: step.before, newText: step.after }
        const args = w.variant % 2 === 0 ? { path: step.path, ...change } : { path: step.path, edits: [change] }
        if (step.found) return w.tool('edit', args, text(`Successfully replaced text in ${step.path}.`))
        const error = `Could not find the exact text in ${step.path}. The old text must match exactly including all whitespace and newlines.`
        return w.tool('edit', args, text(error), { is_error: true })
      }
      case 'remove':
        return run(`rm ${step.path}`, '', 0)
      case 'move':
        return run(`mkdir -p ${path.dirname(step.to)} && mv ${step.from} ${step.to}`, '', 0)
      case 'shell':
        return run(step.command, step.output, step.exit)
      case 'search':
        return w.tool('grep', { pattern: step.pattern, path: 'src' }, text(step.output || 'No matches found'))
      case 'todos':
        return piTodos(w, step.todos)
      case 'ask':
        w.says('assistant', question(step))
        return w.says('user', step.answer)
    }
  },

  gemini(w, step) {
    const run = (command: string, output: string, exit: number) => {
      const old = `Command: ${command}\nDirectory: (root)\nStdout: ${output || '(empty)'}\nStderr: (empty)\nError: (none)\nExit Code: ${exit}\nSignal: (none)\nBackground PIDs: (none)\nProcess Group PGID: 4711`
      const now = `Output: ${output || '(empty)'}${exit === 0 ? '' : `\nExit Code: ${exit}`}\nProcess Group PGID: 4711`
      w.tool('run_shell_command', { command, description: 'Run a command' }, w.variant % 2 === 0 ? now : old)
    }
    switch (step.do) {
      case 'user':
        return w.says('user', step.text)
      case 'say':
        return w.says('assistant', step.text)
      case 'read':
        return w.tool(
          'read_file',
          w.variant % 2 === 0 ? { file_path: step.path } : { absolute_path: w.at(step.path) },
          step.content,
        )
      case 'write': {
        const output = step.isNew
          ? `Successfully created and wrote to new file: ${w.at(step.path)}.`
          : `Successfully overwrote file: ${w.at(step.path)}.`
        return w.tool('write_file', { file_path: w.at(step.path), content: step.content }, output)
      }
      case 'edit': {
        const args = {
          file_path: w.at(step.path),
          instruction: 'Change it',
          old_string: step.before,
          new_string: step.after,
        }
        if (step.found)
          return w.tool('replace', args, `Successfully modified file: ${w.at(step.path)} (1 replacements).`)
        const error = `Failed to edit, 0 occurrences found for old_string in ${w.at(step.path)}. No edits made.`
        return w.tool('replace', args, error, { is_error: true })
      }
      case 'remove':
        return run(`rm ${step.path}`, '', 0)
      case 'move':
        return run(`mkdir -p ${path.dirname(step.to)} && mv ${step.from} ${step.to}`, '', 0)
      case 'shell':
        return run(step.command, step.output, step.exit)
      case 'search':
        return w.tool('search_file_content', { pattern: step.pattern }, step.output || 'No matches found')
      case 'todos':
        return w.tool(
          'write_todos',
          { todos: step.todos.map(({ text, status }) => ({ description: text, status })) },
          'Successfully updated the todo list.',
        )
      case 'ask': {
        const args = {
          questions: [
            {
              question: step.question,
              header: 'Choice',
              type: 'choice',
              options: step.options.map((label) => ({ label, description: label })),
            },
          ],
        }
        return w.tool('ask_user', args, JSON.stringify({ answers: { '0': step.answer } }))
      }
    }
  },

  opencode(w, step) {
    const run = (command: string, output: string, exit: number) =>
      w.tool('bash', { command, description: 'Runs a command' }, output || '(no output)', {
        exit,
        ...(exit !== 0 && { is_error: true }),
      })
    switch (step.do) {
      case 'user':
        return w.says('user', step.text)
      case 'say':
        return w.says('assistant', step.text)
      case 'read': {
        const lines = step.content.split('\n').map((line, at) => `${String(at + 1).padStart(5, '0')}| ${line}`)
        return w.tool(
          'read',
          { filePath: w.at(step.path) },
          `<file>\n${lines.join('\n')}\n\n(End of file - total ${lines.length} lines)\n</file>`,
        )
      }
      case 'write':
        return w.tool('write', { filePath: w.at(step.path), content: step.content }, 'Wrote file successfully.')
      case 'edit': {
        const args = { filePath: w.at(step.path), oldString: step.before, newString: step.after }
        if (step.found) return w.tool('edit', args, 'Edit applied successfully.')
        return w.tool('edit', args, 'Error: Could not find oldString in the file. It must match exactly.', {
          is_error: true,
        })
      }
      case 'remove':
        return w.variant % 2 === 0
          ? run(`rm ${step.path}`, '', 0)
          : w.tool(
              'apply_patch',
              { patchText: `*** Begin Patch\n*** Delete File: ${step.path}\n*** End Patch` },
              `Success. Updated the following files:\nD ${step.path}`,
            )
      case 'move':
        return run(`mkdir -p ${path.dirname(step.to)} && mv ${step.from} ${step.to}`, '', 0)
      case 'shell':
        return run(step.command, step.output, step.exit)
      case 'search':
        return w.tool('grep', { pattern: step.pattern }, step.output || 'No files found')
      case 'todos': {
        const todos = step.todos.map(({ text, status }) => ({ content: text, status, priority: 'medium' }))
        return w.tool('todowrite', { todos }, JSON.stringify(todos, null, 2))
      }
      case 'ask': {
        const args = {
          questions: [
            {
              question: step.question,
              header: 'Choice',
              options: step.options.map((label) => ({ label, description: label })),
            },
          ],
        }
        return w.tool(
          'question',
          args,
          `User has answered your questions: "${step.question}"="${step.answer}". You can now continue with the user's answers in mind.`,
        )
      }
    }
  },

  baton(w, step) {
    switch (step.do) {
      case 'user':
        return w.says('user', step.text)
      case 'say':
        return w.says('assistant', step.text)
      case 'read':
        return w.tool('fs.read', { path: step.path }, step.content)
      case 'write':
        return w.tool('fs.write', { path: step.path, content: step.content }, { created: step.isNew })
      case 'edit':
        return step.found
          ? w.tool('fs.edit', { path: step.path, old: step.before, new: step.after }, { ok: true })
          : w.tool(
              'fs.edit',
              { path: step.path, old: step.before, new: step.after },
              'the text to replace was not found',
              { is_error: true },
            )
      case 'remove':
        return w.tool('bash', { command: `rm ${step.path}` }, { stdout: '', stderr: '', exit_code: 0 })
      case 'move': {
        const command = `mkdir -p ${path.dirname(step.to)} && mv ${step.from} ${step.to}`
        return w.tool('bash', { command }, { stdout: '', stderr: '', exit_code: 0 })
      }
      case 'shell':
        return w.tool('bash', { command: step.command }, { stdout: step.output, stderr: '', exit_code: step.exit })
      case 'search':
        return w.tool('fs.grep', { pattern: step.pattern }, step.output)
      case 'todos':
        return w.tool('todos.set', { todos: step.todos }, { ok: true })
      case 'ask':
        w.says('assistant', question(step))
        return w.says('user', step.answer)
    }
  },
}

function codexShell(output: string, exit: number): string {
  return JSON.stringify({ output, metadata: { exit_code: exit, duration_seconds: 0.1 } })
}

function todoWrite(w: Writer, todos: readonly Todo[]): void {
  const list = todos.map(({ text, status }) => ({ content: text, status, activeForm: text }))
  w.tool(
    'TodoWrite',
    { todos: list },
    'Todos have been modified successfully. Ensure that you continue to use the todo list.',
  )
}

/** Newer versions of Claude Code change their list item by item. */
function taskTools(w: Writer, todos: readonly Todo[]): void {
  for (const [at, { text, status }] of todos.entries()) {
    const known = w.listed[at]
    const id = String(at + 1)
    if (known === undefined) {
      w.tool(
        'TaskCreate',
        { subject: text, description: text, activeForm: text },
        `Task #${id} created successfully: ${text}`,
      )
    }
    if ((known?.status ?? 'pending') !== status)
      w.tool('TaskUpdate', { taskId: id, status }, `Updated task #${id} status`)
  }
  w.listed = [...todos]
}

/** pi's own tool knows no "in progress"; its todo extension adds and toggles. */
function piTodos(w: Writer, todos: readonly Todo[]): void {
  const text = (content: string) => [{ type: 'text', text: content }]
  for (const [at, todo] of todos.entries()) {
    const known = w.listed[at]
    if (known === undefined)
      w.tool('todo', { action: 'add', text: todo.text }, text(`Added todo #${at + 1}: ${todo.text}`))
    if (todo.status === 'completed' && known?.status !== 'completed') {
      w.tool('todo', { action: 'toggle', id: at + 1 }, text(`Todo #${at + 1} completed`))
    }
  }
  w.listed = [...todos]
}
