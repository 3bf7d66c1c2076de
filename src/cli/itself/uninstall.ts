// `baton uninstall`: everything that Baton has put on this machine, listed, and removed if the person says so.

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { connections, planDisconnect } from '../../connect/index.ts'
import { registeredWorkspaces, stateFolder, trustedProjects } from '../../config/index.ts'
import { CancelledError, InvalidError } from '../../errors.ts'
import { runCommand, shellWord } from '../../system/index.ts'
import { listSessions } from '../../transcripts/index.ts'
import { type Globals, Output } from '../base/output.ts'
import { demoOf } from '../demo/demo.ts'
import { supervisedEverywhere } from '../supervise/supervised.ts'

interface UninstallOptions extends Globals {
  dryRun?: boolean
  yes?: boolean
}

interface Part {
  readonly what: string
  readonly place: string
  readonly remove: () => void | Promise<unknown>
}

export async function uninstall(options: UninstallOptions): Promise<void> {
  const out = new Output(options)
  const supervised = await supervisedEverywhere(options)
  const projects = projectsOf(
    options,
    supervised.map(({ row }) => row.project),
  )
  const parts = [...hooks(options), ...(await leftIn(projects, options)), ...folders(options)]
  if (parts.length === 0) out.note('Baton has put nothing on this machine besides its package.')
  for (const { what, place } of parts) out.record({ what, place }, `${what.padEnd(11)} ${place}`)
  const open = supervised.filter(({ row }) => row.state !== 'ended')
  for (const { row } of open) out.warn(`baton: ${row.name} has not ended: baton stop ${shellWord(row.name)}`)
  if (options.dryRun === true || parts.length === 0) return advise(out)
  if (open.length > 0) throw new InvalidError('Supervised sessions have not ended', { hint: 'Stop them first.' })
  if (options.yes !== true) await demandYes(options)
  for (const { remove } of parts) await remove()
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
  const trusted = trustedProjects(env).map(({ project }) => project)
  const demos = trusted.flatMap((project) => demoOf(project) ?? [])
  const data = path.join(env.XDG_DATA_HOME || path.join(home, '.local', 'share'), 'baton')
  const projects = [
    ...registeredWorkspaces(env).map((address) => address.replace(/^file:(\/\/)?/, '')),
    ...trusted.map((project) => path.join(project, '.baton')),
  ].filter((folder) => ![data, ...demos].some((above) => folder.startsWith(above + path.sep)))
  const found = [
    ...demos.map((place) => ({ what: 'demo', place })),
    ...[...new Set(projects)].map((place) => ({ what: 'tapes', place })),
    { what: 'tapes', place: data },
    { what: 'state', place: stateFolder(env) },
    { what: 'cache', place: path.join(env.XDG_CACHE_HOME || path.join(home, '.cache'), 'baton') },
  ]
  return found
    .filter(({ place }) => fs.statSync(place, { throwIfNoEntry: false })?.isDirectory() === true)
    .map((part) => ({ ...part, remove: () => fs.rmSync(part.place, { recursive: true, force: true }) }))
}

/** Folders in which Baton may have left something: those of agents' sessions, supervised ones, trusted ones, and this one. */
function projectsOf({ io }: Globals, supervised: readonly string[]): string[] {
  const sessions = listSessions({ env: io.env }).flatMap(({ cwd }) => cwd ?? [])
  const trusted = trustedProjects(io.env).map(({ project }) => project)
  const all = [...new Set([...sessions, ...supervised, ...trusted, io.cwd()])]
  return all.filter((folder) => fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true)
}

/** Documents for agents to read, and the snapshots of uncommitted work. */
async function leftIn(projects: readonly string[], { io }: Globals): Promise<Part[]> {
  const parts: Part[] = []
  const repositories = new Set<string>()
  for (const project of projects) {
    const documents = path.join(project, '.handoffs')
    if (isOwn(documents))
      parts.push({ what: 'documents', place: documents, remove: () => fs.rmSync(documents, { recursive: true }) })
    const git = (args: readonly string[], input?: string) => gitOutput(project, args, io.env, input)
    const repository = await git(['rev-parse', '--path-format=absolute', '--git-common-dir'])
    if (repository === '' || repositories.has(repository)) continue
    repositories.add(repository)
    const refs = (await git(['for-each-ref', '--format=%(refname)', 'refs/baton']))
      .split('\n')
      .filter((ref) => ref !== '')
    if (refs.length === 0) continue
    const place = `${refs.length} of uncommitted work: refs/baton in ${repository}`
    const list = refs.map((ref) => `delete ${ref}\n`).join('')
    parts.push({ what: 'snapshots', place, remove: () => git(['update-ref', '--stdin'], list) })
  }
  return parts
}

/** A folder of that name that Baton made hides all of itself from git. */
function isOwn(documents: string): boolean {
  const ignore = path.join(documents, '.gitignore')
  return fs.existsSync(ignore) && fs.readFileSync(ignore, 'utf8') === '*\n'
}

/** What git prints; nothing outside of a repository, or where there is no git. */
async function gitOutput(cwd: string, args: readonly string[], env: NodeJS.ProcessEnv, input = ''): Promise<string> {
  try {
    const { code, output } = await runCommand(['git', ...args], { cwd, env, input, leftovers: 'keep' })
    return code === 0 ? output.whole().toString('utf8').trim() : ''
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

async function demandYes({ io, json }: UninstallOptions): Promise<void> {
  if (io.stdin.isTTY !== true || io.stdout.isTTY !== true || json === true)
    throw new InvalidError('Nothing was removed: there is no terminal to confirm it on', {
      hint: 'Run it again with --yes.',
    })
  const { confirm } = await import('@clack/prompts')
  const answer = await confirm({ message: 'Remove all of this for good?', initialValue: false })
  if (answer !== true) throw new CancelledError('Nothing was removed')
}

function advise(out: Output): void {
  out.note('The package itself: npm uninstall -g @baton/baton')
}
