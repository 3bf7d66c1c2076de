// What a supervisor gets from the command line: how to open agents, the current settings, and a way to notify people.

import path from 'node:path'
import { loadConfig } from '../../config/index.ts'
import { notifySection, openNotifier } from '../../notify/index.ts'
import {
  agentOpener,
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
import { workspaceFolder } from '../base/workspace.ts'

export interface SupervisorSetup extends Required<
  Pick<SupervisorOptions, 'openAgent' | 'settings' | 'onSettings' | 'notify' | 'timings'>
> {
  close(): Promise<void>
}

/** A service that is down at night may be up in the morning, while what it is to tell still stands. */
const patienceMs = 12 * 3_600_000

/** Throws if the configuration is invalid. If it becomes invalid later, a warning is printed and the last valid one counts. */
export function supervisorSetup(globals: Globals, cwd: string, out: Output): SupervisorSetup {
  const { env } = globals.io
  const { settings, onSettings, ...live } = liveSettings(cwd, (error) =>
    out.warn(`baton: the settings stay as they were: ${error.message}`),
  )
  const notify = openNotifier(loadConfig(cwd).section('notify', notifySection), {
    env,
    patienceMs,
    onFailure: ({ channel, error }) => out.warn(`baton: ${channel} could not be told: ${error}`),
  })
  return {
    settings,
    onSettings,
    notify,
    timings: timingsIn(env),
    openAgent: agentOpener({ settings, env, turns: path.join(workspaceFolder(globals), 'turns') }),
    close: async () => {
      live.close()
      await notify.close()
    },
  }
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
