// The ground on which sessions are recorded: a stage that is always the same, a terminal, and where what they wrote is kept.

import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { type ModelRequest, type ModelServer, type Script, startModelServer } from '../support/model-server/index.ts'
import { environment, makeStage, type RealAgent, type Stage } from './stage.ts'

/** Always the same, so that nothing of the machine's own is in the fixtures, and a database needs no editing. */
export const root = '/tmp/baton-stage'
export const fixtures = path.join(import.meta.dirname, '../fixtures')

export async function open(agent: RealAgent, script: Script): Promise<{ stage: Stage; server: ModelServer }> {
  const folder = path.join(root, agent.name)
  fs.rmSync(folder, { recursive: true, force: true })
  const server = await startModelServer({ script })
  const stage = makeStage(folder, server.url)
  execFileSync('git', ['init', '-q', '-b', 'main', stage.project])
  agent.prepare(stage)
  return { stage, server }
}

/** A real terminal for an agent, driven as a person would. */
export class Screen {
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
    return execFileSync('tmux', ['-L', this.#socket, ...args], { encoding: 'utf8', stdio: 'pipe' })
  }

  async type(text: string): Promise<void> {
    this.#tmux('send-keys', '-l', text)
    await this.isReady(() => this.shows(text))
    this.#tmux('send-keys', 'Enter')
  }

  async isReady(done: () => boolean): Promise<void> {
    const deadline = Date.now() + 60_000
    while (!done()) {
      if (Date.now() > deadline) throw new Error(`the screen did not get there:\n${this.#tmux('capture-pane', '-p')}`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  shows(text: string): boolean {
    return this.#tmux('capture-pane', '-p').includes(text)
  }

  isThere(): boolean {
    try {
      return this.#tmux('list-sessions') !== ''
    } catch {
      return false
    }
  }

  press(key: string): void {
    this.#tmux('send-keys', key)
  }

  close(): void {
    this.#tmux('kill-server')
  }
}

export function keep(name: string, stage: Stage, parts: readonly string[]): void {
  fs.rmSync(path.join(fixtures, name), { recursive: true, force: true })
  for (const part of parts) {
    const target = path.join(fixtures, name, part)
    fs.mkdirSync(path.dirname(target), { recursive: true })
    fs.cpSync(path.join(stage.home, part), target, { recursive: true })
  }
}

export function writeSaid(name: string, said: readonly unknown[]): void {
  fs.writeFileSync(path.join(fixtures, name, 'said.jsonl'), said.map((each) => `${JSON.stringify(each)}\n`).join(''))
}

/** What the agent gave the model last: an imported context has to say the same. */
export function lastAsked(server: ModelServer): ModelRequest['messages'] {
  return server.requests.findLast((request) => request.tools.length > 0)?.messages ?? []
}

export function writeAsked(name: string, messages: ModelRequest['messages'], as = 'asked.json'): void {
  if (messages.length === 0) throw new Error(`${name} asked nothing`)
  fs.writeFileSync(path.join(fixtures, name, as), `${JSON.stringify(messages, null, 1)}\n`)
}
