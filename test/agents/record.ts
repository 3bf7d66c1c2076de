// Makes test/fixtures: runs the real agents against the scripted model and keeps what they wrote, together with what they
// themselves said about their context. Run it in a network namespace that has only loopback:
//
//   node test/agents/record.mjs [AGENT…]

import { execFileSync, spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import readline from 'node:readline'
import zlib from 'node:zlib'
import { type ModelRequest, type ModelServer, startModelServer } from '../support/model-server/index.ts'
import { claude, statusFile } from './claude.ts'
import { codex } from './codex.ts'
import { startNamespaceProxy } from './namespace-proxy.ts'
import { opencode } from './opencode.ts'
import { pi, piRpc } from './pi.ts'
import { story, type Tools } from './script.ts'
import { environment, makeStage, type RealAgent, runTurn, type Stage } from './stage.ts'

/** Always the same, so that nothing of the machine's own is in the fixtures, and a database needs no editing. */
const root = '/tmp/baton-stage'
const fixtures = path.join(import.meta.dirname, '../fixtures')

async function open(agent: RealAgent, tools: Tools, full: number): Promise<{ stage: Stage; server: ModelServer }> {
  const folder = path.join(root, agent.name)
  fs.rmSync(folder, { recursive: true, force: true })
  const server = await startModelServer({ script: story(tools, full) })
  const stage = makeStage(folder, server.url)
  execFileSync('git', ['init', '-q', '-b', 'main', stage.project])
  agent.prepare(stage)
  return { stage, server }
}

async function recordClaude(): Promise<void> {
  const tools: Tools = {
    write: (file, content) => ({
      name: 'Write',
      arguments: { file_path: path.join(root, 'claude/project', file), content },
    }),
    shell: (command) => ({ name: 'Bash', arguments: { command, description: 'check' } }),
    delegate: (task) => ({
      name: 'Agent',
      arguments: { description: 'greet', prompt: task, subagent_type: 'general-purpose' },
    }),
  }
  const { stage, server } = await open(claude, tools, 150_000)
  const screen = new Screen(claude, stage)
  let asked: ModelRequest['messages'] = []
  await screen.isReady(() => liveStatus(stage) === 'idle')
  for (const prompt of [
    'please write the notes',
    'now delegate the greeting',
    'now fill the context',
    '/compact',
    'go on',
    '/clear',
    'start afresh',
    'and once more',
  ]) {
    // The context as it was last, before it is emptied.
    if (prompt === '/clear') asked = lastAsked(server)
    await screen.type(prompt)
    if (prompt.startsWith('/')) await screen.isReady(() => commandDone(stage, prompt))
    else await screen.isReady(() => turnsDone(stage, prompt))
    await screen.isReady(() => liveStatus(stage) === 'idle')
    if (!prompt.startsWith('/')) await screen.isReady(() => statusIsNew(stage))
  }
  screen.close()
  await server.close()
  keep('claude', stage, ['.claude/projects'])
  const lines = fs
    .readFileSync(path.join(stage.home, statusFile), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
  const said = lines.map((line) => {
    const status = JSON.parse(line) as {
      session_id: string
      model: { id: string }
      context_window: unknown
      cost: unknown
    }
    return {
      session: status.session_id,
      model: status.model.id,
      context_window: status.context_window,
      cost: status.cost,
    }
  })
  writeSaid('claude', dedupe(said))
  writeAsked('claude', asked)
  writeAsked('claude', lastAsked(server), 'asked-after-clear.json')
}

function transcripts(stage: Stage): string[] {
  const projects = path.join(stage.home, '.claude/projects')
  if (!fs.existsSync(projects)) return []
  return fs
    .readdirSync(projects, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.jsonl') && !name.includes('subagents'))
    .map((name) => fs.readFileSync(path.join(projects, name), 'utf8'))
}

/** The turn of that prompt is over: its end line follows the prompt. */
function turnsDone(stage: Stage, prompt: string): boolean {
  return transcripts(stage).some((text) => {
    const at = text.lastIndexOf(`"content":${JSON.stringify(prompt)}`)
    return at >= 0 && text.indexOf('"subtype":"turn_duration"', at) >= 0
  })
}

function commandDone(stage: Stage, command: string): boolean {
  const mark = command === '/compact' ? 'Compacted' : `<command-name>${command}</command-name>`
  return transcripts(stage).some((text) => text.includes(mark))
}

/** The status line tells of the last reply. */
function statusIsNew(stage: Stage): boolean {
  const file = path.join(stage.home, statusFile)
  if (!fs.existsSync(file)) return false
  const last = fs.readFileSync(file, 'utf8').trim().split('\n').at(-1)!
  const replies = transcripts(stage).flatMap((text) => [
    ...text.matchAll(/"usage":\{"input_tokens":(\d+).*"timestamp":"([^"]+)"/g),
  ])
  const newest = replies.reduce((late, reply) => (reply[2]! > late[2]! ? reply : late))
  try {
    const status = JSON.parse(last) as { context_window: { current_usage: { input_tokens: number } | null } }
    return status.context_window.current_usage?.input_tokens === Number(newest[1])
  } catch {
    return false // still being written
  }
}

function liveStatus(stage: Stage): string | undefined {
  const folder = path.join(stage.home, '.claude/sessions')
  if (!fs.existsSync(folder)) return undefined
  for (const name of fs.readdirSync(folder)) {
    try {
      return (JSON.parse(fs.readFileSync(path.join(folder, name), 'utf8')) as { status?: string }).status
    } catch {
      continue // being written
    }
  }
  return undefined
}

/** A real terminal for an agent, driven as a person would. */
class Screen {
  readonly #socket = `baton-record-${process.pid}`

  constructor(agent: RealAgent, stage: Stage) {
    const env = Object.entries(environment(agent, stage)).map(([name, value]) => `${name}=${value}`)
    const command = agent.screen!(stage)
    this.#tmux(
      '-f',
      '/dev/null',
      'new-session',
      '-d',
      '-x',
      '140',
      '-y',
      '45',
      '-c',
      stage.project,
      'env',
      '-i',
      ...env,
      'TERM=screen-256color',
      ...command,
    )
  }

  #tmux(...args: string[]): string {
    return execFileSync('tmux', ['-L', this.#socket, ...args], { encoding: 'utf8' })
  }

  async type(text: string): Promise<void> {
    this.#tmux('send-keys', '-l', text)
    await this.isReady(() => this.#tmux('capture-pane', '-p').includes(text))
    this.#tmux('send-keys', 'Enter')
  }

  async isReady(done: () => boolean): Promise<void> {
    const deadline = Date.now() + 60_000
    while (!done()) {
      if (Date.now() > deadline) throw new Error(`the screen did not get there:\n${this.#tmux('capture-pane', '-p')}`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  close(): void {
    this.#tmux('kill-server')
  }
}

async function recordCodex(): Promise<void> {
  const tools: Tools = {
    write: (file, content) => ({
      name: 'exec_command',
      arguments: { cmd: `printf '${content.replaceAll('\n', '\\n')}' > ${file}` },
    }),
    shell: (command) => ({ name: 'exec_command', arguments: { cmd: command } }),
    delegate: (task) => ({ name: 'spawn_agent', arguments: { message: task } }),
    wait(result) {
      const id = /"agent_id":"([^"]+)"/.exec(result)?.[1]
      return id === undefined ? undefined : { name: 'wait_agent', arguments: { targets: [id], timeout_ms: 20_000 } }
    },
  }
  const { stage, server } = await open(codex, tools, 17_000)
  const proxy = await startNamespaceProxy(server.url)
  codex.prepare({ ...stage, url: proxy.url })
  let session: string | undefined
  for (const prompt of [
    'please write the notes',
    'now delegate the greeting',
    'now fill the context',
    'go on',
    'and once more',
  ]) {
    const { out, err, code } = await runTurn(codex, stage, prompt, { session })
    if (code !== 0) throw new Error(`codex failed: ${err}`)
    session ??= (JSON.parse(out.split('\n')[0]!) as { thread_id: string }).thread_id
  }
  proxy.close()
  await server.close()
  keep('codex', stage, ['.codex/sessions'])
  writeAsked('codex', lastAsked(server))
}

async function recordPi(): Promise<void> {
  const tools: Tools = {
    write: (file, content) => ({ name: 'write', arguments: { path: file, content } }),
    shell: (command) => ({ name: 'bash', arguments: { command } }),
  }
  const { stage, server } = await open(pi, tools, 30_000)
  const [program, ...args] = piRpc
  const child = spawn(program!, args, {
    cwd: stage.project,
    env: environment(pi, stage),
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const until = async (done: (event: Record<string, unknown>) => boolean) => {
    for (;;) {
      const { value, done: over } = (await lines.next()) as { value: string; done?: boolean }
      if (over === true) throw new Error('pi ended')
      const event = JSON.parse(value) as Record<string, unknown>
      if (done(event)) return event
    }
  }
  const ask = async (type: string, more: object = {}) => {
    child.stdin.write(`${JSON.stringify({ type, ...more })}\n`)
    return until((event) => event.type === 'response' && event.command === type)
  }
  const said: unknown[] = []
  for (const prompt of [
    'please write the notes',
    'go on',
    'now fill the context',
    'go on after that',
    'and once more',
  ]) {
    await ask('prompt', { message: prompt })
    await until((event) => event.type === 'agent_end')
    // What is full is summed up by itself, after the turn.
    if (/\bfill\b/.test(prompt)) await until((event) => /compaction_end/.test(String(event.type)))
    const { data } = (await ask('get_session_stats')) as {
      data: { sessionId: string; contextUsage: unknown; cost: number }
    }
    said.push({ session: data.sessionId, prompt, contextUsage: data.contextUsage, cost: data.cost })
  }
  child.kill()
  await server.close()
  keep('pi', stage, ['.pi/agent/sessions', '.pi/agent/models.json'])
  writeSaid('pi', said)
  writeAsked('pi', lastAsked(server))
}

async function recordOpencode(): Promise<void> {
  const tools: Tools = {
    write: (file, content) => ({
      name: 'write',
      arguments: { filePath: path.join(root, 'opencode/project', file), content },
    }),
    shell: (command) => ({ name: 'bash', arguments: { command, description: 'check' } }),
    delegate: (task) => ({ name: 'task', arguments: { description: 'greet', prompt: task, subagent_type: 'general' } }),
  }
  const { stage, server } = await open(opencode, tools, 97_000)
  let session: string | undefined
  for (const prompt of [
    'please write the notes',
    'now delegate the greeting',
    'now fill the context',
    'go on',
    'and once more',
  ]) {
    const { out, err, code } = await runTurn(opencode, stage, prompt, { session })
    if (code !== 0) throw new Error(`opencode failed: ${err}`)
    session ??= (JSON.parse(out.split('\n')[0]!) as { sessionID: string }).sessionID
  }
  await server.close()
  const data = '.local/share/opencode'
  keep('opencode', stage, [`${data}/opencode.db`, `${data}/opencode.db-wal`, '.config/opencode/opencode.json'])
  // Mostly empty pages and old versions of pages: packed, they are a tenth.
  for (const name of ['opencode.db', 'opencode.db-wal']) {
    const file = path.join(fixtures, 'opencode', data, name)
    fs.writeFileSync(`${file}.gz`, zlib.gzipSync(fs.readFileSync(file), { level: 9 }))
    fs.rmSync(file)
  }
  writeAsked('opencode', lastAsked(server))
}

function keep(name: string, stage: Stage, parts: readonly string[]): void {
  fs.rmSync(path.join(fixtures, name), { recursive: true, force: true })
  for (const part of parts) {
    const target = path.join(fixtures, name, part)
    fs.mkdirSync(path.dirname(target), { recursive: true })
    fs.cpSync(path.join(stage.home, part), target, { recursive: true })
  }
}

function writeSaid(name: string, said: readonly unknown[]): void {
  fs.writeFileSync(path.join(fixtures, name, 'said.jsonl'), said.map((each) => `${JSON.stringify(each)}\n`).join(''))
}

/** What the agent gave the model last: an imported context has to say the same. */
function lastAsked(server: ModelServer): ModelRequest['messages'] {
  return server.requests.findLast((request) => request.tools.length > 0)?.messages ?? []
}

function writeAsked(name: string, messages: ModelRequest['messages'], as = 'asked.json'): void {
  if (messages.length === 0) throw new Error(`${name} asked nothing`)
  fs.writeFileSync(path.join(fixtures, name, as), `${JSON.stringify(messages, null, 1)}\n`)
}

function dedupe<T>(values: readonly T[]): T[] {
  return values.filter((value, i) => JSON.stringify(value) !== JSON.stringify(values[i - 1]))
}

const recorders: Record<string, () => Promise<void>> = {
  claude: recordClaude,
  codex: recordCodex,
  pi: recordPi,
  opencode: recordOpencode,
}
const chosen = process.argv.slice(2)
for (const [name, record] of Object.entries(recorders)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue
  const start = performance.now()
  await record()
  console.log(`${name} ${((performance.now() - start) / 1000).toFixed(1)} s`)
}
