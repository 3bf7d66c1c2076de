// Tries until it works, or until it is clear that it will not.

/** One attempt: done, not worth another, or worth one after a while. */
export type Attempt =
  | { readonly status: 'sent' }
  | { readonly status: 'refused'; readonly error: string }
  | { readonly status: 'retry'; readonly error: string; readonly afterMs?: number | undefined }

export interface Attempts {
  readonly attempts: number
  /** Undefined when the last attempt worked. */
  readonly error: string | undefined
}

/** A server that wants to be left alone for longer than this has refused, as far as this notification goes. */
const longestWaitMs = 60_000

export async function attempt(
  one: (signal: AbortSignal) => Promise<Attempt>,
  { retries, backoffMs, signal }: { retries: number; backoffMs: number; signal: AbortSignal },
): Promise<Attempts> {
  for (let attempts = 1; ; attempts++) {
    const result = await one(signal)
    if (result.status === 'sent') return { attempts, error: undefined }
    if (result.status === 'refused') return { attempts, error: result.error }
    if (signal.aborted) return { attempts, error: `${result.error}; the program ended before it was tried again` }
    if (attempts > retries) return { attempts, error: result.error }
    const { afterMs } = result
    if (afterMs !== undefined && afterMs > longestWaitMs) {
      return { attempts, error: `${result.error}; it asks to wait ${Math.ceil(afterMs / 1000)} s, which is too long` }
    }
    // Spread, so that many who failed together do not come back together.
    await pause(afterMs ?? backoffMs * 2 ** (attempts - 1) * (0.75 + Math.random() / 2), signal)
    if (signal.aborted) return { attempts, error: `${result.error}; the program ended before it was tried again` }
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
  })
}
