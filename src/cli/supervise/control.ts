// `baton pause|unpause|stop|cycle`: what a person wants of a session, written on its tape for whoever supervises it.

import { BatonError } from '../../errors.ts'
import type { Store } from '../../store/index.ts'
import { shellWord } from '../../system/index.ts'
import { control, type SessionRow, sessionTape, type ControlCommand } from '../../supervisor/index.ts'
import { stopHere } from './foreground.ts'
import type { Globals } from '../base/output.ts'
import { withSupervised } from './supervised.ts'

const done: Record<ControlCommand, string> = {
  pause: 'is left alone from now on; "baton unpause" takes it up again',
  unpause: 'is supervised again',
  stop: 'is stopped, and stays so',
  cycle: 'hands over to itself now',
}

/** The supervisor asks the agent to end and kills it after a few seconds, well within this time. */
const stopMs = 30_000

export const pause = (globals: Globals, ref: string) => send(globals, ref, 'pause')
export const unpause = (globals: Globals, ref: string) => send(globals, ref, 'unpause')
export const stop = (globals: Globals, ref: string) => send(globals, ref, 'stop')
export const cycle = (globals: Globals, ref: string) => send(globals, ref, 'cycle')

async function send(globals: Globals, ref: string, wanted: ControlCommand): Promise<void> {
  await withSupervised(globals, ref, async (store, out, { row, globals: there }) => {
    if (row.state === 'ended') {
      if (wanted === 'stop')
        return out.record({ name: row.name, wish: wanted, ended: row.ended }, `${row.name} has ended already`)
      throw new BatonError('refused', `${row.name} has ended`, {
        hint: `Reopen it with "baton resume ${shellWord(row.name)}".`,
      })
    }
    const held = row.supervisor !== undefined
    // Without a supervisor, this command stops the agent itself.
    if (wanted === 'stop' && !held) await stopHere(store, out, there, row)
    else {
      const { id } = await control(store, row.name, wanted)
      if (wanted === 'stop') await untilEnded(store, row, id)
    }
    const waits = wanted === 'cycle' && row.state === 'paused'
    const what = waits ? 'hands over to itself as soon as it is unpaused' : done[wanted]
    out.record({ name: row.name, wish: wanted }, `${row.name} ${what}`)
    if (wanted === 'stop' || held) return
    out.warn(`Nobody supervises ${row.name} now: it is done once somebody does, as with "baton watch".`)
  })
}

/** `baton stop` returns only when the session has ended. */
async function untilEnded(store: Store, { name, supervisor }: SessionRow, since: number): Promise<void> {
  for await (const { payload } of store.watch(sessionTape(name), since, AbortSignal.timeout(stopMs))) {
    const { name: about, data } = payload as { name?: unknown; data?: { state?: unknown } }
    if (about === 'row' && data?.state === 'ended') return
  }
  throw new BatonError('refused', `${name} was asked to stop, and has not ended after ${stopMs / 1_000} s`, {
    hint: `Its supervisor is process ${supervisor!.pid}: see "baton logs ${shellWord(name)}".`,
  })
}
