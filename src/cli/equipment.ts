// What a supervisor is equipped with here: the agents and how they are touched, the settings as they are now, and a way
// to tell people.

import fs from 'node:fs'
import path from 'node:path'
import { loadConfig } from '../config/config.ts'
import { type Notifier, notifySection, openNotifier } from '../notify/index.ts'
import {
  adapterNamed,
  openHands,
  type OpenHands,
  type RunningAgent,
  runningAgents,
  type SupervisorSettings,
  supervisorSection,
} from '../supervisor/index.ts'
import { agentNames } from '../transcripts/index.ts'
import type { Globals, Output } from './output.ts'
import { workspaceFolder } from './workspace.ts'

interface Equipment {
  readonly hands: OpenHands
  readonly settings: () => SupervisorSettings
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
  const settings = settingsOf(cwd, out)
  const hands = openHands({ settings, turns: path.join(workspaceFolder(globals), 'turns') })
  const running = () => {
    const { agents } = settings()
    const names = new Set([...agentNames, ...Object.keys(agents)])
    return runningAgents([...names].map((name) => adapterNamed(name, { agents })))
  }
  return { hands, settings, notify, running }
}

function settingsOf(cwd: string, out: Output): () => SupervisorSettings {
  let { file } = loadConfig(cwd)
  let seen = stampOf(file)
  let settings = loadConfig(cwd).section('supervisor', supervisorSection)
  return () => {
    const stamp = stampOf(file)
    if (stamp === seen && file !== undefined) return settings
    seen = stamp
    try {
      const config = loadConfig(cwd)
      file = config.file
      settings = config.section('supervisor', supervisorSection)
    } catch (error) {
      out.warn(`baton: the settings stay as they were: ${(error as Error).message}`)
    }
    return settings
  }
}

function stampOf(file: string | undefined): string {
  const stat = file === undefined ? undefined : fs.statSync(file, { throwIfNoEntry: false })
  return stat === undefined ? '' : `${stat.mtimeMs} ${stat.size}`
}
