// The line that an agent shows below its prompt: the person's own, then Baton's `ctx 43 % · 5h 61 % · 1 waits for you`. It is
// drawn at every message, so it reads two small files and the agent's own figures.

import { spawnSync } from 'node:child_process'
import type { Gauge } from './hook-state.ts'

/** What Claude Code passes to its status line, as far as Baton uses it. */
export interface StatusInput {
  readonly context_window?: { readonly used_percentage?: number | null } | null
  readonly rate_limits?: Readonly<Record<string, { readonly used_percentage?: number | null } | null>> | null
}

/** `gauge`: what the worker found out at the end of the last turn. */
export function statusText(input: StatusInput, gauge: Gauge | undefined): string {
  const context = input.context_window?.used_percentage ?? gauge?.percent
  const limits = Object.entries(input.rate_limits ?? {}).flatMap(([name, limit]) =>
    typeof limit?.used_percentage === 'number' ? [{ name, usedPercent: limit.used_percentage }] : [],
  )
  const quotas = limits.length > 0 ? limits : (gauge?.quotas ?? [])
  const waiting = gauge?.waiting ?? 0
  return [
    ...(typeof context === 'number' ? [`ctx ${Math.round(context)} %`] : []),
    ...quotas.map(({ name, usedPercent }) => `${quotaName(name)} ${Math.round(usedPercent)} %`),
    ...(waiting > 0 ? [`${waiting} ${waiting === 1 ? 'waits' : 'wait'} for you`] : []),
  ].join(' · ')
}

const quotaNames: Readonly<Record<string, string>> = {
  five_hour: '5h',
  seven_day: '7d',
  primary: '5h',
  secondary: '7d',
}

function quotaName(name: string): string {
  return quotaNames[name] ?? name.replaceAll('_', ' ')
}

/** How long the person's own command may take before Baton's part is shown without it. */
const patienceMs = 3_000

/** What the person's own command prints; empty if it fails, as the agent itself would show nothing then. */
export function ownStatusLine(command: string, input: string, env: NodeJS.ProcessEnv): string {
  const { status, stdout } = spawnSync('/bin/sh', ['-c', command], {
    input,
    env,
    encoding: 'utf8',
    timeout: patienceMs,
  })
  return status === 0 ? stdout.trimEnd() : ''
}

export function joinStatus(own: string, ours: string): string {
  return [own, ours].filter((part) => part !== '').join(' · ')
}
