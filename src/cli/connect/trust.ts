// `baton trust`: what a cloned repository brings may run, send and open something only after this.

import path from 'node:path'
import { distrustProject, findProject, trustedProjects, trustProject } from '../../config/index.ts'
import { personAt } from '../base/io.ts'
import { age, type Globals, Output } from '../base/output.ts'

interface TrustOptions extends Globals {
  remove?: boolean
  list?: boolean
}

export async function trust(options: TrustOptions, folder?: string): Promise<void> {
  const { io } = options
  const out = new Output(options)
  if (options.list === true) {
    return out.list(trustedProjects(io.env), {
      none: 'No project is trusted yet.',
      line: ({ project, since }) => `${project}  (${age(since)})`,
    })
  }
  const project = findProject(path.resolve(io.cwd(), folder ?? '.'))
  if (options.remove === true) {
    const was = distrustProject(project, io.env)
    return out.record(
      { project, trusted: false },
      was ? `${project} is not trusted any more.` : `${project} was not trusted.`,
    )
  }
  // An agent that works in a cloned repository must not be talked into trusting it.
  personAt(io)
  const top = trustProject(project, io.env)
  out.record(
    { project: top, trusted: true },
    `${top} is trusted: its baton.config.json and its .baton may run commands, send messages and open sessions.`,
  )
}
