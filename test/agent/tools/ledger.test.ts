// What the tools leave on a tape is what a handoff is written from: the ledger has to understand them.

import fs from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { agentSpawn, bash, blobRead, fsEdit, fsRead, fsWrite } from '../../../src/agent/tools/index.ts'
import type { AgentTool } from '../../../src/agent/tools/tool.ts'
import { ledger } from '../../../src/handoff/index.ts'
import { temporaryFolder } from '../../support/workspace.ts'
import { bench } from './calling.ts'

it('the ledger of a handoff knows the files, the commands and how they ended', async () => {
  const cwd = fs.realpathSync(temporaryFolder())
  fs.writeFileSync(path.join(cwd, 'read.ts'), 'x')
  const { tape, call } = await bench(cwd, async () => ({ status: 'done', text: 'looked' }))
  const run = async (tool: AgentTool, input: unknown) => {
    const { output, isError } = await call(tool, input).catch((error: Error) => ({
      output: error.message,
      isError: true,
    }))
    const result = { call_id: 'call-1', name: tool.name, output, ...(isError === true ? { is_error: true } : {}) }
    await tape.append([{ kind: 'tool_result', payload: { results: [result] } }])
    return String(output)
  }
  await tape.record({ role: 'user', content: 'Work' })
  await run(fsRead, { path: 'read.ts' })
  await run(fsWrite, { path: 'new.ts', content: 'one\ntwo\n' })
  await run(fsEdit, { path: 'new.ts', old_string: 'two', new_string: 'three\nfour' })
  await run(fsEdit, { path: 'read.ts', old_string: 'not there', new_string: '' })
  await run(bash, { command: 'ls new.ts' })
  await run(bash, { command: 'make build' })
  await run(bash, { command: 'sleep 1000', timeout: 0.2 })
  const long = await run(bash, { command: 'seq 1 30000 | tee numbers.txt; exit 4' })
  await run(blobRead, { sha256: /sha256=(\w+)/.exec(long)![1] })
  await run(agentSpawn, { task: 'Look around', name: 'child' })

  const facts = await ledger(tape.entries(), { cwd })
  expect(facts.files.map(({ path, state, edits, reads }) => ({ path, state, edits, reads }))).toEqual([
    { path: 'read.ts', state: 'read', edits: 0, reads: 1 },
    { path: 'new.ts', state: 'changed', edits: 2, reads: 0 },
    { path: 'numbers.txt', state: 'changed', edits: 1, reads: 0 },
  ])
  expect(facts.unknownTools).toEqual([])
  expect(facts.subagents).toMatchObject([{ task: 'Look around' }])
  const commands = facts.commands.map(({ command, ok, exit }) => [command, ok, exit])
  expect(commands).toEqual([
    ['ls new.ts', true, 0],
    ['make build', false, expect.any(Number)],
    ['sleep 1000', false, undefined],
    ['seq 1 30000 | tee numbers.txt; exit 4', false, 4],
  ])
})
