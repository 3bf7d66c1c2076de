// Codex's code mode: commands and files of scripts, with and without what newer versions record as it happens.

import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { callsIn } from '../../src/agents/codex/script.ts'
import { ledger } from '../../src/handoff/index.ts'
import { sessionEntries } from '../../src/transcripts/index.ts'
import { fileAt } from '../../src/transcripts/resolve.ts'
import { temporaryFolder } from '../support/workspace.ts'

const commands = (script: string) =>
  callsIn(script).map(({ name, arguments: args, sure }) => {
    const { cmd = args } = (args ?? {}) as { cmd?: unknown }
    return `${name}${sure ? '' : '?'} ${String(cmd)}`
  })

describe('the calls of a script [T2]', () => {
  test.each([
    ['one', 'text(await tools.exec_command({ cmd: "go vet ./..." }))', ['exec_command go vet ./...']],
    [
      'several at once',
      'await Promise.all([tools.exec_command({cmd: "ls"}), tools["exec_command"]({cmd: `pwd`})])',
      ['exec_command ls', 'exec_command pwd'],
    ],
    [
      'of a list',
      'const all = ["ls a", "ls b"]; await Promise.all(all.map((cmd) => tools.exec_command({ cmd })))',
      ['exec_command ls a', 'exec_command ls b'],
    ],
    [
      'in a loop over pairs',
      'for (const [name, at] of [["one", 1], ["two", 2]]) await tools.exec_command({ cmd: `echo ${name} ${at}` })',
      ['exec_command echo one 1', 'exec_command echo two 2'],
    ],
    [
      'by a function of the script',
      'const run = async (cmd, dir = ".") => (await tools.exec_command({ cmd: `cd ${dir} && ${cmd}` })).output\ntext(await run("make", "lib"))',
      ['exec_command cd lib && make'],
    ],
    [
      'a patch put together line by line',
      'const patch = ["*** Begin Patch", "*** Delete File: a.c", "*** End Patch"].join("\\n")\nawait tools.apply_patch(patch)',
      ['apply_patch *** Begin Patch\n*** Delete File: a.c\n*** End Patch'],
    ],
    [
      'what is computed is unknown',
      'const out = await tools.exec_command({ cmd: "git diff --name-only" })\nfor (const file of out.output.split("\\n")) await tools.exec_command({ cmd: `wc -l ${file}` })',
      ['exec_command git diff --name-only', 'exec_command? wc -l ${file}'],
    ],
    [
      'what changes is unknown',
      'let cmd = "ls"; cmd += " -l"; await tools.exec_command({ cmd })',
      ['exec_command ${cmd}'],
    ],
    [
      'a branch may not be taken',
      'const a = await tools.exec_command({ cmd: "make" }); if (a.exit_code !== 0) await tools.exec_command({ cmd: "make clean" })',
      ['exec_command make', 'exec_command? make clean'],
    ],
    ['no JavaScript', 'tools.exec_command({ cmd: "ls" ', []],
  ])('%s', (_name, script, expected) => {
    expect(commands(script)).toEqual(expected)
  })
})

const folder = '/home/ada/mill'
let minute = 0

function line(type: string, payload: object): object {
  return { timestamp: new Date(Date.UTC(2026, 4, 4, 9, minute++)).toISOString(), type, payload }
}

const event = (payload: object) => line('event_msg', payload)
const item = (payload: object) => line('response_item', payload)

function cell(id: string, script: string, status: string, ...printed: string[]): object[] {
  const head = `Script ${status}\nWall time 0.4 seconds\nOutput:\n`
  const output = [head, ...printed].map((text) => ({ type: 'input_text', text }))
  return [
    item({ type: 'custom_tool_call', call_id: id, name: 'exec', input: script }),
    item({ type: 'custom_tool_call_output', call_id: id, output }),
  ]
}

async function factsOf(...lines: object[]) {
  const file = path.join(temporaryFolder(), 'rollout.jsonl')
  const all = [
    line('session_meta', { id: '01a1b2c3-0000-7000-8000-000000000001', cwd: folder }),
    item({ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Grind the corn' }] }),
    ...lines,
  ]
  fs.writeFileSync(file, all.map((each) => JSON.stringify(each)).join('\n'))
  return ledger(sessionEntries(fileAt(file)))
}

const shown = ({ command, ok, exit }: { command: string; ok: boolean | undefined; exit?: number }) => [
  command,
  ok,
  exit,
]

test('commands are taken from the script, and how they ended from what it printed [T2]', async () => {
  const both =
    'for (const cmd of ["make all", "make check"]) text(await tools.exec_command({ cmd, workdir: "/home/ada/mill/sub" }))'
  const facts = await factsOf(
    ...cell(
      'c1',
      both,
      'completed',
      '{"exit_code":0,"output":"built"}',
      '{"exit_code":2,"output":"error: stone is dull"}',
    ),
    ...cell(
      'c2',
      'const r = await tools.exec_command({ cmd: "make run" }); text(r.output)',
      'completed',
      'ground 3 sacks',
    ),
    ...cell(
      'c3',
      'await tools.exec_command({ cmd: "make a" }); await tools.exec_command({ cmd: "echo x > log.txt" })',
      'completed',
    ),
  )
  expect(facts.commands.map(shown)).toEqual([
    ['make all', true, 0],
    ['make check', false, 2],
    ['make run', true, undefined],
    ['make a', undefined, undefined],
    ['echo x > log.txt', undefined, undefined],
  ])
  expect(facts.commands[0]).toMatchObject({ cwd: 'sub' })
  expect(facts.files).toMatchObject([{ path: 'log.txt', uncertain: true }])
  expect(facts.failures).toMatchObject([{ what: 'make check', message: 'error: stone is dull' }])
})

test('changed files are those that Codex recorded, whatever the script looks like [T2]', async () => {
  const changes = {
    [`${folder}/src/wheel.c`]: { type: 'update', unified_diff: '@@ -1 +1,2 @@\n-a\n+b\n+c\n', move_path: null },
    [`${folder}/src/old.c`]: {
      type: 'update',
      unified_diff: '@@ -1 +1 @@\n-a\n+b\n',
      move_path: `${folder}/src/new.c`,
    },
    [`${folder}/doc.md`]: { type: 'add', content: 'one\ntwo\n' },
    [`${folder}/gone.c`]: { type: 'delete', content: 'x\n' },
  }
  const failed = { [`${folder}/never.c`]: { type: 'update', unified_diff: '@@ -1 +1 @@\n-a\n+b\n' } }
  const [call, output] = cell('c1', 'await tools.apply_patch(await tools.load("patch"))', 'completed', '{}')
  const facts = await factsOf(
    call!,
    event({ type: 'patch_apply_end', call_id: 'exec-1', success: true, stdout: 'Success.', changes }),
    event({ type: 'patch_apply_end', call_id: 'exec-2', success: false, stderr: 'no such lines', changes: failed }),
    output!,
  )
  const changed = facts.files.filter(({ state }) => state === 'changed')
  expect(changed.map(({ path, action, added, removed, from }) => [path, action, added, removed, from])).toEqual([
    ['src/wheel.c', 'edited', 2, 1, undefined],
    ['src/new.c', 'renamed', 1, 1, 'src/old.c'],
    ['doc.md', 'created', 2, 0, undefined],
    ['gone.c', 'deleted', undefined, undefined, undefined],
  ])
})

test('changes that bear the id of their script count, each once [T2]', async () => {
  const one = { [`${folder}/one.c`]: { type: 'add', content: 'x\n' } }
  const two = { [`${folder}/two.c`]: { type: 'add', content: 'y\n' } }
  const [call, output] = cell(
    'c1',
    'await tools.apply_patch(first); await tools.apply_patch(second)',
    'completed',
    '{}',
  )
  const facts = await factsOf(
    call!,
    event({ type: 'item_completed', item: { type: 'FileChange', id: 'c1', status: 'completed', changes: one } }),
    event({ type: 'patch_apply_end', call_id: 'c1', success: true, stdout: 'Success.', changes: one }),
    event({ type: 'patch_apply_end', call_id: 'c1', success: true, stdout: 'Success.', changes: two }),
    output!,
  )
  expect(facts.files.map(({ path, action, added }) => [path, action, added])).toEqual([
    ['one.c', 'created', 1],
    ['two.c', 'created', 1],
  ])
})

test('what Codex recorded as it happened replaces what the script says; a late end finds its command [T2]', async () => {
  const ended = (id: string, command: string, exit_code: number, cwd = folder) =>
    event({
      type: 'item_completed',
      item: {
        type: 'CommandExecution',
        id,
        command: ['/bin/bash', '-lc', command],
        cwd: `file://${cwd}`,
        status: exit_code === 0 ? 'completed' : 'failed',
        aggregated_output: exit_code === 0 ? '' : 'error: too dry',
        exit_code,
      },
    })
  const [call, output] = cell(
    'c1',
    'for (const f of load("files")) await tools.exec_command({ cmd: `sift ${f}` })',
    'completed',
  )
  const [slow, running] = cell('c2', 'await tools.exec_command({ cmd: "sleep 90" })', 'running with cell ID 2')
  const facts = await factsOf(
    call!,
    ended('exec-1', 'sift rye', 0),
    ended('exec-2', 'sift oats', 1, `${folder}/loft`),
    output!,
    slow!,
    running!,
    item({ type: 'function_call', call_id: 'w1', name: 'wait', arguments: '{"cell_id":"2"}' }),
    ended('exec-3', 'sleep 90', 0),
    item({
      type: 'function_call_output',
      call_id: 'w1',
      output: [{ type: 'input_text', text: 'Script completed\nOutput:\n' }],
    }),
    // A call of the model itself is recorded under its own id, and counts once.
    item({ type: 'function_call', call_id: 'own', name: 'exec_command', arguments: '{"cmd":"make"}' }),
    ended('own', 'make', 0),
    item({ type: 'function_call_output', call_id: 'own', output: 'Process exited with code 0\nOutput:\n' }),
    event({ type: 'task_complete' }),
  )
  expect(facts.commands.map((each) => [...shown(each), each.times, each.cwd])).toEqual([
    ['sift rye', true, 0, 1, undefined],
    ['sift oats', false, 1, 1, 'loft'],
    ['sleep 90', true, 0, 1, undefined],
    ['make', true, 0, 1, undefined],
  ])
})

test('a turn that was cut off leaves its script without a result [T2]', async () => {
  const [call] = cell('c1', 'await tools.exec_command({ cmd: "make flood" })', 'completed')
  const facts = await factsOf(call!, event({ type: 'turn_aborted', reason: 'interrupted' }))
  expect(facts.commands).toEqual([])
  expect(facts.inFlight).toMatchObject([{ what: 'make flood' }])
})
