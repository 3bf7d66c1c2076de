// What the scripted agent writes down, as pi does: a file of lines for each session, below the agent's own folder. The
// session is the file: opened again, it holds the conversation so far.

import { randomBytes, randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import * as z from 'zod'
import type { Spoken } from './scripted-model.ts'

export interface ScriptedUsage {
  readonly input: number
  readonly output: number
}

export interface ScriptedCall {
  readonly id: string
  readonly name: 'write' | 'read' | 'bash'
  readonly arguments: Readonly<Record<string, string>>
}

export type Stop = 'stop' | 'toolUse' | 'aborted'

export const model = 'scripted'

export class Transcript {
  readonly id: string
  readonly conversation: Spoken[] = []
  readonly #file: string
  #parent: string | null = null

  private constructor(file: string, id: string) {
    this.#file = file
    this.id = id
  }

  static start(home: string, cwd: string, id: string = randomUUID()): Transcript {
    const now = new Date().toISOString()
    const folder = folderOf(home, cwd)
    fs.mkdirSync(folder, { recursive: true })
    const transcript = new Transcript(path.join(folder, `${now.replaceAll(/[:.]/g, '-')}_${id}.jsonl`), id)
    transcript.#append({ type: 'session', version: 3, id, timestamp: now, cwd })
    transcript.#entry({ type: 'model_change', provider: model, modelId: model })
    return transcript
  }

  /** Undefined if there is no such session. */
  static open(home: string, cwd: string, id: string): Transcript | undefined {
    const folder = folderOf(home, cwd)
    const name = fs.existsSync(folder)
      ? fs.readdirSync(folder).find((each) => each.endsWith(`_${id}.jsonl`))
      : undefined
    if (name === undefined) return undefined
    const transcript = new Transcript(path.join(folder, name), id)
    for (const text of fs.readFileSync(path.join(folder, name), 'utf8').split('\n')) transcript.#recall(text)
    return transcript
  }

  user(text: string): void {
    this.#message({ role: 'user', content: [{ type: 'text', text }] })
    this.conversation.push({ role: 'user', text, toolCalls: [], toolResults: [] })
  }

  assistant(text: string, calls: readonly ScriptedCall[], stopReason: Stop, { input, output }: ScriptedUsage): void {
    const content = [{ type: 'text', text }, ...calls.map((call) => ({ type: 'toolCall', ...call }))]
    const cost = { input: input * 1e-6, output: output * 5e-6, cacheRead: 0, cacheWrite: 0 }
    const usage = {
      input,
      output,
      cacheRead: 0,
      cacheWrite: 0,
      totalTokens: input + output,
      cost: { ...cost, total: cost.input + cost.output },
    }
    this.#message({ role: 'assistant', content, api: model, provider: model, model, usage, stopReason })
    this.conversation.push({ role: 'assistant', text, toolCalls: calls, toolResults: [] })
  }

  toolResult(call: ScriptedCall, text: string, isError: boolean): void {
    const content = [{ type: 'text', text }]
    this.#message({ role: 'toolResult', toolCallId: call.id, toolName: call.name, content, isError })
    this.conversation.push({ role: 'tool', text: '', toolCalls: [], toolResults: [{ text }] })
  }

  #message(message: object): void {
    this.#entry({ type: 'message', message: { ...message, timestamp: Date.now() } })
  }

  #entry(entry: object): void {
    const id = randomBytes(4).toString('hex')
    this.#append({ ...entry, id, parentId: this.#parent, timestamp: new Date().toISOString() })
    this.#parent = id
  }

  #append(line: object): void {
    fs.appendFileSync(this.#file, `${JSON.stringify(line)}\n`)
  }

  #recall(text: string): void {
    const line = entryLine.safeParse(parsed(text)).data
    if (line === undefined) return
    this.#parent = line.id
    if (line.message === undefined) return
    const { role, content } = line.message
    const words = content.flatMap((part) => part.text ?? []).join('\n')
    const calls = content.filter((part) => part.type === 'toolCall').map((part) => ({ arguments: part.arguments }))
    if (role === 'toolResult')
      this.conversation.push({ role: 'tool', text: '', toolCalls: [], toolResults: [{ text: words }] })
    else this.conversation.push({ role, text: words, toolCalls: calls, toolResults: [] })
  }
}

const entryLine = z.looseObject({
  id: z.string(),
  parentId: z.string().nullable(),
  message: z
    .looseObject({
      role: z.enum(['user', 'assistant', 'toolResult']),
      content: z.array(
        z.looseObject({ type: z.string(), text: z.string().optional(), arguments: z.unknown().optional() }),
      ),
    })
    .optional(),
})

/** A last line that was cut off by a crash is ignored. */
function parsed(line: string): unknown {
  try {
    return JSON.parse(line) as unknown
  } catch {
    return undefined
  }
}

function folderOf(home: string, cwd: string): string {
  return path.join(home, 'sessions', `--${cwd.replaceAll(/^\/|\/$/g, '').replaceAll('/', '-')}--`)
}
