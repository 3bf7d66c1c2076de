// What happened in a session, from its transcript alone.

import * as z from 'zod'
import { agentNamed, type Fact, type SessionFile } from '../../agents/index.ts'
import { configuredModels } from '../../config/index.ts'
import { NotFoundError } from '../../errors.ts'
import { ledger } from '../../handoff/index.ts'
import { addFact, emptyStats, markOf, meterOf, resolveSession, sessionEntries } from '../../transcripts/index.ts'
import { type Caller, operation } from '../operation.ts'
import type { Workspace } from '../workspace.ts'
import { agentName, namedSession } from './session-tape.ts'

export const sessionLog = operation('session.log', 'read', 'GET /sessions/{session}/log', {
  summary: 'What happened in a session: what was asked, files, commits, tests, failures, questions, spend.',
  input: z.object({
    session: z.string().min(1).max(4000).describe('Its id, the beginning of it, or the tape of its import.'),
    agent: agentName.optional(),
    since: z.string().max(40).optional().describe('Only from that date on.'),
  }),
  output: z.looseObject({
    agent: z.string(),
    session: z.string(),
    turns: z.array(z.object({ id: z.int(), text: z.string(), at: z.string().optional() })),
    commits: z.array(z.string()),
    handoffs: z.int().describe('How often it was compacted or cleared.'),
    facts: z.looseObject({}),
    meter: z.looseObject({}),
  }),
  async run(workspace, { session, agent, since }, { caller }) {
    const file = await sessionOrImport(workspace, session, agent, caller)
    const models = await configuredModels(workspace.cwd)
    const whole = emptyStats()
    const span = emptyStats()
    let handoffs = 0
    const onFact = (fact: Fact) => {
      addFact(whole, fact)
      if (!isSince(fact, since) || fact.type === 'about') return
      addFact(span, fact)
      if (fact.type === 'compacted' || fact.type === 'cleared') handoffs++
    }
    const dates = new Map<number, string>()
    function* dated() {
      for (const entry of sessionEntries(file, { since, onFact })) {
        dates.set(entry.id, entry.date)
        yield entry
      }
    }
    const facts = ledger(dated())
    const turns = facts.instructions.map(({ text, id }) => ({ text, id, at: dates.get(id) }))
    const model = whole.model === undefined ? {} : { model: whole.model }
    return {
      agent: file.agent,
      session: file.id,
      title: whole.title,
      cwd: whole.cwd,
      branch: whole.branch,
      since,
      turns,
      commits: facts.deeds.map(({ text }) => text).filter((text) => text.startsWith('Committed ')),
      handoffs,
      spent: { ...meterOf(file.agent, { ...span, ...model }, models) },
      meter: { ...meterOf(file.agent, whole, models) },
      facts: { ...facts, counts: { ...facts.counts } },
      active: { turns: span.turns, last: whole.last },
    }
  },
})

/** `ref` may also be the tape of an import, which means the transcript that it came from. */
async function sessionOrImport(
  workspace: Workspace,
  ref: string,
  agent: string | undefined,
  caller: Caller,
): Promise<SessionFile> {
  try {
    return namedSession(workspace, ref, agent, caller)
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error
    const mark = await markOf(workspace.store, ref)
    if (mark === undefined) throw error
    const { env, cwd } = workspace
    const place = agentNamed(mark.agent).sharesFile === true ? `${mark.agent}:${mark.session}` : mark.path
    return resolveSession(place, { agent: mark.agent, env, cwd })
  }
}

function isSince(fact: Fact, since: string | undefined): boolean {
  if (since === undefined) return true
  const date = 'date' in fact ? fact.date : fact.type === 'said' ? fact.draft.date : undefined
  return date !== undefined && Date.parse(date) >= Date.parse(since)
}
