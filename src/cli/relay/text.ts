// Prints requests and responses for people.

import type { HandoffRequest, HandoffResponse } from '../../relay/index.ts'
import { brief, type Output } from '../base/output.ts'

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
