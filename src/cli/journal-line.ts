// An entry of a supervised session's tape in a line, for people; what only programs need is left out.

import type { Entry } from '../store/index.ts'
import { fields, number, text } from '../transcripts/fields.ts'
import { endText } from './narration.ts'
import { brief } from './output.ts'

const left: ReadonlySet<string> = new Set(['row', 'lease'])

export function journalLine(entry: Entry): string | undefined {
  const payload = fields(entry.payload)
  const name = text(payload.name) ?? entry.kind
  if (left.has(name)) return undefined
  const told = lineOf(name, fields(payload.data))
  return told === undefined ? undefined : `${entry.date.slice(0, 19).replace('T', ' ')}  ${told}`
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
      return `health    ${text(data.check_type)} ${text(data.status)}: ${text(fields(data.details).what) ?? ''} ${text(data.action_taken) ?? ''}`.trimEnd()
    case 'control':
      return `person    ${text(data.wish)}`
    case 'restarts':
      return 'agent     restarted'
    case 'ended':
      return `end       ${endText(data as unknown as Parameters<typeof endText>[0])}`
    default:
      return `${name.padEnd(9)} ${brief(JSON.stringify(data), 110)}`
  }
}

function saidLine(prompt: Fields): string | undefined {
  return prompt.state === 'typing' ? `said      ${brief(text(prompt.text) ?? '', 110)}` : undefined
}

/** What is new in that state. */
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
