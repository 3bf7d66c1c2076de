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

/** What an agent calls its tools and the file that they work on; `says` where a command comes with a description. */
interface ToolNames {
  readonly run: string
  readonly read: string
  readonly write: string
  readonly file: string
  readonly says?: true
  /** Files are named by their whole path. */
  readonly absolute?: true
}

const toolNames: Readonly<Record<string, ToolNames>> = {
  claude: { run: 'Bash', read: 'Read', write: 'Write', file: 'file_path', says: true, absolute: true },
  gemini: {
    run: 'run_shell_command',
    read: 'read_file',
    write: 'write_file',
    file: 'file_path',
    says: true,
    absolute: true,
  },
  opencode: { run: 'bash', read: 'read', write: 'write', file: 'filePath', says: true, absolute: true },
  pi: { run: 'bash', read: 'read', write: 'write', file: 'path' },
}

/** How each agent names its tools. `project`: where relative paths are meant. */
export function toolsOf(agent: string, project: string): JobOptions['tools'] {
  if (agent === 'codex')
    return (move) => ({ name: 'exec_command', arguments: { cmd: shell(move), yield_time_ms: 30_000 } })
  const names = toolNames[agent]
  if (names === undefined) throw new Error(`no tools of ${agent} are known`)
  return (move) => {
    const name = names[move.do]
    if (move.do === 'run') {
      const described = names.says === true ? { description: move.say } : {}
      return { name, arguments: { command: move.command, ...described } }
    }
    const file = names.absolute === true && !move.path.startsWith('/') ? `${project}/${move.path}` : move.path
    return { name, arguments: { [names.file]: file, ...(move.do === 'write' ? { content: move.content } : {}) } }
  }
}

function shell(move: Act): string {
  if (move.do === 'run') return move.command
  if (move.do === 'read') return `cat '${move.path}'`
  return `mkdir -p "$(dirname '${move.path}')" && cat > '${move.path}' <<'END'\n${move.content}END`
}
