// A project with a team of agents, and the commands of its relay.

import fs from 'node:fs'
import path from 'node:path'
import { fullTeam } from '../../relay/team.ts'
import { temporaryFolder } from '../../support/workspace.ts'
import { baton, type Run } from '../cli.ts'

export const team = {
  ...fullTeam,
  limits: { handoffTimeoutMs: 600_000, handoffCooldownMs: 0 },
  latencyBudgetMs: 6_000_000,
}

type Command = (...args: string[]) => Promise<Run>

interface Place {
  readonly cwd: string
  readonly relay: Command
  readonly escalations: Command
}

export async function place(relay: object = {}, more: object = {}): Promise<Place> {
  const cwd = fs.realpathSync(temporaryFolder())
  fs.mkdirSync(path.join(cwd, '.baton'))
  fs.writeFileSync(path.join(cwd, 'baton.config.json'), JSON.stringify({ relay: { ...team, ...relay }, ...more }))
  return {
    cwd,
    relay: (...args) => baton(cwd, ['relay', ...args]),
    escalations: (...args) => baton(cwd, ['escalations', ...args]),
  }
}

const about = ['--reason', 'missing_required_input', '--summary', 'A plan for a bakery']
export const ask = (from: string, to: string, ...more: string[]) => [
  'request',
  '--from',
  from,
  '--to',
  to,
  ...about,
  ...more,
]
export const trace = '6f1a0c52-5a1c-4b8e-9a53-0a7d5d3a9e11'
