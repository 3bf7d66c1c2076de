// What a running Claude Code says of itself: the best there is to tell which session it writes, and what it waits for.

import fs from 'node:fs'
import path from 'node:path'
import * as z from 'zod'

const schema = z.object({
  sessionId: z.string(),
  /** Missing where it runs without a screen. */
  status: z.string().optional(),
  waitingFor: z.string().optional(),
  statusUpdatedAt: z.number().optional(),
})

export type ClaudeStatus = z.output<typeof schema>

/** `projects`: where it keeps its transcripts. Undefined until it has said something, and in older versions. */
export function claudeStatus(projects: string, pids: readonly number[]): ClaudeStatus | undefined {
  for (const pid of pids) {
    try {
      const text = fs.readFileSync(path.join(statusFolder(projects), `${pid}.json`), 'utf8')
      return schema.parse(JSON.parse(text))
    } catch {
      continue // not there, or being written
    }
  }
  return undefined
}

export function statusFolder(projects: string): string {
  return path.join(path.dirname(projects), 'sessions')
}

/** Its transcript, wherever it was started. */
export function claudeFile(projects: string, nest: string, session: string): string | undefined {
  const name = `${session}.jsonl`
  const usual = path.join(nest, name)
  if (fs.existsSync(usual)) return usual
  let folders: string[]
  try {
    folders = fs.readdirSync(projects)
  } catch {
    return undefined
  }
  const found = folders.find((folder) => fs.existsSync(path.join(projects, folder, name)))
  return found === undefined ? undefined : path.join(projects, found, name)
}

export function sizeOf(file: string): { bytes: number; changed: number } {
  const { size = 0, mtimeMs = Date.now() } = fs.statSync(file, { throwIfNoEntry: false }) ?? {}
  return { bytes: size, changed: mtimeMs }
}
