// Ctrl-C and its kin, for work that has to be ended in good order.

/** The signal is aborted when the user ends the command. */
export async function cancellable<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController()
  const end = () => stop.abort()
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.once(signal, end)
  try {
    return await work(stop.signal)
  } finally {
    for (const signal of signals) process.removeListener(signal, end)
  }
}
