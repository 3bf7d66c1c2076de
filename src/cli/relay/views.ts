// `baton relay status|check|alerts|routes|schema`: shows the relay, its requests and their responses.

import { loadConfig } from '../../config/index.ts'
import { BatonError, InvalidError } from '../../errors.ts'
import { notifySection } from '../../notify/index.ts'
import {
  type Alert,
  checkRelay,
  type CheckResult,
  isFailed,
  relaySchema,
  relaySchemaNames,
  relaySection,
  type RelaySettings,
  type RelayStatus,
  type RequestStatus,
  type HandoffRequest,
  type HandoffResponse,
} from '../../relay/index.ts'
import { cancellable } from '../base/io.ts'
import { age, brief, count, type Globals, many, Output, printSchema } from '../base/output.ts'
import { progressText, relayAlerts, relayShow, relayStatus } from '../../operations/index.ts'
import { withWorkspace } from '../base/workspace.ts'

export async function status(options: Globals & { wait?: boolean }, requestId?: string): Promise<void> {
  if (requestId === undefined && options.wait === true) throw new InvalidError('--wait needs a request')
  await withWorkspace(options, async ({ run }, out) => {
    if (requestId === undefined) return printStatus(out, await run(relayStatus, {}))
    const found = await cancellable(options.io, (signal) =>
      run(relayShow, { requestId, wait: options.wait }, { signal }),
    )
    if (out.json) return out.data(found)
    printOne(out, found)
    if (options.wait === true && found.response?.status === 'failed') options.io.exit.code = 1
  })
}

function printStatus(out: Output, found: RelayStatus): void {
  if (out.json) return out.data(found)
  const { pending, claimed, escalated, deadLetters, counters, agents, lost } = found
  out.line(`${count(pending)} waiting, ${count(claimed)} in progress, ${count(escalated)} waiting for a person`)
  const rows = Object.entries(agents).map(([name, open]) => [name, count(open.pending), count(open.claimed)])
  if (rows.length > 0) out.table([['AGENT', 'WAITING', 'CLAIMED'], ...rows], [1, 2])
  const { requests, resolved, partial, failed, rejected, circularBlocked, timedOut, late } = counters
  out.line(
    `${many(requests, 'request')} so far: ${count(resolved)} resolved, ${count(partial)} partly, ${count(failed)} failed` +
      ` (${count(rejected)} refused, ${count(circularBlocked)} of them as loops; ${count(timedOut)} timed out),` +
      ` ${count(counters.escalated)} sent to a person, ${many(late, 'late answer')}`,
  )
  if (deadLetters > 0) out.line(`${count(deadLetters)} killed the workers that took them: baton relay dead`)
  if (lost.length > 0) {
    const which = brief(lost.map((id) => `#${id}`).join(', '), 80)
    const what = lost.length === 1 ? 'A damaged entry' : `${count(lost.length)} damaged entries`
    out.warn(`${what} of relay/handoffs could not be kept when it was repaired: ${which}`)
  }
}

function printOne(out: Output, found: RequestStatus): void {
  const { requestId, status, envelope, claim, escalation, response, progress, question } = found
  printRequest(out, requestId, envelope.request)
  const held = claim === undefined ? '' : ` by ${claim.worker} until ${claim.until}`
  const asked = status !== 'escalated' ? '' : ` (baton escalations show ${escalation})`
  out.line(`${status}${held}${asked}, asked ${age(envelope.acceptedAt)}`)
  if (progress !== undefined) out.line(`  ${progressText(progress)}`)
  if (question !== undefined) {
    out.line(`  ${question.by} asks back: ${question.text}`)
    out.line(`  baton relay reply ${requestId} --answer TEXT`)
  }
  if (response !== undefined) printResponse(out, response)
}

export async function check(globals: Globals): Promise<void> {
  const out = new Output(globals)
  const config = loadConfig(globals.io.cwd())
  const results = resultsOf(() => config.section('relay', relaySection))
  for (const result of results) {
    const verdict = result.problems.length === 0 ? 'ok' : isFailed(result) ? 'FAILED' : 'waived'
    if (out.json) {
      out.data({ ...result, ok: verdict !== 'FAILED' })
      continue
    }
    const said = verdict === 'ok' ? [result.found] : result.problems
    out.line(`${verdict.padEnd(6)}  ${result.rule.padEnd(9)}  ${said[0]}`)
    for (const more of said.slice(1)) out.line(`${' '.repeat(19)}${more}`)
    if (verdict === 'waived') out.line(`${' '.repeat(19)}because: ${result.waived}`)
    for (const note of result.notes) out.note(`${' '.repeat(19)}note: ${note}`)
  }
  if (config.section('notify', notifySection).channels.length === 0) {
    out.note('note: nobody is notified when a person is asked; add a channel to "notify" and try it: baton notify test')
  }
  if (results.some((result) => isFailed(result))) globals.io.exit.code = 1
}

/** A section that is invalid by its schema also fails the check. */
function resultsOf(settings: () => RelaySettings): (Omit<CheckResult, 'rule'> & { rule: string })[] {
  try {
    return checkRelay(settings())
  } catch (error) {
    if (!BatonError.is(error) || (error.code !== 'invalid' && error.code !== 'limit')) throw error
    return [{ rule: 'settings', found: '', problems: [error.message], notes: [] }]
  }
}

export async function alerts(options: Globals): Promise<void> {
  await withWorkspace(options, async ({ run }, out) => printAlerts(out, (await run(relayAlerts, {})).alerts))
}

function printAlerts(out: Output, alerts: readonly Alert[]): void {
  if (out.json) return alerts.forEach((alert) => out.data(alert))
  const rows = alerts.map(({ name, severity, on, value, threshold, since }) => [
    name,
    on ? severity.toUpperCase() : 'ok',
    count(value),
    count(threshold),
    on ? age(since) : '',
  ])
  out.table([['ALERT', 'STATE', 'NOW', 'AT MOST', 'SINCE'], ...rows], [2, 3])
  for (const alert of alerts) if (alert.on) printAdvice(out, alert)
}

export function printAdvice(out: Output, { name, text, advice, told }: Alert): void {
  out.line(`\n${name}: ${text}\n${indented(advice)}`)
  for (const { channel, status, error } of told?.channels ?? []) {
    out.note(`  ${status === 'failed' ? `${channel} could not be notified: ${error}` : `${channel} was notified`}`)
  }
}

export async function routes(options: Globals & { format: 'table' | 'mermaid' }): Promise<void> {
  const out = new Output(options)
  const settings = loadConfig(options.io.cwd()).section('relay', relaySection)
  const all = [
    ...settings.routes.map((route) => ({ ...route, allowed: true })),
    { from: '*', to: 'human', reason: 'a critical decision, or low confidence', allowed: true },
    ...settings.forbidden.map((route) => ({ ...route, allowed: false })),
  ]
  if (out.json) return all.forEach((route) => out.data(route))
  if (options.format === 'mermaid') return out.line(mermaidOf(settings))
  const rows = all.map(({ from, to, reason, allowed }) => [
    from === '*' ? 'any agent' : from,
    to,
    allowed ? 'allowed' : 'forbidden',
    brief(reason, 80),
  ])
  out.table([['FROM', 'TO', '', 'WHY'], ...rows])
  if (settings.routes.length === 0) out.note('No routes yet: declare them in the relay section of baton.config.json.')
}

export async function schema(options: Globals, name = 'request'): Promise<void> {
  printSchema(options, name, relaySchemaNames, relaySchema)
}

/** The routes of a relay as a Mermaid diagram. */
function mermaidOf({ agents, routes, forbidden }: RelaySettings): string {
  const names = [
    ...new Set([...Object.keys(agents), ...[...routes, ...forbidden].flatMap(({ from, to }) => [from, to])]),
  ]
  const node = (name: string) => (name === 'human' ? 'human' : `a${names.indexOf(name) + 1}`)
  return [
    'flowchart LR',
    ...names.filter((name) => name !== 'human').map((name) => `  ${node(name)}["${quoted(name)}"]`),
    '  human(["human"])',
    ...routes.map(({ from, to, reason }) => `  ${node(from)} -->|"${quoted(reason)}"| ${node(to)}`),
    ...forbidden.map(({ from, to, reason }) => `  ${node(from)} -.-x|"${quoted(reason)}"| ${node(to)}`),
    ...Object.keys(agents).map((name) => `  ${node(name)} -.-> human`),
  ].join('\n')
}

function quoted(text: string): string {
  return text.replaceAll('"', '#quot;').replaceAll(/\s+/g, ' ')
}

export function printRequest(out: Output, requestId: string, request: HandoffRequest): void {
  const { sourceAgent, handoffTo, priority, reason, reasonDetail, contextForTarget, missingInputs } = request
  out.line(`${out.style('bold', requestId)}  ${sourceAgent} → ${handoffTo}, ${priority}, ${reason}`)
  for (const text of [reasonDetail, contextForTarget.summary]) if (text !== '') out.line(indented(text))
  printMissing(out, missingInputs)
  for (const { attempt, action, result } of contextForTarget.priorAttempts ?? []) {
    out.line(`  attempt ${attempt}: ${brief(action, 100)}: ${brief(result, 100)}`)
  }
  for (const [key, value] of Object.entries(contextForTarget.relevantOutputs ?? {})) {
    out.line(`  ${key} = ${brief(JSON.stringify(value), 160)}`)
  }
}

function printMissing(out: Output, missing: HandoffRequest['missingInputs'] = []): void {
  if (missing.length > 0) out.line('  missing:')
  for (const { key, expectedType, description, source } of missing) {
    const from = source === undefined ? '' : ` (from ${source})`
    out.line(printable(`    ${key}: ${expectedType}${description === '' ? '' : `, ${description}`}${from}`))
  }
}

export function printResponse(out: Output, response: HandoffResponse): void {
  const { status, respondingAgent, executionTimeMs, failureReason, providedInputs } = response
  out.line(`${status} by ${respondingAgent} after ${duration(executionTimeMs)}`)
  if (failureReason !== undefined) out.line(indented(failureReason))
  for (const [key, value] of Object.entries(providedInputs ?? {})) {
    out.line(printable(`  ${key} = ${JSON.stringify(value)}`))
  }
  for (const key of response.unresolved ?? []) out.line(printable(`  ${key} stays missing`))
  for (const text of response.recommendations ?? []) out.line(indented(`> ${text}`))
}

/** Removes control characters, so that text of agents cannot control the terminal. */
function printable(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]/gu, '')
}

/** A duration in the largest unit that it fills. */
export function duration(ms: number): string {
  for (const [unit, size] of [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
    ['s', 1_000],
  ] as const) {
    if (ms >= size) return `${(ms / size).toFixed(ms < 10 * size ? 1 : 0).replace(/\.0$/, '')} ${unit}`
  }
  return `${Math.round(ms)} ms`
}

export function indented(text: string): string {
  return printable(text)
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n')
}
