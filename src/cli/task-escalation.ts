// Where a task and the relay meet: a handoff that waits for a person is put to people with everything else they are asked,
// and their answer is the approval. Tasks and relay do not know each other, so it is done here, at the door.

import { createHash } from 'node:crypto'
import * as z from 'zod'
import { loadConfig } from '../config/config.ts'
import { findWorkspace } from '../config/workspace.ts'
import { ConflictError } from '../errors.ts'
import type { EscalationDetail } from '../relay/outcome.ts'
import { schemaVersion } from '../relay/schema.ts'
import { relaySection } from '../relay/settings.ts'
import type { Store } from '../store/index.ts'
import { type GateError, openTasks } from '../task/index.ts'
import type { Globals } from './output.ts'
import { withRelay } from './relay-door.ts'

/** What the question is about, as it travels with the request. */
const subject = z.object({ task_id: z.string(), version: z.number() })

const prefix = 'task:'

interface Stopped {
  readonly task: string
  readonly version: number
  readonly from: string
  readonly to: string
}

/** Asks a person, if the gate that stopped the handoff wants one and the relay knows who hands over. */
export async function askPerson(globals: Globals, stopped: Stopped, error: GateError): Promise<string | undefined> {
  const issues = error.gates.find(({ name, ok }) => name === 'human-approval' && !ok)?.missing
  if (issues === undefined) return undefined
  // A project without a relay approves with "baton task approve", as the message says.
  if (!Object.hasOwn(loadConfig().section('relay', relaySection).agents, stopped.from)) return undefined
  const { task, version, from, to } = stopped
  const question = createHash('sha256')
    .update(JSON.stringify([task, version, issues]))
    .digest('hex')
  return withRelay(globals, async ({ relay }) => {
    const request = {
      schemaVersion,
      traceId: asUuid(question),
      timestamp: new Date().toISOString(),
      sourceAgent: from,
      sourceContext: { documentType: 'task', currentStep: version, attemptNumber: 1 },
      canHandle: false,
      handoffTo: 'human',
      reason: 'requires_human_decision',
      reasonDetail: `May ${task} go to ${to}?`,
      missingInputs: [{ key: 'approved', expectedType: 'boolean', description: issues.join('; ') }],
      contextForTarget: {
        summary: `${task} at version ${version} waits for a person: baton task show ${task}`,
        relevantOutputs: { task_id: task, version },
      },
      priority: 'high',
    }
    // The same question is asked once, however often the handoff is tried.
    const outcome = await relay.request(request, { requestId: `${prefix}${question.slice(0, 32)}`, wait: false })
    return outcome.status === 'escalated' ? outcome.escalation : undefined
  })
}

/** Records the approval that an answer means; of the version that the person was asked about, and no other. */
export async function approveTask(
  globals: Globals,
  store: Store,
  { requestId, request }: EscalationDetail,
  answer: { approved: boolean; by: string; note?: string | undefined },
): Promise<void> {
  const about = subject.safeParse(request.contextForTarget.relevantOutputs)
  if (!requestId.startsWith(prefix) || !about.success || !answer.approved) return
  const { task_id: id, version } = about.data
  const tasks = await openTasks({ store, address: findWorkspace(globals).address })
  try {
    const current = (await tasks.get(id)).version
    if (current !== version) {
      throw new ConflictError(`${id} was at version ${version} when this was asked, and is at ${current} now`, {
        expected: version,
        actual: current,
        hint: 'Nothing was approved. Say so with --status failed --reason "…".',
      })
    }
    if ((await tasks.waitingForPerson(id)).length === 0) return
    await tasks.approve(id, { by: answer.by, ...(answer.note === undefined ? {} : { note: answer.note }) })
  } finally {
    await tasks.close()
  }
}

/** After an approval by other means: the question need not be asked any more. */
export async function settleQuestions(globals: Globals, task: string, by: string): Promise<void> {
  const isUsed = Object.keys(loadConfig().section('relay', relaySection).agents).length > 0
  if (!isUsed) return
  await withRelay(globals, async ({ relay }) => {
    for (const { id, requestId } of await relay.escalations.list()) {
      if (!requestId.startsWith(prefix)) continue
      const { request } = await relay.escalations.show(id)
      const about = subject.safeParse(request.contextForTarget.relevantOutputs)
      if (about.data?.task_id === task) await relay.escalations.answer(id, { approved: true }, { by })
    }
  })
}

function asUuid(hash: string): string {
  const variant = ((Number.parseInt(hash[16]!, 16) & 3) | 8).toString(16)
  const digits = `${hash.slice(0, 12)}8${hash.slice(13, 16)}${variant}${hash.slice(17, 32)}`
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
