// The live stream for a client: it reconnects by itself, and resumes after the last event that was seen.

import type * as z from 'zod'
import { InvalidError } from '../errors.ts'
import type { Operations } from '../operations/index.ts'
import { checkOptions } from '../options.ts'
import { linesOf, pause, ProblemError } from './transport.ts'

type Entry = z.output<Operations['tapeWatch']['each']>
type Waiting = z.output<Operations['waitingList']['output']>

export interface LiveOptions {
  /** Tape: the last entry that was seen; `now` begins with what is new, as does a list of tapes. */
  readonly tapes?: Readonly<Record<string, number | 'now'>> | readonly string[]
  /** Which tapes have changed. */
  readonly activity?: boolean
  /** What waits for a person. */
  readonly waiting?: boolean
  readonly signal?: AbortSignal
  /** Told when the stream is open, and when it was cut and is tried again. */
  readonly onState?: (state: LiveState) => void
}

type LiveState = 'open' | 'reconnecting'

export type LiveEvent =
  | { readonly type: 'entry'; readonly tape: string; readonly entry: Entry }
  | {
      readonly type: 'activity'
      /** Whether these are all tapes; otherwise those that have changed. */
      readonly complete: boolean
      readonly tapes: readonly { tape: string; entries: number; lastId: number; lastAnchor?: string; date?: string }[]
    }
  | ({ readonly type: 'waiting' } & Waiting)

type Open = (path: string, headers: Record<string, string>, signal: AbortSignal | undefined) => Promise<Response>

/** Throws at once when the options are wrong. */
export function liveEvents(open: Open, options: LiveOptions): AsyncGenerator<LiveEvent> {
  checkOptions('client.live', options, { tapes: true, activity: true, waiting: true, signal: true, onState: true })
  return followed(open, positionsOf(options.tapes ?? {}), options)
}

/** As the server reads them. */
function positionsOf(tapes: NonNullable<LiveOptions['tapes']>): readonly string[] {
  if (Array.isArray(tapes)) return tapes as readonly string[]
  return Object.entries(tapes).map(([tape, at]) => {
    if (at === 'now') return tape
    if (typeof tapes === 'object' && Number.isSafeInteger(at) && at >= 0) return `${tape}#${at}`
    throw new InvalidError('The tapes to follow must each have the id of the last entry that was seen, or "now"', {
      path: 'tapes',
      hint: 'For example: { tapes: { main: 12 } }, or { tapes: ["main"] } for what is new.',
    })
  })
}

async function* followed(
  open: Open,
  names: readonly string[],
  { activity, waiting, signal, onState = () => {} }: LiveOptions,
): AsyncGenerator<LiveEvent> {
  const query = new URLSearchParams()
  if (names.length > 0) query.set('tapes', names.join(','))
  if (activity === true) query.set('activity', '1')
  if (waiting === true) query.set('waiting', '1')
  let lastId = ''
  const isOver = () => signal?.aborted === true
  for (let failures = 0; !isOver();) {
    try {
      const response = await open(
        `/v1/live?${query.toString()}`,
        lastId === '' ? {} : { 'last-event-id': lastId },
        signal,
      )
      failures = 0
      onState('open')
      for await (const { id, type, data } of eventsOf(response)) {
        yield { type, ...(JSON.parse(data) as object) } as LiveEvent
        // Only now: whoever stops here sees it again.
        if (id !== undefined) lastId = id
      }
    } catch (error) {
      if (error instanceof ProblemError && error.problem.status < 500) throw error
    }
    failures += 1
    if (!isOver()) onState('reconnecting')
    await pause(Math.min(5_000, 100 * 2 ** failures), signal)
  }
}

interface ServerEvent {
  readonly id: string | undefined
  readonly type: string
  readonly data: string
}

export async function* eventsOf(response: Response): AsyncGenerator<ServerEvent> {
  let [id, type, data] = [undefined as string | undefined, 'message', '']
  for await (const line of linesOf(response)) {
    if (line === '') {
      if (data !== '') yield { id, type, data }
      ;[id, type, data] = [undefined, 'message', '']
    } else if (line.startsWith('id: ')) id = line.slice(4)
    else if (line.startsWith('event: ')) type = line.slice(7)
    else if (line.startsWith('data: ')) data += line.slice(6)
  }
}
