// The tools of the agents we know, as data: what a call's name and arguments say it will do. Names are compared without
// case and punctuation, so `fs.read`, `fs_read`, `TodoWrite` and `todowrite` need one line each. An unknown tool is still
// counted by its name.

import { countLines, countReplaced, swapOf, type Effect } from '../files/effect.ts'
import type { Todo } from '../facts.ts'
import { readPatch } from '../files/patch.ts'

/** `what` is the command, path or task of the call; as long as it comes. */
export type Call = { readonly what: string } & (
  | { readonly kind: 'files'; readonly effects: readonly Effect[] }
  | ShellCall
  /** Looks at, or types into, something in the background. */
  | { readonly kind: 'poll'; readonly handle: string }
  | { readonly kind: 'stop'; readonly handle: string }
  | { readonly kind: 'todos'; readonly todos: readonly Omit<Todo, 'id'>[] }
  | { readonly kind: 'todo-add'; readonly text: string }
  /** Shows the list, in its result. */
  | { readonly kind: 'todo-list' }
  /** Hands over the result that was asked for, in a form of its own; it ends the turn. */
  | { readonly kind: 'result'; readonly text: string }
  | {
      readonly kind: 'todo-set'
      readonly key: string
      readonly status?: Todo['status'] | 'deleted'
      readonly text?: string
    }
  | { readonly kind: 'questions'; readonly questions: readonly Asked[] }
  | { readonly kind: 'plan'; readonly text: string }
  | { readonly kind: 'subagent'; readonly task: string; readonly type?: string; readonly background: boolean }
  /** Known, and leaves nothing behind: a search, a listing, a page from the web. */
  | { readonly kind: 'look' }
  | { readonly kind: 'unknown'; readonly subjects: readonly string[] }
)

export interface ShellCall {
  readonly kind: 'shell'
  readonly command: string
  readonly cwd?: string
  readonly background: boolean
  /** Its folder stays for the next call. */
  readonly keepsFolder: boolean
  /** A call without an error has ended with 0; other agents do not mark a failed command as an error. */
  readonly marksFailure: boolean
}

export interface Asked {
  readonly text: string
  /** What the answer names it by, where that is not its text. */
  readonly key?: string
  readonly options?: readonly string[]
}

type Fields = Readonly<Record<string, unknown>>
type Reader = (fields: Fields, name: string, raw: unknown) => Call

/** What a call does, from its name and arguments; it never throws, whatever the arguments are. */
export function readCall(name: string, given: unknown): Call {
  const fields = toFields(given)
  const reader = readerOf(name)
  return reader
    ? reader(fields, name, given)
    : { kind: 'unknown', what: subject(name, fields), subjects: subjects(fields) }
}

/** Names repeat; making them plain each time would cost more than all else here. */
const known = new Map<string, Reader | undefined>()

function readerOf(name: string): Reader | undefined {
  if (known.has(name)) return known.get(name)
  const reader = toolReaders.get(plain(name))
  if (known.size < 1_000) known.set(name, reader)
  return reader
}

function plain(name: string): string {
  // `functions.shell`, `default_api:read_file`: a namespace of the provider, not of an MCP server.
  return name
    .replace(/^(?:functions|default_api|tools)[.:]/, '')
    .replaceAll(/[\s._-]/g, '')
    .toLowerCase()
}

const pathKeys = ['file_path', 'filePath', 'path', 'absolute_path', 'notebook_path', 'filename', 'file', 'target_file']
const beforeKeys = ['old_string', 'oldString', 'oldText', 'old_str', 'old', 'search']
const afterKeys = ['new_string', 'newString', 'newText', 'new_str', 'new', 'replace', 'replacement']
const contentKeys = ['content', 'contents', 'text', 'file_text', 'new_source']

const toolReaders = new Map<string, Reader>([
  ...names(
    'read fsread readfile view viewimage notebookread readtextfile fileread',
    onFile((path) => [{ action: 'read', path }]),
  ),
  ...names('readmanyfiles', (fields, name) => ({
    kind: 'files',
    what: subject(name, fields),
    effects: [...list(fields['paths']), ...list(fields['include'])]
      .filter((path): path is string => typeof path === 'string' && !/[*?{]/.test(path))
      .map((path) => ({ action: 'read', path })),
  })),
  ...names('write fswrite writefile createfile filewrite', onFile(write)),
  ...names('edit fsedit multiedit replace editfile strreplace fileedit searchreplace', onFile(edit)),
  ...names(
    'notebookedit',
    onFile((path) => [{ action: 'edit', path }]),
  ),
  ...names('strreplacebasededittool strreplaceeditor texteditor', onFile(editor)),
  ...names(
    'fsdelete deletefile fsremove',
    onFile((path) => [{ action: 'delete', path }]),
  ),
  ...names('fsmove fsrename movefile renamefile', (fields, name) => {
    const from = text(fields, ['from', 'source', 'old_path', 'path'])
    const to = text(fields, ['to', 'destination', 'new_path', 'target'])
    const effects: Effect[] = from && to ? [{ action: 'rename', path: from, to }] : []
    return { kind: 'files', what: `${name} ${from ?? '?'} ${to ?? '?'}`, effects }
  }),
  ...names('applypatch patch', patch),
  ...names(
    'bash shell shellcommand execcommand runshellcommand exec localshell localshellcall terminal runcommand',
    shell,
  ),
  ...names(
    'bashoutput taskoutput agentoutput agentoutputtool writestdin readbackgroundoutput wait waitagent',
    (fields, name) => {
      const handle = text(fields, handleKeys) ?? ''
      return { kind: 'poll', what: `${name} ${handle}`, handle }
    },
  ),
  ...names('killshell killbash taskstop closeagent', (fields, name) => {
    const handle = text(fields, handleKeys) ?? ''
    return { kind: 'stop', what: `${name} ${handle}`, handle }
  }),
  ...names('todowrite updateplan writetodos todosset todo settodos', (fields, name) => {
    const todos = readTodos(fields['todos'] ?? fields['plan'] ?? fields['items'] ?? fields['tasks'])
    return todos ? { kind: 'todos', what: name, todos } : todoAction(fields, name)
  }),
  ...names('taskcreate', (fields, name) => {
    const title = text(fields, ['subject', 'title', 'description']) ?? ''
    return { kind: 'todo-add', what: `${name} ${title}`, text: title }
  }),
  ...names('tasklist todoread', (_, name) => ({ kind: 'todo-list', what: name })),
  ...names('structuredoutput attemptcompletion finalanswer submitresult', (fields, name) => ({
    kind: 'result',
    what: name,
    text: clip(text(fields, ['result', 'answer', 'summary']) ?? JSON.stringify(fields), 4000),
  })),
  ...names('taskupdate', (fields, name) => {
    const key = text(fields, ['taskId', 'task_id', 'id']) ?? ''
    const status = fields['status'] === 'deleted' ? 'deleted' : todoStatus(fields['status'])
    const title = text(fields, ['subject', 'title'])
    return { kind: 'todo-set', what: `${name} ${key}`, key, ...(status && { status }), ...(title && { text: title }) }
  }),
  ...names('askuserquestion askuser requestuserinput question askfollowupquestion', questions),
  ...names('exitplanmode planexit', (fields, name) => {
    const plan = text(fields, ['plan', 'plan_path', 'planFilePath']) ?? ''
    return { kind: 'plan', what: name, text: clip(plan, 4000) }
  }),
  ...names('task agent agentspawn spawnagent delegatetoagent subagent codebaseinvestigator', (fields, name) => {
    const task = text(fields, ['description', 'task', 'objective', 'message', 'prompt', 'query']) ?? name
    const type = text(fields, ['subagent_type', 'agent_type', 'agent_name', 'agent', 'type'])
    const background = fields['run_in_background'] === true || plain(name) === 'spawnagent'
    return { kind: 'subagent', what: line(task), task: line(task), ...(type && { type }), background }
  }),
  ...names(
    'ls list listdir listdirectory fslist glob fsglob grep fsgrep fssearch find search searchfilecontent grepsearch grepfiles ' +
      'webfetch websearch googlewebsearch fetch toolsearch taskget skill activateskill slashcommand ' +
      'enterplanmode planenter savememory sendinput resumeagent listmcpresources readmcpresource listmcpresourcetemplates ' +
      'tapehandoff tapeanchors tapesearch tapeinfo tapefork blobread lsp invalid',
    (fields, name) => ({ kind: 'look', what: subject(name, fields) }),
  ),
])

const handleKeys = ['bash_id', 'shell_id', 'task_id', 'session_id', 'agentId', 'agent_id', 'id', 'target', 'pid']

function names(list: string, reader: Reader): [string, Reader][] {
  return list.split(' ').map((name) => [name, reader])
}

function onFile(effects: (path: string, fields: Fields) => Effect[]): Reader {
  return (fields, name) => {
    const path = text(fields, pathKeys)
    return { kind: 'files', what: `${name} ${path ?? ''}`.trim(), effects: path ? effects(path, fields) : [] }
  }
}

function write(path: string, fields: Fields): Effect[] {
  const content = text(fields, contentKeys, true)
  return [{ action: 'write', path, ...(content !== undefined && { lines: countLines(content) }) }]
}

function edit(path: string, fields: Fields): Effect[] {
  const edits = Array.isArray(fields['edits']) ? fields['edits'] : [fields]
  let added = 0
  let removed = 0
  let known = true
  const befores: string[] = []
  const afters: string[] = []
  for (const one of edits) {
    const parts = isFields(one) ? one : {}
    const before = text(parts, beforeKeys, true)
    const after = text(parts, afterKeys, true)
    const everywhere =
      parts['replace_all'] === true || parts['replaceAll'] === true || Number(parts['expected_replacements'] ?? 1) > 1
    if (before === undefined || after === undefined || everywhere) known = false
    else {
      befores.push(before)
      afters.push(after)
      const counts = countReplaced(before, after)
      added += counts.added
      removed += counts.removed
    }
  }
  // An empty text to replace means a new file, in Claude Code and Gemini CLI.
  if (edits.length === 1 && isFields(edits[0]) && text(edits[0], beforeKeys, true) === '')
    return [{ action: 'create', path, lines: added }]
  const swap = known ? { swap: swapOf(befores.join('\n'), afters.join('\n')) } : {}
  return [{ action: 'edit', path, ...(known && { added, removed }), ...swap }]
}

function editor(path: string, fields: Fields): Effect[] {
  switch (fields['command']) {
    case 'view':
      return [{ action: 'read', path }]
    case 'create':
      return write(path, fields)
    case 'insert':
      return [
        {
          action: 'edit',
          path,
          added: countLines(text(fields, [...afterKeys, 'insert_text'], true) ?? ''),
          removed: 0,
        },
      ]
    case 'undo_edit':
      return [{ action: 'edit', path }]
    default:
      return edit(path, fields)
  }
}

function patch(fields: Fields, name: string, raw: unknown): Call {
  const body =
    text(fields, ['input', 'patch', 'patchText', 'patch_text', 'diff'], true) ?? (typeof raw === 'string' ? raw : '')
  const effects = Array.isArray(fields['changes']) ? fields['changes'].flatMap(changeEffects) : readPatch(body)
  const touched = effects.flatMap((effect) => ('path' in effect ? [effect.path] : []))
  return { kind: 'files', what: line(`${name} ${touched.join(' ')}`), effects }
}

/** A change that names what became of a file, without the text of the patch. */
function changeEffects(change: unknown): Effect[] {
  const fields = isFields(change) ? change : {}
  const path = text(fields, ['path'])
  if (path === undefined) return []
  const to = text(fields, ['to'])
  const count = (key: string) => (typeof fields[key] === 'number' ? fields[key] : undefined)
  const added = count('added')
  if (fields['type'] === 'delete') return [{ action: 'delete', path }]
  if (fields['type'] === 'add') return [{ action: 'create', path, ...(added !== undefined && { lines: added }) }]
  const [before, after] = [text(fields, ['before']), text(fields, ['after'])]
  const swap = before !== undefined && after !== undefined ? { swap: { before, after } } : {}
  const edit: Effect = { action: 'edit', path: to ?? path, added: added ?? 0, removed: count('removed') ?? 0, ...swap }
  return to === undefined ? [edit] : [{ action: 'rename', path, to }, edit]
}

function shell(fields: Fields, name: string, raw: unknown): Call {
  const action = isFields(fields['action']) ? fields['action'] : fields
  const given = action['command'] ?? action['cmd'] ?? action['script'] ?? (typeof raw === 'string' ? raw : '')
  const command = Array.isArray(given) ? fromArgv(given) : typeof given === 'string' ? given : ''
  const cwd = text(action, ['workdir', 'working_directory', 'directory', 'dir_path', 'cwd'])
  return {
    kind: 'shell',
    what: command,
    command,
    ...(cwd && { cwd }),
    background: fields['run_in_background'] === true || fields['is_background'] === true,
    keepsFolder: name === 'Bash',
    marksFailure: name === 'Bash',
  }
}

/** `["bash", "-lc", script]` is its script; other words are quoted where they need it. */
function fromArgv(argv: readonly unknown[]): string {
  const words = argv.filter((word): word is string => typeof word === 'string')
  if (words.length === 3 && /(?:^|\/)(?:ba|z|da)?sh$/.test(words[0] ?? '') && /^-[a-z]*c$/.test(words[1] ?? ''))
    return words[2] ?? ''
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ')
}

function questions(fields: Fields, name: string): Call {
  const given = list(fields['questions'])
  const asked = (given.length > 0 ? given : [fields]).flatMap((one): Asked[] => {
    if (!isFields(one)) return typeof one === 'string' ? [{ text: one }] : []
    const words = text(one, ['question', 'text', 'prompt', 'message'])
    if (!words) return []
    const key = text(one, ['id', 'header'])
    const options = list(one['options']).flatMap((option) => {
      const label = isFields(option) ? text(option, ['label', 'value', 'text']) : option
      return typeof label === 'string' ? [label] : []
    })
    return [{ text: words, ...(key && { key }), ...(options.length > 0 && { options }) }]
  })
  return { kind: 'questions', what: line(asked[0]?.text ?? name), questions: asked }
}

/** Lists that are changed item by item, as pi's extension does: `add`, `toggle`, `clear`. */
function todoAction(fields: Fields, name: string): Call {
  const action = text(fields, ['action', 'operation', 'command']) ?? ''
  const words = text(fields, ['text', 'content', 'title', 'description'])
  const key = text(fields, ['id', 'todo_id', 'index'])
  const what = line(`${name} ${action} ${words ?? key ?? ''}`)
  if (/^(?:add|create)$/.test(action) && words !== undefined) return { kind: 'todo-add', what, text: words }
  if (action === 'clear') return { kind: 'todos', what, todos: [] }
  if (key === undefined) return { kind: 'look', what }
  if (/^(?:remove|delete)$/.test(action)) return { kind: 'todo-set', what, key, status: 'deleted' }
  if (/^(?:toggle|complete|done|finish|check)$/.test(action))
    return { kind: 'todo-set', what, key, status: 'completed' }
  const status = /^(?:start|begin)$/.test(action) ? 'in_progress' : todoStatus(fields['status'])
  return { kind: 'todo-set', what, key, ...(status && { status }), ...(words !== undefined && { text: words }) }
}

/** Undefined when it is not a list of todos. */
export function readTodos(value: unknown): Omit<Todo, 'id'>[] | undefined {
  if (typeof value === 'string') value = toJson(value)
  if (!Array.isArray(value)) return undefined
  return value.flatMap((one): Omit<Todo, 'id'>[] => {
    if (typeof one === 'string') return [{ text: one, status: 'pending' }]
    if (!isFields(one)) return []
    const words = text(one, ['content', 'step', 'description', 'text', 'title', 'subject', 'task'])
    const done = one['done'] === true || one['completed'] === true
    return words ? [{ text: words, status: todoStatus(one['status']) ?? (done ? 'completed' : 'pending') }] : []
  })
}

function todoStatus(value: unknown): Todo['status'] | undefined {
  if (typeof value !== 'string') return undefined
  switch (value.toLowerCase().replaceAll(/[\s-]/g, '_')) {
    case 'completed':
    case 'complete':
    case 'done':
      return 'completed'
    case 'in_progress':
    case 'active':
    case 'doing':
      return 'in_progress'
    case 'cancelled':
    case 'canceled':
    case 'skipped':
      return 'cancelled'
    default:
      return 'pending'
  }
}

function toFields(given: unknown): Fields {
  const value = typeof given === 'string' ? toJson(given) : given
  return isFields(value) ? value : {}
}

function toJson(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : []
}

/** The first of the fields that is a text, or a number as text. */
function text(fields: Fields, keys: readonly string[], empty = false): string | undefined {
  for (const key of keys) {
    const value = fields[key]
    if (typeof value === 'string' && (empty || value !== '')) return value
    if (typeof value === 'number') return String(value)
  }
  return undefined
}

/** Values that say what an unknown call was about, to recognise its repetition. */
function subjects(fields: Fields): string[] {
  return Object.entries(fields)
    .flatMap(([key, value]) => (typeof value === 'string' && value.length < 200 ? [`${key}=${value}`] : []))
    .slice(0, 8)
}

function subject(name: string, fields: Fields): string {
  const first = text(fields, [...pathKeys, 'pattern', 'query', 'url', 'command', 'name', 'title', 'id'])
  return first === undefined ? name : `${name} ${first}`
}

/** One line of at most 200 characters. */
export function line(text: string): string {
  const cut = clip(text, 400).trim().replaceAll(/\s+/g, ' ')
  return clip(cut, 200)
}

export function clip(text: string, length: number): string {
  if (text.length <= length) return text
  // Never half of a character.
  const half = /[\uD800-\uDBFF]/.test(text[length - 2] ?? '') ? 1 : 0
  return `${text.slice(0, length - 1 - half)}…`
}
