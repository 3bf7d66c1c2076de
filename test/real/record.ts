// Makes test/fixtures: runs the real agents against the scripted model and keeps what they wrote, together with what they
// themselves said about their context. Run it in a network namespace that has only loopback:
//
//   node test/real/record.mjs [AGENT…]

import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import readline from 'node:readline'
import zlib from 'node:zlib'
import type { ModelRequest } from '../support/model-server/index.ts'
import { claude, statusFile } from './claude.ts'
import { codex } from './codex.ts'
import { startNamespaceProxy } from './namespace-proxy.ts'
import { opencode } from './opencode.ts'
import { pi, piRpc } from './pi.ts'
import { recordGemini } from './record-gemini.ts'
import { fixtures, keep, lastAsked, open, root, Screen, writeAsked, writeSaid } from './recorder.ts'
import { story, type Tools } from './script.ts'
import { environment, type RealAgent, runTurn, type Stage } from './stage.ts'

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
  const { stage, server } = await open(claude, story(tools, 150_000))
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

/** The same talk with every agent that runs a turn in a process; `idField` is where its first line names the session. */
async function recordTurns(agent: RealAgent, stage: Stage, idField: string): Promise<void> {
  let session: string | undefined
  for (const prompt of [
    'please write the notes',
    'now delegate the greeting',
    'now fill the context',
    'go on',
    'and once more',
  ]) {
    const { out, err, code } = await runTurn(agent, stage, prompt, { session })
    if (code !== 0) throw new Error(`${agent.name} failed: ${err}`)
    session ??= (JSON.parse(out.split('\n')[0]!) as Record<string, string>)[idField]
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
  const { stage, server } = await open(codex, story(tools, 17_000))
  const proxy = await startNamespaceProxy(server.url)
  codex.prepare({ ...stage, url: proxy.url })
  await recordTurns(codex, stage, 'thread_id')
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
  const { stage, server } = await open(pi, story(tools, 30_000))
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
  const { stage, server } = await open(opencode, story(tools, 97_000))
  await recordTurns(opencode, stage, 'sessionID')
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

function dedupe<T>(values: readonly T[]): T[] {
  return values.filter((value, i) => JSON.stringify(value) !== JSON.stringify(values[i - 1]))
}

const recorders: Record<string, () => Promise<void>> = {
  claude: recordClaude,
  codex: recordCodex,
  pi: recordPi,
  gemini: recordGemini,
  opencode: recordOpencode,
}
const chosen = process.argv.slice(2)
for (const [name, record] of Object.entries(recorders)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue
  const start = performance.now()
  await record()
  console.log(`${name} ${((performance.now() - start) / 1000).toFixed(1)} s`)
}
