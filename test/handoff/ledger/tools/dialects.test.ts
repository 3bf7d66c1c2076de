import { describe, expect, it } from 'vitest'
import { conversation, changes, Session, unresolved } from '../session.ts'

describe('the tools of each agent', () => {
  it('[H13] Claude Code', () => {
    const session = new Session()
    session.add('event', { name: 'session', data: { cwd: '/home/u/app', gitBranch: 'main' } })
    session.user('Fix the login bug')
    session.tool('Read', { file_path: '/home/u/app/src/login.ts' }, '     1→export {}')
    session.tool(
      'Edit',
      { file_path: '/home/u/app/src/login.ts', old_string: 'a\nb\nc', new_string: 'a\nB\nB2\nc' },
      'The file has been updated.',
    )
    session.tool(
      'Write',
      { file_path: '/home/u/app/src/new.ts', content: 'one\ntwo\n' },
      'File created successfully at: /home/u/app/src/new.ts',
    )
    session.tool(
      'MultiEdit',
      {
        file_path: '/home/u/app/src/login.ts',
        edits: [
          { old_string: 'x', new_string: 'y' },
          { old_string: 'p\n', new_string: '' },
        ],
      },
      'Applied 2 edits',
    )
    session.tool('NotebookEdit', { notebook_path: '/home/u/app/n.ipynb', new_source: '1' }, 'Updated cell')
    session.tool('Grep', { pattern: 'login' }, 'src/login.ts')
    session.bash('npm test', ' Tests  1 failed | 3 passed (4)\n', 1)
    const todos = session.todos({ Fix: 'completed', Document: 'in_progress' }) - 1
    session.tool('mcp__github__create_issue', { title: 'x' }, 'created')
    const facts = session.ledger()
    expect(changes(facts)).toEqual(['created src/new.ts', 'edited n.ipynb', 'edited src/login.ts'])
    expect(facts.files.find(({ path }) => path === 'src/login.ts')).toMatchObject({
      added: 3,
      removed: 3,
      reads: 1,
      edits: 2,
      firstId: 3,
      lastId: 9,
    })
    expect(facts.files.find(({ path }) => path === 'src/new.ts')).toMatchObject({ added: 2, removed: 0 })
    expect(facts.todos).toEqual([
      { text: 'Fix', status: 'completed', id: todos },
      { text: 'Document', status: 'in_progress', id: todos },
    ])
    expect(facts.commands).toMatchObject([{ command: 'npm test', exit: 1, ok: false, times: 1, failed: 1 }])
    expect(facts.tests).toMatchObject([{ runner: 'vitest', passed: 3, failed: 1, ok: false }])
    expect(unresolved(facts)).toEqual(['npm test'])
    expect(facts.unknownTools).toMatchObject([{ name: 'mcp__github__create_issue', times: 1, errors: 0 }])
    expect(facts.git).toMatchObject({ cwd: '/home/u/app', branch: 'main', checked: false })
    expect(facts.goal).toEqual({ text: 'Fix the login bug', id: 2 })
  })

  it('[H13] Codex: shell, exec_command, apply_patch as a tool and as a here-document, update_plan', () => {
    const session = new Session()
    session.add('event', {
      name: 'session_meta',
      data: { payload: { cwd: '/repo', git: { branch: 'dev', commit_hash: 'abcdef1234567' } } },
    })
    session.user('<environment_context>\n  <cwd>/repo</cwd>\n</environment_context>')
    session.user('Port it')
    session.tool(
      'shell',
      JSON.stringify({ command: ['bash', '-lc', "sed -n '1,40p' src/a.py"], workdir: '/repo' }),
      JSON.stringify({ output: 'x', metadata: { exit_code: 0, duration_seconds: 0.1 } }),
    )
    const patch =
      '*** Begin Patch\n*** Update File: src/a.py\n@@\n-old\n+new\n+more\n*** Add File: src/b.py\n+one\n*** Delete File: src/c.py\n*** Update File: src/d.py\n*** Move to: src/e.py\n@@\n-x\n+y\n*** End Patch'
    session.tool('apply_patch', patch, 'Success. Updated the following files:\nM src/a.py')
    session.tool(
      'shell',
      JSON.stringify({
        command: [
          'bash',
          '-lc',
          "cd src && apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: f.py\n+1\n+2\n*** End Patch\nEOF",
        ],
      }),
      JSON.stringify({ output: 'Success.', metadata: { exit_code: 0 } }),
    )
    session.tool(
      'exec_command',
      JSON.stringify({ cmd: 'pytest -q tests', workdir: '/repo' }),
      'Chunk ID: 1\nWall time: 1.0 seconds\nProcess exited with code 1\nOriginal token count: 9\nOutput:\nFAILED tests/test_a.py::test_x - assert 1 == 2\n1 failed, 4 passed in 0.12s\n',
    )
    session.tool(
      'shell_command',
      JSON.stringify({ command: 'pytest -q' }),
      'Exit code: 0\nWall time: 1 seconds\nOutput:\n5 passed in 0.10s\n',
    )
    session.tool(
      'update_plan',
      JSON.stringify({
        plan: [
          { step: 'Port', status: 'completed' },
          { step: 'Clean up', status: 'pending' },
        ],
      }),
      'Plan updated',
    )
    const facts = session.ledger()
    expect(changes(facts)).toEqual([
      'created src/b.py',
      'created src/f.py',
      'deleted src/c.py',
      'edited src/a.py',
      'renamed src/e.py < src/d.py',
    ])
    expect(facts.files.find(({ path }) => path === 'src/a.py')).toMatchObject({ added: 2, removed: 1, reads: 1 })
    expect(facts.files.find(({ path }) => path === 'src/f.py')).toMatchObject({ added: 2 })
    expect(facts.instructions.map(({ text }) => text)).toEqual(['Port it'])
    expect(facts.tests.map(({ command, ok, passed, failed }) => ({ command, ok, passed, failed }))).toEqual([
      { command: 'pytest -q tests', ok: false, passed: 4, failed: 1 },
      { command: 'pytest -q', ok: true, passed: 5, failed: 0 },
    ])
    expect(facts.failures).toMatchObject([{ what: 'pytest -q tests', kind: 'test', exit: 1, resolvedBy: 13 }])
    expect(facts.todos.map(({ text, status }) => [text, status])).toEqual([
      ['Port', 'completed'],
      ['Clean up', 'pending'],
    ])
    expect(facts.git).toMatchObject({ cwd: '/repo', branch: 'dev', base: 'abcdef1234567' })
  })

  it('[H13] pi', () => {
    const session = conversation('go')
    session.tool('read', { path: 'src/a.ts' }, [{ type: 'text', text: 'x' }], false)
    session.tool(
      'edit',
      { path: 'src/a.ts', oldText: 'one', newText: 'two' },
      [{ type: 'text', text: 'Successfully replaced text' }],
      false,
    )
    session.tool(
      'write',
      { path: 'src/b.ts', content: 'x' },
      [{ type: 'text', text: 'Successfully wrote 1 bytes to src/b.ts' }],
      false,
    )
    session.tool(
      'bash',
      { command: 'npm run build' },
      [{ type: 'text', text: 'src/a.ts(1,1): error TS2345: no\n\nCommand exited with code 2' }],
      true,
    )
    session.tool('ls', { path: '.' }, 'src')
    const facts = session.ledger()
    expect(changes(facts)).toEqual(['created src/b.ts', 'edited src/a.ts'])
    expect(facts.commands).toMatchObject([
      { command: 'npm run build', exit: 2, ok: false, failureTail: 'src/a.ts(1,1): error TS2345: no' },
    ])
    expect(facts.failures).toMatchObject([{ message: 'src/a.ts(1,1): error TS2345: no', exit: 2 }])
    expect(facts.unknownTools).toEqual([])
  })

  it('[H13] Gemini CLI', () => {
    const session = conversation('los')
    session.tool('read_file', { file_path: 'a.go' }, { output: 'package main' })
    session.tool(
      'replace',
      { file_path: 'a.go', old_string: 'a\n', new_string: 'b\nc\n' },
      { output: 'Successfully modified file: a.go (1 replacements).' },
    )
    session.tool(
      'write_file',
      { file_path: 'b.go', content: 'x\n' },
      { output: 'Successfully created and wrote to new file: b.go.' },
    )
    session.tool('write_file', { file_path: 'c.go', content: 'x\n' }, { output: 'Successfully overwrote file: c.go.' })
    const shell = (command: string, code: number, out: string): unknown => ({
      output: `Command: ${command}\nDirectory: (root)\nStdout: ${out}\nStderr: (empty)\nError: (none)\nExit Code: ${code}\nSignal: (none)\nBackground PIDs: (none)\nProcess Group PGID: 12`,
    })
    session.tool('run_shell_command', { command: 'go vet ./...' }, shell('go vet ./...', 0, '(empty)'))
    session.tool(
      'run_shell_command',
      { command: 'go test ./...' },
      shell('go test ./...', 1, '--- FAIL: TestX (0.00s)\nFAIL\tex/a\t0.01s\nFAIL'),
    )
    session.tool('write_todos', { todos: [{ description: 'Fix TestX', status: 'pending' }] }, { output: 'ok' })
    const facts = session.ledger()
    expect(changes(facts)).toEqual(['created b.go', 'edited a.go', 'edited c.go'])
    expect(facts.commands.map(({ command, exit, ok }) => [command, exit, ok])).toEqual([
      ['go vet ./...', 0, true],
      ['go test ./...', 1, false],
    ])
    expect(facts.tests).toMatchObject([{ runner: 'go test', failed: 1, ok: false, failing: ['TestX'] }])
    expect(facts.todos).toMatchObject([{ text: 'Fix TestX', status: 'pending' }])
  })

  it('[H13] opencode', () => {
    const session = conversation('go')
    session.tool('read', { filePath: '/w/a.ts' }, '<file>\n00001| x\n</file>')
    session.tool('edit', { filePath: '/w/a.ts', oldString: 'a', newString: 'b' }, '')
    session.tool('write', { filePath: '/w/b.ts', content: 'x' }, 'Wrote file successfully.')
    session.tool('patch', { patchText: '*** Begin Patch\n*** Add File: /w/c.ts\n+1\n*** End Patch' }, 'ok')
    session.tool(
      'bash',
      { command: 'cargo test', description: 'test' },
      { output: 'test a ... FAILED\ntest result: FAILED. 1 passed; 1 failed; 0 ignored', metadata: { exit: 101 } },
    )
    session.tool('todowrite', { todos: [{ id: '1', content: 'T', status: 'pending', priority: 'high' }] }, '[]')
    session.tool('task', { description: 'Look around', prompt: 'Look', subagent_type: 'explore' }, 'found it')
    const facts = session.ledger({ cwd: '/w' })
    expect(changes(facts)).toEqual(['created b.ts', 'created c.ts', 'edited a.ts'])
    expect(facts.commands).toMatchObject([{ exit: 101, ok: false }])
    expect(facts.tests).toMatchObject([{ runner: 'cargo test', passed: 1, failed: 1 }])
    expect(facts.todos).toMatchObject([{ text: 'T', status: 'pending' }])
    expect(facts.subagents).toMatchObject([{ task: 'Look around', type: 'explore', status: 'done' }])
  })

  it('[H13] our own agent, with dots or underscores in names', () => {
    const session = new Session()
    session.tool('fs.read', { path: 'a.ts' }, 'x')
    session.tool('fs_edit', { path: 'a.ts', old: 'x', new: 'y' }, { ok: true })
    session.tool('fs.write', { path: 'b.ts', content: '1\n2' }, { created: true })
    session.tool('bash', { command: 'node b.ts' }, { stdout: '', stderr: 'SyntaxError: no', exit_code: 1 })
    session.tool('tape.handoff', { name: 'x' }, {})
    const facts = session.ledger()
    expect(changes(facts)).toEqual(['created b.ts', 'edited a.ts'])
    expect(facts.commands).toMatchObject([{ command: 'node b.ts', exit: 1, ok: false }])
    expect(facts.unknownTools).toEqual([])
  })

  it('[H13] a call that failed or was refused changes nothing', () => {
    const session = new Session()
    session.tool(
      'Edit',
      { file_path: 'a.ts', old_string: 'x', new_string: 'y' },
      '<tool_use_error>String to replace not found in file.</tool_use_error>',
      true,
    )
    session.tool(
      'Write',
      { file_path: 'b.ts', content: 'x' },
      "The user doesn't want to proceed with this tool use. The tool use was rejected.",
      true,
    )
    session.call('Write', { file_path: 'c.ts', content: 'x' })
    const facts = session.ledger()
    expect(changes(facts)).toEqual([])
    expect(facts.failures).toMatchObject([
      { kind: 'tool', what: 'Edit a.ts', message: 'String to replace not found in file.' },
    ])
    expect(facts.decisions).toMatchObject([{ text: 'Rejected: Write b.ts', by: 'user' }])
    expect(facts.inFlight).toMatchObject([{ tool: 'Write', what: 'Write c.ts', interrupted: false }])
  })

  it('[H13] a failed edit is resolved by a later change of the same file', () => {
    const session = new Session()
    session.tool('Edit', { file_path: 'a.ts', old_string: 'x', new_string: 'y' }, 'String to replace not found', true)
    session.tool('Edit', { file_path: 'b.ts', old_string: 'x', new_string: 'y' }, 'updated')
    expect(unresolved(session.ledger())).toEqual(['Edit a.ts'])
    session.bash('sed -i s/x/y/ a.ts')
    expect(unresolved(session.ledger())).toEqual([])
  })

  it('[H13] an output in a blob is judged by its preview', () => {
    const session = new Session()
    const preview = 'Exit code 1\n> vitest\n[…]\n Tests  2 failed | 3 passed (5)\n'
    session.tool(
      'Bash',
      { command: 'npx vitest run' },
      { type: 'blob', sha256: 'f'.repeat(64), bytes: 99_999, mediaType: 'text/plain', preview },
      true,
    )
    expect(session.ledger().tests).toMatchObject([{ runner: 'vitest', failed: 2, passed: 3, ok: false }])
  })
})
