// The scripted model of the sample job, behind a real agent: it says what src/demo/scripted-model.ts decides from the very request
// it is given, with the agent's own tools, and reports a usage that grows with each reply.

import { type Move, nextMove } from '../../src/demo/scripted-model.ts'
import { type ModelRequest, type Reply, say } from '../support/model-server/index.ts'

type Act = Exclude<Move, { do: 'say' }>

export interface JobOptions {
  readonly tools: (move: Act) => { name: string; arguments: Record<string, unknown> }
  /** Modules that are finished before a turn ends. */
  readonly perTurn: number
  /** Tokens after so many replies in a context. */
  readonly tokens: (replies: number) => number
  /** Milliseconds that it thinks before each reply. */
  readonly pace?: number
}

export function job({ tools, perTurn, tokens, pace = 0 }: JobOptions): (request: ModelRequest) => Reply {
  return (request) => {
    // Titles and other small questions on the side.
    if (request.tools.length === 0) return say('The till', { usage: { input: 60, output: 5 } })
    const replies = request.messages.filter(({ role }) => role === 'assistant').length
    const usage = { input: tokens(replies + 1), output: 20 }
    const move = nextMove(request.messages, { perTurn })
    const thinking = { usage, chunk: 100_000, delayMs: pace / 2 }
    if (move.do === 'say') return say(move.say, thinking)
    return { text: move.say, toolCalls: [tools(move)], ...thinking }
  }
}

/** How each agent names its tools. `project`: where relative paths are meant. */
export function toolsOf(agent: string, project: string): JobOptions['tools'] {
  const absolute = (file: string) => (file.startsWith('/') ? file : `${project}/${file}`)
  switch (agent) {
    case 'claude':
      return (move) => {
        if (move.do === 'run') return { name: 'Bash', arguments: { command: move.command, description: move.say } }
        const file_path = absolute(move.path)
        if (move.do === 'read') return { name: 'Read', arguments: { file_path } }
        return { name: 'Write', arguments: { file_path, content: move.content } }
      }
    case 'pi':
      return (move) => {
        if (move.do === 'run') return { name: 'bash', arguments: { command: move.command } }
        if (move.do === 'read') return { name: 'read', arguments: { path: move.path } }
        return { name: 'write', arguments: { path: move.path, content: move.content } }
      }
    case 'gemini':
      return (move) => {
        if (move.do === 'run')
          return { name: 'run_shell_command', arguments: { command: move.command, description: move.say } }
        const file_path = absolute(move.path)
        if (move.do === 'read') return { name: 'read_file', arguments: { file_path } }
        return { name: 'write_file', arguments: { file_path, content: move.content } }
      }
    case 'opencode':
      return (move) => {
        if (move.do === 'run') return { name: 'bash', arguments: { command: move.command, description: move.say } }
        const filePath = absolute(move.path)
        if (move.do === 'read') return { name: 'read', arguments: { filePath } }
        return { name: 'write', arguments: { filePath, content: move.content } }
      }
    case 'codex':
      return (move) => ({ name: 'exec_command', arguments: { cmd: shell(move), yield_time_ms: 30_000 } })
    default:
      throw new Error(`no tools of ${agent} are known`)
  }
}

function shell(move: Act): string {
  if (move.do === 'run') return move.command
  if (move.do === 'read') return `cat '${move.path}'`
  return `mkdir -p "$(dirname '${move.path}')" && cat > '${move.path}' <<'END'\n${move.content}END`
}
