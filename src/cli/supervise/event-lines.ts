// The events of a supervisor as lines of text for people.

import path from 'node:path'
import type { Ended, SessionRow, SupervisorEvent } from '../../supervisor/index.ts'
import { timeText } from '../../system/index.ts'
import type { Output } from '../base/output.ts'

/** Prints one line per event. A row is printed only if its state or its context usage has changed noticeably. */
export class EventPrinter {
  readonly #out: Output
  /** Whether each line begins with the name of its session. */
  readonly #named: boolean
  readonly #printed = new Map<string, { state: string; tenth: number }>()

  constructor(out: Output, { named = false } = {}) {
    this.#out = out
    this.#named = named
  }

  print(event: SupervisorEvent, now = new Date()): void {
    if (this.#out.json) return this.#out.data({ ...event, date: now.toISOString() })
    const line = this.#line(event)
    if (line === undefined) return
    const name = event.type === 'row' ? event.row.name : event.type === 'health' ? event.check.session : event.name
    const whose = this.#named ? `${name}  ` : ''
    this.#out.note(`${this.#out.style('dim', timeOfDay(now))}  ${whose}${line}`)
  }

  #line(event: SupervisorEvent): string | undefined {
    switch (event.type) {
      case 'row':
        return this.#row(event.row)
      case 'step':
        return `${this.#out.style('cyan', `cycle ${event.cycle}`)}  ${stepText(event.step, event.details)}`
      case 'health': {
        const { status, details, action_taken } = event.check
        if (status === 'ok') return undefined
        const style = status === 'critical' ? 'red' : 'yellow'
        const what = typeof details.what === 'string' ? details.what : event.check.check_type
        return `${this.#out.style(style, status)}  ${checkText(what, action_taken)}`
      }
      case 'ended':
        return endText(event.ended)
    }
  }

  #row(row: SessionRow): string | undefined {
    const printed = this.#printed.get(row.name)
    const tenth = Math.floor((row.context_usage ?? 0) * 10)
    if (printed?.state === row.state && printed.tenth === tenth) return undefined
    this.#printed.set(row.name, { state: row.state, tenth })
    // The steps of a cycle and the end of a session have events of their own.
    if (row.state === 'cycling' || row.state === 'ended') return undefined
    const usage = row.context_usage === undefined ? '' : `  context ${percent(row.context_usage)}`
    return `${stateWord(row)}${usage}`
  }
}

/** Describes the step that begins. */
export function stepText(step: string, details: string): string {
  switch (step) {
    case 'asked': {
      const full = /context at (\d+%)/.exec(details)?.[1]
      return `asked for a handoff document${full === undefined ? '' : `, the context is ${full} full`}`
    }
    case 'documented':
      return `the document is stored: ${path.basename(details)}`
    case 'clearing':
      return 'clears the context'
    case 'resuming':
      return 'has it read the document and resume'
    case 'verifying':
      return 'checks that it read the document and resumed'
    case 'done':
      return 'done: the agent carries on where it was'
    case 'failed':
      return `failed: ${details}`
    default:
      return `${step} ${details}`.trimEnd()
  }
}

export function stateWord({ state, until }: Pick<SessionRow, 'state' | 'until'>): string {
  switch (state) {
    case 'waiting':
      return 'waits at its prompt'
    case 'dialog':
      return 'asks you something: answer it on its screen'
    case 'limited':
      return until === undefined ? 'limited: Baton asks again now and then' : `limited until ${timeText(until)}`
    case 'unsupervised':
      return 'nobody supervises it'
    case 'lost':
      return 'its machine is silent'
    case 'dead':
      return 'its agent is gone'
    case 'starting':
    case 'working':
    case 'cycling':
    case 'paused':
    case 'restarting':
    case 'ended':
      return state
  }
}

/** What a check found and what Baton did, as sentences. */
export function checkText(what: string, action: string): string {
  if (what === '' || action === '') return what + action
  return /[.?!…]$/.test(what) ? `${what} ${action}` : `${what}. ${action}`
}

export function endText(ended: Ended): string {
  switch (ended.why) {
    case 'finished':
      return 'finished: the --until command succeeded'
    case 'bound':
      return `ended at a bound: ${ended.details}`
    case 'stopped':
      return 'stopped'
    case 'exited':
      return 'the agent quit'
    case 'crashed':
      return `given up: ${ended.details}`
    case 'released':
      return 'detached: the agent is still running'
  }
}

export function percent(share: number): string {
  return `${Math.round(share * 100)}%`
}

function timeOfDay(date: Date): string {
  return date.toTimeString().slice(0, 8)
}
