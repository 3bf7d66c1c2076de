// What a supervisor gets from the command line: how to open agents, the current settings, and a way to notify people. Alerts that no
// channel would take when a run ended are sent by a process in the background.

import { spawn } from 'node:child_process'
import path from 'node:path'
import { loadConfig } from '../../config/index.ts'
import { type Notifier, notifySection, openNotifier } from '../../notify/index.ts'
import type { Store } from '../../store/index.ts'
import {
  agentOpener,
  alertMs,
  Alerts,
  deliverAlerts,
  liveSettings,
  type RunningAgent,
  runningAgents,
  supervisorSection,
  type SupervisorOptions,
  type Timings,
  timingsSchema,
} from '../../supervisor/index.ts'
import { adapterNamed, agentNames } from '../../agents/index.ts'
import type { Globals, Output } from '../base/output.ts'
import { sameWorkspace, withStore, workspaceFolder } from '../base/workspace.ts'

export interface SupervisorSetup extends Required<
  Pick<SupervisorOptions, 'openAgent' | 'settings' | 'onSettings' | 'notify' | 'timings'>
> {
  /** Returns true if an alert could not be delivered yet: see `deliverLater`. */
  close(): Promise<boolean>
}

/** Throws if the configuration is invalid. If it becomes invalid later, a warning is printed and the last valid one counts. */
export function supervisorSetup(globals: Globals, cwd: string, out: Output, store: Store): SupervisorSetup {
  const { env } = globals.io
  const { settings, onSettings, ...live } = liveSettings(cwd, (error) =>
    out.warn(`baton: the last valid settings stay in effect: ${error.message}`),
  )
  const onProblem = (error: Error) => out.warn(`baton: an alert could not be recorded: ${error.message}`)
  const notify = new Alerts({ store, project: cwd, notifier: notifierOf(cwd, env, out, alertMs), onProblem })
  return {
    settings,
    onSettings,
    notify,
    timings: timingsIn(env),
    openAgent: agentOpener({ settings, env, turns: path.join(workspaceFolder(globals), 'turns') }),
    close: async () => {
      live.close()
      return notify.close()
    },
  }
}

function notifierOf(project: string, env: NodeJS.ProcessEnv, out: Output, patienceMs: number): Notifier {
  return openNotifier(loadConfig(project).section('notify', notifySection), {
    env,
    patienceMs,
    onFailure: ({ channel, error, unfinished }) =>
      out.warn(
        unfinished
          ? `baton: ${channel} has not been notified yet, and the alert is kept for it: ${error}`
          : `baton: ${channel} could not be notified: ${error}`,
      ),
  })
}

/** Sends the alerts that earlier processes could not, for as long as the signal allows. */
export function deliverLeftAlerts(store: Store, { io }: Globals, out: Output, signal: AbortSignal): Promise<void> {
  return deliverAlerts({
    store,
    openNotifier: (project, patienceMs) => notifierOf(project, io.env, out, patienceMs),
    onProblem: (error) => out.warn(`baton: an alert could not be recorded: ${error.message}`),
    signal,
  })
}

/** The agents that run in tmux panes, by the configuration of that folder. */
export function runningHere(env: NodeJS.ProcessEnv, cwd: string): Promise<RunningAgent[]> {
  const { agents } = loadConfig(cwd).section('supervisor', supervisorSection)
  const names = new Set([...agentNames, ...Object.keys(agents)])
  return runningAgents(
    [...names].map((name) => adapterNamed(name, { agents, env })),
    env,
  )
}

/** Tests have no time for the usual waits, and reach a command only by its environment. */
function timingsIn({ BATON_TIMINGS: text = '{}' }: NodeJS.ProcessEnv): Timings {
  return timingsSchema.parse(JSON.parse(text))
}

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
