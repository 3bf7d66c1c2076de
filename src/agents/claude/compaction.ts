// Where Claude Code compacts by itself: by its environment and by its settings files, for all models or for one.

import path from 'node:path'
import type { CompactionQuery } from '../agent.ts'
import { fields } from '../fields.ts'
import { readJson } from '../files.ts'
import { projectsIn } from './status.ts'

/** The tokens that it keeps free for the summary and what comes before it. */
const reserve = 33_000
/** It ignores smaller windows. */
const smallest = 100_000

export function compactsAt({ window, model, cwd, env: outer }: CompactionQuery): number | undefined {
  const files = settingsFiles(outer, cwd).map((file) => fields(readJson(file)))
  const env: NodeJS.ProcessEnv = { ...outer }
  for (const { env: own } of files) {
    for (const [name, value] of Object.entries(fields(own))) if (typeof value === 'string') env[name] ??= value
  }
  if (isOn(env.DISABLE_AUTO_COMPACT) || isOn(env.DISABLE_COMPACT)) return undefined
  if (files.some(({ autoCompactEnabled }) => autoCompactEnabled === false)) return undefined
  const share = Number(env.CLAUDE_AUTOCOMPACT_PCT_OVERRIDE)
  const overridden = share > 0 && share <= 100 && window !== undefined ? [Math.floor((window * share) / 100)] : []
  const own = Number(env.CLAUDE_CODE_AUTO_COMPACT_WINDOW)
  // Which file wins depends on the version: the lowest is safe.
  const windows = [...(own > 0 ? [own] : []), ...files.flatMap((file) => windowsIn(file, model))]
  const chosen = windows.map((each) => Math.max(0, Math.min(Math.max(each, smallest), window ?? each) - reserve))
  const points = [...overridden, ...chosen]
  // Without any of these, it compacts only when the API refuses a prompt for being too long.
  return points.length === 0 ? window : Math.min(...points)
}

function settingsFiles(env: NodeJS.ProcessEnv, cwd: string | undefined): string[] {
  const user = path.join(path.dirname(projectsIn(env)), 'settings.json')
  const project =
    cwd === undefined ? [] : [path.join(cwd, '.claude/settings.local.json'), path.join(cwd, '.claude/settings.json')]
  return ['/etc/claude-code/managed-settings.json', ...project, user]
}

/** Within one file, what is said for the model replaces what is said for all. */
function windowsIn(
  { autoCompactWindow, modelSettings }: ReturnType<typeof fields>,
  model: string | undefined,
): number[] {
  const named = Object.entries(fields(modelSettings)).find(([name]) => isModel(name, model))
  const own = named === undefined ? undefined : fields(named[1]).autoCompactWindow
  const chosen = own ?? autoCompactWindow
  return typeof chosen === 'number' && chosen > 0 ? [chosen] : []
}

/** A canonical name also means its dated spellings and those of other providers. */
function isModel(name: string, model: string | undefined): boolean {
  return model !== undefined && (model === name || model.includes(name))
}

function isOn(value: string | undefined): boolean {
  return value !== undefined && value !== '' && value !== '0' && value !== 'false'
}
