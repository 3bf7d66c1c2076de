// Puts items into an order that every provider accepts: each call is followed at once by its result. What cannot be
// paired is not dropped: a result without its call becomes text, a call without its result is answered "interrupted".

import { type Call, type Item, type Keep, outputText, type Piece, type Result } from '../content/content.ts'

export type ContextMessage =
  | {
      readonly role: 'user'
      readonly pieces: readonly Piece[]
      readonly keep?: Keep | undefined
      readonly first: number
      readonly last: number
    }
  | {
      readonly role: 'assistant'
      readonly pieces: readonly Piece[]
      readonly steps: readonly CallWithResult[]
      readonly first: number
      readonly last: number
    }

/** A call with its result. */
export interface CallWithResult {
  readonly call: Call
  readonly result: Result
}

interface OpenStep {
  readonly recorded: string
  readonly call: Call
  result: Result | undefined
}

interface OpenMessage {
  readonly role: 'user' | 'assistant'
  readonly pieces: Piece[]
  readonly steps: OpenStep[]
  readonly keep?: Keep | undefined
  readonly first: number
  last: number
}

export function pair(items: readonly Item[]): ContextMessage[] {
  const messages: OpenMessage[] = []
  const steps: OpenStep[] = []
  const names = new Names()
  const say = (role: 'user' | 'assistant', id: number, pieces: readonly Piece[], keep?: Keep) => {
    const message: OpenMessage = { role, pieces: pieces.filter(isSomething), steps: [], keep, first: id, last: id }
    if (message.pieces.length > 0) messages.push(message)
  }
  for (const item of items) {
    switch (item.type) {
      case 'system':
        break
      case 'user':
      case 'assistant':
        say(item.type, item.id, item.pieces, item.keep)
        break
      case 'calls': {
        const calls = item.calls.map((call): OpenStep => ({
          recorded: call.id,
          call: names.own(call),
          result: undefined,
        }))
        steps.push(...calls)
        // Calls belong to what the assistant said right before, and to other calls that wait beside them.
        const last = messages.at(-1)
        if (last?.role === 'assistant' && last.steps.every((step) => step.result === undefined)) {
          last.steps.push(...calls)
          last.last = item.id
        } else messages.push({ role: 'assistant', pieces: [], steps: calls, first: item.id, last: item.id })
        break
      }
      case 'results':
        for (const result of item.results) {
          const step = steps.findLast((each) => each.recorded === result.callId && each.result === undefined)
          if (step !== undefined) step.result = result
          else {
            const isKnown = steps.some((each) => each.recorded === result.callId)
            say('user', item.id, [{ type: 'text', text: orphanText(result, isKnown) }])
          }
        }
    }
  }
  return messages.map(close)
}

function close(message: OpenMessage): ContextMessage {
  const { role, pieces, keep, first, last } = message
  if (role === 'user') return { role, pieces, keep, first, last }
  const steps = message.steps.map(({ call, result }) => ({ call, result: result ?? interrupted(call) }))
  return { role, pieces, steps, first, last }
}

function interrupted(call: Call): Result {
  return { callId: call.id, name: call.name, output: 'interrupted', isError: true }
}

function orphanText(result: Result, isKnown: boolean): string {
  const why = isKnown ? 'whose call was answered already' : 'whose call is not in this context'
  return `[result of ${result.name}, ${why}]\n${outputText(result.output)}`
}

function isSomething(piece: Piece): boolean {
  return piece.type !== 'text' || piece.text.trim() !== ''
}

/** Call ids that providers accept: their alphabet, at most 40 characters, none twice. */
class Names {
  readonly #used = new Set<string>()

  own(call: Call): Call {
    const safe = call.id.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 40) || 'call'
    let id = safe
    for (let n = 2; this.#used.has(id); n++) id = `${safe.slice(0, 34)}_${n}`
    this.#used.add(id)
    return { ...call, id }
  }
}

/** Tool names in the alphabet of every provider: `tape.handoff` is `tape_handoff` to a model. */
export function toolName(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'tool'
}
