// The settings as they are now: the file is watched, and what it says counts from the next step on. A file that has become
// wrong changes nothing but that somebody is told.

import path from 'node:path'
import { configFile, loadConfig } from '../config/index.ts'
import { watchFolder } from '../system/index.ts'
import { type SupervisorSettings, supervisorSection } from './settings.ts'

export interface LiveSettings {
  readonly settings: () => SupervisorSettings
  /** Calls the listener when they have changed, until the returned function is called. */
  readonly onSettings: (listener: () => void) => () => void
  close(): void
}

/** Throws if they are wrong to begin with. `onProblem` is told of a file that no longer counts. */
export function liveSettings(cwd: string, onProblem: (error: Error) => void): LiveSettings {
  const config = loadConfig(cwd)
  let current = config.section('supervisor', supervisorSection)
  let seen = JSON.stringify(current)
  const listeners = new Set<() => void>()
  let timer: NodeJS.Timeout | undefined

  function read(): void {
    try {
      current = loadConfig(cwd).section('supervisor', supervisorSection)
    } catch (error) {
      return onProblem(error as Error)
    }
    const now = JSON.stringify(current)
    if (now === seen) return
    seen = now
    for (const listener of listeners) listener()
  }

  // The folder rather than the file: editors put a new file in its place. One that is not there yet is waited for here.
  const folder = path.dirname(config.file ?? path.join(path.resolve(cwd), configFile))
  // Where it cannot be watched, a change counts after the next start.
  const stopWatching = watchFolder(folder, (name) => {
    if (name !== undefined && name !== configFile) return
    clearTimeout(timer)
    // An editor writes in several steps.
    timer = setTimeout(read, 50)
  })
  return {
    settings: () => current,
    onSettings: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close: () => {
      clearTimeout(timer)
      stopWatching?.()
    },
  }
}
