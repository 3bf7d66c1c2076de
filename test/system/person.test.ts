import { expect, test } from 'vitest'
import { agents } from '../../src/agents/index.ts'
import { agentAbove, agentPrograms, type Ancestor } from '../../src/system/index.ts'

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
