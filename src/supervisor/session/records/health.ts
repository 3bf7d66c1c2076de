// Health checks, as entries of the session's tape: written on change only, and all of them kept.

import os from 'node:os'
import path from 'node:path'
import type { Entry, Store } from '../../../store/index.ts'
import { timeText } from '../../../system/index.ts'
import { sessionNames } from './session-row.ts'
import { type Notify, type Run, sessionTape } from '../../run.ts'

type Status = 'ok' | 'warning' | 'critical'

export interface HealthCheck {
  readonly session: string
  /** The project's folder. */
  readonly project: string
  readonly check_type: (typeof checkTypes)[number]
  readonly status: Status
  readonly details: Readonly<Record<string, unknown>>
  readonly action_taken: string
  readonly date: string
  readonly id: number
}

const checkTypes = [
  'context',
  'handoff',
  'prompt',
  'agent',
  'model',
  'quota',
  'dialog',
  'bounds',
  'storage',
  'project',
  'settings',
] as const

export interface Check {
  readonly check_type: HealthCheck['check_type']
  readonly status: Status
  /** What is the matter, in a sentence. */
  readonly what: string
  readonly action_taken: string
  /** What a person should do; none are told without. */
  readonly advice?: string
  readonly details?: Readonly<Record<string, unknown>>
}

interface Alert {
  readonly level: 'info' | 'warning' | 'critical'
  readonly what: string
  /** What Baton does about it. */
  readonly action: string
  readonly advice: string
}

interface Told extends Alert {
  /** Of a reminder: when it was first told. */
  readonly since?: string
  readonly key: string
}

/** The health of one session: each change is kept, and a person told where it is more than `ok`. */
export class Health {
  readonly #store: Store
  readonly #run: Run
  readonly #notify: Notify | undefined
  readonly #onCheck: (check: HealthCheck) => void
  readonly #last = new Map<string, string>()
  /** What people were told and what still stands, by the type of its check. */
  readonly #alerts = new Map<string, Alert & { readonly toldAt: number; readonly times: number }>()

  constructor(store: Store, run: Run, notify: Notify | undefined, onCheck: (check: HealthCheck) => void) {
    this.#store = store
    this.#run = run
    this.#notify = notify
    this.#onCheck = onCheck
  }

  async report({ check_type, status, what, action_taken, advice, details = {} }: Check): Promise<void> {
    const { name, cwd } = this.#run
    const tape = sessionTape(name)
    const key = `health:${check_type}`
    const known = this.#last.get(key)
    const entry = known === undefined ? await this.#store.latest(tape, key) : undefined
    const last = known ?? stampOf(entry)
    const stamp = `${status} ${what}`
    // That all is well holds when it is written down; that something is wrong, people are told even where nothing can be written.
    if (status !== 'ok') this.#last.set(key, stamp)
    const told = status !== 'ok' && advice !== undefined
    const alert = told ? { level: status, what, action: action_taken, advice } : undefined
    // A supervisor before this one has told it: people are only reminded.
    if (alert !== undefined && entry !== undefined && stamp === last)
      this.#alerts.set(check_type, { ...alert, toldAt: Date.parse(entry.date), times: 1 })
    // A check that was never worse than ok need not be written.
    if (
      stamp === last ||
      (status === 'ok' && (last === undefined || last.startsWith('ok ')) && check_type !== 'handoff')
    ) {
      this.#last.set(key, stamp)
      return
    }
    try {
      const data = { project: cwd, check_type, status, details: { what, ...details }, action_taken }
      const draft = { kind: 'event', payload: { name: 'health', data }, meta: { key, context: false } }
      const [written] = await this.#store.append(tape, [draft])
      this.#last.set(key, stamp)
      this.#onCheck(asCheck(name, written!))
    } finally {
      // A person is told even where the disk is full: then above all.
      if (alert !== undefined) {
        this.#alerts.set(check_type, { ...alert, toldAt: Date.now(), times: 1 })
        this.tell({ ...alert, key: `${check_type} ${stamp}` })
      } else this.#alerts.delete(check_type)
    }
  }

  /** Tells a person; every alert says who, where, what happened, what Baton did, and what to type. */
  tell({ level, what, action, advice, since, key }: Told): void {
    const { name, cwd } = this.#run
    const title = headline(what)
    const body = [
      since === undefined ? [] : `Still open since ${since}.`,
      title === what ? [] : what,
      action === '' ? [] : `${action}.`,
      `Session ${name}, project ${cwd}, on ${os.hostname()}`,
    ].flat()
    const notification = {
      level,
      title: `${name} in ${path.basename(cwd)}: ${title}`,
      body: body.join('\n'),
      action: advice,
      source: 'supervisor',
      key: `${name} ${key}`,
    } as const
    void this.#notify?.notify(notification)
  }

  /** Tells again what still needs a person, each time as long after the last. */
  remind(everyMs: number, now: number): void {
    for (const [type, alert] of this.#alerts) {
      if (!needsPerson(type, alert) || now - alert.toldAt < everyMs) continue
      const since = timeText(alert.toldAt - (alert.times - 1) * everyMs, now)
      this.#alerts.set(type, { ...alert, toldAt: now, times: alert.times + 1 })
      this.tell({ ...alert, since, key: `${type} ${alert.what} ${alert.times}` })
    }
  }

  /** When the next reminder is due. */
  nextReminder(everyMs: number): number | undefined {
    const open = [...this.#alerts].filter(([type, alert]) => needsPerson(type, alert))
    return open.length === 0 ? undefined : Math.min(...open.map(([, { toldAt }]) => toldAt + everyMs))
  }
}

/** What fits on the lock screen of a telephone. */
const headlineLength = 100

function headline(what: string): string {
  if (what.length <= headlineLength) return what
  const fits = what.slice(0, headlineLength)
  const sentence = fits.indexOf('. ')
  if (sentence > 0) return fits.slice(0, sentence)
  const words = fits.lastIndexOf(' ')
  return `${words < headlineLength / 2 ? fits : fits.slice(0, words)}…`
}

/** Whether it stands until a person does something. Of the rest they are told once. */
function needsPerson(type: string, { level }: Alert): boolean {
  return level === 'critical' || type === 'dialog' || type === 'prompt'
}

function stampOf(entry: Entry | undefined): string | undefined {
  const { data } = (entry?.payload ?? {}) as { data?: { status: Status; details: { what: string } } }
  return data && `${data.status} ${data.details.what}`
}

function asCheck(session: string, entry: Entry): HealthCheck {
  const { data } = entry.payload as { data: Omit<HealthCheck, 'session' | 'date' | 'id'> }
  return { session, ...data, date: entry.date, id: entry.id }
}

export interface HealthQuery {
  readonly session?: string
  /** Every change, newest first, rather than the newest of each type. */
  readonly history?: boolean
  /** Of each session. */
  readonly limit?: number
}

/** The newest check of each type, of one session or of all. */
export async function* healthChecks(store: Store, query: HealthQuery = {}): AsyncGenerator<HealthCheck> {
  const { history = false, limit = history ? 100 : checkTypes.length } = query
  for await (const name of query.session === undefined ? sessionNames(store) : [query.session]) {
    let left = limit
    for await (const check of history ? past(store, name) : present(store, name)) {
      if (left-- <= 0) break
      yield check
    }
  }
}

async function* present(store: Store, name: string): AsyncGenerator<HealthCheck> {
  for (const type of checkTypes) {
    const entry = await store.latest(sessionTape(name), `health:${type}`)
    if (entry !== undefined) yield asCheck(name, entry)
  }
}

async function* past(store: Store, name: string): AsyncGenerator<HealthCheck> {
  for await (const entry of store.read(sessionTape(name), { kinds: ['event'], reverse: true })) {
    if ((entry.payload as { name?: unknown }).name === 'health') yield asCheck(name, entry)
  }
}
