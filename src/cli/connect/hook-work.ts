// `baton hook` as a command of its own, and the worker that hooks start.

import { workOnJobs } from '../../connect/index.ts'
import { InvalidError } from '../../errors.ts'
import { type Globals, Output } from '../base/output.ts'
import { hook } from './hook.ts'

export async function hookCommand(
  options: Globals & { work?: boolean },
  agent?: string,
  event?: string,
): Promise<void> {
  if (options.work === true) {
    const done = await workOnJobs(options.io.env)
    return new Output(options).note(`${done} ${done === 1 ? 'job' : 'jobs'} done`)
  }
  if (agent === undefined || event === undefined) {
    throw new InvalidError('Name the agent and its event, as in "baton hook claude Stop"', {
      hint: 'Agents call this by themselves after "baton connect".',
    })
  }
  await hook(options.io, agent, event)
}
