// `baton connect` and `baton disconnect`: Baton beside the agents that a person works with.

import fs from 'node:fs'
import path from 'node:path'
import { agentNamed, type AgentName, type ConnectionPlace } from '../../agents/index.ts'
import { type ConnectPlan, diffLines, planConnect, planDisconnect, realProject } from '../../connect/index.ts'
import { InvalidError } from '../../errors.ts'
import { type Globals, Output } from '../base/output.ts'

interface ConnectOptions extends Globals {
  user?: boolean
  project?: boolean
  dryRun?: boolean
}

export async function connect(options: ConnectOptions, agent: AgentName): Promise<void> {
  const place = placeOf(options)
  const plan = planConnect(agent, place)
  const { label } = agentNamed(agent)
  if (options.dryRun !== true) plan.carryOut()
  show(options, agent, plan, {
    none: `${label} is connected already, and nothing is out of date.`,
    done: `${label} is connected ${whereOf(place)}.`,
  })
}

export async function disconnect(options: ConnectOptions, agent: AgentName): Promise<void> {
  const place = placeOf(options)
  const plan = planDisconnect(agent, place)
  const { label } = agentNamed(agent)
  const out = new Output(options)
  if (plan === undefined) {
    return out.record(
      { agent, changed: [] },
      `${label} is not connected ${place.scope === 'user' ? 'for you' : whereOf(place)}.`,
    )
  }
  if (options.dryRun !== true) plan.carryOut()
  show(options, agent, plan, {
    none: `${label} is not connected any more; its files had gone already.`,
    done: `${label} is not connected any more.`,
  })
}

function placeOf({ io, user, project }: ConnectOptions): ConnectionPlace {
  if (user === true && project === true) throw new InvalidError('Choose --user or --project, not both')
  const [node, script] = io.self
  return {
    scope: project === true ? 'project' : 'user',
    project: realProject(io.cwd()),
    env: io.env,
    self: [node, fs.existsSync(script) ? fs.realpathSync(script) : path.resolve(io.cwd(), script)],
  }
}

function whereOf({ scope, project }: ConnectionPlace): string {
  return scope === 'user' ? 'for you, in every folder' : `in ${project}`
}

function show(
  options: ConnectOptions,
  agent: AgentName,
  plan: ConnectPlan,
  said: { none: string; done: string },
): void {
  const out = new Output(options)
  const dryRun = options.dryRun === true
  if (out.json) {
    const changed = plan.files.map(({ path: file, before, after }) => ({
      path: file,
      change: before === undefined ? 'create' : after === undefined ? 'remove' : 'edit',
    }))
    return out.data({ agent, dry_run: dryRun, changed, notes: plan.notes })
  }
  if (plan.files.length === 0) return out.line(said.none)
  for (const file of plan.files) {
    const kind = file.before === undefined ? 'create' : file.after === undefined ? 'remove' : 'edit'
    out.note(`${kind} ${file.path}`)
    // The name of a file that is wholly Baton's says enough, unless this is a dry run, in which somebody wants to see it first.
    if (!file.isOurs || (dryRun && kind === 'create')) for (const line of diffLines(file)) out.note(`    ${line}`)
  }
  out.line(dryRun ? 'Nothing was written: this was a dry run.' : said.done)
  for (const note of plan.notes) out.note(note)
}
