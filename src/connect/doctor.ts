// Whether everything that Baton needs is there and works. Each finding is one line: fine, a warning, or a problem and what to do.

import fs from 'node:fs'
import path from 'node:path'
import { agents, type ConnectionPlace } from '../agents/index.ts'
import { findWorkspace, stateFolder, untrusted } from '../config/index.ts'
import { openStore } from '../store/index.ts'
import { runCommand } from '../system/index.ts'
import { isReserved } from '../tape/index.ts'
import { planConnect } from './connection.ts'
import { HookState } from './hook-state.ts'
import { pendingFor } from './pending.ts'
import { allRecords, type ConnectRecord } from './record.ts'

export interface Finding {
  readonly about: string
  readonly is: 'ok' | 'warning' | 'problem'
  readonly text: string
  /** What to do about it. */
  readonly advice?: string
}

export interface DoctorOptions extends Omit<ConnectionPlace, 'scope'> {
  readonly cwd: string
  /** What opens the store; found by the folder unless given. */
  readonly address?: string
}

export async function examine(options: DoctorOptions): Promise<Finding[]> {
  const asked = await Promise.all([
    program('git', ['--version'], options, 'Baton keeps uncommitted work through handoffs with it: install it.'),
    program('tmux', ['-V'], options, 'Agents with a screen run in tmux: install it, or use --driver headless.'),
    agentsFound(options),
    store(options),
    ...allRecords(options.env).map((record) => connected(record, options)),
  ])
  return [node(), ...asked.flat(), ...disks(options), userFolder(options), ...trust(options), ...log(options)]
}

/** As package.json says. */
const leastNode = [20, 19] as const

function node(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const old = major < leastNode[0] || (major === leastNode[0] && minor < leastNode[1])
  const text = `Node ${process.versions.node}`
  return old
    ? { about: 'node', is: 'problem', text, advice: `Baton needs Node ${leastNode.join('.')} or newer.` }
    : { about: 'node', is: 'ok', text }
}

const patienceMs = 10_000

async function versionOf(name: string, args: readonly string[], { env }: DoctorOptions): Promise<string | undefined> {
  try {
    const ran = await runCommand([name, ...args], { env, timeoutMs: patienceMs, leftovers: 'end-group' })
    if (ran.end !== 'exit' || ran.code !== 0) return undefined
    return ran.output.whole().toString('utf8').trim().split('\n')[0]!.slice(0, 80)
  } catch {
    return undefined // there is no such program
  }
}

async function program(name: string, args: string[], options: DoctorOptions, advice: string): Promise<Finding[]> {
  const version = await versionOf(name, args, options)
  return [
    version === undefined
      ? { about: name, is: 'warning', text: `${name} was not found`, advice }
      : { about: name, is: 'ok', text: version },
  ]
}

/** Nobody has all of them, so one that is not there is no finding; only that there is none at all. */
async function agentsFound(options: DoctorOptions): Promise<Finding[]> {
  const isConnected = new Set(allRecords(options.env).map(({ agent }) => agent))
  const found = await Promise.all(
    agents.map(async ({ name, program, label }): Promise<Finding[]> => {
      const version = await versionOf(program, ['--version'], options)
      if (version === undefined) return []
      const connection = isConnected.has(name) ? '' : `, not connected ("baton connect ${name}")`
      return [{ about: program, is: 'ok', text: `${label}: ${version}${connection}` }]
    }),
  )
  if (found.flat().length > 0) return found.flat()
  const programs = agents.map(({ program }) => program).join(', ')
  const advice = 'Sessions on disk can be read without it; to run an agent with Baton, install one.'
  return [{ about: 'agents', is: 'warning', text: `no agent found (${programs})`, advice }]
}

async function store({ cwd, env, address }: DoctorOptions): Promise<Finding[]> {
  const where = address ?? findWorkspace({ cwd, env }).address
  const folder = folderOf(where)
  if (folder !== undefined && !fs.existsSync(folder)) return [newStore(folder)]
  const found: Finding[] = []
  try {
    const opened = await openStore(where)
    let tapes = 0
    for await (const { tape } of opened.list()) tapes += isReserved(tape) ? 0 : 1
    await opened.close()
    found.push({
      about: 'store',
      is: 'ok',
      text: `${opened.place}: ${tapes} ${tapes === 1 ? 'tape' : 'tapes'}. ${opened.guarantee}`,
    })
  } catch (error) {
    const { message, hint } = error as Error & { hint?: string }
    found.push({ about: 'store', is: 'problem', text: message, advice: hint ?? 'See docs/store.md.' })
  }
  const mode = folder === undefined ? 0 : fs.statSync(folder).mode & 0o077
  if (mode !== 0) {
    found.push({
      about: 'permissions',
      is: 'warning',
      text: `other users of this machine can reach ${folder}`,
      advice: `chmod 700 ${folder}`,
    })
  }
  return found
}

/** Undefined where tapes are on a server. */
function folderOf(address: string): string | undefined {
  const folder = address.replace(/^file:(\/\/)?/, '')
  return /^[a-z][a-z+]*:\/\//.test(folder) ? undefined : folder
}

function newStore(folder: string): Finding {
  let above = path.dirname(path.resolve(folder))
  while (!fs.existsSync(above)) above = path.dirname(above)
  if (fs.statSync(above).isDirectory() && isWritable(above))
    return { about: 'store', is: 'ok', text: `the workspace of this folder will be created on first use: ${folder}` }
  const advice = `Make ${above} a folder that you can write to, or choose another with --workspace or BATON_HOME.`
  return { about: 'store', is: 'problem', text: `${folder} cannot be created`, advice }
}

function isWritable(folder: string): boolean {
  try {
    fs.accessSync(folder, fs.constants.W_OK)
    return true
  } catch {
    return false
  }
}

const littleSpace = 500_000_000

/** The disk of the user's own folder, and that of the workspace where it is another. */
function disks({ cwd, env, address }: DoctorOptions): Finding[] {
  const folders = [stateFolder(env), folderOf(address ?? findWorkspace({ cwd, env }).address) ?? cwd]
  const there = folders.map((folder) => (fs.existsSync(folder) ? folder : cwd))
  const byDisk = new Map(there.map((folder) => [fs.statSync(folder).dev, folder]))
  return [...byDisk.values()].map((folder) => disk(folder, byDisk.size > 1))
}

function disk(folder: string, isOneOfSeveral: boolean): Finding {
  const { bavail, bsize } = fs.statfsSync(folder)
  const free = bavail * bsize
  const text = `${(free / 1e9).toFixed(1)} GB free${isOneOfSeveral ? ` for ${folder}` : ''}`
  return free < littleSpace
    ? { about: 'disk', is: 'warning', text, advice: 'Tapes are appended to all the time: make room.' }
    : { about: 'disk', is: 'ok', text }
}

function userFolder({ env }: DoctorOptions): Finding {
  const folder = stateFolder(env)
  let existing = folder
  while (!fs.existsSync(existing)) existing = path.dirname(existing)
  try {
    // A file in the place of a folder is refused, too.
    fs.accessSync(path.join(existing, '/'), fs.constants.W_OK)
    return { about: 'folder', is: 'ok', text: `${folder} is writable` }
  } catch (error) {
    const advice = 'Hooks, trust and connections are remembered there: make it writable, or set XDG_STATE_HOME.'
    return { about: 'folder', is: 'problem', text: `${folder}: ${(error as Error).message}`, advice }
  }
}

function trust({ cwd, project, env }: DoctorOptions): Finding[] {
  const found: Finding[] = []
  for (const file of untrusted(cwd, env)) {
    const text = `${file} belongs to a project that you have not trusted: it runs, sends and opens nothing`
    found.push({ about: 'trust', is: 'warning', text, advice: `Look at it, then run: baton trust ${project}` })
  }
  const pending = pendingFor(env, project)
  if (pending !== undefined) {
    const text = `a handoff of ${pending.date} opens the next session in ${project}: ${pending.document}`
    found.push({ about: 'handoff', is: 'ok', text })
  }
  return found
}

async function connected(record: ConnectRecord, options: DoctorOptions): Promise<Finding[]> {
  const { agent, scope, project, self } = record
  const about = `connect ${agent}`
  const again = `baton connect ${agent}${scope === 'project' ? ' --project' : ''}`
  const where = scope === 'user' ? 'for you' : `in ${project}`
  const missing = self.find((each) => !fs.existsSync(each))
  if (missing !== undefined) {
    return [{ about, is: 'problem', text: `${agent} calls ${missing}, which is gone`, advice: `Run: ${again}` }]
  }
  const place: ConnectionPlace = {
    scope,
    project: scope === 'user' ? options.project : project,
    env: options.env,
    self: options.self,
  }
  const found: Finding[] = []
  const plan = planConnect(agent, place)
  if (plan.files.length > 0) {
    const text = `${plan.files.map((each) => each.path).join(', ')}: not as this version of Baton writes it`
    found.push({ about, is: 'warning', text, advice: `Run: ${again}` })
  }
  for (const text of agents.find(({ name }) => name === agent)?.connection?.check?.(place) ?? []) {
    found.push({ about, is: 'warning', text })
  }
  const trouble = await hookTrouble(self, options)
  if (trouble !== undefined) found.push({ about, is: 'problem', text: trouble, advice: `Run: ${again}` })
  return found.length > 0 ? found : [{ about, is: 'ok', text: `${agent} is connected ${where}, and its hooks answer` }]
}

/** Calls the hook as an agent does, with an event that means nothing. */
async function hookTrouble(self: readonly [string, string], { env }: DoctorOptions): Promise<string | undefined> {
  try {
    const command = [...self, 'hook', 'doctor', 'Nothing']
    const ran = await runCommand(command, { env, input: '{}', timeoutMs: patienceMs, leftovers: 'end-group' })
    if (ran.end === 'exit' && ran.code === 0) return undefined
    return `its hook ended with ${ran.code}: ${ran.output.whole().toString('utf8').trim().slice(0, 200)}`
  } catch (error) {
    return `its hook could not be started: ${(error as Error).message}`
  }
}

const day = 86_400_000

/** What hooks could not tell the agent. */
function log({ env }: DoctorOptions): Finding[] {
  const { logFile } = new HookState(env)
  if (!fs.existsSync(logFile)) return []
  const lines = fs.readFileSync(logFile, 'utf8').trim().split('\n')
  const recent = lines.filter((line) => Date.now() - Date.parse(line.slice(0, 24)) < day)
  if (recent.length === 0) return []
  const text = `hooks had trouble ${recent.length === 1 ? 'once' : `${recent.length} times`} within a day, last: ${recent.at(-1)!.slice(25)}`
  return [{ about: 'hooks', is: 'warning', text, advice: `See ${logFile}` }]
}
