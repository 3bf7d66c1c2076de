// `baton logs`: what was done with a supervised session, from its tape.

import { supervisedLogs, tapeWatch } from '../../operations/index.ts'
import { sessionTape } from '../../supervisor/index.ts'
import { fields, number, text } from '../../agents/index.ts'
import { type Entry, isLost } from '../../store/index.ts'
import { untilStopped } from '../base/io.ts'
import type { Globals, Output } from '../base/output.ts'
import { endText } from './event-lines.ts'
import { withSupervised } from './supervised.ts'

interface LogsOptions extends Globals {
  follow?: boolean
}

export async function logs(options: LogsOptions, ref: string): Promise<void> {
  await withSupervised(options, ref, async ({ run, follow }, out, { row: { name } }) => {
    if (!out.json) out.note(`Times are local: ${new Intl.DateTimeFormat().resolvedOptions().timeZone}.`)
    let last = 0
    for (let after: number | undefined = 0; after !== undefined;) {
      const page: Awaited<ReturnType<typeof supervisedLogs.run>> = await run(supervisedLogs, {
        name,
        after,
        limit: 1000,
      })
      for (const entry of page.entries) print(entry, out)
      last = page.entries.at(-1)?.id ?? last
      after = page.next
    }
    if (options.follow !== true) return
    await untilStopped(options.io, async (signal) => {
      for await (const entry of follow(tapeWatch, { tape: sessionTape(name), after: last }, signal)) print(entry, out)
    })
  })
}

function print(entry: Entry, out: Output): void {
  if (out.json) return out.data(entry)
  const line = journalLine(entry)
  if (line !== undefined) out.line(line)
}

/** Events that only programs need. */
const left: ReadonlySet<string> = new Set(['row', 'lease'])

/** Describes an entry in one line; undefined if it says nothing to people. */
function journalLine(entry: Entry): string | undefined {
  const payload = fields(entry.payload)
  if (isLost(entry)) return `lost      ${text(payload.message)}`
  const name = text(payload.name) ?? entry.kind
  if (left.has(name)) return undefined
  const told = lineOf(name, fields(payload.data))
  return told === undefined ? undefined : `${localTime(entry.date)}  ${told}`
}

/** In the zone of this machine, as the first line says. */
function localTime(date: string): string {
  const time = new Date(date)
  const day = [time.getFullYear(), time.getMonth() + 1, time.getDate()].map((part) => String(part).padStart(2, '0'))
  return `${day.join('-')} ${time.toTimeString().slice(0, 8)}`
}

type Fields = ReturnType<typeof fields>

function lineOf(name: string, data: Fields): string | undefined {
  switch (name) {
    case 'run': {
      const run = fields(data.run)
      return `run       ${text(run.agent)} in ${text(run.cwd)}, ${text(run.driver)}`
    }
    case 'whereabouts': {
      const place = fields(data.place)
      const where = text(place.pane) === undefined ? 'without a screen' : `pane ${text(place.pane)}`
      return `agent     ${where}, session ${text(data.session) ?? 'not known yet'}`
    }
    case 'cycle': {
      const cycle = fields(data.cycle)
      if (cycle.at === 'watching') return fields(cycle.say).text === undefined ? undefined : saidLine(fields(cycle.say))
      return `cycle ${number(cycle.n)}   ${text(cycle.at)}${detailOf(cycle)}`
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
      return `agent     is started${text(fields(data.place).pane) === undefined ? ' without a screen' : ` in pane ${text(fields(data.place).pane)}`}`
    case 'snapshot':
      return snapshotLine(data)
    case 'handoff_document':
      return `document  written by the ${text(data.writer) ?? 'agent'}`
    case 'bounds':
      return `bounds    ${JSON.stringify(data)}`
    case 'overruled':
      return `document  the agent was wrong about: ${texts(data.problems).join('; ')}`
    case 'promised':
      return `document  may still come: ${text(data.path)}`
    case 'late':
      return `document  came late: ${text(data.path)}`
    case 'spending':
      return undefined
    default:
      return `${name.padEnd(9)} ${JSON.stringify(data)}`
  }
}

/** With the command that brings the work back. */
function snapshotLine(data: Fields): string | undefined {
  if (data.status === 'taken')
    return `snapshot  ${number(data.files)} files kept; to bring them back: ${text(data.restore)}`
  if (data.status === 'failed') return `snapshot  failed: ${text(data.reason)}`
  return undefined
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.flatMap((each) => text(each) ?? []) : []
}

function saidLine(prompt: Fields): string | undefined {
  return prompt.state === 'typing' ? `said      ${text(prompt.text) ?? ''}` : undefined
}

/** Describes what the cycle got in its current state. */
function detailOf(cycle: Fields): string {
  const document = fields(cycle.document)
  switch (cycle.at) {
    case 'asked':
      return `: ${text(fields(cycle.prompt).state)}, document at ${text(cycle.path)}`
    case 'documented':
      return `: by the ${text(document.by)}, ${text(document.path)}`
    case 'failed':
      return `: ${text(cycle.reason)}`
    default:
      return ''
  }
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
  return [text(fields(details).what), text(action_taken)].filter(Boolean).join('. ')
}
