// Timers for spans that may be longer than `setTimeout` takes, by a clock that does not jump.

import { onAbort } from './on-abort.ts'

const longest = 2 ** 31 - 1

/** Calls back after so many milliseconds, unless the returned function is called before. */
export function after(ms: number, callback: () => void): () => void {
  let timer: NodeJS.Timeout
  const start = (left: number) => {
    timer = setTimeout(
      () => (left > longest ? start(left - longest) : callback()),
      Math.min(Math.max(left, 0), longest),
    )
  }
  start(ms)
  return () => clearTimeout(timer)
}

/** Resolves after so many milliseconds, or when the signal is aborted. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const stop = after(ms, () => {
      ignore()
      resolve()
    })
    const ignore = onAbort(signal, () => {
      stop()
      resolve()
    })
  })
}
