// What a patch does to files: Codex's envelope (`*** Begin Patch`) and unified diffs.

import { type Effect, swapOf } from './effect.ts'

export function readPatch(text: string): Effect[] {
  return text.includes('*** Begin Patch') || /^\*\*\* (?:Add|Update|Delete) File: /m.test(text)
    ? readEnvelope(text)
    : readUnified(text)
}

interface Open {
  action: 'create' | 'edit' | 'delete'
  path: string
  to?: string
  added: number
  removed: number
  /** The lines that go, and those that come. */
  before: string
  after: string
}

function readEnvelope(text: string): Effect[] {
  const effects: Effect[] = []
  let open: Open | undefined
  for (const line of lines(text)) {
    if (line.startsWith('*** ')) {
      const match = /^\*\*\* (Add File|Update File|Delete File|Move to): (.+?)\s*$/.exec(line)
      if (match?.[1] === 'Move to' && open) open.to = match[2]
      else if (match?.[2]) {
        close(open, effects)
        const action = match[1] === 'Add File' ? 'create' : match[1] === 'Delete File' ? 'delete' : 'edit'
        open = { action, path: match[2], ...nothing }
      } else if (line.startsWith('*** End Patch')) break
    } else if (open) {
      count(open, line)
    }
  }
  close(open, effects)
  return effects
}

const nothing = { added: 0, removed: 0, before: '', after: '' }

function count(open: Open, line: string): void {
  if (line.startsWith('+')) {
    open.added += 1
    open.after += `${line.slice(1)}\n`
  } else if (line.startsWith('-')) {
    open.removed += 1
    open.before += `${line.slice(1)}\n`
  }
}

function readUnified(text: string): Effect[] {
  const effects: Effect[] = []
  let open: Open | undefined
  let before: string | undefined
  let renamedFrom: string | undefined
  // Lines left in the current hunk: inside it, `--- a` is a removed line, not a header.
  let oldLeft = 0
  let newLeft = 0
  for (const line of lines(text)) {
    if (oldLeft > 0 || newLeft > 0) {
      if (line.startsWith('+')) newLeft -= 1
      else if (line.startsWith('-')) oldLeft -= 1
      else if (!line.startsWith('\\')) {
        oldLeft -= 1
        newLeft -= 1
      }
      if (open) count(open, line)
      continue
    }
    const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line)
    if (hunk) {
      oldLeft = Number(hunk[1] ?? 1)
      newLeft = Number(hunk[2] ?? 1)
    } else if (line.startsWith('--- ')) before = header(line)
    else if (line.startsWith('+++ ')) {
      close(open, effects)
      const after = header(line)
      open =
        after === undefined
          ? before === undefined
            ? undefined
            : { action: 'delete', path: before, ...nothing }
          : { action: before === undefined ? 'create' : 'edit', path: renamedFrom ?? after, ...nothing }
      if (open && renamedFrom !== undefined) open.to = after
      renamedFrom = undefined
    } else if (line.startsWith('rename from ')) renamedFrom = line.slice(12)
    else if (line.startsWith('rename to ') && renamedFrom !== undefined) {
      close(open, effects)
      open = { action: 'edit', path: renamedFrom, to: line.slice(10), ...nothing }
      renamedFrom = undefined
    }
  }
  close(open, effects)
  return effects
}

function close(open: Open | undefined, effects: Effect[]): void {
  if (!open) return
  const { action, path, to, added, removed, before, after } = open
  if (action === 'delete') effects.push({ action, path })
  else if (action === 'create') effects.push({ action, path, lines: added })
  else {
    if (to !== undefined && to !== path) effects.push({ action: 'rename', path, to })
    if (added + removed > 0 || to === undefined)
      effects.push({ action: 'edit', path: to ?? path, added, removed, swap: swapOf(before, after) })
  }
}

/** The path of a `---` or `+++` line; undefined for /dev/null. */
function header(line: string): string | undefined {
  const path = line.slice(4).replace(/\t.*$/, '').trim()
  if (path === '/dev/null') return undefined
  return /^[ab]\//.test(path) ? path.slice(2) : path
}

function* lines(text: string): Generator<string> {
  let at = 0
  while (at < text.length) {
    const end = text.indexOf('\n', at)
    if (end < 0) break
    yield text.slice(at, text[end - 1] === '\r' ? end - 1 : end)
    at = end + 1
  }
  if (at < text.length) yield text.slice(at)
}
