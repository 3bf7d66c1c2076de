// Keeps a lease for as long as something takes.

import { after } from './timer.ts'

/** Beats three times in the length of a lease, until the returned function is called or `beat` says that it is lost. */
export function beating(leaseMs: number, beat: () => Promise<boolean>, onLost: () => void): () => void {
  let isOver = false
  const every = Math.max(1, leaseMs / 3)
  const next = async () => {
    // A beat that cannot be written is tried again; if none can, the lease ends, as for a worker that died.
    const isHeld = await beat().catch(() => true)
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
