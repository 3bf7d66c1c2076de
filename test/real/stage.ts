// A place for a real agent to act: a home and a project of its own, a scripted model on loopback, nothing of the user's.

import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { type Ended, outputOf } from '../support/processes.ts'

export interface Stage {
  /** Everything the agent keeps lies below it. */
  readonly home: string
  readonly project: string
  /** Of the model server, without `/v1`. */
  readonly url: string
}

export interface RealAgent {
  readonly name: string
  /** Writes the settings that make it start without questions and without a network. */
  prepare(stage: Stage): void
  /** A turn without a screen; `session` goes on with an earlier one. */
  turn(stage: Stage, prompt: string, session?: string): readonly string[]
  /** On a screen. */
  screen?(stage: Stage): readonly string[]
  env(stage: Stage): Record<string, string>
}

export function makeStage(folder: string, url: string): Stage {
  const home = path.join(folder, 'home')
  const project = path.join(folder, 'project')
  for (const each of [home, project]) fs.mkdirSync(each, { recursive: true })
  return { home, project, url }
}

/** The environment of an agent: enough to run, and nothing that ties it to the session that runs the tests. */
export function environment(agent: RealAgent, stage: Stage): Record<string, string> {
  const kept = ['PATH', 'LANG', 'TERM', 'TMPDIR']
  const own = Object.fromEntries(kept.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])))
  return { ...own, HOME: stage.home, ...agent.env(stage) }
}

/** Runs a turn to its end, or ends it after `seconds`. */
export async function runTurn(
  agent: RealAgent,
  stage: Stage,
  prompt: string,
  { session, seconds = 90 }: { session?: string | undefined; seconds?: number } = {},
): Promise<Ended> {
  const [program, ...args] = agent.turn(stage, prompt, session)
  const child = spawn(program!, args, {
    cwd: stage.project,
    env: environment(agent, stage),
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: seconds * 1000,
    killSignal: 'SIGKILL',
  })
  return outputOf(child)
}

/** `BATON_TEST_AGENTS` names another folder of packages, to try an agent that is newer than the one the tests are made for. */
const packages =
  process.env.BATON_TEST_AGENTS ?? path.join(import.meta.dirname, '../../node_modules/.agents/node_modules')

/** A file of an installed agent, by its path below its package. */
export function installed(...parts: string[]): string {
  return path.join(packages, ...parts)
}

/** As npm names the packages that hold native programs. */
export const platform = `${process.platform}-${process.arch}`
