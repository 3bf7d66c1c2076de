import os from 'node:os'
import path from 'node:path'
import type { Adapter, Look, Screen, TurnOutcome, TurnOutput } from '../adapter.ts'
import { fieldsIn } from './files.ts'
import { failureOf, jsonIn, type Known } from './known.ts'

/** Of the answer, where nothing is said about it. */
const usualOutput = 32_000

export const opencode: Known = {
  name: 'opencode',
  label: 'opencode',
  program: 'opencode',
  make: (command, env): Partial<Adapter> => ({
    compactsAt: ({ window }) => {
      const home = env.XDG_CONFIG_HOME || path.join(env.HOME || os.homedir(), '.config')
      const file = path.join(home, 'opencode', 'opencode.json')
      if (fieldsIn(file, 'compaction').auto === false || window === undefined) return undefined
      return Math.max(0, window - outputOf(file, window))
    },
    launch: ({ args = [], prompt } = {}) => command([...args, ...(prompt ? ['--prompt', prompt] : [])]),
    resume: (session, { args = [], prompt } = {}) =>
      command(['-s', session, ...args, ...(prompt ? ['--prompt', prompt] : [])]),
    // Words one by one: what holds a blank is quoted once more.
    turn: (prompt, session, { args = [] } = {}) => {
      const which = session === undefined ? [] : ['-s', session]
      return command(['run', '--format', 'json', ...which, ...args, '--', ...prompt.split(/\s+/)])
    },
    outcome,
    clear: '/new',
    // The first one asks for the second.
    interrupt: ['Escape', 'Escape'],
    showsWork: true,
    look,
  }),
}

/** The largest answer of a model with that window, as the user says it. */
function outputOf(file: string, window: number): number {
  const outputs: number[] = []
  for (const provider of Object.values(fieldsIn(file, 'provider'))) {
    const { models = {} } = (provider ?? {}) as {
      models?: Record<string, { limit?: { context?: number; output?: number } }>
    }
    for (const { limit } of Object.values(models)) {
      if (limit?.context === window && typeof limit.output === 'number') outputs.push(limit.output)
    }
  }
  return outputs.length === 0 ? usualOutput : Math.max(...outputs)
}

const question = /△\s*(.+)|Permission required/

function look({ lines }: Screen): Look {
  const asked = lines.findLastIndex((line) => question.test(line))
  if (asked >= 0 && lines.slice(asked).some((line) => /Allow once|Reject|Allow always/.test(line))) {
    const words = lines.slice(asked, asked + 6).map((line) => line.replaceAll(/[┃△]/g, ' ').trim())
    return { is: 'dialog', question: words.join(' ').replaceAll(/\s+/g, ' ').trim().slice(0, 300), about: 'permission' }
  }
  // Bars to the left, and a foot below; the last line within names the model.
  const foot = lines.findLastIndex((line) => /^\s*╹▀{10,}/.test(line))
  if (foot < 0) return lines.some((line) => line.trim() !== '') ? { is: 'unknown' } : { is: 'starting' }
  const width = lines[foot]!.length
  let from = foot
  while (from > 0 && /^\s*┃/.test(lines[from - 1]!) && !/┃\s*$/.test(lines[from - 1]!.trimStart().slice(1))) from--
  const rows = lines.slice(from, foot - 1).map((row) => row.slice(0, width).replace(/^\s*┃/, '').trim())
  const typed = rows.join('\n').trim()
  const draft = typed.startsWith('Ask anything…') ? '' : typed
  const below = lines.slice(foot, foot + 3).join('\n')
  if (!/ctrl\+p|esc (again to )?interrupt/.test(below)) return { is: 'starting' }
  return /esc (again to )?interrupt/.test(below) ? { is: 'busy', draft } : { is: 'prompt', draft }
}

function outcome(output: TurnOutput): TurnOutcome {
  const told = jsonIn(output.out)
  const session = told.map((line) => line.sessionID).find((id): id is string => typeof id === 'string')
  const failed = told.findLast((line) => line.type === 'error')
  if (failed === undefined) return { session, error: failureOf(output, told.length > 0) }
  const { name, data } = (failed.error ?? {}) as { name?: unknown; data?: { message?: unknown } }
  return { session, error: String(data?.message ?? name ?? 'error') }
}
