import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { agents } from '../../src/agents/index.ts'
import { agentAbove, agentPrograms, ancestry, type Ancestor } from '../../src/system/index.ts'
import { temporaryFolder } from '../support/workspace.ts'

const baton: Ancestor = { pid: 9, args: ['node', '/usr/bin/claude', 'task', 'approve'], variables: ['HOME', 'PATH'] }
const shell: Ancestor = { pid: 8, args: ['-zsh'], variables: ['HOME', 'PATH'] }
const above = (args: string[], variables: string[] = []): Ancestor[] => [
  baton,
  shell,
  { pid: 7, args, variables },
  { pid: 1, args: ['/sbin/init'], variables: [] },
]

test('a shell on a terminal, over ssh or in tmux has no agent above it [D10]', () => {
  for (const args of [
    ['gnome-terminal'],
    ['sshd: anna@pts/3'],
    ['tmux: server'],
    ['/usr/share/code/code', '--type=ptyHost'],
    ['node', '/usr/bin/pin'],
    ['vim', 'claude'],
    [],
  ]) {
    expect(agentAbove(above(args))).toBeUndefined()
  }
})

test('an agent is known by its program, by the script that an interpreter runs, or by its title [D10]', () => {
  for (const args of [
    ['claude', '--resume'],
    ['claude --resume'],
    ['/home/me/.local/bin/codex', 'exec', 'do it'],
    ['node', '--no-warnings', '/usr/lib/node_modules/@google/gemini-cli/bundle/gemini.js'],
    ['node', '/opt/node_modules/@anthropic-ai/claude-code/cli.js'],
    ['/usr/bin/python3', '/usr/local/bin/aider'],
    ['bun', '/usr/bin/opencode'],
  ]) {
    expect(agentAbove(above(args))).toContain('(process 7) runs this command')
  }
  // Those that Baton can run are among them.
  for (const { program } of agents) expect(agentPrograms).toContain(program)
})

test('an agent is known by what it sets for its commands, wherever that was set [D10]', () => {
  expect(agentAbove(above(['sh'], ['PATH', 'CLAUDECODE']))).toContain('CLAUDECODE')
  expect(agentAbove([{ ...baton, variables: ['GEMINI_CLI'] }, shell])).toContain('process 9')
  expect(agentAbove(above(['my-own-agent'], ['BATON_AGENT']))).toContain('BATON_AGENT')
})

const lookups = fs.existsSync('/proc/self/stat') ? (['proc', 'ps'] as const) : (['ps'] as const)

/** The number of a process below a program of that name, which is a shell. */
async function below(program: string, env: NodeJS.ProcessEnv = {}): Promise<number> {
  const script = path.join(temporaryFolder(), program)
  fs.writeFileSync(script, "#!/bin/sh\nsh -c 'echo $$; read line'\n", { mode: 0o755 })
  const child = spawn(script, { env: { PATH: process.env['PATH'], ...env }, stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(async () => {
    child.stdin.end()
    await once(child, 'close')
  })
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  return Number(line)
}

test.each(lookups)('the programs above a process are found, with an agent among them, by %s [D10]', async (by) => {
  const found = ancestry(await below('claude'), by)
  expect(found.map(({ pid }) => pid)).toContain(process.pid)
  const [shell, claude] = found
  expect(shell).toMatchObject({ args: expect.arrayContaining(['-c']) as string[] })
  expect(agentAbove(found)).toBe(`claude (process ${claude!.pid}) runs this command`)
})

test.each(lookups)('what an agent has set for its commands is found by %s [D10]', async (by) => {
  const pid = await below('tool', { BATON_AGENT: 'mine' })
  expect(agentAbove(ancestry(pid, by))).toContain(`BATON_AGENT, which agents set for their commands`)
})

test.each(lookups)('a program that is no agent is none, by %s [D10]', async (by) => {
  const found = ancestry(await below('tool'), by)
  const own = found.slice(
    0,
    found.findIndex(({ pid }) => pid === process.pid),
  )
  expect(own).toHaveLength(2)
  expect(agentAbove(own)).toBeUndefined()
})
