// What crosses the wire: problems, and answers that come line by line.

/** What the server answers when something is wrong. */
export interface Problem {
  readonly type: string
  readonly code: string
  readonly status: number
  readonly detail: string
  readonly field?: string
  readonly hint?: string
  readonly actual?: unknown
  readonly nearest?: readonly string[]
}

export class ProblemError extends Error {
  readonly problem: Problem

  constructor(problem: Problem) {
    super(problem.hint === undefined ? problem.detail : `${problem.detail}. ${problem.hint}`)
    this.name = 'ProblemError'
    this.problem = problem
  }
}

/** No answer came: nothing listens there, or the connection broke. The cause says which. */
export class UnreachableError extends Error {
  constructor(url: string, cause: unknown) {
    super(`The server at ${url} does not answer (${reasonOf(cause)}). Start it with "baton up".`, { cause })
    this.name = 'UnreachableError'
  }
}

/** What fetch says is only that it failed; in Node its cause knows why. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  if (!(cause instanceof Error)) return error.message
  return cause.message || ('code' in cause ? String(cause.code) : error.message)
}

export async function problemOf(response: Response): Promise<Problem> {
  const { status } = response
  const told = (await response.json().catch(() => undefined)) as Partial<Problem> | null | undefined
  // A proxy may answer instead of the server, with anything.
  if (typeof told?.detail === 'string') return told as Problem
  return { type: 'about:blank', code: 'unknown', status, detail: `The server answered ${status}` }
}

export async function* linesOf(response: Response): AsyncGenerator<string> {
  const reader = response.body!.getReader()
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (;;) {
      const next = await reader.read()
      if (next.done) break
      text += decoder.decode(next.value as Uint8Array, { stream: true })
      const lines = text.split('\n')
      text = lines.pop()!
      yield* lines
    }
    if (text !== '') yield text
  } finally {
    await reader.cancel().catch(() => {})
  }
}

/** Resolves early when the signal is aborted: whoever waits looks at it. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
