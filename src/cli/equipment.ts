// What a supervisor is equipped with here: the agents and how they are touched, the settings as they are now, and a way
// to tell people.

import path from 'node:path'
import { loadConfig } from '../config/config.ts'
import { notifySection, openNotifier } from '../notify/index.ts'
import {
  adapterNamed,
  liveSettings,
  openHands,
  type RunningAgent,
  runningAgents,
  type SupervisorOptions,
} from '../supervisor/index.ts'
import { agentNames } from '../transcripts/index.ts'
import type { Globals, Output } from './output.ts'
import { workspaceFolder } from './workspace.ts'

interface Equipment extends Required<Pick<SupervisorOptions, 'hands' | 'settings' | 'onSettings' | 'notify'>> {
  /** Agents in tmux panes. */
  running(): Promise<RunningAgent[]>
  close(): Promise<void>
}

/** Throws if the configuration is wrong; one that becomes wrong later is told of and does not count. */
export function equipment(globals: Globals, cwd: string, out: Output): Equipment {
  const { settings, onSettings, ...live } = liveSettings(cwd, (error) =>
    out.warn(`baton: the settings stay as they were: ${error.message}`),
  )
  const notify = openNotifier(loadConfig(cwd).section('notify', notifySection), {
    onFailure: ({ channel, error }) => out.warn(`baton: ${channel} could not be told: ${error}`),
  })
  return {
    settings,
    onSettings,
    notify,
    hands: openHands({ settings, turns: path.join(workspaceFolder(globals), 'turns') }),
    running: () => {
      const { agents } = settings()
      const names = new Set([...agentNames, ...Object.keys(agents)])
      return runningAgents([...names].map((name) => adapterNamed(name, { agents })))
    },
    close: async () => {
      live.close()
      await notify.close()
    },
  }
}
