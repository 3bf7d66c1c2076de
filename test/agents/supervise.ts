// A real agent under the real supervisor, with the scripted model behind it: `supervise AGENT DRIVER FOLDER`. Started as
// its user starts it, `baton run AGENT --task … --until …`. Prints what happened as JSON.

import { execFileSync, spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import readline from 'node:readline'
import { makeSample } from '../../src/demo/sample.ts'
import { startModelServer } from '../support/model-server/index.ts'
import { claude } from './claude.ts'
import { codex } from './codex.ts'
import { job, toolsOf } from './job.ts'
import { pi } from './pi.ts'
import { environment, installed, makeStage, platform, type RealAgent } from './stage.ts'

interface Part {
  readonly agent: RealAgent
  /** What `claude`, `pi` or `codex` is on the path of this test. */
  readonly program: readonly string[]
  /** Behind `--`. */
  readonly args: readonly string[]
  /** Tokens of an empty context, and what each reply adds: a turn of three modules ends above the threshold. */
  readonly tokens: readonly [base: number, growth: number, most: number]
}

/** The usage stays below the point where each would compact by itself, and above the threshold that follows from it. */
const parts: Record<string, Part> = {
  claude: {
    agent: claude,
    program: [installed('@anthropic-ai', `claude-code-${platform}`, 'claude')],
    args: ['--model', 'claude-sonnet-4-5'],
    tokens: [20_000, 24_000, 188_000],
  },
  pi: {
    agent: pi,
    program: [process.execPath, installed('@mariozechner/pi-coding-agent/dist/cli.js')],
    args: ['--offline', '--provider', 'loop', '--model', 'scripted'],
    // Of 40,000 it compacts at 23,616.
    tokens: [4_000, 2_600, 23_000],
  },
  codex: {
    agent: codex,
    program: [process.execPath, installed('@openai/codex/bin/codex.js')],
    args: ['--skip-git-repo-check'],
    // Of 20,000, of which it uses 19,000, it compacts at 15,000.
    tokens: [2_000, 1_700, 14_500],
  },
}

const root = path.join(import.meta.dirname, '../..')
const [name = '', driver = '', folder = ''] = process.argv.slice(2)
const part = parts[name]
if (part === undefined) throw new Error(`there is no agent ${name}`)
const [base, growth, most] = part.tokens

const project = path.join(fs.realpathSync(folder), 'project')
const server = await startModelServer({
  script: job({
    tools: toolsOf(name, project),
    perTurn: 3,
    tokens: (replies) => Math.min(base + growth * replies, most),
  }),
})
const stage = makeStage(fs.realpathSync(folder), server.url)
part.agent.prepare(stage)
const sample = makeSample(project)
fs.writeFileSync(path.join(folder, 'task.md'), sample.task)
fs.mkdirSync(path.join(project, '.baton'))
// Three cycles in a minute: nothing is to calm down in between.
const supervisor = { cooldownSeconds: 0, staggerSeconds: 0, raise: 0, documentSeconds: 60 }
fs.writeFileSync(path.join(folder, 'baton.config.json'), JSON.stringify({ supervisor }))

const bin = path.join(folder, 'bin')
fs.mkdirSync(bin)
const words = part.program.map((word) => `'${word}'`).join(' ')
fs.writeFileSync(path.join(bin, name), `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 })
const env = {
  ...environment(part.agent, stage),
  PATH: `${bin}${path.delimiter}${process.env.PATH}`,
  TMUX_TMPDIR: fs.realpathSync(folder),
}

const start = performance.now()
const baton = (...args: string[]) => [path.join(root, 'dist/cli/main.js'), ...args]
const run = [
  'run',
  name,
  '--name',
  'job',
  '--driver',
  driver,
  '--task',
  '../task.md',
  '--until',
  'node --test',
  '--json',
]
const child = spawn(process.execPath, baton(...run, '--', ...part.args), {
  cwd: project,
  env,
  stdio: ['ignore', 'pipe', 'pipe'],
})
let err = ''
child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
const events: unknown[] = []
const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
for await (const line of readline.createInterface({ input: child.stdout })) events.push(JSON.parse(line))
const code = await ended
const seconds = (performance.now() - start) / 1000

const left = { code, err, seconds, events, problems: server.problems, requests: server.requests.length }
const say = (...args: string[]) =>
  execFileSync(process.execPath, baton(...args, '--json'), { cwd: project, env, encoding: 'utf8' })
    .split('\n')
    .filter((line) => line !== '')
    .map((line): unknown => JSON.parse(line))
process.stdout.write(JSON.stringify({ ...left, tape: say('logs', 'job') }))
await server.close()
process.exit(0)
