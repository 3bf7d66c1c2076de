// `baton continue`: continues the work of a session in another agent.

import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { type AgentName, agentNamed, agentNames } from '../../agents/index.ts'
import { CancelledError, InvalidError, NotFoundError } from '../../errors.ts'
import { sessionContinue } from '../../operations/index.ts'
import { isProgram } from '../../supervisor/index.ts'
import { shellWord } from '../../system/index.ts'
import { demandTrustedProject } from '../base/chosen-workspace.ts'
import { edited, type Io } from '../base/io.ts'
import type { Globals } from '../base/output.ts'
import { withWorkspace } from '../base/workspace.ts'
import { isTerminal, newestOrPicked } from '../sessions/pick.ts'

interface ContinueOptions extends Globals {
  in?: AgentName
  agent?: AgentName
  goal?: string
  edit?: boolean
  print?: boolean
}

export async function continueIn(options: ContinueOptions, ref?: string): Promise<void> {
  const { io, goal, agent } = options
  demandTrustedProject('No session was opened', options)
  const into = options.in ?? (await pickAgent(io))
  const session = ref ?? (await newestOrPicked(options))
  const isStarted = options.print !== true && options.json !== true
  const isMissing = isStarted && !isProgram(agentNamed(into).program, io.env)
  // What never starts has no place in the lineage.
  const print = options.print === true || isMissing
  const edit = options.edit === true ? { edit: async (markdown: string) => edited(markdown, io) } : {}
  const start = await withWorkspace(options, async ({ run }, out) => {
    const start = await run(sessionContinue, { session, agent, in: into, goal, print }, edit)
    const { tape, document, program, args, cwd } = start
    if (out.json) out.data(start)
    else if (options.print === true) out.line(`cd ${shellWord(cwd)} && ${[program, ...args].map(shellWord).join(' ')}`)
    else if (!isMissing) out.note(`${tape} continues in ${into} with ${document}`)
    return start
  })
  if (isMissing)
    throw new NotFoundError(`There is no program "${start.program}" on your path`, {
      hint: `Install it, or give its prompt the document yourself: ${path.normalize(start.document)}`,
    })
  if (isStarted) open(start, io)
}

/** A person picks an agent that is installed; a script has to name it. */
async function pickAgent(io: Io): Promise<AgentName> {
  if (!isTerminal(io))
    throw new InvalidError('Which agent should continue?', { hint: `Add --in with one of ${agentNames.join(', ')}.` })
  const { stdin, stdout, env } = io
  const installed = agentNames.filter((name) => isProgram(agentNamed(name).program, env))
  const { isCancel, select } = await import('@clack/prompts')
  const answer = await select({
    input: stdin,
    output: stdout,
    message: 'Which agent should continue?',
    options: (installed.length === 0 ? agentNames : installed).map((name) => ({
      value: name,
      label: agentNamed(name).label,
    })),
  })
  if (isCancel(answer)) throw new CancelledError('Nothing was chosen')
  return answer
}

interface Start {
  readonly program: string
  readonly args: readonly string[]
  readonly cwd: string
}

function open({ program, args, cwd }: Start, { env, exit }: Io): void {
  const { error, status, signal } = spawnSync(program, args, { cwd, env, stdio: 'inherit' })
  if (error !== undefined) throw error
  exit.code = status ?? (signal === null ? 1 : 130)
}
