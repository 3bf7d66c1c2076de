// `baton connect`, `baton disconnect`, `baton trust` and `baton doctor`: Baton beside the agents that a person works with, what a
// cloned repository may bring along, and whether everything that Baton needs is there. `baton hook --work` is what hooks left to do.

import fs from 'node:fs'
import path from 'node:path'
import { agentNamed, type AgentName, type ConnectionPlace } from '../../agents/index.ts'
import {
  type ConnectPlan,
  diffLines,
  planConnect,
  planDisconnect,
  realProject,
  examine,
  type Finding,
  workOnJobs,
} from '../../connect/index.ts'
import { InvalidError } from '../../errors.ts'
import { type Globals, Output, age } from '../base/output.ts'
import { distrustProject, findProject, trustedProjects, trustProject } from '../../config/index.ts'
import { personAt } from '../base/io.ts'
import { chosenWorkspace } from '../base/chosen-workspace.ts'
import { hook } from './hook.ts'

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
    done: `${label} is connected ${whereOf(place)}. It takes effect the next time ${label} starts.`,
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

const marks = { ok: 'ok', warning: 'warning', problem: 'problem' } as const satisfies Record<Finding['is'], string>
const colours = { ok: 'green', warning: 'yellow', problem: 'red' } as const

export async function doctor(globals: Globals): Promise<void> {
  const { io } = globals
  const out = new Output(globals)
  const cwd = io.cwd()
  const [node, script] = io.self
  const findings = await examine({
    cwd,
    env: io.env,
    project: realProject(cwd),
    address: chosenWorkspace(globals).address,
    self: [node, fs.existsSync(script) ? fs.realpathSync(script) : script],
  })
  if (out.json) for (const finding of findings) out.data(finding)
  else {
    for (const { is, text, advice } of findings) {
      out.line(`${out.style(colours[is], marks[is].padEnd(8))} ${text}`)
      if (advice !== undefined) out.line(`${' '.repeat(9)}${advice}`)
    }
  }
  if (findings.some(({ is }) => is === 'problem')) io.exit.code = 1
}

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
