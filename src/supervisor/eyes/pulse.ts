// One slow clock for everything that the file system does not tell: whether processes live, and what is due.

const beat = 1_000
const listeners = new Set<() => void>()
let timer: NodeJS.Timeout | undefined

export function onPulse(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(() => {
    for (const each of listeners) each()
  }, beat)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}
