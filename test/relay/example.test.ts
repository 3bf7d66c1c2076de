import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type PluginBuild } from 'esbuild'
import { expect, onTestFinished, test } from 'vitest'
import { baton, records } from '../cli/cli.ts'
import { temporaryFolder } from '../support/workspace.ts'

const root = path.resolve(import.meta.dirname, '../..')

async function bundle(example: string): Promise<string> {
  const folder = fs.realpathSync(temporaryFolder())
  fs.symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'))
  const outfile = path.join(folder, 'team.mjs')
  // Nobody has installed the package here.
  const plugins = [{ name: 'own', setup: takeOwnFromSource }]
  const options = { outfile, bundle: true, platform: 'node', format: 'esm', packages: 'external', plugins } as const
  await build({ entryPoints: [example], ...options })
  return outfile
}

function takeOwnFromSource(plugin: PluginBuild): void {
  plugin.onResolve({ filter: /^@baton\/baton\/relay$/ }, () => ({ path: path.join(root, 'src/relay/index.ts') }))
}

const exampleOf = (name: string) => fileURLToPath(new URL(`../../examples/${name}.ts`, import.meta.url))

/** The first program in a page of the docs. */
function programIn(page: string): string {
  const [, code] = /```ts\n([^]*?)```/.exec(fs.readFileSync(path.join(root, 'docs', page), 'utf8'))!
  const file = path.join(temporaryFolder(), 'program.ts')
  fs.writeFileSync(file, code!)
  return file
}

test('the example: a team in three processes, and a person who answers when they like [P6, P7, P8, P9]', async () => {
  const script = await bundle(exampleOf('relay-team'))
  const cwd = fs.realpathSync(temporaryFolder())
  const start = (role: string): ChildProcess => {
    const child = spawn(process.execPath, [script, role], { cwd, stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    return child
  }
  const run = (role: string): Promise<string> => printed(start(role))
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
  const script = await bundle(exampleOf('two-agents'))
  const cwd = fs.realpathSync(temporaryFolder())
  const env = { ...process.env, BATON_HOME: path.join(cwd, '.baton') }
  const start = (...roles: string[]) => {
    const child = spawn(process.execPath, [script, ...roles], { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    return child
  }
  expect(await printed(start())).toBe('134506')
  start('researcher')
  expect(await printed(start('writer'))).toBe('134506')
})

test('the program that opens the docs of the relay works as it is written there [P2]', async () => {
  const script = await bundle(programIn('relay.md'))
  const cwd = fs.realpathSync(temporaryFolder())
  const env = { ...process.env, BATON_HOME: path.join(cwd, '.baton') }
  expect(await printed(spawn(process.execPath, [script], { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] }))).toBe(
    '134506',
  )
})

/** What a program prints until it has ended well. */
async function printed(child: ChildProcess): Promise<string> {
  let out = ''
  child.stdout!.setEncoding('utf8').on('data', (text: string) => (out += text))
  expect(await once(child, 'close')).toEqual([0, null])
  return out.trim()
}
