// The scripted agent: a small coding agent whose model is a script. It works as the real ones do: it knows the
// conversation of its session and nothing else, uses tools on real files, counts how full its context is, and keeps a
// transcript from which a session can be opened again.

import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Habits, type Move, nextMove } from './mind.ts'
import { type Call, model, Transcript, type Usage } from './transcript.ts'

export interface AgentOptions extends Habits {
  readonly cwd: string
  /** Where it keeps its sessions. */
  readonly home: string
  /** The size of its context, in tokens. */
  readonly window: number
  /** Tokens that each reply adds. */
  readonly growth: number
  /** Milliseconds that it thinks before each reply. */
  readonly pace: number
  /** Goes on with this session. */
  readonly session?: string
  /** What its first session is to be called. */
  readonly sessionId?: string
}

/** Of an empty context: the tools and rules that every agent is told first. */
const base = 4_000
/** Of the window: beyond it a real agent would compact. */
const most = 0.97

export class ScriptedAgent {
  readonly #options: AgentOptions
  #transcript: Transcript | undefined
  #name: string | undefined

  constructor(options: AgentOptions) {
    this.#options = options
    this.#name = options.sessionId
    const { home, cwd, session, window } = options
    fs.mkdirSync(home, { recursive: true })
    const models = { providers: { [model]: { models: [{ id: model, contextWindow: window }] } } }
    fs.writeFileSync(path.join(home, 'models.json'), JSON.stringify(models))
    if (session !== undefined) this.#transcript = Transcript.open(home, cwd, session)
  }

  get session(): string | undefined {
    return this.#transcript?.id
  }

  /** Of the context, in percent. */
  get filled(): number {
    return Math.round((this.#tokens / this.#options.window) * 100)
  }

  /** Starts with an empty context, which becomes a session with its first prompt. */
  clear(): void {
    this.#transcript = undefined
  }

  /** A turn: works until the script has nothing more to do. `tell` is given each line as it happens. */
  async turn(prompt: string, tell: (line: string) => void, signal: AbortSignal): Promise<void> {
    const { home, cwd, pace } = this.#options
    const transcript = (this.#transcript ??= Transcript.start(home, cwd, this.#name))
    this.#name = undefined
    transcript.user(prompt)
    for (;;) {
      await sleep(pace, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) {
        transcript.assistant('Stopped.', [], 'aborted', this.#usage())
        tell('■ stopped')
        return
      }
      const move = nextMove(transcript.conversation, this.#options)
      tell(`● ${move.say}`)
      if (move.do === 'say') {
        transcript.assistant(move.say, [], 'stop', this.#usage())
        return
      }
      const call = callOf(move)
      transcript.assistant(move.say, [call], 'toolUse', this.#usage())
      const { text, failed } = await this.#act(move)
      transcript.toolResult(call, text, failed)
      tell(`  ${failed ? '✗' : '✓'} ${describe(move)}`)
    }
  }

  get #tokens(): number {
    const replies = this.#transcript?.conversation.filter(({ role }) => role === 'assistant').length ?? 0
    const { growth, window } = this.#options
    return Math.min(base + replies * growth, Math.floor(window * most))
  }

  /** What the reply that is being written will count. */
  #usage(): Usage {
    const output = 50
    const { growth, window } = this.#options
    return { input: Math.min(this.#tokens + growth, Math.floor(window * most)) - output, output }
  }

  async #act(move: Exclude<Move, { do: 'say' }>): Promise<{ text: string; failed: boolean }> {
    const { cwd } = this.#options
    try {
      switch (move.do) {
        case 'write': {
          const file = path.resolve(cwd, move.path)
          fs.mkdirSync(path.dirname(file), { recursive: true })
          fs.writeFileSync(file, move.content)
          return { text: `Wrote ${move.content.length} characters to ${move.path}`, failed: false }
        }
        case 'read':
          return { text: fs.readFileSync(path.resolve(cwd, move.path), 'utf8'), failed: false }
        case 'run':
          return await run(move.command, cwd)
      }
    } catch (error) {
      return { text: String(error), failed: true }
    }
  }
}

function callOf(move: Exclude<Move, { do: 'say' }>): Call {
  const id = `call_${randomBytes(6).toString('hex')}`
  switch (move.do) {
    case 'write':
      return { id, name: 'write', arguments: { path: move.path, content: move.content } }
    case 'read':
      return { id, name: 'read', arguments: { path: move.path } }
    case 'run':
      return { id, name: 'bash', arguments: { command: move.command } }
  }
}

function describe(move: Exclude<Move, { do: 'say' }>): string {
  return move.do === 'run' ? move.command : `${move.do} ${move.path}`
}

/** As a person would run it: without what ties this process to a test runner that started it. */
async function run(command: string, cwd: string): Promise<{ text: string; failed: boolean }> {
  const { NODE_TEST_CONTEXT: _inner, ...env } = process.env
  return new Promise((resolve) => {
    execFile('sh', ['-c', command], { cwd, env, timeout: 60_000 }, (error, stdout, stderr) =>
      resolve({ text: `${stdout}${stderr}`.trimEnd(), failed: error !== null }),
    )
  })
}
