// The scripted agent: a small coding agent whose model is a script. It works as the real ones do: it knows the
// conversation of its session and nothing else, uses tools on real files, counts how full its context is, and keeps a
// transcript from which a session can be opened again.

import fs from 'node:fs'
import path from 'node:path'
import readline from 'node:readline'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Readable, Writable } from 'node:stream'
import { type Habits, type Move, nextMove } from './scripted-model.ts'
import { type ScriptedCall, model, Transcript, type ScriptedUsage } from './transcript.ts'

export interface DemoAgentOptions extends Habits {
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

/** The tokens of an empty context: the tools and rules that every agent is given first. */
const base = 4_000
/** The share of the window beyond which a real agent would compact. */
const most = 0.97

export class ScriptedAgent {
  readonly #options: DemoAgentOptions
  #transcript: Transcript | undefined
  #name: string | undefined

  constructor(options: DemoAgentOptions) {
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

  /** How full the context is, in percent. */
  get filled(): number {
    return Math.round((this.#tokens / this.#options.window) * 100)
  }

  /** Starts with an empty context, which becomes a session with its first prompt. */
  clear(): void {
    this.#transcript = undefined
  }

  /** A turn: works until the script has nothing more to do. `tell` gets each line as it happens. */
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
  #usage(): ScriptedUsage {
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

function callOf(move: Exclude<Move, { do: 'say' }>): ScriptedCall {
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

interface Terminal {
  readonly input: Readable & { setRawMode?: (raw: boolean) => unknown; isTTY?: boolean }
  readonly output: Writable & { columns?: number }
}

interface Key {
  readonly name?: string
  readonly ctrl?: boolean
  readonly sequence?: string
}

const bracketedPaste = { on: '\x1b[?2004h', off: '\x1b[?2004l' }

/**
 * Runs the scripted agent on a terminal: there is a prompt at the bottom, Enter sends what was typed or pasted, Escape stops a turn. What is
 * typed during a turn waits for its end. Resolves when the person leaves.
 */
export async function onScreen(agent: ScriptedAgent, { input, output }: Terminal, first?: string): Promise<void> {
  let draft = ''
  let pasting = false
  let turn: AbortController | undefined
  let leave = (): void => undefined
  const left = new Promise<void>((resolve) => {
    leave = resolve
  })
  const waiting: string[] = []

  const drawPrompt = () => {
    const sign = turn === undefined ? '›' : '… working (esc to stop) ›'
    // On one row, or what is drawn over would stay.
    const room = Math.max(10, (output.columns ?? 80) - sign.length - 2)
    const shown = draft.replaceAll('\n', '⏎').slice(-room)
    output.write(`\r\x1b[K${sign} ${shown}`)
  }
  const tell = (line: string) => {
    output.write(`\r\x1b[K${line.replaceAll('\n', '\r\n')}\r\n`)
    drawPrompt()
  }
  const submit = (text: string) => {
    if (text === '') return
    waiting.push(text)
    if (turn === undefined) void work()
  }
  const work = async () => {
    for (let text = waiting.shift(); text !== undefined; text = waiting.shift()) {
      if (text === '/exit') return leave()
      if (text === '/clear') {
        agent.clear()
        tell('A new session: the context is empty.')
        continue
      }
      turn = new AbortController()
      tell(`» ${text.length > 300 ? `${text.slice(0, 300)}…` : text}`)
      await agent.turn(text, tell, turn.signal)
      turn = undefined
      tell(`  context ${agent.filled}% full`)
    }
  }
  const onKey = (typed: string | undefined, key: Key) => {
    if (key.name === 'paste-start') pasting = true
    else if (key.name === 'paste-end') pasting = false
    else if (key.name === 'return' || key.name === 'enter') {
      if (pasting) draft += '\n'
      else {
        const text = draft.trim()
        draft = ''
        submit(text)
      }
    } else if (key.name === 'escape') turn?.abort()
    else if (key.name === 'backspace') draft = draft.slice(0, -1)
    else if (key.ctrl === true && key.name === 'u') draft = ''
    else if (key.ctrl === true && (key.name === 'c' || key.name === 'd')) return leave()
    else if (typed !== undefined && key.ctrl !== true) draft += typed
    if (!pasting) drawPrompt()
  }

  readline.emitKeypressEvents(input)
  input.setRawMode?.(true)
  output.write(bracketedPaste.on)
  input.on('keypress', onKey).on('end', leave)
  tell(agent.session === undefined ? 'Scripted agent. Ready.' : `Scripted agent. Continuing ${agent.session}.`)
  if (first !== undefined) submit(first)
  await left
  input.off('keypress', onKey)
  turn?.abort()
  input.setRawMode?.(false)
  input.pause?.()
  output.write(`\r\x1b[K${bracketedPaste.off}`)
}
