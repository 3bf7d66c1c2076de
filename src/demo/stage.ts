// Where the demo plays: a folder with the sample repository, a workspace, and the configuration that describes the
// scripted agent to the supervisor, as a person would describe an agent of their own.

import fs from 'node:fs'
import path from 'node:path'
import { makeSample, type Sample } from './sample.ts'

export interface StageOptions {
  readonly folder: string
  /** What starts Baton: the scripted agent is one of its commands. */
  readonly baton: readonly string[]
  /** Milliseconds that the agent thinks before each reply. */
  readonly pace: number
  readonly perTurn?: number
  readonly modules?: number
  readonly window?: number
  readonly growth?: number
  /** Said of the agent in place of what is so. */
  readonly agent?: Readonly<Record<string, unknown>>
  /** More for the `supervisor` section. */
  readonly settings?: Readonly<Record<string, unknown>>
  /** More sections. */
  readonly sections?: Readonly<Record<string, unknown>>
}

export interface Stage {
  readonly sample: Sample
  readonly workspace: string
  readonly config: string
}

export function makeStage(options: StageOptions): Stage {
  const { folder, baton, pace, perTurn = 4, window = 60_000, growth = 6_000, settings = {} } = options
  const project = path.join(folder, 'till')
  const sample = makeSample(project, options.modules)
  const home = path.join(folder, 'agent')
  const flags = { home, window, growth, pace, 'per-turn': perTurn }
  const scripted = {
    label: 'scripted agent',
    command: [
      ...baton,
      'scripted-agent',
      ...Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)]),
    ],
    env: { PI_CODING_AGENT_DIR: home },
    transcript: 'pi',
    launch: ['--session-id={session}', '{prompt}'],
    resume: ['--session', '{session}'],
    turn: ['--print', '--session-id={session}', '{prompt}'],
    resumeTurn: ['--print', '--session', '{session}', '{prompt}'],
    clear: '/clear',
    interrupt: ['Escape'],
    ready: '^›(?: (.*))?$',
    busy: '^… working',
  }
  // The context fills within a minute here, so nothing waits for things to calm down.
  const supervisor = {
    cooldownSeconds: 0,
    staggerSeconds: 0,
    raise: 0,
    ...settings,
    agents: { scripted: { ...scripted, ...options.agent } },
  }
  const config = path.join(project, 'baton.config.json')
  fs.writeFileSync(config, `${JSON.stringify({ supervisor, ...options.sections }, null, 2)}\n`)
  return { sample, workspace: path.join(project, '.baton'), config }
}
