// What a supervisor is equipped with here: the agents and how they are touched, the settings as they are now, and a way
// to tell people.

import path from 'node:path'
import { loadConfig } from '../config/config.ts'
import { type Notifier, notifySection, openNotifier } from '../notify/index.ts'
import {
  adapterNamed,
  type LiveSettings,
  liveSettings,
  openHands,
  type OpenHands,
  type RunningAgent,
  runningAgents,
} from '../supervisor/index.ts'
import { agentNames } from '../transcripts/index.ts'
import type { Globals, Output } from './output.ts'
import { workspaceFolder } from './workspace.ts'

interface Equipment {
  readonly hands: OpenHands
  readonly settings: LiveSettings['settings']
  readonly onSettings: LiveSettings['onSettings']
  readonly notify: Notifier
  /** Agents in tmux panes. */
  readonly running: () => Promise<RunningAgent[]>
}

/** Throws if the configuration is wrong; one that becomes wrong later is told of and does not count. */
export function equipment(globals: Globals, cwd: string, out: Output): Equipment {
  const config = loadConfig(cwd)
  const notify = openNotifier(config.section('notify', notifySection), {
    onFailure: ({ channel, error }) => out.warn(`baton: ${channel} could not be told: ${error}`),
  })
  const { settings, onSettings } = liveSettings(cwd, (error) => {
    out.warn(`baton: the settings stay as they were: ${error.message}`)
  })
  const hands = openHands({ settings, turns: path.join(workspaceFolder(globals), 'turns') })
  const running = () => {
    const { agents } = settings()
    const names = new Set([...agentNames, ...Object.keys(agents)])
    return runningAgents([...names].map((name) => adapterNamed(name, { agents })))
  }
  return { hands, settings, onSettings, notify, running }
}
