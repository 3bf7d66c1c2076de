// `baton uninstall`: everything that Baton has put on this machine, listed, and removed if the person says so.

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { connections, planDisconnect } from '../../connect/index.ts'
import { registeredWorkspaces, stateFolder, trustedProjects } from '../../config/index.ts'
import { CancelledError, InvalidError } from '../../errors.ts'
import { shellWord } from '../../system/index.ts'
import { type Globals, Output } from '../base/output.ts'
import { supervisedEverywhere } from '../supervise/supervised.ts'

interface UninstallOptions extends Globals {
  dryRun?: boolean
  yes?: boolean
}

interface Part {
  readonly what: string
  readonly place: string
  readonly remove: () => void
}

export async function uninstall(options: UninstallOptions): Promise<void> {
  const out = new Output(options)
  const parts = [...hooks(options), ...folders(options)]
  if (parts.length === 0) out.note('Baton has put nothing on this machine beside its package.')
  for (const { what, place } of parts) out.record({ what, place }, `${what.padEnd(11)} ${place}`)
  const open = (await supervisedEverywhere(options)).filter(({ row }) => row.state !== 'ended')
  for (const { row } of open) out.warn(`baton: ${row.name} still runs: baton stop ${shellWord(row.name)}`)
  if (options.dryRun === true || parts.length === 0) return advise(out)
  if (open.length > 0) throw new InvalidError('Sessions are still running', { hint: 'Stop them first.' })
  if (options.yes !== true) await demandYes(options)
  for (const { remove } of parts) remove()
  out.note('Removed.')
  advise(out)
}

/** What `baton connect` has added to the settings of agents. */
function hooks({ io }: Globals): Part[] {
  const [node, script] = io.self
  return connections(io.env).flatMap(({ agent, scope, project }) => {
    const place = { scope, project, env: io.env, self: [node, script] as const }
    const plan = planDisconnect(agent, place)
    if (plan === undefined) return []
    const files = plan.files.map((file) => file.path).join(', ')
    return [{ what: `hooks`, place: `of ${agent}: ${files}`, remove: () => plan.carryOut() }]
  })
}

/** The folders of Baton's own: tapes outside of projects, what it remembers, and the workspaces in projects that it knows. */
function folders({ io }: Globals): Part[] {
  const { env } = io
  const home = env.HOME || os.homedir()
  const data = path.join(env.XDG_DATA_HOME || path.join(home, '.local', 'share'), 'baton')
  const projects = [
    ...registeredWorkspaces(env).map((address) => address.replace(/^file:(\/\/)?/, '')),
    ...trustedProjects(env).map(({ project }) => path.join(project, '.baton')),
  ].filter((folder) => !folder.startsWith(data + path.sep))
  const found = [
    ...[...new Set(projects)].map((place) => ({ what: 'tapes', place })),
    { what: 'tapes', place: data },
    { what: 'memory', place: stateFolder(env) },
  ]
  return found
    .filter(({ place }) => fs.statSync(place, { throwIfNoEntry: false })?.isDirectory() === true)
    .map((part) => ({ ...part, remove: () => fs.rmSync(part.place, { recursive: true, force: true }) }))
}

async function demandYes({ io, json }: UninstallOptions): Promise<void> {
  if (io.stdin.isTTY !== true || io.stdout.isTTY !== true || json === true)
    throw new InvalidError('Nothing was removed: nobody was there to say yes', { hint: 'Run it again with --yes.' })
  const { confirm } = await import('@clack/prompts')
  const answer = await confirm({ message: 'Remove all of this for good?', initialValue: false })
  if (answer !== true) throw new CancelledError('Nothing was removed')
}

function advise(out: Output): void {
  out.note('The package itself: npm uninstall -g @baton/baton')
}
