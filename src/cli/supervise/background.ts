// A supervisor in the background: a process of its own that outlives the terminal, with a log in the workspace.

import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import { checked } from '../../config/index.ts'
import { BatonError } from '../../errors.ts'
import type { Store } from '../../store/index.ts'
import { shellWord } from '../../system/index.ts'
import { type Bounds, boundsSchema, type Run, type SessionRow, sessionRows } from '../../supervisor/index.ts'
import { makeFolder } from '../../system/index.ts'
import { superviseHere } from './foreground.ts'
import type { Globals, Output } from '../base/output.ts'
import { sameWorkspace, withStore, workspaceFolder } from '../base/workspace.ts'

const waitMs = 30_000

/** Resolves when the process in the background supervises the session. */
export async function detach(
  store: Store,
  out: Output,
  name: string,
  wanted: { readonly run?: Run; readonly bounds?: Bounds; readonly project?: string },
  globals: Globals,
): Promise<void> {
  const { io } = globals
  const cwd = io.cwd()
  const log = path.join(workspaceFolder(globals), 'logs', `${encodeURIComponent(name)}.log`)
  makeFolder(path.dirname(log))
  const fd = fs.openSync(log, 'a', 0o600)
  const same = sameWorkspace(globals)
  const child = spawn(io.self[0], [io.self[1], 'supervise', name, ...same.args], {
    cwd,
    env: same.env,
    detached: true,
    stdio: ['pipe', fd, fd],
  })
  fs.closeSync(fd)
  const failed = new Promise<number>((resolve) =>
    child.once('exit', (code) => resolve(code ?? 1)).once('error', () => resolve(1)),
  )
  child.stdin?.on('error', () => undefined).end(JSON.stringify(wanted))
  const taken = await Promise.race([failed, untilTaken(store, name, child.pid)])
  if (typeof taken === 'number') {
    const said = fs.readFileSync(log, 'utf8').trim().split('\n').at(-1) ?? ''
    throw new BatonError('refused', `The supervisor of ${name} did not start: ${said.replace(/^baton: /, '')}`, {
      hint: `Its log: ${log}`,
    })
  }
  child.unref()
  if (out.json) return out.data({ name, pid: child.pid, log })
  out.line(`${name} is supervised in the background, by process ${child.pid}.`)
  out.note(`  Its screen:    baton attach ${shellWord(name)}`)
  out.note(`  What happens:  baton log ${shellWord(name)} --follow`)
  out.note(`  End it:        baton stop ${shellWord(name)}`)
}

async function untilTaken(store: Store, name: string, pid: number | undefined): Promise<'taken'> {
  const deadline = Date.now() + waitMs
  while (Date.now() < deadline) {
    const row = await sessionRow(store, name)
    if (row?.supervisor?.pid === pid && row?.state !== 'starting') return 'taken'
    await sleep(100)
  }
  return 'taken'
}

export async function sessionRow(store: Store, name: string): Promise<SessionRow | undefined> {
  for await (const row of sessionRows(store)) if (row.name === name) return row
  return undefined
}

const runSchema = z.object({
  name: z.string().min(1),
  agent: z.string().min(1),
  cwd: z.string().min(1),
  driver: z.enum(['tmux', 'headless']),
  args: z.array(z.string()),
  prompt: z.string().optional(),
  session: z.string().optional(),
  bounds: boundsSchema.optional(),
})
const wantedSchema = z.object({
  run: runSchema.optional(),
  bounds: boundsSchema.optional(),
  project: z.string().optional(),
})

/** Runs in the process in the background. The run to supervise comes on standard input, or is on the tape already. */
export async function superviseDetached(globals: Globals, name: string): Promise<void> {
  const given = await text(globals.io.stdin)
  const { run, bounds, project } = checked(wantedSchema, given === '' ? {} : JSON.parse(given), 'the run')
  const wanted = {
    ...(run === undefined ? {} : { run: run as Run }),
    ...(bounds === undefined ? {} : { bounds }),
    ...(project === undefined ? {} : { project }),
  }
  await withStore(globals, (store, out) => superviseHere(store, out, { globals, name, ...wanted }))
}
