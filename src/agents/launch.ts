// The command line that starts an agent with a handoff document.

import fs from 'node:fs'
import path from 'node:path'
import { continueText, withDocumentText } from '../handoff/index.ts'
import { agentNamed } from './registry.ts'
import type { AgentName } from './names.ts'

/** Files in which people write down how agents are to work. */
const ruleFiles = [
  'AGENTS.md',
  'CLAUDE.md',
  '.claude/CLAUDE.md',
  'GEMINI.md',
  '.cursorrules',
  '.windsurfrules',
  '.github/copilot-instructions.md',
]

export interface Start {
  readonly program: string
  readonly args: readonly string[]
  /** The id of the new session, if the agent accepts one. */
  readonly session: string | undefined
}

/** The command that starts an agent in `cwd` with a handoff document, repeated in the prompt unless it is `readable` there. */
export function startWith(name: AgentName, document: string, cwd: string, session: string, readable = true): Start {
  const agent = agentNamed(name)
  const unread = ruleFiles.filter((file) => !agent.ruleFiles.includes(file) && fs.existsSync(path.join(cwd, file)))
  const prompt = continueText(document, unread)
  const { inlineAbove } = agent
  const isWhole = !readable || (inlineAbove !== undefined && fs.statSync(document).size > inlineAbove)
  const whole = isWhole ? withDocumentText(prompt, fs.readFileSync(document, 'utf8')) : prompt
  const { program, takesId } = agent
  return {
    program,
    args: agent.start({ prompt: whole, ...(takesId === true && { session }) }),
    session: takesId === true ? session : undefined,
  }
}
