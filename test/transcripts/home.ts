// A home with the recorded sessions of an agent in it, gone when the test is over.

import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import zlib from 'node:zlib'
import { agentNamed } from '../../src/agents/registry.ts'
import type { AgentName, SessionFile } from '../../src/agents/index.ts'
import { temporaryFolder } from '../support/workspace.ts'

export const fixtures = path.join(import.meta.dirname, '../fixtures')

export interface Home {
  readonly home: string
  readonly env: { readonly HOME: string }
}

export function homeWith(...agents: AgentName[]): Home {
  const home = temporaryFolder()
  for (const agent of agents) fs.cpSync(path.join(fixtures, agent), home, { recursive: true })
  for (const name of fs.readdirSync(home, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.gz')) continue
    const packed = path.join(home, name)
    fs.writeFileSync(packed.slice(0, -'.gz'.length), zlib.gunzipSync(fs.readFileSync(packed)))
    fs.rmSync(packed)
  }
  return { home, env: { HOME: home } }
}

/** The sessions of an agent in a home, the oldest first, without those of subagents. */
export function sessionsIn({ env }: Home, agent: AgentName): SessionFile[] {
  const known = agentNamed(agent)
  const all = known.folders(env).flatMap((folder) => known.find(folder))
  return all.filter(({ parent }) => parent === undefined).sort((a, b) => (firstDate(a) < firstDate(b) ? -1 : 1))
}

function firstDate({ path: file }: SessionFile): string {
  return /"(?:timestamp|startTime)":\s?"([^"]+)"/.exec(fs.readFileSync(file, 'utf8'))?.[1] ?? ''
}

/** What the agent said of itself while it was recorded. */
export function said(agent: AgentName): Record<string, unknown>[] {
  const lines = fs
    .readFileSync(path.join(fixtures, agent, 'said.jsonl'), 'utf8')
    .trim()
    .split('\n')
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
}

export interface Asked {
  readonly role: 'user' | 'assistant' | 'tool'
  readonly text: string
  readonly toolCalls: readonly { readonly name: string; readonly arguments: unknown }[]
  readonly toolResults: readonly { readonly text: string }[]
}

/** What the agent gave its model last. */
export function asked(agent: AgentName): Asked[] {
  return JSON.parse(fs.readFileSync(path.join(fixtures, agent, 'asked.json'), 'utf8')) as Asked[]
}

/** Every file below a folder with its bytes, times and rights: what nobody may change. */
export function snapshot(folder: string): string {
  return execFileSync('find', ['.', '-exec', 'stat', '-c', '%n %s %Y %Z %a %i', '{}', ';'], {
    cwd: folder,
    encoding: 'utf8',
  })
    .split('\n')
    .sort()
    .join('\n')
}
