// Timers and abort signals: for spans longer than `setTimeout` takes, by a clock that does not jump, and for signals that
// many wait on at once.

import { setMaxListeners } from 'node:events'

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

/** Who waits for a signal: one listener of the signal serves them all, because adding and removing one is slow. */
const waiting = new WeakMap<AbortSignal, Set<() => void>>()

/** Calls back when the signal is aborted, at once if it is, unless the returned function is called before. */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal === undefined) return () => {}
  if (signal.aborted) {
    callback()
    return () => {}
  }
  const callbacks = waiting.get(signal) ?? newWaiting(signal)
  // Two calls with one callback are two.
  const own = () => callback()
  callbacks.add(own)
  return () => {
    callbacks.delete(own)
    if (callbacks.size === 0 && waiting.get(signal) === callbacks) stopWaiting(signal)
  }
}

function newWaiting(signal: AbortSignal): Set<() => void> {
  const callbacks = new Set<() => void>()
  waiting.set(signal, callbacks)
  // A relay may wait on any number of signals that its caller has made of one.
  setMaxListeners(0, signal)
  signal.addEventListener('abort', onSignal)
  return callbacks
}

function stopWaiting(signal: AbortSignal): void {
  waiting.delete(signal)
  signal.removeEventListener('abort', onSignal)
}

function onSignal(this: AbortSignal): void {
  const callbacks = waiting.get(this)
  stopWaiting(this)
  for (const callback of callbacks ?? []) callback()
}

/** Renews a lease three times in its length, until the returned function is called or `renew` says that it is lost. */
export function keepLease(leaseMs: number, renew: () => Promise<boolean>, onLost: () => void): () => void {
  let isOver = false
  const every = Math.max(1, leaseMs / 3)
  const next = async () => {
    // A renewal that cannot be written is tried again. If none can be written, the lease ends as if the worker had died.
    const isHeld = await renew().catch(() => true)
    if (isOver) return
    if (isHeld) stop = after(every, () => void next())
    else onLost()
  }
  let stop = after(every, () => void next())
  return () => {
    isOver = true
    stop()
  }
}
