// A supervisor as a process of its own, to be killed: it dies by its own hand, with -9, at the place that it is told.

import { openStore, type Store } from '../../../src/store/index.ts'
import { agentOpener } from '../../../src/supervisor/drivers/open-agent.ts'
import type { AgentHandle, OpenAgent, Run } from '../../../src/supervisor/run.ts'
import { supervisorSection, type Timings } from '../../../src/supervisor/settings.ts'
import { supervise } from '../../../src/supervisor/supervise.ts'
import { openScriptedAgent } from './open-scripted-agent.ts'

export interface SupervisorJob {
  readonly workspace: string
  readonly home: string
  readonly program: string
  /** The agent is a real program: the socket of a tmux server, and a folder for turns. */
  readonly real?: { readonly socket: string; readonly turns: string }
  readonly run: Run
  readonly settings: unknown
  readonly timings: Timings
  /** `before ask`, `after ask`, `after document`…: the moment before or after that which it names. */
  readonly killAt?: string
  /** It dies when that comes for the second time, or later. */
  readonly times?: number
}

const [job = '{}'] = process.argv.slice(2)
const { workspace, home, program, real, run, settings, timings, killAt, times = 1 } = JSON.parse(job) as SupervisorJob

let left = times
function die(moment: string): void {
  if (moment === killAt && --left === 0) process.kill(process.pid, 'SIGKILL')
}

/** Dies where an intent has just become durable, or a document. */
function mortal(store: Store): Store {
  return new Proxy(store, {
    get(target, key) {
      const value = Reflect.get(target, key, target) as unknown
      if (typeof value !== 'function') return value
      const method = (value as (...args: unknown[]) => unknown).bind(target)
      if (key !== 'append') return method
      return async (...args: Parameters<Store['append']>) => {
        for (const { payload } of args[1]) die(`before the entry ${(payload as { name?: string }).name}`)
        const entries = await target.append(...args)
        for (const { payload } of entries) {
          const { name, data } = payload as { name?: string; data?: { effects?: string[]; cycle?: { at: string } } }
          die(`after the entry ${name}`)
          if (name === 'handoff_document') die('after document')
          if (name === 'cycle') for (const effect of data?.effects ?? []) die(`before ${effect}`)
          if (name === 'cycle') die(`at ${data?.cycle?.at}`)
        }
        return entries
      }
    },
  })
}

/** Dies where something has just been typed. */
function mortalAgent(open: OpenAgent): OpenAgent {
  return async (...args) => {
    const handle: AgentHandle = await open(...args)
    const { driver } = handle
    const submit = driver.submit.bind(driver)
    const clear = driver.clear.bind(driver)
    driver.submit = async (text, signal) => {
      await submit(text, signal)
      die(text.startsWith('Create') ? 'after ask' : text.startsWith('Read') ? 'after resume' : 'after say')
    }
    driver.clear = async (signal) => {
      await clear(signal)
      die('after clear')
    }
    return handle
  }
}

const store = mortal(await openStore(workspace))
const parsed = supervisorSection.parse(settings)
const ended = await supervise({
  store,
  name: run.name,
  run,
  openAgent: mortalAgent(
    real === undefined ? openScriptedAgent({ home, program }) : agentOpener({ settings: () => parsed, ...real }),
  ),
  settings: () => parsed,
  timings,
  signal: new AbortController().signal,
})
process.stdout.write(JSON.stringify(ended))
await store.close()
