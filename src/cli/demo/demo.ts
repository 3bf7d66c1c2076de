// `baton demo`: an agent whose context fills up, cycled by the real supervisor, with no key and no network. Only the
// agent's model is a script; everything else is what `baton run` does.

import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { distrustProject, trustProject } from '../../config/index.ts'
import { demoProject, setUpDemo, ScriptedAgent, onScreen } from '../../demo/index.ts'
import { openStore, type Store } from '../../store/index.ts'
import { shellWord } from '../../system/index.ts'
import { control, freeName, type Run, sessionRows } from '../../supervisor/index.ts'
import { stopHere, superviseHere } from '../supervise/foreground.ts'
import { chosenWorkspace } from '../base/chosen-workspace.ts'
import { inFolder, type Io, cancellable } from '../base/io.ts'
import { type Globals, Output } from '../base/output.ts'
import { defaultDriver } from '../supervise/run.ts'
import { sessionRow } from '../supervise/background.ts'
import { NotFoundError } from '../../errors.ts'

interface DemoOptions extends Globals {
  fast?: boolean
  driver?: Run['driver']
  here?: boolean
  owned?: boolean
}

const usualName = 'demo'
const folderPrefix = 'baton-demo-'
/** The context fills within a minute here, so nothing waits for things to calm down. */
const hurried = { staggerSeconds: 0, raise: 0 }

interface PreparedDemo {
  readonly globals: Globals
  readonly run: Run
  readonly folder: string
  readonly workspace: string
  /** How the person started this program. */
  readonly command: string
}

export async function demo(options: DemoOptions): Promise<void> {
  const prepared = prepareDemo(options)
  if (options.owned === true) return playForOwner(prepared, options.io)
  if (!(await playDemo(prepared))) removeDemo(prepared)
}

/** Whoever has started it holds its standard input open, and nothing of the demo stays once that has ended or died. */
async function playForOwner(prepared: PreparedDemo, io: Io): Promise<void> {
  const owner = new AbortController()
  io.stdin.once('close', () => owner.abort()).resume()
  try {
    await cancellable(io, async (signal) => {
      const over = AbortSignal.any([signal, owner.signal])
      // Until then the project, the transcripts and the documents can be looked at.
      if ((await playDemo(prepared, owner.signal)) && !over.aborted) await once(over, 'abort')
    })
  } finally {
    removeDemo(prepared)
  }
}

/** A project for the agent, with its own workspace. */
export function prepareDemo(options: DemoOptions): PreparedDemo {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), folderPrefix)))
  const { io } = options
  const baton = [io.self[0], fs.realpathSync(io.self[1])]
  const { sample, workspace: own } = setUpDemo({ folder, baton, pace: options.fast === true ? 20 : 1_300 })
  trustProject(sample.folder, io.env)
  const run: Run = {
    name: usualName,
    agent: 'scripted',
    cwd: sample.folder,
    driver: options.driver ?? defaultDriver(io.env),
    args: [],
    prompt: sample.task.trimEnd(),
    bounds: { until: sample.check.map(shellWord).join(' '), maxHours: 0.25 },
  }
  const workspace = options.here === true ? chosenWorkspace(options).address : own
  const place = options.here === true ? { store: workspace, workspace: undefined } : { workspace }
  const globals = { ...options, ...place, io: inFolder(io, sample.folder) }
  return { globals, run, folder, workspace, command: invocation(io) }
}

/** Lets the agent work until its job is done, and narrates it. False if the person, or the end of its owner, stopped it. */
export async function playDemo(
  { globals, run: usual, folder, workspace, command }: PreparedDemo,
  owner: AbortSignal = new AbortController().signal,
): Promise<boolean> {
  const out = new Output(globals)
  introduce(out, usual)
  const store = await openStore(workspace)
  const name = await nameIn(store)
  const run = { ...usual, name }
  const start = performance.now()
  let stopping: Promise<unknown> = Promise.resolve()
  const stop = () => {
    stopping = control(store, name, 'stop')
  }
  const onHeld = () => (owner.aborted ? stop() : owner.addEventListener('abort', stop, { once: true }))
  try {
    await superviseHere(store, out, { globals, name, run, quietEnd: true, timings: hurried, onHeld })
    owner.removeEventListener('abort', stop)
    await stopping
    const row = (await sessionRow(store, name))!
    if (row.state !== 'ended') {
      await stopHere(store, out, globals, row)
      return false
    }
    if (owner.aborted) return false
    if (out.json) out.data({ folder, workspace, cycles: row.cycles, seconds: since(start) })
    else {
      summarise(out, row.cycles, since(start), run.cwd)
      explore(out, `${command} --workspace ${shellWord(workspace)}`, folder, name)
    }
    return true
  } finally {
    await store.close()
  }
}

/** The folder of the demo that this project was made for; undefined for every other project, since that folder is removed as a whole. */
export function demoOf(project: string): string | undefined {
  const folder = path.dirname(project)
  const name = path.basename(folder)
  const isDemo = path.basename(project) === demoProject && name.startsWith(folderPrefix)
  return isDemo && /^[A-Za-z0-9]{6}$/.test(name.slice(folderPrefix.length)) ? folder : undefined
}

/** In a workspace that is not its own, an earlier demo may have the name. */
async function nameIn(store: Store): Promise<string> {
  const taken = new Set<string>()
  for await (const row of sessionRows(store)) taken.add(row.name)
  return freeName(usualName, taken)
}

export function removeDemo({ globals, run, folder }: PreparedDemo): void {
  distrustProject(run.cwd, globals.io.env)
  fs.rmSync(folder, { recursive: true, force: true })
  new Output(globals).note('Stopped. Nothing of the demo is left.')
  globals.io.exit.code = 130
}

function introduce(out: Output, { cwd, driver }: Run): void {
  out.note(out.style('bold', 'An agent that outgrows its context, and nobody there to help.'))
  out.note('')
  out.note(`  The job    ${cwd}: nine modules; the first prompt says once what they must contain.`)
  out.note(
    `  The agent  a script instead of a model, ${driver === 'tmux' ? 'in a tmux pane' : 'without a screen'}; its context holds about four modules.`,
  )
  out.note(
    '  Baton      asks it for a handoff document, clears it, has it read the document, and checks that it carries on.',
  )
  out.note('')
}

function summarise(out: Output, cycles: number, seconds: number, project: string): void {
  const { NODE_TEST_CONTEXT: _inner, ...env } = out.io.env
  // Newer versions of Node have another reporter by default.
  const args = ['--test', '--test-reporter=tap']
  const { stdout, status } = spawnSync(out.io.self[0], args, { cwd: project, env, encoding: 'utf8' })
  const passed = /^# pass (\d+)$/m.exec(stdout)?.[1] ?? '0'
  out.note('')
  out.note(
    `${status === 0 ? out.style('green', 'Nothing was lost') : out.style('red', 'The job is not finished')}: ` +
      `${passed} tests pass after ${cycles} cycle${cycles === 1 ? '' : 's'}, in ${seconds} s.`,
  )
}

/** Prints commands that work as they stand. */
function explore(out: Output, baton: string, folder: string, name: string): void {
  out.note('')
  out.note('It is all still there:')
  out.note(`  ${baton} health --all`)
  out.note(`  ${baton} log ${name}`)
  out.note(`  ${baton} handoff show session/${name}`)
  out.note(`  ${baton} lineage`)
  out.note(`  rm -rf ${shellWord(folder)}`)
}

function invocation(io: Io): string {
  const [, program] = io.self
  if (io.env.npm_lifecycle_event === 'start') return 'npm start --'
  return path.basename(program) === 'baton' ? 'baton' : `node ${shellWord(path.relative(io.cwd(), program))}`
}

function since(start: number): number {
  return Math.round((performance.now() - start) / 1000)
}

export interface ScriptedAgentOptions extends Globals {
  home?: string
  window?: number
  growth?: number
  pace?: number
  perTurn?: number
  session?: string
  sessionId?: string
  print?: boolean
}

export async function scriptedAgent(options: ScriptedAgentOptions, prompt: string | undefined): Promise<void> {
  const { io } = options
  const agent = new ScriptedAgent({
    cwd: io.cwd(),
    home: options.home ?? io.env.PI_CODING_AGENT_DIR ?? path.join(io.env.HOME || os.homedir(), '.scripted-agent'),
    window: options.window ?? 60_000,
    growth: options.growth ?? 6_000,
    pace: options.pace ?? 500,
    perTurn: options.perTurn ?? 2,
    ...(options.session === undefined ? {} : { session: options.session }),
    ...(options.sessionId === undefined ? {} : { sessionId: options.sessionId }),
  })
  if (options.session !== undefined && agent.session === undefined) {
    throw new NotFoundError(`There is no session ${options.session} of this folder`)
  }
  if (options.print !== true) return onScreen(agent, { input: io.stdin, output: io.stdout }, prompt)
  await cancellable(io, (signal) => agent.turn(prompt ?? '', (line) => void io.stdout.write(`${line}\n`), signal))
}
