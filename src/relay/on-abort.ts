// Listening to a signal that many wait on: a relay serves as many at once as it is asked to, which is no leak.

import { setMaxListeners } from 'node:events'

/** Calls back when the signal is aborted, at once if it is, unless the returned function is called before. */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal === undefined) return () => {}
  if (signal.aborted) {
    callback()
    return () => {}
  }
  setMaxListeners(0, signal)
  signal.addEventListener('abort', callback, { once: true })
  return () => signal.removeEventListener('abort', callback)
}
