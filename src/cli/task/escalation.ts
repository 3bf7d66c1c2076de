// People who are asked about tasks: `baton task` asks by way of the relay, and `baton escalations answer` decides on the task.

import { askThroughRelay, decideOnTask, taskOf } from '../../approvals/index.ts'
import type { EscalationDetail } from '../../relay/index.ts'
import type { Store } from '../../store/index.ts'
import type { Person } from '../../system/index.ts'
import { openTasks, type People } from '../../task/index.ts'
import { demandTrustedProject } from '../base/chosen-workspace.ts'
import { chosenWorkspace } from '../base/chosen-workspace.ts'
import type { Globals } from '../base/output.ts'
import { withRelay } from '../relay/with-relay.ts'

/** Opens the relay only when somebody has to be asked. */
export function peopleOf(globals: Globals): People {
  return {
    ask: (question) => withRelay(globals, ({ relay }) => askThroughRelay(relay).ask(question)),
    settle: (question, decision) =>
      withRelay(globals, ({ relay }) => askThroughRelay(relay).settle(question, decision)),
  }
}

/** Records the answer to an escalation as a person's decision, if it is about a task. */
export async function decideByAnswer(
  globals: Globals,
  store: Store,
  escalation: EscalationDetail,
  answer: { approved: boolean; by: string; note?: string | undefined; person: Person },
): Promise<void> {
  const subject = taskOf(escalation)
  if (subject === undefined) return
  demandTrustedProject('The tasks were not opened', globals)
  const tasks = await openTasks({ store, address: chosenWorkspace(globals).address, cwd: globals.io.cwd() })
  try {
    await decideOnTask(tasks, subject, answer)
  } finally {
    await tasks.close()
  }
}
