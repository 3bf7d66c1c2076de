// `baton health`: the health checks of the supervised sessions.

import path from 'node:path'
import { supervisedShow } from '../../operations/index.ts'
import type { HealthCheck, SessionRow } from '../../supervisor/index.ts'
import { checkText, percent, stateWord } from './event-lines.ts'
import { age, brief, type Globals, Output } from '../base/output.ts'
import { supervisedEverywhere, withSupervised } from './supervised.ts'
import { withWorkspace } from '../base/workspace.ts'

interface HealthOptions extends Globals {
  history?: boolean
  all?: boolean
}

const styles = { ok: 'green', warning: 'yellow', critical: 'red' } as const

/** Exits with 1 when something needs a person, so that a script can ask. Sessions that have ended are left out unless asked for. */
export async function health(options: HealthOptions, ref: string | undefined): Promise<void> {
  const out = new Output(options)
  const everywhere = await supervisedEverywhere(options)
  const found =
    ref === undefined
      ? everywhere.filter(({ row }) => options.all === true || row.state !== 'ended')
      : [await withSupervised(options, ref, (_store, _out, located) => Promise.resolve(located))]
  const rows = found.map(({ row }) => row)
  const checks: HealthCheck[] = []
  for (const { row, globals } of found) {
    const wanted = { name: row.name, history: options.history }
    checks.push(...(await withWorkspace(globals, ({ run }) => run(supervisedShow, wanted))).checks)
  }
  const open = rows.filter(({ state }) => state !== 'ended')
  const isOpen = ({ session, project }: HealthCheck) =>
    open.some((row) => row.name === session && row.project === project)
  if (open.some(needsPerson) || checks.some((check) => isOpen(check) && asksPerson(check))) options.io.exit.code = 1
  if (out.json) {
    for (const row of rows) out.data({ type: 'session', ...row })
    for (const check of checks) out.data({ type: 'check', ...check })
    return
  }
  if (rows.length === 0)
    return out.line(
      everywhere.length === 0
        ? 'No supervised sessions on this machine. Start one with "baton run AGENT".'
        : 'No supervised session is running. Ended ones: baton health --all',
    )
  out.table([
    ['SESSION', 'PROJECT', 'STATE', 'CONTEXT', 'CYCLES', 'CHECKED', 'SUPERVISOR'],
    ...rows.map((row) => [
      row.name,
      path.basename(row.project),
      stateWord(row),
      row.context_usage === undefined ? 'unknown' : percent(row.context_usage),
      `${row.cycles}${row.lastCycle === undefined ? '' : `, ${age(row.lastCycle)}`}`,
      age(row.last_check),
      row.state === 'ended' ? '' : row.supervisor ? `pid ${row.supervisor.pid}` : 'none: baton watch',
    ]),
  ])
  out.line()
  if (checks.length === 0) return out.line('No checks yet.')
  table(checks, out)
}

/** Nobody looks after it, or it asks something. */
function needsPerson({ state }: SessionRow): boolean {
  return state === 'unsupervised' || state === 'dead' || state === 'lost' || state === 'dialog'
}

function asksPerson({ status, check_type }: HealthCheck): boolean {
  return status === 'critical' || (status === 'warning' && (check_type === 'dialog' || check_type === 'prompt'))
}

function table(checks: readonly HealthCheck[], out: Output): void {
  out.table([
    ['SESSION', 'CHECK', 'STATUS', 'WHEN', 'WHAT'],
    ...checks.map((check) => [
      check.session,
      check.check_type,
      out.style(styles[check.status], check.status),
      age(check.date),
      brief(checkText(String(check.details.what ?? ''), check.action_taken), Number.POSITIVE_INFINITY),
    ]),
  ])
}
