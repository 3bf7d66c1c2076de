// Reports changes in a folder: one watch of the file system for everybody in this process who asks for the same folder. Events
// of file systems are not to be relied on (network mounts, exhausted watches, folders that are removed and made again), so
// whoever must not miss a change also looks `everySecond`.

import fs from 'node:fs'
import path from 'node:path'

/** Gets the name of what changed, where the system reports it, and whether a file appeared or disappeared. */
export type FolderListener = (name: string | undefined, isNewOrGone: boolean) => void

interface Watched {
  readonly watcher: fs.FSWatcher
  readonly listeners: Set<FolderListener>
}

const watched = new Map<string, Watched>()

/**
 * Calls the listener until the returned function is called. Returns undefined where the folder does not exist or the system has no
 * watches left; a folder that is removed or moved ends the watch after a last call. Then try again later.
 */
export function watchFolder(folder: string, listener: FolderListener): (() => void) | undefined {
  const entry = watched.get(folder) ?? open(folder)
  if (entry === undefined) return undefined
  watched.set(folder, entry)
  const { listeners } = entry
  // Two calls with one listener are two watches.
  const own: FolderListener = (name, isNewOrGone) => listener(name, isNewOrGone)
  listeners.add(own)
  return () => {
    listeners.delete(own)
    if (listeners.size === 0 && watched.get(folder)?.listeners === listeners) drop(folder)
  }
}

function open(folder: string): Watched | undefined {
  const listeners = new Set<FolderListener>()
  const tell = (name: string | undefined, isNewOrGone: boolean) => {
    for (const listener of listeners) listener(name, isNewOrGone)
  }
  try {
    const inode = fs.statSync(folder).ino
    const watcher = fs.watch(folder, (type, name) => {
      // The folder itself was removed or moved: this watch sees nothing any more.
      if (name === path.basename(folder) && fs.statSync(folder, { throwIfNoEntry: false })?.ino !== inode) drop(folder)
      tell(name ?? undefined, type === 'rename')
    })
    watcher.on('error', () => {
      drop(folder)
      tell(undefined, true)
    })
    return { watcher, listeners }
  } catch {
    return undefined
  }
}

function drop(folder: string): void {
  watched.get(folder)?.watcher.close()
  watched.delete(folder)
}

const secondListeners = new Set<() => void>()
let timer: NodeJS.Timeout | undefined

/** Calls the listener once a second until the returned function is called: one timer for everybody in this process. */
export function everySecond(listener: () => void): () => void {
  const own = () => listener()
  secondListeners.add(own)
  timer ??= setInterval(() => {
    for (const each of secondListeners) each()
  }, 1_000)
  return () => {
    secondListeners.delete(own)
    if (secondListeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}
