// The true facts of a session, and whether a text tells them. A text tells a fact when it holds its words, whatever the
// letters' case and the marks between them; a file, when its path and what happened to it can be read off a line.

import type { Action, Change, Truth } from './session.ts'

export const kinds = ['request', 'next', 'constraint', 'failure', 'todo', 'file', 'decision'] as const
export type Kind = (typeof kinds)[number]

export interface Fact {
  readonly kind: Kind
  /** What makes it a fact of its own: all of them, or for the next step any. */
  readonly needles: readonly string[]
  readonly change?: Change
}

/** In the order of the document's priorities. */
export function factsOf(truth: Truth): Fact[] {
  const open = truth.todos.filter(({ status }) => status !== 'completed')
  return [
    { kind: 'request', needles: [truth.goal] },
    { kind: 'request', needles: [truth.lastRequest] },
    { kind: 'next', needles: truth.next },
    ...truth.constraints.map((text): Fact => ({ kind: 'constraint', needles: [text] })),
    ...truth.failures.map((command): Fact => ({ kind: 'failure', needles: [command] })),
    ...open.map(({ text }): Fact => ({ kind: 'todo', needles: [text] })),
    ...truth.changes.map((change): Fact => ({ kind: 'file', needles: [change.path], change })),
    ...truth.decisions.map((needles): Fact => ({ kind: 'decision', needles })),
  ]
}

export function plain(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}]+/gu, ' ')
    .trim()
}

/** A text as its reader takes it: a document with sections, or anything else. */
export interface Reading {
  readonly text: string
  /** By their titles; undefined when there are none. */
  readonly sections?: ReadonlyMap<string, string>
  readonly files: ReadonlyMap<string, { action: string; from?: string }>
  readonly failures: readonly string[]
}

export function readMarkdown(markdown: string): Reading {
  const sections = new Map<string, string>()
  for (const part of markdown.split(/^(?=##)/m)) {
    const [, title, body] = /^#{2,3} ([^\n]*)\n?([\s\S]*)$/.exec(part) ?? []
    if (title !== undefined) sections.set(title.replace(/ (?:\(|\[|#).*$/, ''), body ?? '')
  }
  const failures = (sections.get('Open Failures') ?? '')
    .split('\n')
    .filter((line) => line.startsWith('- ') && !/^- … and \d+ more/.test(line))
  return {
    text: plain(markdown),
    sections,
    files: new Map((sections.get('Files') ?? '').split('\n').flatMap(readFiles)),
    failures: failures.map((line) => bareCommand(/^- (`+)(.*?)\1/.exec(line)?.[2] ?? line.slice(2))),
  }
}

/** Any text: a file counts when it is named at all. */
export function readLoosely(text: string): Reading {
  return { text: plain(text), files: new Map(), failures: [] }
}

/** `- edited src/tape/: fork.ts +12 -3 #40, uri.ts` names two files. */
function readFiles(line: string): [string, { action: string; from?: string }][] {
  const [, action, rest] = /^- (created|edited|renamed|deleted) (.+)$/.exec(line) ?? []
  if (action === undefined || rest === undefined) return []
  const [, folder = '', names = rest] = /^([^\s",]*\/): (.+)$/.exec(rest) ?? []
  const unquoted = (word: string) => (word.startsWith('"') ? String(JSON.parse(word)) : undefined)
  return names.split(/, (?=\S)/).flatMap((entry) => {
    const [, former, name] = /^(?:("(?:[^"\\]|\\.)*"|\S+) → )?("(?:[^"\\]|\\.)*"|\S+)/.exec(entry) ?? []
    const whole = unquoted(name ?? '')
    const paths = whole === undefined ? expanded(folder + (name ?? '')) : [whole]
    const from = former === undefined ? undefined : (unquoted(former) ?? former)
    return paths.map((path): [string, { action: string; from?: string }] => [
      path,
      { action, ...(from !== undefined && { from }) },
    ])
  })
}

/** As a shell expands `src/{a,b/{c,d}}.ts`. */
function expanded(word: string): string[] {
  let at = 0
  const list = (): string[] => {
    const found: string[] = []
    do found.push(...sequence())
    while (word[at++] === ',')
    return found
  }
  const sequence = (): string[] => {
    let prefixes = ['']
    while (at < word.length && word[at] !== ',' && word[at] !== '}') {
      if (word[at] === '{') {
        at++
        const inside = list()
        prefixes = prefixes.flatMap((prefix) => inside.map((each) => prefix + each))
      } else {
        const letter = word[at++]!
        prefixes = prefixes.map((prefix) => prefix + letter)
      }
    }
    return prefixes
  }
  return sequence()
}

/** The command without what surrounds it. */
export function bareCommand(command: string): string {
  return command
    .replace(/\s*(?:2>&1)?\s*(?:\|\s*tail\b.*|\|\|\s*true)$/, '')
    .replace(/^npx /, '')
    .trim()
}

export function tells(reading: Reading, fact: Fact): boolean {
  const holds = (needle: string) =>
    ` ${reading.text} `.includes(` ${plain(needle)} `) || reading.text.includes(plain(needle))
  if (reading.sections === undefined) return fact.kind === 'next' ? fact.needles.some(holds) : fact.needles.every(holds)
  switch (fact.kind) {
    case 'next': {
      const next = plain(reading.sections.get('Next Steps') ?? '')
      return fact.needles.some((needle) => next.includes(plain(needle)))
    }
    case 'failure':
      return fact.needles.every((command) => reading.failures.includes(bareCommand(command)))
    case 'file':
      return tellsChange(reading, fact.change!)
    case 'request':
    case 'constraint':
    case 'todo':
    case 'decision':
      return fact.needles.every(holds)
  }
}

/** A move may be told as such, or as one file gone and another new. */
function tellsChange({ files }: Reading, { path, action, from }: Change): boolean {
  const told = files.get(path)
  if (action === 'deleted') return told?.action === 'deleted' || movedAway(files, path)
  if (action === 'created') return told?.action === 'created' || told?.action === 'renamed'
  if (action === 'edited') return told?.action === 'edited'
  if (told?.action === 'renamed') return told.from === undefined || told.from === from
  return told?.action === 'created' && files.get(from ?? '')?.action === 'deleted'
}

function movedAway(files: Reading['files'], path: string): boolean {
  for (const { from } of files.values()) if (from === path) return true
  return false
}

/** What a document says and should not: each an error. */
export function errorsIn(reading: Reading, truth: Truth): string[] {
  const errors: string[] = []
  const section = (title: string) => reading.sections?.get(title) ?? ''
  const changed = new Map<string, Action[]>()
  for (const { path, action, from } of truth.changes) {
    changed.set(
      path,
      action === 'renamed' ? ['renamed', 'created'] : action === 'created' ? ['created', 'renamed'] : [action],
    )
    if (from !== undefined) changed.set(from, ['deleted'])
  }
  for (const [path, { action }] of reading.files) {
    const actions = changed.get(path)
    if (actions === undefined) errors.push(`not changed: ${action} ${path}`)
    else if (!actions.some((one) => one === action)) errors.push(`${actions[0]}, not ${action}: ${path}`)
  }
  const open = new Set(truth.failures.map(bareCommand))
  for (const command of reading.failures) if (!open.has(command)) errors.push(`not an open failure: ${command}`)
  const directing = ['Goal', 'Constraints & Preferences', 'Next Steps', 'Pending', 'In Progress']
    .map(section)
    .join('\n')
  const quoted = [...(reading.sections?.values() ?? [])]
    .join('\n')
    .split('\n')
    .filter((line) => line.startsWith('> '))
  const binding = plain(`${directing}\n${quoted.join('\n')}`)
  for (const decoy of truth.decoys) if (binding.includes(plain(decoy))) errors.push(`not the user's: ${decoy}`)
  for (const old of truth.superseded) {
    const lines = `${directing}\n${quoted.join('\n')}`.split('\n').filter((line) => plain(line).includes(plain(old)))
    if (lines.some((line) => !/supersede|taken back|~~/i.test(line))) errors.push(`taken back: ${old}`)
  }
  const next = plain(section('Next Steps'))
  for (const finished of truth.finished) if (next.includes(plain(finished))) errors.push(`finished: ${finished}`)
  const todo = plain(`${section('Pending')}\n${section('In Progress')}`)
  for (const { text, status } of truth.todos) {
    if (status === 'completed' && todo.includes(plain(text))) errors.push(`already done: ${text}`)
  }
  return errors
}
