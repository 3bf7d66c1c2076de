// `baton health`: what is well with the supervised sessions, and what is not.

import { healthChecks, type HealthCheck } from '../supervisor/index.ts'
import { percent, stateWord } from './narration.ts'
import { age, brief, type Globals, type Output } from './output.ts'
import { allSupervised, supervised } from './supervised.ts'
import { withStore } from './workspace.ts'

interface HealthOptions extends Globals {
  history?: boolean
}

const styles = { ok: 'green', warning: 'yellow', critical: 'red' } as const

/** Exits with 1 when something is critical, so that a script can ask. */
export async function health(options: HealthOptions, ref: string | undefined): Promise<void> {
  await withStore(options, async (store, out) => {
    const rows = ref === undefined ? await allSupervised(store) : [await supervised(store, ref)]
    const checks: HealthCheck[] = []
    const only = ref === undefined ? {} : { session: rows[0]!.name }
    for await (const check of healthChecks(store, { ...only, history: options.history === true })) checks.push(check)
    if (checks.some(({ status, session }) => status === 'critical' && isOpen(session, rows))) process.exitCode = 1
    if (out.json) {
      for (const row of rows) out.data({ type: 'session', ...row })
      for (const check of checks) out.data({ type: 'check', ...check })
      return
    }
    if (rows.length === 0)
      return out.line('No supervised sessions in this workspace. Start one with "baton run AGENT".')
    out.table([
      ['SESSION', 'STATE', 'CONTEXT', 'CYCLES', 'CHECKED', 'SUPERVISOR'],
      ...rows.map((row) => [
        row.name,
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
  })
}

function isOpen(name: string, rows: readonly { name: string; state: string }[]): boolean {
  return rows.some((row) => row.name === name && row.state !== 'ended')
}

function table(checks: readonly HealthCheck[], out: Output): void {
  out.table([
    ['SESSION', 'CHECK', 'STATUS', 'WHEN', 'WHAT'],
    ...checks.map((check) => [
      check.session,
      check.check_type,
      out.style(styles[check.status], check.status),
      age(check.date),
      brief([check.details.what, check.action_taken].filter((each) => each !== '').join('. '), 120),
    ]),
  ])
}
