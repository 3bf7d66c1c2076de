// How agents are taken hold of on this machine: the adapter by its name, a tmux pane or a process per turn, and eyes on
// what it writes.

import { randomUUID } from 'node:crypto'
import { UnsupportedError } from '../errors.ts'
import { configuredModels } from '../transcripts/index.ts'
import { type Adapter, capability } from './adapter.ts'
import { adapterNamed } from './adapters/index.ts'
import type { Driver } from './driver.ts'
import { TmuxDriver } from './drivers/tmux.ts'
import { startInTmux } from './drivers/tmux-start.ts'
import { openEyes } from './eyes.ts'
import type { OpenHands, Run, Start } from './run.ts'
import type { SupervisorSettings } from './settings.ts'

export interface HandsOptions {
  readonly settings: () => SupervisorSettings
  readonly env?: NodeJS.ProcessEnv
}

export function openHands({ settings, env = process.env }: HandsOptions): OpenHands {
  return async (run, start) => {
    const adapter = adapterNamed(run.agent, { env, agents: settings().agents })
    const since = Date.now()
    // An agent that can be told the id of its session is never looked for.
    const id = start.how === 'launch' && adapter.name === 'claude' ? randomUUID() : undefined
    const driver = await driverFor(adapter, run, start, env, id)
    const session = start.how === 'launch' ? id : start.session
    const eyes = openEyes({
      adapter,
      driver,
      cwd: run.cwd,
      env,
      since,
      models: await configuredModels(run.cwd),
      ...(session === undefined ? {} : { session }),
    })
    return { adapter, driver, eyes }
  }
}

async function driverFor(
  adapter: Adapter,
  run: Run,
  start: Start,
  env: NodeJS.ProcessEnv,
  id: string | undefined,
): Promise<Driver> {
  const { args, cwd, name } = run
  if (start.how === 'attach') {
    if (start.place.driver === 'tmux') return new TmuxDriver(adapter, start.place)
    throw new UnsupportedError('headless: not yet')
  }
  if (run.driver === 'headless') throw new UnsupportedError('headless: not yet')
  const command =
    start.how === 'resume'
      ? capability(adapter, 'resume')(start.session, { args })
      : capability(
          adapter,
          'launch',
        )({
          args,
          ...(start.prompt === undefined ? {} : { prompt: start.prompt }),
          ...(id === undefined ? {} : { session: id }),
        })
  return startInTmux({ adapter, command, cwd, env, name })
}
