// Every agent that Baton knows, by its name, and its sessions by their ids. A new agent is a folder beside this file, its name in names.ts, and a line here.

import { InvalidError, NotFoundError } from '../errors.ts'
import type { Agent, SessionFile } from './agent.ts'
import { claude } from './claude/agent.ts'
import { codex } from './codex/agent.ts'
import { gemini } from './gemini/agent.ts'
import type { AgentName, BuiltInName } from './names.ts'
import { opencode } from './opencode/agent.ts'
import { pi } from './pi/agent.ts'

const builtIn: Readonly<Record<BuiltInName, Agent>> = { claude, codex, pi, gemini, opencode }

const registered: Agent[] = Object.values(builtIn)

/** All known agents; `registerAgent` adds to them. */
export const agents: readonly Agent[] = registered

/** Adds an agent for this process. Returns a function that removes it again. */
export function registerAgent(agent: Agent): () => void {
  if (isAgentName(agent.name)) throw new InvalidError(`There is an agent "${agent.name}" already`)
  registered.push(agent)
  return () => {
    const at = registered.indexOf(agent)
    if (at >= 0) registered.splice(at, 1)
  }
}

export function isAgentName(name: string): boolean {
  return registered.some((agent) => agent.name === name)
}

/** An agent to suggest to somebody who wants to continue in another one. */
export function anotherAgent(name: AgentName): AgentName {
  return name === codex.name ? claude.name : codex.name
}

export function agentNamed(name: AgentName): Agent {
  const found = registered.find((agent) => agent.name === name)
  if (found !== undefined) return found
  throw new NotFoundError(`There is no agent "${name}"`, {
    hint: `Agents are ${registered.map((agent) => agent.name).join(', ')}.`,
  })
}

/** The id of a session: from the name of its file, or from the transcript where only that has it. */
export function sessionId({ agent, id }: Pick<SessionFile, 'agent' | 'id'>, inTranscript: string | undefined): string {
  return agentNamed(agent).idInTranscript === true ? (inTranscript ?? id) : id
}

/** Identifies a session: its file, and its id where several sessions share a file. */
export function sessionKey({ agent, path, id }: Pick<SessionFile, 'agent' | 'path' | 'id'>): string {
  return agentNamed(agent).sharesFile === true ? `${path}#${id}` : path
}

/**
 * The folders in which sessions of the project `cwd` appear between two times, whether they exist or not; outer ones first,
 * since the inner ones appear in them.
 */
export function projectFolders(
  name: AgentName,
  env: NodeJS.ProcessEnv,
  cwd: string,
  since: number,
  until: number,
): string[] {
  const agent = agentNamed(name)
  return agent.folders(env).flatMap((folder) => [folder, ...(agent.projectFolders?.(folder, cwd, since, until) ?? [])])
}

/** A session by its id: searched for in the folders of the project, then everywhere. */
export function projectSession(
  name: AgentName,
  env: NodeJS.ProcessEnv,
  cwd: string,
  session: string,
): SessionFile | undefined {
  const agent = agentNamed(name)
  const all = agent.folders(env)
  const now = Date.now()
  const likely = projectFolders(name, env, cwd, now, now).filter((folder) => !all.includes(folder))
  for (const folder of [...likely, ...all]) {
    const found = agent
      .find(folder)
      .filter(({ id, parent }) => parent === undefined && (agent.isSession?.(id, session) ?? id === session))
    // An agent may begin another file whenever a session is resumed, and continue in the first.
    if (found.length > 0) return found.reduce((first, file) => (file.path < first.path ? file : first))
  }
  return undefined
}
