import { describe, expect, it } from 'vitest'
import { ledger } from '../../../src/handoff/ledger/ledger.ts'
import { conversation, Session } from './session.ts'

describe('todos', () => {
  it('[H13] the latest list wins, also one whose call is still open', () => {
    const session = new Session()
    session.tool('TodoWrite', { todos: [{ content: 'a', status: 'pending' }] }, 'ok')
    expect(session.ledger().todos.map(({ text }) => text)).toEqual(['a'])
    session.call('TodoWrite', { todos: [{ content: 'c', status: 'in_progress' }] })
    expect(session.ledger().todos).toMatchObject([{ text: 'c', status: 'in_progress', id: 3 }])
  })

  it('[H13] single tasks are created, changed and deleted', () => {
    const session = new Session()
    session.tool('TaskCreate', { subject: 'Parse', description: 'd' }, 'Task #1 created successfully: Parse')
    session.tool('TaskCreate', { subject: 'Render', description: 'd' }, 'Task #2 created successfully: Render')
    session.tool('TaskCreate', { subject: 'Ship', description: 'd' }, 'Task #3 created successfully: Ship')
    session.tool('TaskUpdate', { taskId: '1', status: 'completed' }, 'Updated task #1')
    session.tool('TaskUpdate', { taskId: '2', status: 'deleted' }, 'Updated task #2')
    expect(session.ledger().todos.map(({ text, status }) => [text, status])).toEqual([
      ['Parse', 'completed'],
      ['Ship', 'pending'],
    ])
  })

  it('[H13] a list that is changed item by item is followed', () => {
    const session = new Session()
    session.tool('todo', { action: 'add', text: 'Parse' }, 'Added todo #1: Parse')
    session.tool('todo', { action: 'add', text: 'Render' }, 'Added todo #2: Render')
    session.tool('todo', { action: 'toggle', id: 1 }, 'Todo #1 completed')
    expect(session.ledger().todos.map(({ text, status }) => [text, status])).toEqual([
      ['Parse', 'completed'],
      ['Render', 'pending'],
    ])
    session.tool('todo', { action: 'toggle', id: 1 }, 'Todo #1 uncompleted')
    expect(session.ledger().todos[0]).toMatchObject({ text: 'Parse', status: 'pending' })
    session.tool('todo', { action: 'clear' }, 'Cleared')
    expect(session.ledger().todos).toEqual([])
  })

  it('[H9] those of the anchor that opens the phase stand until a new list comes', () => {
    const session = new Session()
    session.add('anchor', { name: 'phase-2', state: { todos: [{ text: 'carry on', status: 'pending' }] } })
    expect(session.ledger().todos).toMatchObject([{ text: 'carry on', id: 1 }])
    session.tool('update_plan', { plan: [] }, 'ok')
    expect(session.ledger().todos).toEqual([])
  })

  it('[H13] a checklist in a file or a message is not the list', () => {
    const session = new Session()
    session.tool('Write', { file_path: 'TODO.md', content: '- [ ] x' }, 'created')
    session.assistant('- [ ] y')
    expect(session.ledger().todos).toEqual([])
  })
})

describe('decisions', () => {
  it("[H13] the user's answers, approvals and refusals are the user's", () => {
    const session = new Session()
    const questions = [
      { question: 'Which database?', header: 'DB', options: [{ label: 'SQLite' }, { label: 'PostgreSQL' }] },
    ]
    session.tool(
      'AskUserQuestion',
      { questions },
      'User has answered your questions: "Which database?"="SQLite". You can now continue.',
    )
    session.tool(
      'request_user_input',
      { questions: [{ id: 'q1', question: 'Name?', options: [] }] },
      JSON.stringify({ answers: { q1: { answers: ['baton'] } } }),
    )
    session.tool(
      'ExitPlanMode',
      { plan: '# Split the parser\n\n1. …' },
      'User has approved your plan. You can now start coding.',
    )
    session.tool('Bash', { command: 'git push --force' }, "The user doesn't want to proceed with this tool use.", true)
    expect(
      session.ledger().decisions.map(({ text, by, source, ruledOut }) => ({ text, by, source, ruledOut })),
    ).toEqual([
      { text: 'Which database? → SQLite', by: 'user', source: 'answer', ruledOut: 'PostgreSQL' },
      { text: 'Name? → baton', by: 'user', source: 'answer', ruledOut: undefined },
      { text: 'Approved plan: Split the parser', by: 'user', source: 'plan', ruledOut: undefined },
      { text: 'Rejected: git push --force', by: 'user', source: 'answer', ruledOut: undefined },
    ])
    expect(session.ledger().commands).toEqual([])
  })

  it('[H13] those of an anchor are kept with their reasons', () => {
    const session = new Session()
    session.add('anchor', {
      name: 'p1',
      state: { decisions: ['Use zod', { decision: 'ESM only', rationale: 'simpler', alternatives: ['CJS', 'both'] }] },
    })
    expect(session.ledger()).toMatchObject({
      decisions: [
        { text: 'Use zod', source: 'anchor' },
        { text: 'ESM only', why: 'simpler', ruledOut: 'CJS, both' },
      ],
      noted: { id: 1, name: 'p1' },
    })
  })
})

describe('open questions', () => {
  it('[H13] one that the last words end with, until the user speaks', () => {
    const session = new Session()
    const id = session.assistant('All done.\n\nThere are two ways. Which database should I use? 🙂')
    expect(session.ledger().questions).toEqual([{ text: 'Which database should I use?', source: 'text', id }])
    session.user('SQLite')
    expect(session.ledger().questions).toEqual([])
    session.assistant('应该用哪个数据库？')
    expect(session.ledger().questions).toMatchObject([{ text: '应该用哪个数据库？' }])
    session.assistant('Going on with SQLite.')
    expect(session.ledger().questions).toEqual([])
  })

  it('[H13] one asked with a tool, open or dismissed', () => {
    const session = new Session()
    session.tool(
      'AskUserQuestion',
      { questions: [{ question: 'Old?' }] },
      "The user doesn't want to proceed with this tool use.",
      true,
    )
    expect(session.ledger().questions).toMatchObject([{ text: 'Old?', source: 'tool' }])
    session.user('later')
    session.call('AskUserQuestion', { questions: [{ question: 'New?', options: [{ label: 'a' }, { label: 'b' }] }] })
    expect(session.ledger().questions).toEqual([{ text: 'New?', options: ['a', 'b'], source: 'tool', id: 4 }])
  })
})

describe('what still runs', () => {
  it("[H13] Claude Code's background shells, until they end or are killed", () => {
    const session = new Session()
    session.tool(
      'Bash',
      { command: 'npm run dev', run_in_background: true },
      'Command running in background with ID: b1',
    )
    session.tool('Bash', { command: 'npm test', run_in_background: true }, 'Command running in background with ID: b2')
    session.tool('Bash', { command: 'sleep 99', run_in_background: true }, 'Command running in background with ID: b3')
    session.tool('Bash', { command: 'make', run_in_background: true }, 'Command running in background with ID: b4')
    const seen = session.tool('BashOutput', { bash_id: 'b1' }, '<status>running</status>\n<stdout>ready</stdout>')
    session.tool(
      'BashOutput',
      { bash_id: 'b2' },
      '<status>completed</status>\n\n<exit_code>1</exit_code>\n\n<stdout>\n Tests  1 failed (1)\n</stdout>',
    )
    session.tool('KillShell', { shell_id: 'b3' }, 'Successfully killed shell')
    session.user('<task-notification>\n<task-id>b4</task-id>\n<status>completed</status>\n</task-notification>')
    const facts = session.ledger()
    expect(facts.background).toEqual([{ command: 'npm run dev', handle: 'b1', startedId: 1, lastId: seen }])
    expect(facts.commands.map(({ command, ok }) => [command, ok])).toEqual([
      ['npm run dev', undefined],
      ['npm test', false],
      ['sleep 99', undefined],
      ['make', true],
    ])
    expect(facts.tests).toMatchObject([{ failed: 1, ok: false }])
    expect(facts.failures).toMatchObject([{ what: 'npm test' }])
  })

  it("[H13] Codex's sessions", () => {
    const session = new Session()
    session.tool(
      'exec_command',
      { cmd: 'npm run dev' },
      'Chunk ID: 1\nWall time: 1.0 seconds\nProcess running with session ID 7\nOutput:\nready',
    )
    session.tool(
      'exec_command',
      { cmd: 'make' },
      'Wall time: 1.0 seconds\nProcess running with session ID 8\nOutput:\n',
    )
    session.tool(
      'write_stdin',
      { session_id: 8, chars: '' },
      'Wall time: 1.0 seconds\nProcess exited with code 2\nOutput:\nmake: *** [all] Error 2',
    )
    const facts = session.ledger()
    expect(facts.background).toMatchObject([{ command: 'npm run dev', handle: '7' }])
    expect(facts.commands[1]).toMatchObject({ command: 'make', ok: false, exit: 2 })
  })

  it('[H13] what the shell itself left running', () => {
    const session = new Session()
    session.bash('npm run dev > dev.log 2>&1 &', '[1] 4711')
    session.bash('docker compose up -d')
    session.bash('tmux new-session -d -s web "npm start"')
    session.bash('python -m http.server & sleep 1; curl localhost; kill $!')
    expect(session.ledger().background.map(({ command, handle }) => [command, handle])).toEqual([
      ['npm run dev', '4711'],
      ['docker compose up -d', 'docker compose'],
      ['tmux new-session -d -s web npm start', 'tmux:web'],
    ])
    session.bash('kill 4711; docker compose down && tmux kill-session -t web')
    expect(session.ledger().background).toEqual([])
    session.bash('nohup node server.js &')
    session.bash('pkill -f "node server"')
    expect(session.ledger().background).toEqual([])
  })

  it('[H13] calls without a result: in flight at the end, interrupted when the talk went on', () => {
    const session = conversation('go')
    session.call('Bash', { command: 'npm test' })
    expect(session.ledger().inFlight).toEqual([
      { callId: 'call_1', tool: 'Bash', what: 'npm test', id: 2, interrupted: false },
    ])
    session.user('[Request interrupted by user for tool use]')
    expect(session.ledger().inFlight).toMatchObject([{ what: 'npm test', interrupted: true }])
    session.user('do something else')
    session.user('and more')
    expect(session.ledger().inFlight).toEqual([])
  })

  it('[H13] a change that was cut off may have taken place, and says so', () => {
    const session = conversation('go')
    session.tool('Read', { file_path: 'a.ts' }, 'x')
    session.call('Edit', { file_path: 'a.ts', old_string: 'x', new_string: 'y' })
    expect(session.ledger().files).toMatchObject([{ path: 'a.ts', state: 'read' }])
    session.user('[Request interrupted by user]')
    const facts = session.ledger()
    expect(facts.files).toMatchObject([{ path: 'a.ts', action: 'edited', uncertain: true, reads: 1, lastId: 4 }])
    expect(facts.counts.filesChanged).toBe(0)
  })

  it('[H13] subagents, done, failed and running', () => {
    const session = new Session()
    session.tool('Task', { description: 'Find', prompt: 'p', subagent_type: 'Explore' }, [
      { type: 'text', text: 'found' },
    ])
    session.tool('Task', { description: 'Break', prompt: 'p' }, 'no', true)
    session.tool(
      'Agent',
      { description: 'Watch', prompt: 'p', run_in_background: true },
      'Async agent launched successfully.\nagentId: a12 (internal)',
    )
    session.call('Task', { description: 'Late', prompt: 'p' })
    expect(session.ledger().subagents.map(({ task, status }) => [task, status])).toEqual([
      ['Find', 'done'],
      ['Break', 'failed'],
      ['Watch', 'running'],
      ['Late', 'running'],
    ])
    session.user('<task-notification>\n<task-id>a12</task-id>\n<status>completed</status>\n</task-notification>')
    expect(session.ledger().subagents[2]).toMatchObject({ status: 'done' })
  })
})

describe('what was done for good', () => {
  it('[H13] commits, tags, pushes and releases, in their order, each once', () => {
    const session = new Session()
    session.bash('git commit -qam "Start"')
    session.bash('git add . && git commit -m "Release 2"', '[main 45ffe0a] Release 2\n 4 files changed')
    session.bash(
      'git commit -m A && git commit -m B',
      '[main 1111111] A\n 1 file changed\n[main 2222222] B\n 1 file changed',
    )
    session.bash('kubectl rollout status deployment/shop')
    session.bash('git tag v2 && git push origin main', 'To example.org:r.git')
    session.bash('git tag -l')
    session.bash('git push --dry-run')
    session.bash('gh pr create --fill | tail -1', 'https://example.org/r/pull/7')
    session.bash('npm run release:minor')
    session.bash('npm publish', 'npm error code E403', 1)
    session.bash('git push origin main')
    expect(session.ledger().deeds.map(({ text }) => text)).toEqual([
      'Committed Start',
      'Committed 45ffe0a: Release 2',
      'Committed 1111111: A',
      'Committed 2222222: B',
      'Ran git tag v2',
      'Ran gh pr create --fill → https://example.org/r/pull/7',
      'Ran npm run release:minor',
      'Ran git push origin main',
    ])
  })

  it('[H13] what the assistant said at the end of each turn is kept', () => {
    const session = conversation('Rename it', 'Looking.')
    session.assistant('Renamed it to b.')
    session.user('Now the docs')
    session.talk('and the changelog', 'Both are done.')
    expect(session.ledger().replies.map(({ text }) => text)).toEqual(['Renamed it to b.'])
  })
})

describe('the phase as a whole', () => {
  it('[H13] an empty phase has no facts', () => {
    expect(ledger([])).toMatchObject({
      range: undefined,
      span: undefined,
      goal: undefined,
      files: [],
      git: undefined,
      counts: { entries: 0 },
    })
  })

  it('[H11] a summary that a compaction left is inherited, not said by the user', () => {
    const session = new Session()
    session.add('anchor', { name: 'session/start', state: { owner: 'human', cwd: '/w' } })
    const id = session.user('This session is being continued from a previous conversation. Summary: …')
    session.user('go on')
    expect(session.ledger()).toMatchObject({
      inherited: { id, name: 'compaction' },
      goal: { text: 'go on' },
      git: { cwd: '/w' },
      range: { from: 1, to: 3 },
    })
  })

  it('[H8] the context of a former session is inherited too', () => {
    const session = new Session()
    session.add('message', { role: 'user', customType: 'handoff', content: '<handoff-context>\nx\n</handoff-context>' })
    expect(session.ledger()).toMatchObject({ inherited: { id: 1, name: 'handoff' }, instructions: [] })
  })

  it('[H13] is plain JSON', () => {
    const session = conversation('go')
    session.bash('npm test', 'x', 1)
    const facts = session.ledger()
    expect(JSON.parse(JSON.stringify(facts))).toEqual(JSON.parse(JSON.stringify(structuredClone(facts))))
  })
})
