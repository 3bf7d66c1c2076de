// A whole conversation through the loop: the tools, the policy and the tape as a model and a person meet them.

import fs from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { codingTools, permissionPolicy, type Question } from '../../../src/agent/index.ts'
import { type Api, type ModelRequest, type Reply, say } from '../../support/model-server/index.ts'
import { collect, temporaryFolder } from '../../support/workspace.ts'
import { scene } from '../harness.ts'
import { isAlive, numberIn } from '../../support/processes.ts'

/** Several calls in one step. */
function calls(...made: [name: string, input: Record<string, unknown>][]): Reply {
  return { toolCalls: made.map(([name, input]) => ({ name, arguments: input })) }
}

/** The results of the last step, by the name of the tool. */
function results(request: ModelRequest): Record<string, string> {
  const last = request.messages.findLast(({ role }) => role === 'tool')
  return Object.fromEntries((last?.toolResults ?? []).map(({ name, text }) => [name, text]))
}

it.each<Api>(['chat-completions', 'responses', 'messages'])(
  'parallel calls, one denied, one asked about, a long output that is paged, and a handoff among them: %s [T20] [T25]',
  async (api) => {
    const cwd = fs.realpathSync(temporaryFolder())
    fs.writeFileSync(path.join(cwd, 'a.txt'), 'alpha\n')
    const questions: Question[] = []
    const steps: ((request: ModelRequest) => Reply)[] = [
      () =>
        calls(
          ['fs_read', { path: 'a.txt' }],
          ['fs_write', { path: '../escape.txt', content: 'x' }],
          ['bash', { command: 'seq 1 20000' }],
          ['fs_edit', { path: 'a.txt', old_string: 'alpha', new_string: 'beta' }],
        ),
      (request) => {
        const seen = results(request)
        expect(seen['fs_read']).toMatch(/^(?:alpha|beta)\n?$/)
        expect(seen['fs_write']).toMatch(/denied: .*escape\.txt is outside the workspace/)
        expect(seen['fs_edit']).toContain('Edited a.txt at line 1')
        const sha256 = /blob\.read sha256=([0-9a-f]{64})/.exec(seen['bash']!)![1]
        return calls(['blob_read', { sha256, offset: 60_000, length: 100 }])
      },
      (request) => {
        expect(JSON.parse(results(request)['blob_read']!)).toMatchObject({
          offset: 60_000,
          bytes: 100,
          next_offset: 60_100,
          content: Array.from({ length: 20_000 }, (_, i) => `${i + 1}\n`)
            .join('')
            .slice(60_000, 60_100),
        })
        return calls(
          ['fs_read', { path: 'a.txt' }],
          ['tape_handoff', { name: 'phase-1', summary: 'a.txt says beta', next_steps: 'tell the user' }],
          ['bash', { command: 'echo beside the handoff' }],
        )
      },
      (request) => {
        // The new context: the state and the prompt, then the whole of the step in which the handoff was made.
        const said = request.messages.filter(({ role }) => role === 'user')
        expect(request.messages.slice(-2).map(({ role }) => role)).toEqual(['assistant', 'tool'])
        expect(said[0]!.text).toContain('a.txt says beta')
        expect(said.at(-1)!.text).toContain('Change alpha to beta')
        expect(request.messages.at(-2)!.toolCalls.map(({ name }) => name)).toEqual(['fs_read', 'tape_handoff', 'bash'])
        const seen = results(request)
        expect(seen['fs_read']).toMatch(/^beta\n?$/)
        expect(seen['tape_handoff']).toContain('phase-1')
        expect(seen['bash']).toContain('beside the handoff')
        return say('Done: it says beta.')
      },
    ]
    let at = 0
    const { agent, of } = await scene(
      (request) => steps[at++]!(request),
      {
        cwd,
        tools: codingTools(),
        permissions: permissionPolicy({ cwd, allow: ['bash seq'] }),
        ask: async (question) => {
          questions.push(question)
          return 'always'
        },
      },
      api,
    )
    expect(await agent.submit('Change alpha to beta')).toMatchObject({ status: 'done', text: 'Done: it says beta.' })
    expect(at).toBe(4)
    expect(questions.map(({ name, always }) => [name, always])).toEqual([
      ['fs.edit', ['fs.edit **']],
      ['bash', ['bash echo beside the handoff (just so)']],
    ])
    expect(of('permission').map(({ name, answer }) => `${name} ${answer}`)).toEqual([
      'fs.write deny',
      'fs.edit always',
      'bash always',
    ])
    expect(fs.readFileSync(path.join(cwd, 'a.txt'), 'utf8')).toBe('beta\n')
    expect(fs.existsSync(path.join(cwd, '../escape.txt'))).toBe(false)
    expect(await agent.tape.anchors({ limit: 1 })).toMatchObject([{ name: 'phase-1' }])
  },
)

it('cancelling a turn ends its command and leaves the result on the tape', async () => {
  const cwd = temporaryFolder()
  const { agent, until } = await scene([calls(['bash', { command: 'echo $$ > pid; echo begun; sleep 1000' }])], {
    cwd,
    tools: codingTools(),
    permissions: permissionPolicy({ cwd, yes: true }),
  })
  const turn = agent.submit('Wait')
  await until((event) => event.type === 'tool-output')
  agent.abort()
  expect(await turn).toMatchObject({ status: 'aborted' })
  const [result] = await collect(agent.tape.entries({ kinds: ['tool_result'] }))
  expect(JSON.stringify(result!.payload)).toMatch(/begun.*Command aborted/)
  expect(isAlive(await numberIn(path.join(cwd, 'pid')))).toBe(false)
})

it('a child agent works on a fork with no more rights, and its words come back; its grandchildren have no children [T14]', async () => {
  const cwd = fs.realpathSync(temporaryFolder())
  const begun: string[] = []
  const ended: Record<string, string>[] = []
  const script = (request: ModelRequest): Reply => {
    const last = request.messages.at(-1)!
    // The words of a child come back as the result of the call, never as messages behind it.
    expect(last.role).not.toBe('assistant')
    if (last.role === 'tool') {
      ended.push(results(request))
      return say(`generation ${3 - ended.length}`)
    }
    begun.push(last.text)
    return calls(
      ['agent_spawn', { task: `task ${begun.length}`, name: `child-${begun.length}`, merge: true }],
      ['fs_write', { path: '../escape', content: '' }],
    )
  }
  const { agent } = await scene(script, {
    cwd,
    tools: codingTools(),
    permissions: permissionPolicy({ cwd, yes: true }),
  })
  expect(await agent.submit('Begin')).toMatchObject({ status: 'done', text: 'generation 0' })
  expect(begun).toEqual(['Begin', expect.stringMatching(/task 1$/), expect.stringMatching(/task 2$/)])
  expect(ended[0]!['agent_spawn']).toContain('cannot have children')
  expect(ended[1]!['agent_spawn']).toContain('"text":"generation 2"')
  expect(ended[2]!['agent_spawn']).toMatch(/"tape":"child-1","status":"done".*"text":"generation 1"/)
  for (const seen of ended) expect(seen['fs_write']).toMatch(/^denied: /)
  expect(fs.existsSync(path.join(cwd, '../escape'))).toBe(false)
  const told = (await collect(agent.tape.entries({ kinds: ['event'] }))).filter(
    ({ payload, meta }) => (payload as { name: string }).name === 'child_completed' && meta.origin === undefined,
  )
  expect(told).toMatchObject([{ payload: { data: { child: 'child-1' } } }])
  expect((await agent.tape.lineage()).descendants).toEqual(['child-1', 'child-2'])
})

it('cancelling ends the children too [T14]', async () => {
  const cwd = temporaryFolder()
  const script = (request: ModelRequest): Reply =>
    request.messages.at(-1)!.text.endsWith('wait')
      ? calls(['bash', { command: 'echo $$ > pid; echo begun; sleep 1000' }])
      : calls(['agent_spawn', { task: 'wait' }])
  const { agent } = await scene(script, {
    cwd,
    tools: codingTools(),
    permissions: permissionPolicy({ cwd, yes: true }),
  })
  const turn = agent.submit('Begin')
  const pid = await numberIn(path.join(cwd, 'pid'))
  agent.abort()
  expect(await turn).toMatchObject({ status: 'aborted' })
  await expect.poll(() => isAlive(pid)).toBe(false)
})
