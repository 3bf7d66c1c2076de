// A real agent before the scripted model, ready to be run under supervision.

import fs from 'node:fs'
import path from 'node:path'
import { makeSample } from '../../src/demo/setup.ts'
import type { Timings } from '../../src/supervisor/index.ts'
import { Door, hurried } from '../support/door.ts'
import { type ModelRequest, type ModelServer, type Reply, startModelServer } from '../support/model-server/index.ts'
import { claude } from './claude.ts'
import { codex } from './codex.ts'
import { gemini } from './gemini.ts'
import { job, toolsOf } from './job.ts'
import { opencode } from './opencode.ts'
import { pi } from './pi.ts'
import { environment, installed, makeStage, platform, type RealAgent } from './stage.ts'

interface Part {
  readonly agent: RealAgent
  /** What `claude`, `pi` or `codex` is on the path of this test. */
  readonly program: readonly string[]
  /** Behind `--`. */
  readonly args: readonly string[]
  /** Tokens of an empty context, what each reply adds, and the most that is reported. */
  readonly tokens: readonly [base: number, growth: number, most: number]
}

/**
 * A turn of two modules ends above the threshold, and stays below the point where the agent would compact by itself:
 * at the very end for Claude Code, at 23,616 of 40,000 for pi, at 17,100 of 19,000 for Codex, at 524,288 of 1,048,576 for
 * Gemini CLI, at 96,000 of 100,000 for opencode.
 */
const parts: Record<string, Part> = {
  claude: {
    agent: claude,
    program: [installed('@anthropic-ai', `claude-code-${platform}`, 'claude')],
    args: ['--model', 'claude-sonnet-4-5'],
    tokens: [20_000, 32_000, 188_000],
  },
  pi: {
    agent: pi,
    program: [process.execPath, installed('@earendil-works/pi-coding-agent/dist/cli.js')],
    args: ['--offline', '--provider', 'loop', '--model', 'scripted'],
    tokens: [4_000, 3_700, 22_600],
  },
  codex: {
    agent: codex,
    program: [process.execPath, installed('@openai/codex/bin/codex.js')],
    args: [],
    tokens: [2_000, 2_900, 16_400],
  },
  gemini: {
    agent: gemini,
    program: [process.execPath, installed('@google/gemini-cli/bundle/gemini.js')],
    args: ['--model', 'gemini-2.5-pro'],
    tokens: [60_000, 85_000, 500_000],
  },
  opencode: {
    agent: opencode,
    program: [installed(`opencode-${platform}`, 'bin/opencode')],
    args: [],
    tokens: [10_000, 16_000, 93_000],
  },
}

export interface RealDoor {
  readonly door: Door
  readonly server: ModelServer
  /** Of `baton run`. */
  readonly run: (...more: string[]) => string[]
}

export interface RealDoorOptions {
  readonly modules?: number
  readonly perTurn?: number
  /** Milliseconds that the model thinks before each reply. */
  readonly pace?: number
  /** As in `Part`. */
  readonly tokens?: Part['tokens']
  /** More for the `supervisor` section. */
  readonly settings?: Record<string, unknown>
  readonly timings?: Partial<Timings>
  /** More sections of the configuration. */
  readonly sections?: Record<string, unknown>
  /** Stands before the script of the job and may answer instead of it. */
  readonly before?: (request: ModelRequest) => Reply | undefined
  /** Changes what the script of the job answers. */
  readonly after?: (request: ModelRequest, reply: Reply) => Reply
}

export async function realDoor(name: string, folder: string, options: RealDoorOptions = {}): Promise<RealDoor> {
  const part = parts[name]
  if (part === undefined) throw new Error(`there is no agent ${name}`)
  const { modules, pace = 0, perTurn = 2, settings = {}, timings, before, after = (_, reply) => reply } = options
  const [base, growth, most] = options.tokens ?? part.tokens
  const real = fs.realpathSync(folder)
  const project = path.join(real, 'project')
  const tokens = (replies: number) => Math.min(base + growth * replies, most)
  const script = job({ tools: toolsOf(name, project), perTurn, tokens, pace })
  const server = await startModelServer({ script: (request) => before?.(request) ?? after(request, script(request)) })
  const stage = makeStage(real, server.url)
  part.agent.prepare(stage)
  // Left to itself Codex compacts at nine tenths of its window.
  const toml = path.join(stage.home, '.codex/config.toml')
  if (fs.existsSync(toml)) {
    fs.writeFileSync(toml, fs.readFileSync(toml, 'utf8').replace(/^model_auto_compact_token_limit.*\n/m, ''))
  }
  const sample = makeSample(project, modules)
  const task = path.join(real, 'task.md')
  fs.writeFileSync(task, sample.task)
  fs.mkdirSync(path.join(project, '.baton'))
  // Several cycles in a minute: nothing is to calm down in between.
  const supervisor = { cooldownSeconds: 0, documentSeconds: 60, ...settings }
  fs.writeFileSync(path.join(real, 'baton.config.json'), JSON.stringify({ supervisor, ...options.sections }))
  const bin = path.join(real, 'bin')
  fs.mkdirSync(bin)
  const words = part.program.map((word) => `'${word}'`).join(' ')
  fs.writeFileSync(path.join(bin, name), `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 })
  const env = {
    ...environment(part.agent, stage),
    PATH: `${bin}${path.delimiter}${process.env.PATH}`,
    ...hurried(timings),
  }
  const door = new Door({ folder: real, project, task, env })
  return { door, server, run: (...more) => [...door.job(name, ...more), '--', ...part.args] }
}
