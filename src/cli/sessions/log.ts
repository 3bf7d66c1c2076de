// `baton log`: what happened in a session, from its transcript alone.

import type { Ledger } from '../../handoff/index.ts'
import { ledger } from '../../handoff/index.ts'
import { NotFoundError } from '../../errors.ts'
import { type AgentName, agentNamed, type Fact, type SessionFile } from '../../agents/index.ts'
import { type Meter, resolveSession } from '../../transcripts/index.ts'
import { markOf } from '../../transcripts/index.ts'
import { sessionEntries } from '../../transcripts/index.ts'
import { meterOf } from '../../transcripts/index.ts'
import { configuredModels } from '../../config/index.ts'
import { addFact as countFact, emptyStats, type SessionStats } from '../../transcripts/index.ts'
import { age, brief, count, type Globals, Output } from '../base/output.ts'
import { pickSession } from './pick.ts'
import { clock, costText, gauge, thousands } from './table.ts'
import { withStore } from '../base/workspace.ts'

interface LogOptions extends Globals {
  agent?: AgentName
  since?: string
}

interface Turn {
  readonly at?: string
  readonly text: string
  readonly id: number
}

export async function log(options: LogOptions, ref?: string): Promise<void> {
  const file = await sessionOrImport(ref, options)
  const out = new Output(options)
  const { since } = options
  const models = await configuredModels(options.io.cwd())
  const whole = emptyStats()
  const span = emptyStats()
  const turns: Turn[] = []
  let handoffs = 0
  const onFact = (fact: Fact) => {
    countFact(whole, fact)
    if (isSince(fact, since) && fact.type !== 'about') {
      countFact(span, fact)
      if (fact.type === 'compacted' || fact.type === 'cleared') handoffs++
    }
  }
  const dates = new Map<number, string>()
  function* watched() {
    for (const entry of sessionEntries(file, { since, onFact })) {
      dates.set(entry.id, entry.date)
      yield entry
    }
  }
  const facts = ledger(watched())
  for (const { text, id } of facts.instructions) turns.push({ text, id, ...dated(dates.get(id)) })
  const commits = facts.deeds.map(({ text }) => text).filter((text) => text.startsWith('Committed '))
  const meter = meterOf(file.agent, whole, models)
  const spent = meterOf(file.agent, { ...span, ...(whole.model === undefined ? {} : { model: whole.model }) }, models)
  const about = { agent: file.agent, session: file.id, title: whole.title, cwd: whole.cwd, branch: whole.branch }
  if (out.json) {
    out.data({ ...about, since, turns, commits, handoffs, spend: spent.cost, meter, facts })
    return
  }
  head(out, about, whole, meter)
  print(out, { facts, turns, handoffs, span, spent, since })
}

/** `ref` may also be the tape of an import, which means the transcript that it came from. */
async function sessionOrImport(ref: string | undefined, options: LogOptions): Promise<SessionFile> {
  try {
    return await pickSession(options.io, ref, options.agent)
  } catch (error) {
    if (ref === undefined || !(error instanceof NotFoundError)) throw error
    const mark = await withStore(options, (store) => markOf(store, ref))
    if (mark === undefined) throw error
    return resolveSession(agentNamed(mark.agent).sharesFile === true ? `${mark.agent}:${mark.session}` : mark.path, {
      agent: mark.agent,
      env: options.io.env,
      cwd: options.io.cwd(),
    })
  }
}

function dated(at: string | undefined): { at?: string } {
  return at === undefined ? {} : { at }
}

function isSince(fact: Fact, since: string | undefined): boolean {
  if (since === undefined) return true
  const date = 'date' in fact ? fact.date : fact.type === 'said' ? fact.draft.date : undefined
  return date !== undefined && Date.parse(date) >= Date.parse(since)
}

function head(
  out: Output,
  about: {
    agent: string
    session: string
    title: string | undefined
    cwd: string | undefined
    branch: string | undefined
  },
  stats: SessionStats,
  meter: Meter,
): void {
  out.line(out.style('bold', brief(about.title ?? about.session, 100)))
  const where = [about.agent, about.session, about.cwd, about.branch === 'HEAD' ? undefined : about.branch]
  out.line(out.style('dim', where.filter((each) => each !== undefined).join('  ')))
  const context =
    meter.tokens === undefined
      ? 'context unknown'
      : `context ${gauge(meter)} (${thousands(meter.tokens)}${meter.window === undefined ? '' : ` of ${thousands(meter.window)}`})`
  out.line(out.style('dim', `${context}  last active ${age(stats.last)}`))
}

interface Story {
  readonly facts: Ledger
  readonly turns: readonly Turn[]
  readonly handoffs: number
  readonly span: SessionStats
  readonly spent: Meter
  readonly since: string | undefined
}

function print(out: Output, { facts, turns, handoffs, span, spent, since }: Story): void {
  const now = Date.now()
  const section = (title: string, lines: readonly string[], total = lines.length) => {
    if (lines.length === 0) return
    out.line()
    out.line(`${out.style('cyan', title)} ${out.style('dim', `(${count(total)})`)}`)
    for (const line of lines) out.line(`  ${line}`)
  }
  const few = <T>(all: readonly T[], most = 12) => all.slice(Math.max(0, all.length - most))
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
    `${count(span.turns)} turn${span.turns === 1 ? '' : 's'}`,
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
