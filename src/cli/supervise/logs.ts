// `baton logs`: what was done with a supervised session, from its tape.

import { supervisedLogs, tapeWatch } from '../../operations/index.ts'
import { sessionTape } from '../../supervisor/index.ts'
import { fields, number, text } from '../../agents/index.ts'
import { type Entry, isLost } from '../../store/index.ts'
import { untilStopped } from '../base/io.ts'
import type { Globals, Output } from '../base/output.ts'
import { checkText, endText, stepText } from './event-lines.ts'
import { withSupervised } from './supervised.ts'

interface LogsOptions extends Globals {
  follow?: boolean
}

export async function logs(options: LogsOptions, ref: string): Promise<void> {
  await withSupervised(options, ref, async ({ run, follow }, out, { row: { name } }) => {
    if (!out.json) out.note(`Times are local: ${new Intl.DateTimeFormat().resolvedOptions().timeZone}.`)
    const print = printer(out)
    let last = 0
    for (let after: number | undefined = 0; after !== undefined;) {
      const page: Awaited<ReturnType<typeof supervisedLogs.run>> = await run(supervisedLogs, {
        name,
        after,
        limit: 1000,
      })
      for (const entry of page.entries) print(entry)
      last = page.entries.at(-1)?.id ?? last
      after = page.next
    }
    if (options.follow !== true) return
    await untilStopped(options.io, async (signal) => {
      for await (const entry of follow(tapeWatch, { tape: sessionTape(name), after: last }, signal)) print(entry)
    })
  })
}

/** Prints a line for each entry that says something new. A step of a cycle is written down more than once. */
function printer(out: Output): (entry: Entry) => void {
  let last = ''
  return (entry) => {
    if (out.json) return out.data(entry)
    const payload = fields(entry.payload)
    if (isLost(entry)) return out.line(`lost      ${text(payload.message)}`)
    const line = lineOf(text(payload.name) ?? entry.kind, fields(payload.data))
    if (line === undefined || line === last) return
    if (line.startsWith('cycle ')) last = line
    out.line(`${localTime(entry.date)}  ${line}`)
  }
}

/** In the zone of this machine, as the first line says. */
function localTime(date: string): string {
  const time = new Date(date)
  const day = [time.getFullYear(), time.getMonth() + 1, time.getDate()].map((part) => String(part).padStart(2, '0'))
  return `${day.join('-')} ${time.toTimeString().slice(0, 8)}`
}

type Fields = ReturnType<typeof fields>

/** Describes an entry in one line; undefined if it says nothing to people. */
function lineOf(name: string, data: Fields): string | undefined {
  switch (name) {
    // Only programs need these, or another line says the same.
    case 'row':
    case 'lease':
    case 'spending':
    case 'handoff_document':
      return undefined
    case 'run': {
      const run = fields(data.run)
      return `run       ${text(run.agent)} in ${text(run.cwd)}, ${text(run.driver)}`
    }
    case 'whereabouts': {
      const session = text(data.session)
      return session === undefined ? undefined : `agent     ${placeText(fields(data.place))}, session ${session}`
    }
    case 'cycle': {
      const cycle = fields(data.cycle)
      if (cycle.at === 'watching') return fields(cycle.say).text === undefined ? undefined : saidLine(fields(cycle.say))
      const told = cycleText(cycle)
      return told === undefined ? undefined : `cycle ${number(cycle.n)}   ${told}`
    }
    case 'cycled':
      return cycledLine(data)
    case 'health':
      return `health    ${text(data.check_type)} ${text(data.status)}: ${healthText(data)}`
    case 'control':
      return `person    ${text(data.wish)}`
    case 'restarts':
      return 'agent     restarted'
    case 'ended':
      return `end       ${endText(data as unknown as Parameters<typeof endText>[0])}`
    case 'launching':
      return `agent     is started ${placeText(fields(data.place))}`
    case 'snapshot':
      return snapshotLine(data)
    case 'bounds':
      return `bounds    ${Object.entries(data)
        .map(([bound, value]) => `${bound} ${String(value)}`)
        .join(', ')}`
    case 'overruled':
      return `document  the agent was wrong about: ${texts(data.problems).join('; ')}`
    case 'promised':
      return `document  may still come: ${text(data.path)}`
    case 'late':
      return `document  came late: ${text(data.path)}`
    default:
      return `${name.padEnd(9)} ${JSON.stringify(data)}`
  }
}

/** With the command that brings the work back. */
function snapshotLine(data: Fields): string | undefined {
  if (data.status === 'taken') {
    const left = Array.isArray(data.left) ? (data.left as unknown[]).map(fields) : []
    const without =
      left.length === 0 ? '' : `, without ${left.map((each) => `${text(each.path)} (${text(each.why)})`).join(', ')}`
    return `snapshot  ${number(data.files)} files kept${without}; to bring them back: ${text(data.restore)}`
  }
  if (data.status === 'failed') return `snapshot  failed: ${text(data.reason)}`
  return undefined
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.flatMap((each) => text(each) ?? []) : []
}

function saidLine(prompt: Fields): string | undefined {
  return prompt.state === 'typing' ? `said      ${text(prompt.text) ?? ''}` : undefined
}

function placeText(place: Fields): string {
  const pane = text(place.pane)
  return pane === undefined ? 'without a screen' : `in pane ${pane}`
}

/** Describes the step that a cycle is at. How it ends, the record of the whole cycle says. */
function cycleText(cycle: Fields): string | undefined {
  const document = fields(cycle.document)
  const prompt = fields(cycle.prompt)
  if (prompt.state === 'refused') return `waits for a chance to type: ${text(prompt.reason)}`
  switch (cycle.at) {
    case 'asked': {
      const percent = number(fields(cycle.trigger).percent)
      const full = percent === undefined ? '' : `, the context is ${Math.round(percent)}% full`
      return `asks ${cycle.asks === 2 ? 'again ' : ''}for a handoff document${full}: ${text(cycle.path)}`
    }
    case 'documented':
      return `the document is stored, written by ${authors[text(document.by) ?? ''] ?? 'the agent'}: ${text(document.path)}`
    case 'done':
    case 'failed':
      return undefined
    default:
      return stepText(text(cycle.at) ?? '', '')
  }
}

const authors: Readonly<Record<string, string>> = {
  ledger: 'Baton',
  repaired: 'the agent and completed by Baton',
}

function cycledLine(data: Fields): string {
  const seconds = (ms: unknown) => `${((number(ms) ?? 0) / 1000).toFixed(1)} s`
  const shares = [data.percentBefore, data.percentAfter].map((each) =>
    number(each) === undefined ? '?' : `${Math.round(number(each)!)}%`,
  )
  const reason = text(data.reason) === undefined ? '' : `: ${text(data.reason)}`
  return `cycle ${number(data.n)}   ${text(data.outcome)}${reason} in ${seconds(data.totalMs)}, Baton's part ${seconds(data.ownMs)}; context ${shares.join(' -> ')}`
}

function healthText({ details, action_taken }: Fields): string {
  return checkText(text(fields(details).what) ?? '', text(action_taken) ?? '')
}
