import { choice, type Dialect, type Writer } from '../dialect.ts'

export const codex: Dialect = {
  begin(w) {
    const payload = { cwd: w.folder, git: { branch: 'main', commit_hash: w.base } }
    w.add('event', { name: 'session_meta', data: { payload } })
    w.says('user', `<environment_context>\n  <cwd>${w.folder}</cwd>\n  <shell>bash</shell>\n</environment_context>`)
  },
  run(w, command, output, exit) {
    if (w.isNewer) {
      const text = `Chunk ID: 8f3a1c\nWall time: 0.0510 seconds\nProcess exited with code ${exit}\nOriginal token count: ${Math.ceil(output.length / 4)}\nOutput:\n${output}`
      return w.tool('exec_command', JSON.stringify({ cmd: command, workdir: w.folder }), text)
    }
    const args = { command: ['bash', '-lc', command], workdir: w.folder }
    return w.tool('shell', JSON.stringify(args), shellOutput(output, exit, 0.1))
  },
  read: (w, { path, content }) => codex.run(w, `sed -n '1,200p' ${path}`, content, 0),
  write(w, { path, content, isNew }) {
    if (isNew) return patch(w, `*** Add File: ${path}\n${lines(content, '+')}`, `A ${path}`)
    return codex.run(w, `cat > ${path} <<'EOF'\n${content}EOF`, '', 0)
  },
  edit(w, { path, before, after, found }) {
    const body = `*** Update File: ${path}\n@@\n${lines(before, '-')}\n${lines(after, '+')}`
    if (found) return patch(w, body, `M ${path}`)
    const error = `apply_patch verification failed: Failed to find expected lines in ${path}:\n${before}`
    return w.tool('apply_patch', patchText(body), error)
  },
  remove: (w, { path }) => patch(w, `*** Delete File: ${path}`, `D ${path}`),
  search: (w, { pattern, output }) => codex.run(w, `rg -l ${pattern} src`, output, output === '' ? 1 : 0),
  todos(w, todos) {
    const plan = todos.map(({ text, status }) => ({ step: text, status }))
    w.tool('update_plan', JSON.stringify({ plan }), 'Plan updated')
  },
  ask(w, step) {
    const { question, header, options } = choice(step)
    const args = { questions: [{ id: 'choice', header, question, options }] }
    const output = { answers: { choice: { answers: [step.answer] } } }
    w.tool('request_user_input', JSON.stringify(args), JSON.stringify(output))
  },
}

function patch(w: Writer, body: string, changed: string): void {
  const output = `Success. Updated the following files:\n${changed}\n`
  if (w.isNewer) return w.tool('apply_patch', patchText(body), shellOutput(output, 0, 0))
  return w.tool('shell', JSON.stringify({ command: ['apply_patch', patchText(body)] }), shellOutput(output, 0, 0.1))
}

function patchText(body: string): string {
  return `*** Begin Patch\n${body}\n*** End Patch`
}

function lines(text: string, mark: string): string {
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => mark + line)
    .join('\n')
}

function shellOutput(output: string, exit: number, seconds: number): string {
  return JSON.stringify({ output, metadata: { exit_code: exit, duration_seconds: seconds } })
}
