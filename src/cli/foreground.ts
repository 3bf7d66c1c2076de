// A session that is supervised by this very process, with a line for each thing that happens.

import type { Store } from '../store/index.ts'
import { shellWord } from '../store/shell-word.ts'
import { type Bounds, control, type Ended, type Run, supervise } from '../supervisor/index.ts'
import { equipment } from './equipment.ts'
import { Narrator } from './narration.ts'
import type { Globals, Output } from './output.ts'

interface Here {
  readonly globals: Globals
  readonly name: string
  /** Undefined: what the tape of the session says. */
  readonly run?: Run
  /** For one that goes on. */
  readonly bounds?: Bounds
  readonly quiet?: boolean
  /** Does not say what can be done with a session that was let go. */
  readonly quietEnd?: boolean
  /** Called once this process has the session in its hands. */
  readonly onHeld?: () => void
}

/** Supervises in this process until the session ends or the person lets go of it. */
export async function superviseHere(store: Store, out: Output, here: Here): Promise<void> {
  const { globals, name, run, bounds, quiet, quietEnd, onHeld } = here
  const letGo = new AbortController()
  const interrupt = () => {
    if (letGo.signal.aborted) return out.warn(`The agent goes on by itself. To end it: baton stop ${shellWord(name)}`)
    letGo.abort()
  }
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt)
  const narrator = new Narrator(out)
  let held = false
  const tools = equipment(globals, run?.cwd ?? process.cwd(), out)
  try {
    const ended = await supervise({
      store,
      name,
      ...(run === undefined ? {} : { run }),
      ...(bounds === undefined ? {} : { bounds }),
      ...tools,
      signal: letGo.signal,
      onEvent: (event) => {
        if (event.type === 'row' && !held) onHeld?.()
        held ||= event.type === 'row'
        if (quiet !== true) narrator.tell(event)
      },
    })
    if (quiet !== true && quietEnd !== true && ended.why === 'released') tellRelease(name, out)
    process.exitCode = exitCode(ended, bounds ?? run?.bounds)
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt)
    await tools.close()
  }
}

/** Ends a session that nobody supervises: takes hold of it, and then wants it stopped. */
export async function stopHere(store: Store, out: Output, globals: Globals, name: string): Promise<void> {
  let wished: Promise<unknown> = Promise.resolve()
  const onHeld = () => {
    wished = control(store, name, 'stop')
  }
  await superviseHere(store, out, { globals, name, quiet: true, onHeld })
  await wished
  process.exitCode = 0
}

function tellRelease(name: string, out: Output): void {
  out.note(`  Take it up again:  baton resume ${shellWord(name)}`)
  out.note(`  End it:            baton stop ${shellWord(name)}`)
}

/** 0 when it got where it should; a run that was to reach something and did not has failed. */
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
