// What short commands printed last. An agent that writes its own document says what matters of it; where the ledger has to
// write it, a number that was printed once would be nowhere else.

import type { Item } from '../handoff/document/document.ts'
import type { Entry } from '../store/index.ts'
import { itemsOf, outputText } from '../tape/pieces.ts'

/** Longer ones are results to be looked at, not facts to be remembered. */
const longest = 300
const kept = 12

export async function lastOutputs(entries: AsyncIterable<Entry>, tape: string): Promise<Item[]> {
  const commands = new Map<string, string>()
  const printed: Item[] = []
  for await (const entry of entries) {
    for (const item of itemsOf(entry)) {
      if (item.type === 'calls') for (const { id, arguments: given } of item.calls) note(commands, id, given)
      if (item.type !== 'results') continue
      for (const { callId, output } of item.results) {
        const command = commands.get(callId)
        const text = outputText(output).trim()
        if (command === undefined || text === '' || text.length > longest) continue
        printed.push({ text: `\`${command}\` printed`, status: 'verified', refs: [`${tape}#${entry.id}`], data: text })
      }
    }
  }
  return printed.slice(-kept)
}

/** Agents name it `command` or `cmd`, and give it whole or in words. */
function note(commands: Map<string, string>, id: string, given: unknown): void {
  const { command, cmd } = (given ?? {}) as { command?: unknown; cmd?: unknown }
  const line = Array.isArray(command) ? command.join(' ') : (command ?? cmd)
  if (typeof line === 'string' && line !== '') commands.set(id, line.split('\n')[0]!.slice(0, 120))
}
