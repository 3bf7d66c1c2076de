// What agents print when they run one turn without a screen.

import os from 'node:os'
import { stripVTControlCharacters } from 'node:util'
import type { TurnOutput } from './agent.ts'
import type { Fields } from './fields.ts'

/** The lines of an output that are JSON objects; a last line that is still being written is left out. */
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

/** The exit status of a process that was ended by SIGTERM: no failure once the agent has reported its result. */
const ended = 143

/** Why a turn failed: it ended with an error, or without reporting that it ended well. */
export function turnFailure({ code, err, out }: TurnOutput, endedWell: boolean): string | undefined {
  if (code === undefined || (endedWell && (code === 0 || code === ended))) return undefined
  // What was printed before has nothing to do with it.
  const killer = Object.entries(os.constants.signals).find(([, number]) => number === code - 128)?.[0]
  if (killer !== undefined) return `it was ended by ${killer}`
  const said = lastWords(err) ?? lastWords(out.trimStart().startsWith('{') ? '' : out)
  if (code === 0) return said ?? 'it ended without an answer'
  return said === undefined ? `it ended with ${code}` : `${said} (it ended with ${code})`
}

function lastWords(text: string): string | undefined {
  const lines = stripVTControlCharacters(text)
    .split('\n')
    .map((line) => line.trim())
  const told = lines.filter((line) => line !== '' && !line.startsWith('at '))
  if (told.length === 0) return undefined
  // Behind what was wrong, or instead of it, some print how they are to be used.
  const wrong = told.findLastIndex((line) => /^(error|fatal|unknown|unexpected|invalid)\b/i.test(line))
  if (wrong >= 0)
    return told
      .slice(wrong, wrong + 3)
      .join(' ')
      .slice(0, 300)
  if (told.some((line) => /^(usage|options):/i.test(line)))
    return 'it printed its help, as for an unknown option or command'
  return told.slice(-3).join(' ').slice(-300)
}
