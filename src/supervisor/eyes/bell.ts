// Wakes whoever looks at a folder when something in it changes: one watch of the file system for all of them.

import fs from 'node:fs'
import path from 'node:path'

/** `name` of what changed, where the system says it; `came`: it is new, or gone. */
export type Listener = (name: string | undefined, came: boolean) => void

interface Watched {
  readonly watcher: fs.FSWatcher
  readonly listeners: Set<Listener>
}

const watched = new Map<string, Watched>()

/** Undefined where the folder is not there, or goes away: then look for it again. */
export function watchFolder(folder: string, listener: Listener): (() => void) | undefined {
  let entry = watched.get(folder)
  if (entry === undefined) {
    entry = open(folder)
    if (entry === undefined) return undefined
    watched.set(folder, entry)
  }
  const { listeners } = entry
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0 && watched.get(folder)?.listeners === listeners) drop(folder)
  }
}

function open(folder: string): Watched | undefined {
  const listeners = new Set<Listener>()
  const tell = (name: string | undefined, came: boolean) => {
    for (const listener of listeners) listener(name, came)
  }
  try {
    const inode = fs.statSync(folder).ino
    const watcher = fs.watch(folder, { persistent: true }, (type, name) => {
      // The folder itself was removed or put elsewhere: this watch sees nothing any more.
      if (name === path.basename(folder) && fs.statSync(folder, { throwIfNoEntry: false })?.ino !== inode) drop(folder)
      tell(name ?? undefined, type === 'rename')
    })
    watcher.on('error', () => {
      drop(folder)
      tell(undefined, true)
    })
    return { watcher, listeners }
  } catch {
    return undefined // not there, or no watches left: the pulse looks after those
  }
}

function drop(folder: string): void {
  watched.get(folder)?.watcher.close()
  watched.delete(folder)
}
