// Alerts that no channel would take when a run ended: a process in the background keeps trying.

import { spawn } from 'node:child_process'
import type { Globals } from '../base/output.ts'
import { sameWorkspace, withStore } from '../base/workspace.ts'
import { deliverLeftAlerts } from './setup.ts'

/** Starts a process that outlives this one and sends what is left. */
export function deliverInBackground(globals: Globals): void {
  const { io } = globals
  const same = sameWorkspace(globals)
  const child = spawn(io.self[0], [io.self[1], 'deliver', ...same.args], {
    cwd: io.cwd(),
    env: same.env,
    detached: true,
    stdio: 'ignore',
  })
  // If it cannot be started, the next supervisor or watcher sends them.
  child.on('error', () => undefined).unref()
}

/** Runs in that process: ends when each alert has been sent, or is too old. */
export async function deliver(globals: Globals): Promise<void> {
  const stop = new AbortController()
  const end = () => stop.abort()
  globals.io.signals.on('SIGINT', end)
  globals.io.signals.on('SIGTERM', end)
  globals.io.signals.on('SIGHUP', () => undefined)
  await withStore(globals, (store, out) => deliverLeftAlerts(store, globals, out, stop.signal))
}
