// A supervisor in the background: a process of its own that outlives the terminal, with a log in the workspace.

import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import { checked } from '../config/checked.ts'
import { BatonError } from '../errors.ts'
import type { Store } from '../store/index.ts'
import { shellWord } from '../store/shell-word.ts'
import type { Bounds, Run } from '../supervisor/index.ts'
import { boundsSchema } from '../supervisor/settings.ts'
import { makeFolder } from '../system/folder.ts'
import { superviseHere } from './foreground.ts'
import type { Globals, Output } from './output.ts'
import { allSupervised } from './supervised.ts'
import { withStore, workspaceFolder } from './workspace.ts'

const waitMs = 30_000

/** Resolves when the process in the background has the session in its hands. */
export async function detach(
  store: Store,
  out: Output,
  name: string,
  wanted: { readonly run?: Run; readonly bounds?: Bounds },
  globals: Globals,
): Promise<void> {
  const log = path.join(workspaceFolder(globals), 'logs', `${encodeURIComponent(name)}.log`)
  makeFolder(path.dirname(log))
  const fd = fs.openSync(log, 'a', 0o600)
  const where = [
    ...(globals.store === undefined ? [] : ['--store', globals.store]),
    ...(globals.workspace === undefined ? [] : ['--workspace', path.resolve(globals.workspace)]),
  ]
  const child = spawn(process.execPath, [process.argv[1]!, 'supervise', name, ...where], {
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
  out.note(`  What happens:  baton logs ${shellWord(name)} --follow`)
  out.note(`  End it:        baton stop ${shellWord(name)}`)
}

async function untilTaken(store: Store, name: string, pid: number | undefined): Promise<'taken'> {
  const deadline = Date.now() + waitMs
  while (Date.now() < deadline) {
    const row = (await allSupervised(store)).find((each) => each.name === name)
    if (row?.supervisor?.pid === pid && row?.state !== 'starting') return 'taken'
    await sleep(100)
  }
  return 'taken'
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
const wantedSchema = z.object({ run: runSchema.optional(), bounds: boundsSchema.optional() })

/** What the process in the background does: what is wanted comes on standard input, or is on the tape already. */
export async function superviseDetached(globals: Globals, name: string): Promise<void> {
  const given = await text(process.stdin)
  const { run, bounds } = checked(wantedSchema, given === '' ? {} : JSON.parse(given), 'the run')
  const wanted = {
    ...(run === undefined ? {} : { run: run as Run }),
    ...(bounds === undefined ? {} : { bounds }),
  }
  await withStore(globals, (store, out) => superviseHere(store, out, { globals, name, ...wanted }))
}
