// Supervises a session in this process and prints a line for each event.

import type { Store } from '../../store/index.ts'
import { shellWord } from '../../system/index.ts'
import {
  type Bounds,
  control,
  type Ended,
  type Run,
  type SessionRow,
  supervise,
  type Timings,
} from '../../supervisor/index.ts'
import { registerWorkspace } from '../../config/index.ts'
import { chosenWorkspace } from '../base/chosen-workspace.ts'
import { inFolder } from '../base/io.ts'
import { deliverInBackground, deliverLeftAlerts, supervisorSetup } from './setup.ts'
import { EventPrinter } from './event-lines.ts'
import type { Globals, Output } from '../base/output.ts'

interface Here {
  readonly globals: Globals
  readonly name: string
  /** If undefined, the session continues the run that is on its tape. */
  readonly run?: Run
  /** The folder of the session, whose settings count where there is no `run`. */
  readonly project?: string
  /** New bounds for a session that is resumed. */
  readonly bounds?: Bounds
  readonly quiet?: boolean
  /** Leaves out the advice about a session that was released. */
  readonly quietEnd?: boolean
  /** Other waits than the usual ones. */
  readonly timings?: Partial<Timings>
  /** The session is only to be ended. */
  readonly stopping?: boolean
  /** Called once this process supervises the session. */
  readonly onHeld?: () => void
}

/** Supervises in this process until the session ends or the person lets go of it. */
export async function superviseHere(store: Store, out: Output, here: Here): Promise<void> {
  const { globals, name, run, project, bounds, quiet, quietEnd, timings, stopping, onHeld } = here
  const { io } = globals
  const letGo = new AbortController()
  // A closed terminal takes no more words, and ends no supervision.
  const hangUp = () => {
    for (const stream of [io.stdout, io.stderr]) stream.removeAllListeners('error').on('error', () => undefined)
  }
  const interrupt = () => {
    if (letGo.signal.aborted) return out.warn(`The agent is still running. To end it: baton stop ${shellWord(name)}`)
    letGo.abort()
  }
  io.signals.on('SIGINT', interrupt)
  io.signals.on('SIGTERM', interrupt)
  io.signals.on('SIGHUP', hangUp)
  const printer = new EventPrinter(out)
  let held = false
  const folder = run?.cwd ?? project ?? io.cwd()
  const setup = supervisorSetup({ ...globals, io: inFolder(io, folder) }, folder, out, store)
  registerWorkspace(io.env, chosenWorkspace(globals).address)
  const over = new AbortController()
  const delivering = deliverLeftAlerts(store, globals, out, over.signal)
  try {
    const ended = await supervise({
      store,
      name,
      ...(run === undefined ? {} : { run }),
      ...(bounds === undefined ? {} : { bounds }),
      ...(stopping === undefined ? {} : { stopping }),
      ...setup,
      timings: { ...setup.timings, ...timings },
      signal: letGo.signal,
      onEvent: (event) => {
        if (event.type === 'row' && !held) onHeld?.()
        held ||= event.type === 'row'
        if (quiet !== true) printer.print(event)
      },
    })
    if (quiet !== true && quietEnd !== true && ended.why === 'released') printAdvice(name, out)
    io.exit.code = exitCode(ended, bounds ?? run?.bounds)
  } finally {
    io.signals.off('SIGINT', interrupt)
    io.signals.off('SIGTERM', interrupt)
    io.signals.off('SIGHUP', hangUp)
    const isLeft = await setup.close()
    over.abort()
    await delivering.catch((error: Error) => out.warn(`baton: alerts could not be delivered: ${error.message}`))
    if (isLeft) deliverInBackground(globals)
  }
}

/** Ends a session without a supervisor: supervises it in this process, and stops it then. */
export async function stopHere(
  store: Store,
  out: Output,
  globals: Globals,
  { name, project }: Pick<SessionRow, 'name' | 'project'>,
): Promise<void> {
  let stopping: Promise<unknown> = Promise.resolve()
  const onHeld = () => {
    stopping = control(store, name, 'stop')
  }
  await superviseHere(store, out, { globals, name, project, quiet: true, stopping: true, onHeld })
  await stopping
  globals.io.exit.code = 0
}

function printAdvice(name: string, out: Output): void {
  out.note(`  Resume it:  baton resume ${shellWord(name)}`)
  out.note(`  End it:     baton stop ${shellWord(name)}`)
}

/** 0 if the session ended as it should; a run with --until that did not get there has failed. */
function exitCode(ended: Ended, bounds: Bounds = {}): number {
  switch (ended.why) {
    case 'finished':
      return 0
    case 'exited':
      return bounds.until === undefined ? 0 : 1
    case 'bound':
    case 'crashed':
      return 1
    case 'stopped':
    case 'released':
      return 130
  }
}
