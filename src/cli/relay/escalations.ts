// `baton escalations …`: what agents ask people, and the answers. `baton notify test` tries out the channels that tell people of them.

import os from 'node:os'
import { escalationAnswer, escalationList, escalationShow } from '../../operations/index.ts'
import { answerCommand, type Escalation } from '../../relay/index.ts'
import { personAt, userName } from '../base/io.ts'
import { brief, type Globals, Output } from '../base/output.ts'
import { withWorkspace } from '../base/workspace.ts'
import { parseInputs } from './request.ts'
import { duration, indented, printRequest, printResponse } from './views.ts'
import { printResult } from './work.ts'
import { configFile, loadConfig } from '../../config/index.ts'
import { InvalidError } from '../../errors.ts'
import { type NotifyChannel, type NotifyOutcome, notifySection, openNotifier } from '../../notify/index.ts'
import { demandTrustedProject } from '../base/chosen-workspace.ts'

export async function ls(options: Globals & { answered?: boolean }): Promise<void> {
  if (options.answered === true) return lsAnswered(options)
  await withWorkspace(options, async ({ run }, out) => {
    const { escalations: all } = await run(escalationList, { limit: Number.MAX_SAFE_INTEGER, answered: false })
    if (out.json) return all.forEach((each) => out.data({ ...each, answer_with: answerCommand(each) }))
    if (all.length === 0) return out.note('Nothing is waiting for you.')
    const rows = all.map((each) => [
      each.id,
      each.priority === 'critical' ? out.style('red', each.priority) : each.priority,
      duration(each.ageMs),
      each.from,
      brief(missingOf(each), 40),
      brief(each.reasonDetail, 60),
    ])
    out.table([['ID', 'PRIORITY', 'AGE', 'FROM', 'MISSING', 'WHY'], ...rows])
    out.note(`\nAnswer the first with: ${answerCommand(all[0]!)}`)
  })
}

async function lsAnswered(globals: Globals): Promise<void> {
  await withWorkspace(globals, async ({ run }, out) => {
    const { escalations: all } = await run(escalationList, { limit: 100, answered: true })
    if (out.json) return all.forEach((each) => out.data({ ...each }))
    if (all.length === 0) return out.note('Nobody has answered anything yet.')
    const rows = all.map(({ id, from, reasonDetail, summary, answer }) => [
      id,
      answer?.at ?? '',
      answer?.by ?? '',
      from,
      brief(reasonDetail === '' ? summary : reasonDetail, 60),
    ])
    out.table([['ID', 'ANSWERED', 'BY', 'FROM', 'ASKED'], ...rows])
  })
}

function missingOf({ missing }: Escalation): string {
  return missing.map(({ key, expectedType }) => `${key}:${expectedType}`).join(', ')
}

export async function show(globals: Globals, id: string): Promise<void> {
  await withWorkspace(globals, async ({ run }, out) => {
    const found = await run(escalationShow, { id })
    if (out.json) return out.data({ ...found, answer_with: answerCommand(found) })
    printRequest(out, found.id, found.request)
    if (found.via !== undefined) out.line(`  handed on by ${found.via}`)
    const command = answerCommand(found)
    // The command to answer is printed below.
    for (const text of found.recommendations) if (!text.includes(command)) out.line(indented(`> ${text}`))
    if (found.answer !== undefined) {
      out.line(`\nAnswered by ${found.answer.by} on ${found.answer.at}:`)
      return printResponse(out, found.answer.response)
    }
    out.line(`\nWaiting since ${found.askedAt} (${duration(found.ageMs)}). Answer it with:`)
    out.line(`  ${command}`)
  })
}

interface AnswerOptions extends Globals {
  input?: string[]
  status?: 'resolved' | 'partial' | 'failed'
  reason?: string
  by?: string
}

export async function answer(options: AnswerOptions, id: string): Promise<void> {
  const by = options.by ?? userName()
  await withWorkspace(options, async ({ run }, out) => {
    const asked = await run(escalationShow, { id })
    const inputs = parseInputs(options.input ?? [], asked.missing)
    const person = asked.request.reason === 'requires_human_decision' ? { person: personAt(options.io) } : {}
    const { status, reason } = options
    printResult(out, id, await run(escalationAnswer, { id, inputs, status, reason, by }, person))
  })
}

export async function test(globals: Globals): Promise<void> {
  demandTrustedProject('Nothing was sent', globals)
  const config = loadConfig(globals.io.cwd())
  const settings = config.section('notify', notifySection)
  if (settings.channels.length === 0) {
    const where = config.file ?? configFile
    const example =
      '{"notify": {"channels": [{"type": "webhook", "preset": "ntfy", "url": "https://ntfy.sh/YOUR-TOPIC"}]}}'
    throw new InvalidError(`${where} names no channel to notify`, { hint: `For example: ${example}` })
  }
  const out = new Output(globals)
  const tried = await Promise.all(
    settings.channels.map(async (channel) => {
      const alone = openNotifier({ ...settings, channels: [channel] }, { env: globals.io.env })
      return (await alone.notify(trial(channel)))[0]!
    }),
  )
  for (const outcome of tried) {
    if (out.json) out.data(outcome)
    else out.line(`${outcome.channel}: ${sentence(outcome)}`)
  }
  if (tried.some(({ status }) => status === 'failed')) globals.io.exit.code = 1
}

function trial({ levels }: NotifyChannel) {
  return {
    level: levels[0]!,
    title: 'Baton can reach you',
    body: `A test from ${os.hostname()}: when a person is needed, a message arrives here.`,
    action: 'Nothing to do.',
    source: 'notify test',
  }
}

function sentence(outcome: NotifyOutcome): string {
  if (outcome.status === 'repeated') return 'sent a moment ago'
  const tries = outcome.attempts === 1 ? '' : ` after ${outcome.attempts} attempts`
  return outcome.status === 'sent' ? `sent in ${outcome.ms} ms${tries}` : `FAILED${tries}: ${outcome.error}`
}
