// Whose a path is and whether it changed: folders of lines, subagents, edits that are taken back, calls that were never made.

import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { phaseLedger } from '../../../../src/handoff/index.ts'
import { Tape } from '../../../../src/tape/index.ts'
import { importSession } from '../../../../src/transcripts/index.ts'
import { listSessions } from '../../../../src/transcripts/index.ts'
import { fileAt } from '../../../../src/transcripts/resolve.ts'
import { openStore } from '../../../../src/store/index.ts'
import { temporaryFolder } from '../../../support/workspace.ts'
import { changes, Session } from '../session.ts'

const place = (cwd: string) => ({ name: 'session', data: { cwd } })

describe('the folder of a line [H13]', () => {
  test('is the one that the agent names, whatever was typed before; the project stays where it began', () => {
    const session = new Session()
    session.add('event', place('/home/ben/farm'))
    session.bash('cd fields/north && ls')
    // Claude Code went back by itself: its next line says so by not naming another folder.
    session.bash('echo hay >> stock.txt')
    session.add('event', place('/home/ben/farm/barn'))
    session.bash('touch door.txt')
    session.tool('Write', { file_path: '/home/ben/farm/barn/roof.txt', content: 'tin\n' })
    session.tool('Write', { file_path: 'stalls/hook.txt', content: 'iron\n' })
    session.add('event', place('/home/ben/farm'))
    session.tool('Write', { file_path: 'well/rope.txt', content: 'hemp\n' })
    session.bash('touch gate.txt')
    const facts = session.ledger()
    expect(changes(facts)).toEqual([
      'created barn/door.txt',
      'created barn/roof.txt',
      'created barn/stalls/hook.txt',
      'created gate.txt',
      'created well/rope.txt',
      'edited stock.txt',
    ])
    expect(facts.git?.cwd).toBe('/home/ben/farm')
  })

  test('a session that ends in another folder still belongs to its project', () => {
    const home = temporaryFolder()
    const file = path.join(home, '.claude', 'projects', 'p', 'moved.jsonl')
    fs.mkdirSync(path.dirname(file), { recursive: true })
    const line = (n: number, cwd: string) => ({
      type: 'user',
      uuid: `u${n}`,
      parentUuid: n === 0 ? null : `u${n - 1}`,
      sessionId: 'moved',
      cwd,
      message: { role: 'user', content: `Step ${n}` },
    })
    const lines = ['/home/ben/farm', '/home/ben/farm/barn', '/tmp'].map((cwd, n) => JSON.stringify(line(n, cwd)))
    fs.writeFileSync(file, `${lines.join('\n')}\n`)
    expect(listSessions({ env: { HOME: home } })).toMatchObject([{ id: 'moved', cwd: '/home/ben/farm' }])
  })
})

describe('an edit that another takes back [H13]', () => {
  const edit = (before: string, after: string) => ({ file_path: 'a.ts', old_string: before, new_string: after })

  test('leaves the file as it was', () => {
    const session = new Session()
    session.tool('Edit', edit('limit = 5', 'limit = 50'))
    session.tool('Edit', edit('name = "x"', 'name = "y"'))
    session.tool('Edit', edit('limit = 50', 'limit = 5'))
    expect(changes(session.ledger())).toEqual(['edited a.ts'])
    session.tool('Edit', edit('name = "y"', 'name = "x"'))
    expect(changes(session.ledger())).toEqual([])
    session.tool('Edit', edit('limit = 5', 'limit = 6'))
    expect(changes(session.ledger())).toEqual(['edited a.ts'])
  })

  test('also as a patch; but not where something else changed the file', () => {
    const patch = (before: string, after: string) =>
      `*** Begin Patch\n*** Update File: b.ts\n@@\n const x = 1\n-${before}\n+${after}\n*** End Patch\n`
    const session = new Session()
    session.tool('apply_patch', { input: patch('one', 'two') }, 'Success.')
    session.tool('apply_patch', { input: patch('two', 'one') }, 'Success.')
    expect(changes(session.ledger())).toEqual([])
    session.tool('apply_patch', { input: patch('one', 'two') }, 'Success.')
    session.bash('sed -i s/x/y/ b.ts')
    session.tool('apply_patch', { input: patch('two', 'one') }, 'Success.')
    expect(changes(session.ledger())).toEqual(['edited b.ts'])
  })
})

test.each([
  'exec_command failed: CreateProcess { message: "Rejected(\\"`rm -rf old` rejected: not permitted here\\")" }',
  'PreToolUse:Bash hook error: removals are not allowed',
  'Permission to use Bash with command rm -rf old has been denied.',
])('a command that a policy refused was not run: %s [H13]', (answer) => {
  const session = new Session()
  session.tool('exec_command', { cmd: 'rm -rf old' }, answer)
  const facts = session.ledger()
  expect({ changes: changes(facts), commands: facts.commands, failures: facts.failures }).toEqual({
    changes: [],
    commands: [],
    failures: [],
  })
})

describe('todos [H13]', () => {
  const written = () => {
    const session = new Session()
    session.tool('TodoWrite', { todos: [{ content: 'mow', status: 'pending' }] })
    return session
  }

  test('are gone where the agent has no list any more', () => {
    const empty = written()
    empty.tool('TaskList', {}, 'No tasks found')
    expect(empty.ledger().todos).toEqual([])
    const disabled = written()
    disabled.tool('TaskCreate', { subject: 'rake' }, 'TaskCreate is disabled for this session', true)
    expect(disabled.ledger().todos).toEqual([])
  })

  test('of a subagent are its own, like its words', () => {
    const session = written()
    const aside = { isSidechain: true, context: false }
    const todos = [{ content: 'count sheep', status: 'pending' }]
    session.add('tool_call', { calls: [{ id: 's', name: 'TodoWrite', arguments: { todos } }] }, aside)
    session.add('tool_result', { results: [{ call_id: 's', name: 'TodoWrite', output: 'ok' }] }, aside)
    session.add('message', { role: 'assistant', content: 'All sheep counted.' }, aside)
    expect(session.ledger()).toMatchObject({ todos: [{ text: 'mow' }], lastWords: undefined, inFlight: [] })
  })
})

test('the subject of a commit is read from its here-document [H13]', () => {
  const session = new Session()
  session.bash("git add -A && git commit -q -F - <<'EOF'\nPlant the hedge\n\nIt keeps the wind out.\nEOF")
  expect(session.ledger().deeds).toMatchObject([{ text: 'Committed Plant the hedge' }])
})

describe('what a subagent changed counts as changed [H13]', () => {
  const project = '/home/ben/farm'
  const line = (session: string, n: number, rest: object) => ({
    uuid: `${session}-${n}`,
    parentUuid: n === 0 ? null : `${session}-${n - 1}`,
    sessionId: 'boss',
    cwd: project,
    timestamp: `2026-02-02T10:00:0${n}.000Z`,
    ...rest,
  })
  const asked = { type: 'user', message: { role: 'user', content: 'Fence the field' } }
  const wrote = (file: string) => [
    {
      type: 'assistant',
      message: {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'w', name: 'Write', input: { file_path: file, content: 'x\n' } }],
      },
    },
    { type: 'user', message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'w', content: 'done' }] } },
  ]
  const save = (file: string, lines: readonly object[]) => {
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, lines.map((each) => `${JSON.stringify(each)}\n`).join(''))
  }
  const changed = async (file: string) => {
    const store = await openStore(path.join(temporaryFolder(), '.baton'))
    const { tape } = await importSession(store, fileAt(file), { env: { HOME: temporaryFolder() } })
    const facts = await phaseLedger(new Tape(store, tape))
    await store.close()
    return changes(facts)
  }

  test('where its lines are reported as progress', async () => {
    const file = path.join(temporaryFolder(), 'boss.jsonl')
    const told = wrote(`${project}/fence.txt`).map((message, n) => ({
      type: 'progress',
      data: { type: 'agent_progress', prompt: 'Fence', agentId: 'a1', message: { ...message, uuid: `in-${n}` } },
    }))
    save(
      file,
      [asked, ...told].map((each, n) => line('boss', n, each)),
    )
    expect(await changed(file)).toEqual(['created fence.txt'])
  })

  test('where it has a file of its own beside the session', async () => {
    const folder = temporaryFolder()
    save(path.join(folder, 'boss.jsonl'), [line('boss', 0, asked)])
    const own = [{ type: 'user', message: { role: 'user', content: 'Paint it' } }, ...wrote(`${project}/gate.txt`)]
    save(
      path.join(folder, 'boss', 'subagents', 'agent-a2.jsonl'),
      own.map((each, n) => ({ ...line('a2', n, each), isSidechain: true, agentId: 'a2' })),
    )
    expect(await changed(path.join(folder, 'boss.jsonl'))).toEqual(['created gate.txt'])
  })
})
