// `baton pause|unpause|stop|cycle`: what a person wants of a session, written on its tape for whoever supervises it. `baton attach`
// shows the screen of its agent, to look at and to type into.

import { spawnSync } from 'node:child_process'
import * as z from 'zod'
import { BatonError, NotFoundError, UnsupportedError } from '../../errors.ts'
import { supervisedControl } from '../../operations/index.ts'
import { shellWord } from '../../system/index.ts'
import type { ControlCommand } from '../../supervisor/index.ts'
import { stopHere } from './foreground.ts'
import { type Globals, Output } from '../base/output.ts'
import { withSupervised } from './supervised.ts'

const done: Record<ControlCommand, (name: string) => string> = {
  pause: (name) => `is paused; "baton resume ${shellWord(name)}" ends the pause`,
  unpause: () => 'is supervised again',
  stop: () => 'is stopped, and stays so',
  cycle: () => 'hands over to itself now',
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
    if (wanted === 'stop' && !held) await stopHere((await workspace('operate')).store, out, there, row)
    else await run(supervisedControl, { name: row.name, command: wanted, wait: true })
    const waits = wanted === 'cycle' && row.state === 'paused'
    const what = waits ? 'hands over to itself as soon as it is resumed' : done[wanted](row.name)
    out.record({ name: row.name, wish: wanted }, `${row.name} ${what}`)
    if (wanted === 'stop' || held) return
    out.warn(`Nobody supervises ${row.name} now; this happens once somebody does, for example "baton watch".`)
  })
}

const screenPlace = z.looseObject({ driver: z.literal('tmux'), socket: z.string(), pane: z.string() })

export async function attach(globals: Globals, ref: string): Promise<void> {
  const { row, place } = await withSupervised(globals, ref, (_store, _out, { row }) =>
    Promise.resolve({ row, place: screenPlace.safeParse(row.place).data }),
  )
  if (place === undefined) {
    throw new UnsupportedError(`${row.name} has no screen`, {
      hint: `It runs without one; see what it does with "baton log ${shellWord(row.name)} --follow".`,
    })
  }
  if (row.state === 'ended') {
    throw new NotFoundError(`${row.name} has ended`, { hint: `Reopen it: baton resume ${shellWord(row.name)}` })
  }
  const commands = attachCommands(place, globals.io.env)
  if (globals.json === true) return new Output(globals).data({ name: row.name, place, commands })
  if (globals.io.stdin.isTTY !== true) {
    const text = commands.map((command) => command.map(shellWord).join(' ')).join(' && ')
    throw new UnsupportedError('Only a terminal can show a screen', { hint: `In one, run: ${text}` })
  }
  for (const [program, ...args] of commands) {
    const { status, error } = spawnSync(program!, args, { env: globals.io.env, stdio: 'inherit' })
    if (error !== undefined || status !== 0) {
      throw new BatonError('refused', `The screen of ${row.name} cannot be shown`, {
        hint: `Its agent may be gone; see "baton health ${shellWord(row.name)}".`,
        cause: error,
      })
    }
  }
}

/** Inside the same server the client moves to the pane's window; elsewhere a client of its own is started. */
function attachCommands(place: z.output<typeof screenPlace>, env: NodeJS.ProcessEnv): string[][] {
  const tmux = ['tmux', '-S', place.socket]
  const inside = env.TMUX?.split(',')[0] === place.socket
  const select = [...tmux, 'select-window', '-t', place.pane]
  if (inside) return [select, [...tmux, 'switch-client', '-t', place.pane]]
  // tmux refuses to run in another tmux unless it does not know.
  const nested = env.TMUX === undefined || env.TMUX === '' ? [] : ['env', '-u', 'TMUX']
  return [select, [...nested, ...tmux, 'attach-session', '-t', place.pane]]
}
