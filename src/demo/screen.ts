// The scripted agent on a terminal: a prompt at the bottom, words typed or pasted, Enter sends them, Escape stops a turn.
// What is typed during a turn waits for its end.

import readline from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import type { ScriptedAgent } from './agent.ts'

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

/** Resolves when the person leaves. */
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
  tell(agent.session === undefined ? 'Scripted agent. Ready.' : `Scripted agent. Going on with ${agent.session}.`)
  if (first !== undefined) submit(first)
  await left
  input.off('keypress', onKey)
  turn?.abort()
  input.setRawMode?.(false)
  input.pause?.()
  output.write(`\r\x1b[K${bracketedPaste.off}`)
}
