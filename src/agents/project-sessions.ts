// The sessions of one project: the folders in which an agent puts them, and a session among them by its id.

import type { SessionFile } from './agent.ts'
import type { AgentName } from './names.ts'
import { agentNamed } from './registry.ts'

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
