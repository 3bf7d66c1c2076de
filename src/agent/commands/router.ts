// Decides where a line goes that a person typed: `,name key=value` is a command on the tape, `/name rest` a command for the user
// interface, everything else is for the model. A space in front sends even a comma to the model. Only what people type comes
// here: the text that a model writes is never a command.

import { InvalidError, LockedError } from '../../errors.ts'
import type { AgentState, TurnResult } from '../agent.ts'
import { type Prompt, promptText } from '../model/images.ts'
import { failureText, findCommand } from './commands.ts'
import { type Json, RelaxedJsonReader } from './relaxed-json.ts'
import { demandRest } from '../turn.ts'

export type Route =
  | { readonly to: 'command'; readonly name: string; readonly args: Arguments }
  | { readonly to: 'slash'; readonly name: string; readonly rest: string }
  | { readonly to: 'model'; readonly text: string }
  | { readonly to: 'nowhere' }

export interface Arguments {
  /** `key=value`. Plain values are text; `{…}` and `[…]` hold data. */
  readonly named: Readonly<Record<string, Json>>
  /** The arguments without a key, in order. */
  readonly words: readonly string[]
}

const command = /^,([a-zA-Z][\w.-]*)(?=\s|$)/
const slash = /^\/([a-zA-Z][\w-]*)(?:\s+([\s\S]*))?$/
const key = /[a-zA-Z_][\w.-]*=/y

/** Throws `InvalidError` for a command that cannot be parsed, such as one with a quote that never ends. */
export function route(input: string): Route {
  if (input.trim() === '') return { to: 'nowhere' }
  const named = command.exec(input)
  if (named !== null) return { to: 'command', name: named[1]!, args: argumentsIn(input, named[0].length) }
  const slashed = slash.exec(input.trimEnd())
  if (slashed !== null) return { to: 'slash', name: slashed[1]!, rest: slashed[2] ?? '' }
  return { to: 'model', text: input }
}

/** Runs a comma command, hands a slash command back to the user interface, or takes a turn with the text or the parts. */
export async function handleInput(
  state: AgentState,
  input: Prompt,
  isBusy: boolean,
  takeTurn: (prompt: Prompt) => Promise<TurnResult>,
): Promise<TurnResult> {
  try {
    if (typeof input !== 'string') {
      const isEmpty = promptText(input).trim() === '' && input.every(({ type }) => type === 'text')
      return isEmpty ? { kind: 'empty' } : await takeTurn(input)
    }
    const to = route(input)
    switch (to.to) {
      case 'nowhere':
        return { kind: 'empty' }
      case 'slash':
        return { kind: 'slash', name: to.name, rest: to.rest }
      case 'model':
        return await takeTurn(to.text)
      case 'command': {
        const { tape, holder, now } = state
        const command = findCommand(to.name)
        if (command.cuts === true) {
          if (isBusy) throw new LockedError(`Wait for the response or cancel it, then ,${to.name}`)
          await demandRest(tape, holder, now())
        }
        return { kind: 'command', ok: true, ...(await command.run(tape, to.args)) }
      }
    }
  } catch (error) {
    return { kind: 'command', ok: false, text: failureText(error), data: null }
  }
}

function argumentsIn(input: string, from: number): Arguments {
  const named: Record<string, Json> = {}
  const words: string[] = []
  const reader = new RelaxedJsonReader(input, from)
  for (reader.skipSpace(); !reader.done; reader.skipSpace()) {
    key.lastIndex = reader.at
    const found = key.exec(input)?.[0]
    if (found === undefined) {
      words.push(reader.word())
      continue
    }
    const name = found.slice(0, -1)
    if (Object.hasOwn(named, name)) throw new InvalidError(`"${name}" is given twice`, { path: name })
    reader.at += found.length
    // Defined rather than assigned, because an assignment to `__proto__` would set the prototype.
    Object.defineProperty(named, name, { value: reader.argument(), enumerable: true })
  }
  return { named, words }
}
