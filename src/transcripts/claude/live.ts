// What running Claude Code processes say of themselves: `sessions/<pid>.json` beside their projects.

import fs from 'node:fs'
import path from 'node:path'
import { isThere } from '../../system/processes.ts'
import { fields, json, number, text } from '../fields.ts'
import type { Live } from '../state.ts'

/** By session; undefined where this version keeps no such files. */
export function liveSessions(projects: string): Map<string, Live> | undefined {
  const folder = path.join(path.dirname(projects), 'sessions')
  let names: string[]
  try {
    names = fs.readdirSync(folder)
  } catch {
    return undefined
  }
  const live = new Map<string, Live>()
  for (const name of names) {
    if (!name.endsWith('.json')) continue
    const about = fields(json(readOr(path.join(folder, name))))
    const session = text(about.sessionId)
    const pid = number(about.pid)
    if (session === undefined || pid === undefined || !isThere(pid)) continue
    // Without a status it runs without a screen: there is nobody to wait for.
    live.set(session, about.status === 'idle' || about.status === 'waiting' ? 'idle' : 'busy')
  }
  return live
}

function readOr(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch {
    return '{}' // it ended between our two looks
  }
}
