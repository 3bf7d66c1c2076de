// `baton escalations …`: what agents ask people, and the answers.

import { answerCommand, type Escalation } from '../../relay/index.ts'
import { personAt } from '../base/io.ts'
import { brief, type Globals } from '../base/output.ts'
import { withRelay } from './with-relay.ts'
import { parseInputs } from './input.ts'
import { duration, indented, printRequest, printResponse } from './text.ts'
import { printResult } from './work.ts'
import { userName } from '../base/user-name.ts'

export async function ls(globals: Globals): Promise<void> {
  await withRelay(globals, async ({ relay, out }) => {
    const all = await relay.escalations.list()
    if (out.json) return all.forEach((each) => out.data({ ...each, answer_with: answerCommand(each) }))
    if (all.length === 0) return out.note('Nobody waits for a person.')
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

function missingOf({ missing }: Escalation): string {
  return missing.map(({ key, expectedType }) => `${key}:${expectedType}`).join(', ')
}

export async function show(globals: Globals, id: string): Promise<void> {
  await withRelay(globals, async ({ relay, out }) => {
    const found = await relay.escalations.show(id)
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
    out.line(`\nIt waits since ${found.askedAt} (${duration(found.ageMs)}). Answer it with:`)
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
  await withRelay(options, async ({ relay, store, out }) => {
    const asked = await relay.escalations.show(id)
    const inputs = parseInputs(options.input ?? [], asked.missing)
    // Nobody but a person decides for people; an agent that answers its own question would pass every gate.
    const person = asked.request.reason === 'requires_human_decision' ? personAt(options.io) : undefined
    // The decision comes before the answer: if this process dies in between, the question is still open and can be answered again.
    if (person !== undefined && asked.answer === undefined && options.status !== 'failed') {
      const { decideByAnswer } = await import('../task/escalation.ts')
      const approved = inputs.approved === true
      await decideByAnswer(options, store, asked, { approved, by, note: options.reason, person })
    }
    const result = await relay.escalations.answer(id, inputs, {
      by,
      ...(options.status === undefined ? {} : { status: options.status }),
      ...(options.reason === undefined ? {} : { reason: options.reason }),
    })
    printResult(out, id, result)
  })
}
