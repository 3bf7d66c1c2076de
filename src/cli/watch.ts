// `baton watch`: supervises what is there already. Sessions that a crash or a reboot left without a supervisor, and agents
// that somebody started in a tmux pane.

import path from 'node:path'
import { openSupervisor, type Run, type RunningAgent } from '../supervisor/index.ts'
import { equipment } from './equipment.ts'
import { Narrator } from './narration.ts'
import type { Globals, Output } from './output.ts'
import { allSupervised, freeName, isHeld } from './supervised.ts'
import { withStore } from './workspace.ts'

interface WatchOptions extends Globals {
  dryRun?: boolean
}

export async function watch(options: WatchOptions, only: readonly string[]): Promise<void> {
  await withStore(options, async (store, out) => {
    const tools = equipment(options, process.cwd(), out)
    const rows = await allSupervised(store)
    const isMeant = (...names: (string | undefined)[]) => only.length === 0 || only.some((each) => names.includes(each))
    const left = rows.filter((row) => row.state !== 'ended' && !isHeld(row) && isMeant(row.name, row.session))
    const known = new Set(rows.filter(({ state }) => state !== 'ended').flatMap(({ place }) => paneOf(place) ?? []))
    const found = (await tools.running()).filter(
      ({ place, title, cwd }) => !known.has(paneOf(place)!) && isMeant(place.pane, title, path.basename(cwd)),
    )
    if (options.dryRun === true || left.length + found.length === 0) return tellFound(out, left, found)
    const narrator = new Narrator(out, { named: true })
    const supervisor = await openSupervisor({ store, ...tools, onEvent: (event) => narrator.tell(event) })
    try {
      const names = await supervisor.recover()
      for (const name of names) out.note(`${name}: taken up again`)
      const taken = rows.map(({ name }) => name)
      for (const agent of found) {
        const name = freeName(`${agent.adapter.name}-${path.basename(agent.cwd)}`, taken)
        taken.push(name)
        const run: Run = { name, agent: agent.adapter.name, cwd: agent.cwd, driver: 'tmux', args: [] }
        supervisor.watchExisting(run, agent.place)
        out.note(`${name}: ${agent.adapter.label} in pane ${agent.place.pane}, ${agent.cwd}`)
      }
      await untilStopped()
      out.note('Let go: the agents go on by themselves.')
      process.exitCode = 130
    } finally {
      await supervisor.close()
      await tools.notify.close()
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

function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve()).once('SIGTERM', () => resolve())
  })
}
