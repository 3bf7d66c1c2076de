// Whether a person runs this process: somebody at a terminal, with no agent among the programs above. Agents run commands with the
// rights of their user, so this is a fence and not a wall; docs/tasks.md says what gets over it.

import fs from 'node:fs'
import path from 'node:path'
import tty from 'node:tty'
import { BatonError } from '../errors.ts'
import { environmentOf, type Lookup, processAt, terminalOf } from './processes.ts'

/** How a person was recognised. */
export interface Person {
  readonly via: 'terminal' | 'dashboard' | 'token'
  /** The terminal, the address or the name of the token. */
  readonly where: string
}

/** The programs of agents, by the name they are started with. */
export const agentPrograms: readonly string[] = [
  'claude',
  'codex',
  'gemini',
  'opencode',
  'pi',
  'aider',
  'amp',
  'auggie',
  'cline',
  'copilot',
  'crush',
  'cursor-agent',
  'devin',
  'droid',
  'goose',
  'kilocode',
  'kimi',
  'kiro-cli',
  'openhands',
  'plandex',
  'qwen',
]

/** Packages of agents, as they are found in the path of a script. */
const agentPackages = [
  '@anthropic-ai/claude-code',
  '@openai/codex',
  '@google/gemini-cli',
  'opencode-ai',
  '@mariozechner/pi-coding-agent',
]

/** Set for the agents that Baton runs, so that what they start is known as theirs. */
export const agentMark = 'BATON_AGENT'

/** Variables that agents, and Baton where it runs one, set for the commands they start. */
const agentVariables: readonly string[] = [
  agentMark,
  'BATON_CALL',
  'BATON_GATE',
  'BATON_REQUEST_ID',
  'AI_AGENT',
  'CLAUDECODE',
  'CLINE_ACTIVE',
  'CODEX_SANDBOX',
  'CODEX_THREAD_ID',
  'COPILOT_AGENT',
  'CURSOR_AGENT',
  'GEMINI_CLI',
  'OPENCODE',
  'QWEN_CODE',
]

/** A process as far as it matters here. */
export interface Ancestor {
  readonly pid: number
  readonly args: readonly string[]
  /** The names of its environment variables; empty where the system does not show them. */
  readonly variables: readonly string[]
}

/** A process and the programs above it, nearest first. */
export function ancestry(pid: number, by?: Lookup): Ancestor[] {
  const found: Ancestor[] = []
  const seen = new Set<number>()
  for (let at = pid; at > 0 && !seen.has(at);) {
    seen.add(at)
    const each = processAt(at, by)
    if (each === undefined) break
    found.push({ pid: at, args: each.args, variables: [...environmentOf(at, by).keys()] })
    at = each.parent
  }
  return found
}

/** The agent above a process, in words; undefined if there is none to be seen. */
export function agentAbove(processes: readonly Ancestor[]): string | undefined {
  for (const [i, { pid, args, variables }] of processes.entries()) {
    // This process is Baton itself, whatever its arguments are.
    const program = i === 0 ? undefined : agentIn(args)
    if (program !== undefined) return `${program} (process ${pid}) runs this command`
    const mark = agentVariables.find((name) => variables.includes(name))
    if (mark !== undefined)
      return `${mark}, which agents set for their commands, is in the environment of process ${pid}`
  }
  return undefined
}

const interpreters = /^(node|nodejs|bun|deno|python[\d.]*|uv|npx|npm|sh|bash|zsh|dash)$/

function agentIn(args: readonly string[]): string | undefined {
  const [first = '', ...rest] = args
  const program = nameOf(first)
  if (agentPrograms.includes(program)) return program
  if (!interpreters.test(program)) return undefined
  const script = rest.find((each) => !each.startsWith('-')) ?? ''
  if (agentPrograms.includes(nameOf(script))) return nameOf(script)
  return agentPackages.find((each) => script.includes(`/${each}/`) || script === each)
}

/** A program may have replaced its command line by a title, as in "claude --resume". A login shell begins with a dash. */
function nameOf(program: string): string {
  return path.basename(program.split(' ')[0] ?? '').replace(/^-|\.(c|m)?js$|\.py$/g, '')
}

/** The agent that this process runs for, in words; undefined if there is none to be seen. */
export function agentOfThisProcess(): string | undefined {
  return agentAbove([
    { pid: process.pid, args: [], variables: Object.keys(process.env) },
    ...ancestry(process.pid).slice(1),
  ])
}

/** The person at the terminal of this process; refused if there is no terminal, or an agent above it. */
export function personAtTerminal(): Person {
  const above = agentOfThisProcess()
  if (above !== undefined) throw notAPerson(above)
  if (!hasTerminal()) throw notAPerson('this command has no terminal')
  if (!tty.isatty(0)) throw notAPerson('its input is not the terminal')
  return { via: 'terminal', where: terminalOf(process.pid) ?? 'terminal' }
}

function hasTerminal(): boolean {
  try {
    fs.closeSync(fs.openSync('/dev/tty', fs.constants.O_RDONLY | fs.constants.O_NOCTTY))
    return true
  } catch {
    return false // the system refuses it to a process without a terminal
  }
}

function notAPerson(why: string): BatonError {
  return new BatonError('refused', `Only a person can decide this: ${why}`, {
    hint: 'Type the command yourself, on a terminal that no agent has started.',
  })
}
