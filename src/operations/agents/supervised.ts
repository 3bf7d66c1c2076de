// Sessions under supervision: what they do, the cycles they went through, and what a person wants of them.

import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import { BatonError, InvalidError, NotFoundError } from '../../errors.ts'
import type { Store } from '../../store/index.ts'
import {
  boundsSchema,
  checkName,
  control,
  type ControlCommand,
  healthChecks,
  type SessionRow,
  sessionRows,
  sessionTape,
} from '../../supervisor/index.ts'
import { makeFolder, shellWord } from '../../system/index.ts'
import { nearest } from '../../tape/index.ts'
import { operation } from '../operation.ts'
import { entry, entryId } from '../tape/shapes.ts'

const row = z.looseObject({
  name: z.string(),
  agent: z.string(),
  project: z.string(),
  state: z.string(),
  step: z.string().optional(),
  until: z.string().optional(),
  context_usage: z.number().optional(),
  cycles: z.int(),
  started: z.string(),
  last_check: z.string(),
  usd: z.number().optional(),
  supervisor: z.object({ pid: z.int(), host: z.string() }).optional(),
  ended: z.string().optional(),
})

export const sessionName = z.string().min(1).max(150).describe('The name of the supervised session.')

export const supervisedList = operation('supervised.list', 'read', 'GET /supervised', {
  summary: 'The supervised sessions of this workspace: state, context, cycles, who supervises them.',
  input: z.object({ all: z.boolean().optional().describe('Also those that have ended.') }),
  output: z.object({ sessions: z.array(row) }),
  async run({ store }, { all }) {
    const rows = await rowsOf(store)
    return { sessions: rows.filter(({ state }) => all === true || state !== 'ended').map((each) => ({ ...each })) }
  },
})

async function rowsOf(store: Store): Promise<SessionRow[]> {
  const rows: SessionRow[] = []
  for await (const each of sessionRows(store)) rows.push(each)
  return rows
}

export async function rowOf(store: Store, name: string): Promise<SessionRow> {
  const rows = await rowsOf(store)
  const found = rows.find((each) => each.name === name)
  if (found !== undefined) return found
  throw new NotFoundError(`There is no supervised session "${name}"`, {
    nearest: nearest(
      name,
      rows.map((each) => each.name),
    ),
  })
}

export const supervisedShow = operation('supervised.show', 'read', 'GET /supervised/{name}', {
  summary: 'One supervised session with its health checks.',
  input: z.object({ name: sessionName, history: z.boolean().optional().describe('Also the checks of the past.') }),
  output: z.object({
    session: row,
    checks: z.array(z.looseObject({ check_type: z.string(), status: z.string(), date: z.string() })),
  }),
  async run({ store }, { name, history }) {
    const session = await rowOf(store, name)
    const checks = []
    for await (const check of healthChecks(store, { session: name, history: history === true }))
      checks.push({ ...check })
    return { session: { ...session }, checks }
  },
})

export const supervisedLogs = operation('supervised.logs', 'read', 'GET /supervised/{name}/logs', {
  summary: 'What was done with a supervised session, a page of its tape at a time.',
  input: z.object({
    name: sessionName,
    after: entryId.optional(),
    before: entryId.optional(),
    reverse: z.boolean().optional(),
    limit: z.int().min(1).max(1000).default(200),
  }),
  output: z.object({ entries: z.array(entry), next: z.int().optional() }),
  async run({ store }, { name, limit, ...range }) {
    await rowOf(store, name)
    const entries = []
    for await (const each of store.read(sessionTape(name), { ...range, limit: limit + 1, onDamage: () => {} }))
      entries.push(each)
    const more = entries.length > limit
    const page = entries.slice(0, limit)
    return { entries: page, next: more ? page.at(-1)!.id : undefined }
  },
})

const commands = ['pause', 'unpause', 'cycle', 'stop'] as const satisfies readonly ControlCommand[]

export const supervisedControl = operation('supervised.control', 'operate', 'POST /supervised/{name}/control', {
  summary: 'Pause a supervised session, take it up again, have it hand over to itself now, or stop it.',
  input: z.object({
    name: sessionName,
    command: z.enum(commands),
    wait: z.boolean().optional().describe('Of stop: answer when the session has ended.'),
  }),
  output: z.object({
    name: z.string(),
    command: z.string(),
    supervised: z.boolean().describe('Whether somebody is there to do it now.'),
  }),
  async run({ store }, { name, command, wait }) {
    const row = await rowOf(store, name)
    const { state, supervisor } = row
    if (state === 'ended')
      throw new BatonError('refused', `${name} has ended`, { hint: 'Start it again with supervised.run.' })
    const { id } = await control(store, name, command)
    if (wait === true && command === 'stop' && supervisor !== undefined) await untilEnded(store, row, id)
    return { name, command, supervised: supervisor !== undefined }
  },
})

/** The supervisor asks the agent to end and kills it after a few seconds, well within this time. */
const stopMs = 30_000

async function untilEnded(store: Store, { name, supervisor }: SessionRow, since: number): Promise<void> {
  for await (const { payload } of store.watch(sessionTape(name), since, AbortSignal.timeout(stopMs))) {
    const { name: about, data } = payload as { name?: unknown; data?: { state?: unknown } }
    if (about === 'row' && data?.state === 'ended') return
  }
  throw new BatonError('refused', `${name} was asked to stop, and has not ended after ${stopMs / 1_000} s`, {
    hint: `Its supervisor is process ${supervisor!.pid}: see "baton log ${shellWord(name)}".`,
  })
}

const startMs = 30_000

export const supervisedRun = operation('supervised.run', 'operate', 'POST /supervised', {
  summary: 'Start an agent under supervision in the project of this workspace, in the background.',
  input: z.object({
    agent: z
      .string()
      .min(1)
      .max(100)
      .regex(/^[\w-]+$/, 'it can have letters, digits, - and _')
      .describe('claude, codex, gemini, opencode, pi, or one of the configuration.'),
    name: sessionName,
    task: z.string().min(1).max(200_000).optional().describe('What it is to do.'),
    driver: z.enum(['tmux', 'headless']).optional(),
    bounds: boundsSchema.omit({ until: true }).optional().describe('When it has to end.'),
    until: z.string().max(4000).optional().describe('A command: the job is done when it succeeds.'),
  }),
  output: z.object({ name: z.string(), pid: z.int() }),
  async run(
    { store, address, folder, project, env, self, trusted },
    { agent, name, task, driver, bounds, until },
    { progress },
  ) {
    checkName(name)
    trusted('No agent was started')
    const rows = await rowsOf(store)
    if (rows.some((each) => each.name === name && each.state !== 'ended'))
      throw new InvalidError(`There is a session "${name}" that has not ended`, {
        path: 'name',
        hint: 'Choose another name, or stop it.',
      })
    const limits: [string, unknown][] = [
      ['--until', until],
      ['--max-usd', bounds?.maxUsd],
      ['--max-hours', bounds?.maxHours],
      ['--max-cycles', bounds?.maxCycles],
      ['--max-turns', bounds?.maxTurns],
      ['--driver', driver],
    ]
    const args = [self[1], '--json', 'run', agent, '--name', name, '--detach', '--beside']
    for (const [option, value] of limits) if (value !== undefined) args.push(option, String(value))
    if (task !== undefined) args.push('--task', '-')
    const log = path.join(folder, 'logs', `${encodeURIComponent(name)}.start.log`)
    makeFolder(path.dirname(log))
    const fd = fs.openSync(log, 'w', 0o600)
    // An address may hold a password, and everybody sees the arguments of a process.
    const child = spawn(self[0], args, { cwd: project, env: { ...env, BATON_STORE: address }, stdio: ['pipe', fd, fd] })
    fs.closeSync(fd)
    child.stdin?.on('error', () => undefined).end(task ?? '')
    progress('starting')
    const code = await Promise.race([
      new Promise<number>((resolve) =>
        child.once('exit', (code) => resolve(code ?? 1)).once('error', () => resolve(1)),
      ),
      sleep(startMs, undefined, { ref: false }),
    ])
    if (code !== 0) throw notStarted(name, log)
    return { name, pid: (await rowOf(store, name)).supervisor?.pid ?? 0 }
  },
})

/** How a command that was given `--json` prints its failure. */
const failureLine = z.object({ error: z.object({ message: z.string(), hint: z.string().optional() }) })

function notStarted(name: string, log: string): BatonError {
  const last = fs.readFileSync(log, 'utf8').trim().split('\n').at(-1) ?? ''
  const { message, hint } = failureIn(last) ?? { message: last, hint: undefined }
  return new BatonError('refused', `${name} did not start: ${message}`, hint === undefined ? {} : { hint })
}

function failureIn(line: string): z.output<typeof failureLine>['error'] | undefined {
  try {
    return failureLine.parse(JSON.parse(line)).error
  } catch {
    return undefined // The program itself could not be started, and said so in words.
  }
}
