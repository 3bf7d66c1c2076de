// Calls a tool as the loop does: the input parsed by its schema, what it would touch asked first.

import { onTestFinished } from 'vitest'
import type { AgentTool, ChildRequest, ChildResult, ToolContext, ToolOutcome } from '../../../src/agent/tools/tool.ts'
import { outputText, Tape } from '../../../src/tape/index.ts'
import { temporaryStore } from '../../support/workspace.ts'

export interface Bench {
  readonly tape: Tape
  readonly cwd: string
  /** Parses the input, asks for the access, runs; a thrown error is the test's to catch. */
  readonly call: (tool: AgentTool, input: unknown, more?: Partial<ToolContext>) => Promise<ToolOutcome>
  /** The output of a call as text. */
  readonly text: (tool: AgentTool, input: unknown, more?: Partial<ToolContext>) => Promise<string>
}

/** A tape whose last entry holds the call. */
export async function bench(cwd: string, spawn?: (child: ChildRequest) => Promise<ChildResult>): Promise<Bench> {
  const store = await temporaryStore()
  const tape = new Tape(store, 'main')
  await tape.start()
  const abort = new AbortController()
  onTestFinished(() => abort.abort())
  const call = async (tool: AgentTool, input: unknown, more: Partial<ToolContext> = {}) => {
    const parsed = tool.input.parse(input)
    const [entry] = await tape.append([
      { kind: 'tool_call', payload: { calls: [{ id: 'call-1', name: tool.name, arguments: input }] } },
    ])
    const context: ToolContext = {
      tape,
      cwd,
      callId: 'call-1',
      entryId: entry!.id,
      runId: 'run-1',
      signal: abort.signal,
      onOutput: () => {},
      ...(spawn === undefined ? {} : { spawn }),
      ...more,
    }
    await tool.access?.(parsed, context)
    return tool.run(parsed, context)
  }
  const text = async (tool: AgentTool, input: unknown, more?: Partial<ToolContext>) =>
    outputText((await call(tool, input, more)).output)
  return { tape, cwd, call, text }
}
