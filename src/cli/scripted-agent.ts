// `baton scripted-agent`: the agent of the demo and of tests. Driven as any other agent that the configuration describes.

import os from 'node:os'
import path from 'node:path'
import { ScriptedAgent } from '../demo/agent.ts'
import { onScreen } from '../demo/screen.ts'
import { NotFoundError } from '../errors.ts'
import type { Globals } from './output.ts'

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
  const agent = new ScriptedAgent({
    cwd: process.cwd(),
    home: options.home ?? process.env.PI_CODING_AGENT_DIR ?? path.join(os.homedir(), '.scripted-agent'),
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
  if (options.print !== true) return onScreen(agent, { input: process.stdin, output: process.stdout }, prompt)
  const stop = new AbortController()
  process.once('SIGINT', () => stop.abort()).once('SIGTERM', () => stop.abort())
  await agent.turn(prompt ?? '', (line) => void process.stdout.write(`${line}\n`), stop.signal)
}
