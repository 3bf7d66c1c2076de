// `baton pause|unpause|stop|cycle`: what a person wants of a session, written on its tape for whoever supervises it.

import { BatonError } from '../errors.ts'
import type { Store } from '../store/index.ts'
import { shellWord } from '../store/shell-word.ts'
import { control, type SessionRow, sessionTape, type Wish } from '../supervisor/index.ts'
import { stopHere } from './foreground.ts'
import type { Globals } from './output.ts'
import { supervised } from './supervised.ts'
import { withStore } from './workspace.ts'

const done: Record<Wish, string> = {
  pause: 'is left alone from now on; "baton unpause" takes it up again',
  unpause: 'is supervised again',
  stop: 'is stopped, and stays so',
  cycle: 'hands over to itself now',
}

/** An agent is asked to end, and made to after a few seconds. */
const stopMs = 30_000

export async function wish(globals: Globals, ref: string, wanted: Wish): Promise<void> {
  await withStore(globals, async (store, out) => {
    const row = await supervised(store, ref)
    if (row.state === 'ended') {
      if (wanted === 'stop')
        return out.json
          ? out.data({ name: row.name, wish: wanted, ended: row.ended })
          : out.line(`${row.name} has ended already`)
      throw new BatonError('refused', `${row.name} has ended`, {
        hint: `Reopen it with "baton resume ${shellWord(row.name)}".`,
      })
    }
    const held = row.supervisor !== undefined
    // Nobody is there to do it: then this command is.
    if (wanted === 'stop' && !held) await stopHere(store, out, globals, row.name)
    else {
      const { id } = await control(store, row.name, wanted)
      if (wanted === 'stop') await untilEnded(store, row, id)
    }
    if (out.json) out.data({ name: row.name, wish: wanted })
    else out.line(`${row.name} ${done[wanted]}`)
    if (wanted === 'stop' || held) return
    out.warn(`Nobody supervises ${row.name} now: it is done once somebody does, as with "baton watch".`)
  })
}

/** Whoever stops a session wants it stopped when the command returns. */
async function untilEnded(store: Store, { name, supervisor }: SessionRow, since: number): Promise<void> {
  for await (const { payload } of store.watch(sessionTape(name), since, AbortSignal.timeout(stopMs))) {
    const { name: about, data } = payload as { name?: unknown; data?: { state?: unknown } }
    if (about === 'row' && data?.state === 'ended') return
  }
  throw new BatonError('refused', `${name} was asked to stop, and has not ended after ${stopMs / 1_000} s`, {
    hint: `Its supervisor is process ${supervisor!.pid}: see "baton logs ${shellWord(name)}".`,
  })
}
