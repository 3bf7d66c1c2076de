// `baton watch`: supervises what is there already. Sessions that a crash or a reboot left without a supervisor, and agents
// that somebody started in a tmux pane.

import path from 'node:path'
import { openSupervisor, type RunningAgent } from '../supervisor/index.ts'
import { equipment } from './equipment.ts'
import { Narrator } from './narration.ts'
import type { Globals, Output } from './output.ts'
import { allSupervised, freeName } from './supervised.ts'
import { withStore } from './workspace.ts'

interface WatchOptions extends Globals {
  dryRun?: boolean
}

/** Until the last of them has ended, or the person lets go. */
export async function watch(options: WatchOptions): Promise<void> {
  await withStore(options, async (store, out) => {
    const tools = equipment(options, process.cwd(), out)
    const rows = await allSupervised(store)
    const open = rows.filter(({ state }) => state !== 'ended')
    const left = open.filter(({ supervisor }) => supervisor === undefined)
    const known = new Set(open.flatMap(({ place }) => paneOf(place) ?? []))
    const found = (await tools.running()).filter(({ place }) => !known.has(paneOf(place)!))
    if (options.dryRun === true || left.length + found.length === 0) return tellFound(out, left, found)
    const narrator = new Narrator(out, { named: true })
    const supervisor = openSupervisor({ store, ...tools, onEvent: (event) => narrator.tell(event) })
    try {
      const taken = rows.map(({ name }) => name)
      const added = found.map(({ adapter, cwd, place }) => {
        const name = freeName(`${adapter.name}-${path.basename(cwd)}`, taken)
        taken.push(name)
        out.note(`${name}: ${adapter.label} in pane ${place.pane}, ${cwd}`)
        return supervisor.watchExisting({ name, agent: adapter.name, cwd, driver: 'tmux', args: [] }, place)
      })
      const recovered = await supervisor.recover()
      for (const { name } of recovered) out.note(`${name}: taken up again`)
      const ends = [...recovered, ...added].map(({ name, ended }) =>
        ended.catch((error: unknown) =>
          out.warn(`baton: ${name}: ${error instanceof Error ? error.message : String(error)}`),
        ),
      )
      if ((await Promise.race([Promise.all(ends), untilStopped()])) === 'stopped') {
        out.note('Let go: the agents go on by themselves.')
        process.exitCode = 130
      }
    } finally {
      await supervisor.close()
      await tools.close()
    }
  })
}

function tellFound(
  out: Output,
  left: readonly { name: string; agent: string }[],
  found: readonly RunningAgent[],
): void {
  for (const { name, agent } of left) {
    if (out.json) out.data({ type: 'left', name, agent })
    else out.line(`${name}: ${agent}, left without a supervisor`)
  }
  for (const { adapter, place, cwd } of found) {
    if (out.json) out.data({ type: 'running', agent: adapter.name, cwd, place })
    else out.line(`${adapter.label} in pane ${place.pane}, ${cwd}`)
  }
  if (left.length + found.length === 0 && !out.json) {
    out.line('Nothing to watch: no session was left alone, and no agent runs in a tmux pane here.')
    out.note('Start one with "baton run AGENT".')
  }
}

function paneOf(place: unknown): string | undefined {
  const { socket, pane } = (place ?? {}) as { socket?: string; pane?: string }
  return pane === undefined ? undefined : `${socket} ${pane}`
}

function untilStopped(): Promise<'stopped'> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve('stopped')).once('SIGTERM', () => resolve('stopped'))
  })
}
