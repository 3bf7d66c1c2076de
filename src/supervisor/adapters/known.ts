// What the descriptions of known agents share.

import type { Adapter, Command, TurnOutput } from '../adapter.ts'
import type { AgentName } from '../../transcripts/index.ts'

/** An agent as Baton knows it, before it is told how it is started here. */
export interface Known {
  readonly name: AgentName
  readonly label: string
  readonly program: string
  readonly env?: Readonly<Record<string, string | undefined>>
  make(command: MakeCommand, env: NodeJS.ProcessEnv): Partial<Adapter>
}

type MakeCommand = (args: readonly string[]) => Command

type Fields = Readonly<Record<string, unknown>>

/** The lines of an output that are objects of JSON; a last one that is still being written is left out. */
export function jsonIn(output: string): Fields[] {
  return output.split('\n').flatMap((line): Fields[] => {
    if (!line.startsWith('{')) return []
    try {
      return [JSON.parse(line) as Fields]
    } catch {
      return []
    }
  })
}

/** The exit status of a process that was ended from outside: after its last word that is no failure. */
const ended = 143

/** What is to be said of a turn that ended badly, or without the word that it ended well. */
export function failureOf({ code, err, out }: TurnOutput, endedWell: boolean): string | undefined {
  if (code === undefined || (endedWell && (code === 0 || code === ended))) return undefined
  const said = lastWords(err) ?? lastWords(out.trimStart().startsWith('{') ? '' : out)
  if (code === 0) return said ?? 'it ended without an answer'
  return said === undefined ? `it ended with ${code}` : `${said} (it ended with ${code})`
}

function lastWords(text: string): string | undefined {
  const lines = text.split('\n').map((line) => line.trim())
  const told = lines.filter((line) => line !== '' && !line.startsWith('at '))
  return told.length === 0 ? undefined : told.slice(-3).join(' ').slice(-300)
}
