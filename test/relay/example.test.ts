import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { expect, onTestFinished, test } from 'vitest'
import { baton, records } from '../cli/cli.ts'
import { temporaryFolder } from '../support/workspace.ts'

const root = path.resolve(import.meta.dirname, '../..')

async function bundle(example = 'relay-team'): Promise<string> {
  const folder = fs.realpathSync(temporaryFolder())
  fs.symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'))
  const outfile = path.join(folder, 'team.mjs')
  const entryPoints = [fileURLToPath(new URL(`../../examples/${example}.ts`, import.meta.url))]
  await build({ entryPoints, outfile, bundle: true, platform: 'node', format: 'esm', packages: 'external' })
  return outfile
}

test('the example: a team in three processes, and a person who answers when they like [P6, P7, P8, P9]', async () => {
  const script = await bundle()
  const cwd = fs.realpathSync(temporaryFolder())
  const start = (role: string): ChildProcess => {
    const child = spawn(process.execPath, [script, role], { cwd, stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    return child
  }
  const run = async (role: string): Promise<string> => {
    const child = start(role)
    let out = ''
    child.stdout!.setEncoding('utf8').on('data', (text: string) => (out += text))
    expect(await once(child, 'close')).toEqual([0, null])
    return out.trim()
  }
  expect(await run('setup')).toBe('baton.config.json is written')
  expect((await baton(cwd, ['relay', 'check'])).code).toBe(0)
  const serving = ['researcher', 'orchestrator'].map(start)

  const waiting = await run('generator')
  expect(waiting).toMatch(/^waiting for a person: e\d+$/)
  const [asked] = records(await baton(cwd, ['escalations', 'ls', '--json']))
  expect(asked).toMatchObject({
    from: 'generator',
    missing: [{ key: 'budget', expectedType: 'number' }],
    recommendations: [expect.stringContaining('Say what is missing.') as string],
  })
  expect(records(await baton(cwd, ['escalations', 'ls', '--json']))).toHaveLength(1)
  const answer = await baton(cwd, ['escalations', 'answer', String(asked!.id), '--input', 'budget=5000'])
  expect(answer.code).toBe(0)

  expect(await run('generator')).toBe('plan.md is written')
  expect(fs.readFileSync(path.join(cwd, 'plan.md'), 'utf8')).toBe(
    '# Plan\n\nBudget: 5000 €\n\nMarket: {"size":1200,"growth":0.04}\n',
  )
  const [status] = records(await baton(cwd, ['relay', 'status', '--json']))
  expect(status).toMatchObject({ pending: 0, claimed: 0, escalated: 0, counters: { requests: 3, resolved: 3 } })
  for (const child of serving) {
    child.kill('SIGTERM')
    expect(await once(child, 'close')).toEqual([0, null])
  }
})

test('the example of two agents: in one process, and with the worker in another, without a configuration [P2]', async () => {
  const script = await bundle('two-agents')
  const cwd = fs.realpathSync(temporaryFolder())
  const env = { ...process.env, BATON_HOME: path.join(cwd, '.baton') }
  const start = (...roles: string[]) => {
    const child = spawn(process.execPath, [script, ...roles], { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    return child
  }
  const printed = async (child: ChildProcess): Promise<string> => {
    let out = ''
    child.stdout!.setEncoding('utf8').on('data', (text: string) => (out += text))
    expect(await once(child, 'close')).toEqual([0, null])
    return out.trim()
  }
  expect(await printed(start())).toBe('134506')
  start('researcher')
  expect(await printed(start('writer'))).toBe('134506')
})
