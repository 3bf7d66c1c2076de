// `baton pause|unpause|stop|cycle`: what a person wants of a session, written on its tape for whoever supervises it.

import { BatonError } from '../errors.ts'
import { control, type Wish } from '../supervisor/index.ts'
import { stopHere } from './foreground.ts'
import type { Globals } from './output.ts'
import { isHeld, supervised } from './supervised.ts'
import { withStore } from './workspace.ts'

const done: Record<Wish, string> = {
  pause: 'is left alone from now on; "baton unpause" takes it up again',
  unpause: 'is supervised again',
  stop: 'is stopped, and stays so',
  cycle: 'hands over to itself now',
}

export async function wish(globals: Globals, ref: string, wanted: Wish): Promise<void> {
  await withStore(globals, async (store, out) => {
    const row = await supervised(store, ref)
    if (row.state === 'ended') {
      if (wanted === 'stop')
        return out.json
          ? out.data({ name: row.name, wish: wanted, ended: row.ended })
          : out.line(`${row.name} has ended already`)
      throw new BatonError('refused', `${row.name} has ended`, { hint: `Reopen it with "baton resume ${row.name}".` })
    }
    // Nobody is there to do it: then this command is.
    if (wanted === 'stop' && !isHeld(row)) await stopHere(store, out, globals, row.name)
    else await control(store, row.name, wanted)
    if (out.json) out.data({ name: row.name, wish: wanted })
    else out.line(`${row.name} ${done[wanted]}`)
    if (wanted === 'stop' || isHeld(row)) return
    out.warn(`Nobody supervises ${row.name} now: it is done once somebody does, as with "baton watch".`)
  })
}
