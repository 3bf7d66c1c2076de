// Operations as queries and actions. A query is named by its operation and input, so that the live stream knows which of them
// something new concerns.

import {
  MutationCache,
  QueryCache,
  QueryClient,
  useMutation,
  type UseMutationResult,
  useQuery,
  type UseQueryResult,
} from '@tanstack/react-query'
import {
  type AnswerOf,
  type CallOptions,
  createClient,
  type InputOf,
  type OnceName,
  ProblemError,
  UnreachableError,
} from '../../client/index.ts'
import { noticeRefusal } from './access.ts'

export type { AnswerOf, InputOf, OnceName } from '../../client/index.ts'

/** The client of this page's own server, which recognises the browser by its cookie. */
export const client = createClient({ url: '' })

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: noticeRefusal }),
  mutationCache: new MutationCache({ onError: noticeRefusal }),
  defaultOptions: {
    queries: {
      // The live stream says when something is stale.
      staleTime: Number.POSITIVE_INFINITY,
      gcTime: 60_000,
      // The client has tried several times already.
      retry: false,
      refetchOnWindowFocus: false,
      // The server is this machine: whether there is a network does not matter.
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
})

type Method<N extends OnceName> = (input: InputOf<N>, options?: CallOptions) => Promise<AnswerOf<N>>

/** The typed method of an operation, for calls that are no query. */
export function call<N extends OnceName>(name: N): Method<N> {
  return client[name] as unknown as Method<N>
}

interface QueryOptions {
  readonly enabled?: boolean
  /** For what no tape records, such as the files of agents on this machine. */
  readonly everyMs?: number
  /** Shows the answer to the input before while the new one is on its way. */
  readonly keep?: boolean
}

function queryOf<N extends OnceName>(name: N, input: InputOf<N>) {
  return {
    queryKey: [name, input],
    queryFn: ({ signal }: { signal: AbortSignal }) => call(name)(input, { signal }),
  }
}

/** Asks before anybody has drawn what shows the answer. */
export function askAhead<N extends OnceName>(name: N, input: InputOf<N>): void {
  void queryClient.prefetchQuery(queryOf(name, input))
}

/** The sessions that pages look at: the same question everywhere, so that it is asked once. */
export const sessionsAsked = { limit: 300 }

/** The answer of an operation, kept fresh by the live stream. */
export function useOperation<N extends OnceName>(
  name: N,
  input: InputOf<N>,
  { enabled = true, everyMs, keep = false }: QueryOptions = {},
): UseQueryResult<AnswerOf<N>> {
  return useQuery<AnswerOf<N>>({
    ...queryOf(name, input),
    enabled,
    ...(everyMs === undefined ? {} : { refetchInterval: everyMs }),
    ...(keep ? { placeholderData: (before: AnswerOf<N> | undefined) => before } : {}),
  } as Parameters<typeof useQuery<AnswerOf<N>>>[0])
}

/** An operation that a person starts. The live stream reports what it changes; `onDone` is called sooner. */
export function useAction<N extends OnceName>(
  name: N,
  options: { onDone?: (answer: AnswerOf<N>, input: InputOf<N>) => void; onError?: (error: Error) => void } = {},
): UseMutationResult<AnswerOf<N>, Error, InputOf<N>> {
  return useMutation<AnswerOf<N>, Error, InputOf<N>>({
    mutationFn: (input) => call(name)(input),
    onSuccess: (answer, input) => options.onDone?.(answer, input),
    onError: (error) => options.onError?.(error),
  })
}

/** A failure in words: what happened, and what to do. */
export function problemText(error: unknown): { readonly what: string; readonly hint?: string } {
  if (error instanceof ProblemError) {
    const { detail, hint } = error.problem
    return hint === undefined ? { what: detail } : { what: detail, hint }
  }
  if (error instanceof UnreachableError)
    return { what: 'The server does not answer', hint: 'Start it again with "baton up".' }
  return { what: error instanceof Error ? error.message : String(error) }
}
