// Changes whose call was cut off: they may have taken place, so they are listed, and marked as uncertain.

import type { Effect } from './effect.ts'
import type { FileAction, FileFact } from '../facts.ts'
import type { Call } from '../tools/tool-calls.ts'

const uncertainAction: Partial<Record<Effect['action'], FileAction>> = {
  write: 'edited',
  edit: 'edited',
  create: 'created',
  delete: 'deleted',
}

/** The files, with those that an open call was about to change before `spokenId`, when somebody spoke again. */
export function withUnansweredEdits(
  files: readonly FileFact[],
  open: readonly { readonly call: Call; readonly id: number }[],
  spokenId: number,
): FileFact[] {
  const changed = new Set(files.filter(({ state }) => state === 'changed').map(({ path }) => path))
  const known = new Map(files.map((file) => [file.path, file]))
  const cutOff = new Map<string, FileFact>()
  for (const { call, id } of open) {
    if (call.kind !== 'files' || id > spokenId) continue
    for (const effect of call.effects) {
      if (!('path' in effect) || changed.has(effect.path)) continue
      const action = uncertainAction[effect.action]
      if (action === undefined) continue
      const { reads = 0, firstId = id } = known.get(effect.path) ?? {}
      cutOff.set(effect.path, {
        path: effect.path,
        action,
        state: 'changed',
        reads,
        edits: 0,
        firstId,
        lastId: id,
        source: 'tape',
        uncertain: true,
      })
    }
  }
  return cutOff.size === 0 ? [...files] : [...files.filter(({ path }) => !cutOff.has(path)), ...cutOff.values()]
}
