// The scripted agent proves the supervisor only if it is honest: it must not know what it was not told.

import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ScriptedAgent } from '../../src/demo/agent.ts'
import { makeSample } from '../../src/demo/setup.ts'
import { listSessions } from '../../src/transcripts/index.ts'
import { temporaryFolder } from '../support/workspace.ts'

const never = new AbortController().signal
const quiet = () => undefined

function stage(modules?: number) {
  const folder = fs.realpathSync(temporaryFolder())
  const sample = makeSample(path.join(folder, 'till'), modules)
  const home = path.join(folder, 'agent')
  const options = { cwd: sample.folder, home, window: 60_000, growth: 6_000, pace: 0, perTurn: 4 }
  const agent = (session?: string) => new ScriptedAgent({ ...options, ...(session === undefined ? {} : { session }) })
  const document = path.join(folder, 'handoff.md')
  return { folder, sample, home, agent, document }
}

function tests(project: string): { passed: number; failed: number } {
  const { NODE_TEST_CONTEXT: _inner, ...env } = process.env
  const { stdout } = spawnSync(process.execPath, ['--test'], { cwd: project, env, encoding: 'utf8' })
  const count = (word: string) => Number(new RegExp(`^# ${word} (\\d+)$`, 'm').exec(stdout)?.[1])
  return { passed: count('pass'), failed: count('fail') }
}

const ask = (file: string) => `Create handoff document now - context at 90%. Write it to ${file} in Markdown.`
const resume = (file: string) => `Read handoff from ${file} and resume work.`

test('the sample is a plain folder on a machine without git', () => {
  const before = process.env.PATH
  process.env.PATH = temporaryFolder()
  onTestFinished(() => void (process.env.PATH = before))
  const { sample } = stage()
  expect(fs.existsSync(path.join(sample.folder, 'test/till.test.js'))).toBe(true)
  expect(fs.existsSync(path.join(sample.folder, '.git'))).toBe(false)
})

describe('the scripted agent', () => {
  test('finishes the job over two contexts, with what its handoff document says', async () => {
    const { sample, agent, document } = stage(4)
    const one = agent()
    await one.turn(sample.task, quiet, never)
    expect(one.filled).toBeGreaterThan(85)
    await one.turn(ask(document), quiet, never)
    one.clear()
    expect(one.filled).toBeLessThan(10)
    await one.turn(resume(document), quiet, never)
    expect(tests(sample.folder)).toEqual({ passed: 8, failed: 0 })
  })

  test('fails the job when the document lost a value', async () => {
    const { sample, agent, document } = stage(6)
    const one = agent()
    await one.turn(sample.task, quiet, never)
    await one.turn(ask(document), quiet, never)
    const text = fs.readFileSync(document, 'utf8')
    fs.writeFileSync(document, text.replace(/^- `drawer` is .*\n/m, '').replace(/^- `stamp vat` is .*\n/m, ''))
    one.clear()
    await one.turn(resume(document), quiet, never)
    await one.turn('go on', quiet, never)
    expect(tests(sample.folder)).toEqual({ passed: 10, failed: 2 })
  })

  test('knows nothing in a fresh context without a document', async () => {
    const { sample, agent } = stage(2)
    const one = agent()
    await one.turn(sample.task, quiet, never)
    one.clear()
    const said: string[] = []
    await one.turn('go on', (line) => said.push(line), never)
    expect(said).toEqual(['● What is there to do? Nobody has said.'])
  })

  test('goes on with a session that is opened again, and stops when it is told to', async () => {
    const { sample, home, agent } = stage(8)
    const one = agent()
    await one.turn(sample.task, quiet, never)
    const session = one.session!
    const [listed] = listSessions({ env: { PI_CODING_AGENT_DIR: home, HOME: home } })
    expect(listed).toMatchObject({ id: session, agent: 'pi', cwd: sample.folder, turns: 1, damaged: 0 })
    expect(listed!.meter).toMatchObject({ tokens: 58_000, window: 60_000 })
    const again = agent(session)
    expect(again.filled).toBe(one.filled)
    await again.turn('go on', quiet, AbortSignal.abort())
    const lines: string[] = []
    await again.turn('go on', (line) => lines.push(line), never)
    expect(lines[0]).toBe('● I write src/drawer.js.')
    expect(agent('no-such-session').session).toBeUndefined()
  })
})
