// `baton pause|unpause|stop|cycle`: what a person wants of a session, written on its tape for whoever supervises it.

import { BatonError } from '../../errors.ts'
import { supervisedControl } from '../../operations/index.ts'
import { shellWord } from '../../system/index.ts'
import type { ControlCommand } from '../../supervisor/index.ts'
import { stopHere } from './foreground.ts'
import type { Globals } from '../base/output.ts'
import { withSupervised } from './supervised.ts'

const done: Record<ControlCommand, string> = {
  pause: 'is paused; "baton resume" ends the pause',
  unpause: 'is supervised again',
  stop: 'is stopped, and stays so',
  cycle: 'hands over to itself now',
}

export const pause = (globals: Globals, ref: string) => send(globals, ref, 'pause')
export const unpause = (globals: Globals, ref: string) => send(globals, ref, 'unpause')
export const stop = (globals: Globals, ref: string) => send(globals, ref, 'stop')
export const cycle = (globals: Globals, ref: string) => send(globals, ref, 'cycle')

async function send(globals: Globals, ref: string, wanted: ControlCommand): Promise<void> {
  await withSupervised(globals, ref, async ({ run, workspace }, out, { row, globals: there }) => {
    if (row.state === 'ended') {
      if (wanted === 'stop')
        return out.record({ name: row.name, wish: wanted, ended: row.ended }, `${row.name} has ended already`)
      throw new BatonError('refused', `${row.name} has ended`, {
        hint: `Reopen it with "baton resume ${shellWord(row.name)}".`,
      })
    }
    const held = row.supervisor !== undefined
    // Without a supervisor, this command stops the agent itself.
    if (wanted === 'stop' && !held) await stopHere(workspace.store, out, there, row)
    else await run(supervisedControl, { name: row.name, command: wanted, wait: true })
    const waits = wanted === 'cycle' && row.state === 'paused'
    const what = waits ? 'hands over to itself as soon as it is resumed' : done[wanted]
    out.record({ name: row.name, wish: wanted }, `${row.name} ${what}`)
    if (wanted === 'stop' || held) return
    out.warn(`Nobody supervises ${row.name} now; this happens once somebody does, for example "baton watch".`)
  })
}
