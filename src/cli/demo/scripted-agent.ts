// `baton scripted-agent`: the agent of the demo and of tests. The supervisor runs it like any agent of the configuration.

import os from 'node:os'
import path from 'node:path'
import { ScriptedAgent } from '../../demo/index.ts'
import { onScreen } from '../../demo/index.ts'
import { NotFoundError } from '../../errors.ts'
import { cancellable } from '../base/io.ts'
import type { Globals } from '../base/output.ts'

export interface ScriptedAgentOptions extends Globals {
  home?: string
  window?: number
  growth?: number
  pace?: number
  perTurn?: number
  session?: string
  sessionId?: string
  print?: boolean
}

export async function scriptedAgent(options: ScriptedAgentOptions, prompt: string | undefined): Promise<void> {
  const { io } = options
  const agent = new ScriptedAgent({
    cwd: io.cwd(),
    home: options.home ?? io.env.PI_CODING_AGENT_DIR ?? path.join(io.env.HOME || os.homedir(), '.scripted-agent'),
    window: options.window ?? 60_000,
    growth: options.growth ?? 6_000,
    pace: options.pace ?? 500,
    perTurn: options.perTurn ?? 2,
    ...(options.session === undefined ? {} : { session: options.session }),
    ...(options.sessionId === undefined ? {} : { sessionId: options.sessionId }),
  })
  if (options.session !== undefined && agent.session === undefined) {
    throw new NotFoundError(`There is no session ${options.session} of this folder`)
  }
  if (options.print !== true) return onScreen(agent, { input: io.stdin, output: io.stdout }, prompt)
  await cancellable(io, (signal) => agent.turn(prompt ?? '', (line) => void io.stdout.write(`${line}\n`), signal))
}
