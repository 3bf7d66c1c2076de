// `baton log`: what happened in a session, from its transcript alone.

import type { AgentName } from '../../agents/index.ts'
import { BatonError, NotFoundError } from '../../errors.ts'
import { sessionLog } from '../../operations/index.ts'
import { age, brief, count, type Globals, type Output } from '../base/output.ts'
import { isTerminal, newestOrPicked, pickSession, refTo } from './pick.ts'
import { clock, costText, gauge, thousands } from './table.ts'
import { withWorkspace } from '../base/workspace.ts'

interface LogOptions extends Globals {
  agent?: AgentName
  since?: string
  all?: boolean
  follow?: boolean
}

export async function log(options: LogOptions, ref?: string): Promise<void> {
  const { agent, since } = options
  const session = ref ?? (await chosen(options))
  await withWorkspace(options, async ({ run }, out) => {
    const found = await run(sessionLog, { session, agent, since }).catch((error: unknown) => {
      if (BatonError.is(error) && error.code === 'not_found') return undefined
      throw error
    })
    if (found === undefined) return logSupervised(options, session)
    const { spent, active: _active, ...rest } = found
    if (out.json) return out.data({ ...rest, spend: spent.cost })
    head(out, found)
    print(out, found, options.all === true)
  })
}

/** A person picks from a list; in a pipe it is the newest session of this folder. */
async function chosen(options: LogOptions): Promise<string> {
  if (!isTerminal(options.io)) return newestOrPicked(options)
  return refTo(await pickSession(options.io, undefined, options.agent), undefined)
}

/** A name that is no session of an agent may be that of a supervised one. */
async function logSupervised(options: LogOptions, name: string): Promise<void> {
  const { supervisedEverywhere } = await import('../supervise/supervised.ts')
  const isSupervised = (await supervisedEverywhere(options)).some(({ row }) => row.name === name)
  if (isSupervised) return (await import('../supervise/logs.ts')).logs(options, name)
  throw new NotFoundError(`There is no session "${name}"`, {
    hint: 'See "baton ls", or give the path of a transcript.',
  })
}

type Story = Awaited<ReturnType<typeof sessionLog.run>>

function head(out: Output, { agent, session, title, cwd, branch, meter, active }: Story): void {
  out.line(out.style('bold', brief(title ?? session, 100)))
  const where = [agent, session, cwd, branch === 'HEAD' ? undefined : branch]
  out.line(out.style('dim', where.filter((each) => each !== undefined).join('  ')))
  const context =
    meter.tokens === undefined
      ? 'context unknown'
      : `context ${gauge(meter)} (${thousands(meter.tokens)}${meter.window === undefined ? '' : ` of ${thousands(meter.window)}`})`
  out.line(out.style('dim', `${context}  last active ${age(active.last)}`))
}

function print(out: Output, { facts, turns, handoffs, active, spent, since }: Story, all: boolean): void {
  const now = Date.now()
  const section = (title: string, lines: readonly string[], total = lines.length) => {
    if (lines.length === 0) return
    out.line()
    const counted = lines.length < total ? `(${lines.length} of ${count(total)} shown; --all)` : `(${count(total)})`
    out.line(`${out.style('cyan', title)} ${out.style('dim', counted)}`)
    for (const line of lines) out.line(`  ${line}`)
  }
  const few = <T>(found: readonly T[], most = 12) => (all ? found : found.slice(Math.max(0, found.length - most)))
  section(
    'Asked',
    few(turns).map(({ at, text }) => `${at === undefined ? '' : `${clock(at, now)}  `}${brief(text, 110)}`),
    turns.length,
  )
  const changed = facts.files.filter(({ state }) => state === 'changed')
  section(
    'Files changed',
    few(changed, 20).map(({ path, action, added, removed }) => `${action.padEnd(8)} ${path}${lines(added, removed)}`),
    changed.length,
  )
  section(
    'Done for good',
    few(facts.deeds).map(({ text }) => brief(text, 110)),
    facts.deeds.length,
  )
  section(
    'Tests',
    few(facts.tests).map(({ command, ok, passed, failed }) => {
      const figures = [passed === undefined ? '' : `${passed} passed`, failed ? `${failed} failed` : '']
      return `${ok ? out.style('green', 'passed') : out.style('red', 'failed')}  ${brief(command, 80)}  ${figures.filter((each) => each !== '').join(', ')}`
    }),
    facts.tests.length,
  )
  const open = facts.failures.filter(({ closed }) => closed === undefined)
  section(
    'Open failures',
    few(open).map(({ what, message }) => `${brief(what, 60)}: ${brief(message, 80)}`),
    open.length,
  )
  section(
    'Questions asked',
    few(facts.questions).map(({ text }) => brief(text, 110)),
    facts.questions.length,
  )
  out.line()
  const { toolCalls, toolErrors } = facts.counts
  const parts = [
    `${count(active.turns)} turn${active.turns === 1 ? '' : 's'}`,
    `${count(toolCalls)} tool calls${toolErrors > 0 ? `, ${count(toolErrors)} failed` : ''}`,
    handoffs > 0 ? `compacted or cleared ${handoffs === 1 ? 'once' : `${count(handoffs)} times`}` : '',
    spent.cost === undefined
      ? 'cost unknown'
      : `spent ${costText(spent)}${spent.cost.prices === undefined ? '' : ` at prices of ${spent.cost.prices}`}`,
  ]
  out.line(
    parts.filter((part) => part !== '').join('  ·  ') +
      (since === undefined ? '' : out.style('dim', `  since ${clock(since, now)}`)),
  )
}

function lines(added: number | undefined, removed: number | undefined): string {
  if (added === undefined && removed === undefined) return ''
  return `  +${added ?? 0} −${removed ?? 0}`
}
