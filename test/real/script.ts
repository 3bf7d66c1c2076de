// What the scripted model answers in the recorded sessions: the same story for every agent, told with its own tools.

import { call, type ModelRequest, type Reply, say } from '../support/model-server/index.ts'

/** The tools of an agent that the story needs. */
export interface Tools {
  readonly write: (path: string, content: string) => { name: string; arguments: Record<string, unknown> }
  readonly shell: (command: string) => { name: string; arguments: Record<string, unknown> }
  /** Gives a task to a subagent; those without one go on by themselves. */
  readonly delegate?: (task: string) => { name: string; arguments: Record<string, unknown> }
  /** Waits for the subagent that a result tells of, where delegating does not. */
  readonly wait?: (result: string) => { name: string; arguments: Record<string, unknown> } | undefined
}

const summary = 'We wrote notes.txt and ran its check, which fails with exit status 3. Next: fix the check.'

/**
 * `write`: words, a file and a failing command at once. `delegate`: a subagent that runs a command. `fill`: a reply after
 * which the context counts as large. Anything else is answered in words. Usage grows with each reply.
 */
export function story(tools: Tools, full: number): (request: ModelRequest) => Reply {
  let replies = 0
  return (request) => {
    const last = request.messages.at(-1)
    const words = last?.text ?? ''
    const asked = words.trim().split('\n').at(-1) ?? ''
    // What a summary is asked for with is long; what a person asks here is a line.
    if (words.length > 150 && /summar/i.test(words) && !/^(please|now|go|start|and|subtask)\b/.test(asked))
      return say(summary, { usage: { input: 900, output: 40 } })
    if (request.tools.length === 0) return say('Notes and their check', { usage: { input: 60, output: 5 } })
    replies++
    const usage = { input: 2_000 + 700 * replies, output: 30 + replies, cached: 1_000 }
    const awaited = tools.wait?.(last?.toolResults.map((result) => result.text).join('\n') ?? '')
    if (awaited !== undefined) return { toolCalls: [awaited], usage }
    if (last?.role === 'tool') return say('Done: the notes are written, their check fails.', { usage })
    if (words.slice(-200).includes('subtask')) return { toolCalls: [tools.shell('echo from the subagent')], usage }
    if (/\bwrite\b/.test(asked)) {
      const calls = [tools.write('notes.txt', 'first note\n'), tools.shell('cat notes.txt; exit 3')]
      return { reasoning: 'A file and a check.', text: 'I write the notes and check them.', toolCalls: calls, usage }
    }
    if (/\bdelegate\b/.test(asked) && tools.delegate !== undefined) {
      const { name, arguments: args } = tools.delegate('subtask: greet')
      return call(name, args, { usage })
    }
    if (/\bfill\b/.test(asked))
      return say('The context is large now.', { usage: { input: full, output: 20, cached: 1_000 } })
    return say('All right.', { usage })
  }
}
