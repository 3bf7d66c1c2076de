// Codex's code mode: one tool, `exec`, is given a script that calls the other tools. What the script did is reported as calls of
// those tools, so that nothing else has to know about scripts. Newer versions of Codex record each command and each change of
// files as they happen. For older ones the script itself says what it called, and what it printed says how that went.

import { createHash } from 'node:crypto'
import type { Fact } from '../fact.ts'
import { fields, type Fields, given, isFields, json, list, number, text } from '../fields.ts'
import { callsIn, type ScriptCall } from './script.ts'

/** A script whose end has not been seen. */
interface Cell {
  script: string
  /** The number that Codex gives a script that keeps running. */
  number?: string
}

/** Plain JSON. */
export interface CodeMode {
  /** The cells, by the id of the call that runs them. */
  cells: Record<string, Cell>
  /** Calls of `wait`, with the number of the cell that they wait for. */
  waits: Record<string, string>
  /** Whether this version of Codex records commands, and changes of files. */
  records: { commands?: boolean; files?: boolean }
  /** Commands that were reported without a result, by what they ran. */
  open: Record<string, string>
}

export const emptyCodeMode = (): CodeMode => ({ cells: {}, waits: {}, records: {}, open: {} })

type Say = (kind: 'tool_call' | 'tool_result', payload: unknown, meta: Readonly<Record<string, unknown>>) => Fact

/**
 * The call only wraps others, which are reported by themselves once it has ended: code that reads calls for their effects passes over it.
 * Until then it is known by what it calls.
 */
export function wrapping(script: string): { readonly wraps: string } {
  const calls = callsIn(script).map((call) => (call.name === 'exec_command' ? commandOf(call) : call.name))
  return { wraps: calls.filter((each) => each !== '').join('; ') || 'exec' }
}

export function beginCell(memory: CodeMode, id: string, script: string): void {
  memory.cells[id] = { script }
}

export function beginWait(memory: CodeMode, id: string, args: unknown): void {
  const cell = fields(args).cell_id
  if (cell !== undefined) memory.waits[id] = String(cell)
}

/** What a script or a wait for one came back with. */
export function outputOfCell(memory: CodeMode, id: string, output: unknown, say: Say): Fact[] {
  const waited = memory.waits[id]
  delete memory.waits[id]
  const cellId =
    waited === undefined ? id : Object.keys(memory.cells).find((each) => memory.cells[each]!.number === waited)
  const cell = cellId === undefined ? undefined : memory.cells[cellId]
  if (cell === undefined) return []
  const [head = '', ...printed] = textsOf(output)
  const running = /^Script running with cell ID (\S+)/.exec(head)?.[1]
  if (running !== undefined) {
    cell.number = running
    return []
  }
  delete memory.cells[cellId!]
  return scriptFacts(memory, cellId!, cell, { completed: head.startsWith('Script completed'), printed }, say)
}

/** The turn is over: what still runs has no result. */
export function endCells(memory: CodeMode, say: Say): Fact[] {
  const facts = Object.entries(memory.cells).flatMap(([id, cell]) => scriptFacts(memory, id, cell, undefined, say))
  memory.cells = {}
  memory.waits = {}
  return facts
}

interface Ended {
  readonly completed: boolean
  /** The texts that the script printed. */
  readonly printed: readonly string[]
}

/** The calls of a script as it is written, without those that Codex records by itself. */
function scriptFacts(memory: CodeMode, cellId: string, cell: Cell, ended: Ended | undefined, say: Say): Fact[] {
  const { commands, files } = memory.records
  const calls = callsIn(cell.script).filter(
    ({ name }) => !(name === 'exec_command' && commands === true) && !(name === 'apply_patch' && files === true),
  )
  const ran = calls.filter(({ name }) => name === 'exec_command')
  const answers = ended === undefined ? [] : answersOf(ended.printed, ran)
  const meta = { context: false, within: cellId }
  return calls.flatMap((call, index) => {
    // A script that failed may not have got as far as this; only what changes files or runs commands is worth a doubt.
    if (ended?.completed === false && call.name !== 'exec_command' && call.name !== 'apply_patch') return []
    const id = `${cellId}/${index + 1}`
    const called = say('tool_call', { calls: [{ id, name: call.name, arguments: argumentsOf(call) }] }, meta)
    const answer = ended === undefined ? undefined : resultOf(call, ended, answers[ran.indexOf(call)])
    if (answer === undefined) {
      if (call.name === 'exec_command') memory.open[commandOf(call)] = id
      return [called]
    }
    return [called, say('tool_result', { results: [{ call_id: id, name: call.name, ...answer }] }, meta)]
  })
}

function argumentsOf({ name, arguments: args }: ScriptCall): unknown {
  return name === 'exec_command' && typeof args === 'string' ? { cmd: args } : args
}

function commandOf({ arguments: args }: ScriptCall): string {
  return typeof args === 'string' ? args : (text(fields(args).cmd) ?? '')
}

type Answer = Readonly<Record<string, unknown>>

/** Undefined where nobody knows whether the call was made. */
function resultOf(call: ScriptCall, { completed, printed }: Ended, answer: Answer | undefined): Answer | undefined {
  if (answer !== undefined) return answer
  if (!call.sure) return undefined
  // A command that fails does not end the script, and its status is lost unless the script prints it.
  if (call.name === 'exec_command') return completed ? { output: '', unknown: true } : undefined
  return completed ? { output: call.name === 'apply_patch' ? 'Success.' : printed.join('\n') } : undefined
}

/** What was printed of each command: of one all of it, of several what names its status. */
function answersOf(printed: readonly string[], ran: readonly ScriptCall[]): (Answer | undefined)[] {
  const told = printed.flatMap((each) => {
    const value = /^\s*[[{]/.test(each) ? json(each) : undefined
    return (Array.isArray(value) ? value : [value]).filter(isFields).filter(isAnswer)
  })
  if (told.length === ran.length) return told.map((each) => shellAnswer(each))
  const [only] = ran
  if (ran.length !== 1 || only?.sure !== true || told.length > 1) return []
  const status = /"?exit[_ ]code"?\s*[:=]\s*(-?\d+)/i.exec(printed.join('\n'))?.[1]
  const output = printed.join('\n')
  // Without a status the output decides, if there is any.
  if (status === undefined) return [output.trim() === '' ? { output, unknown: true } : { output }]
  return [{ output: { output, exit_code: Number(status) } }]
}

function isAnswer(value: Fields): boolean {
  return value.exit_code !== undefined || (value.session_id !== undefined && value.output !== undefined)
}

function shellAnswer(value: Fields): Answer {
  const exit = number(value.exit_code)
  if (exit === undefined) return { output: `Process running with session ID ${String(value.session_id)}\nOutput:\n` }
  return { output: { exit_code: exit, output: text(value.output) ?? '' } }
}

/** A command that Codex recorded when it ended: of `item_completed`, or of `exec_command_end`. */
export function commandFacts(memory: CodeMode, id: string, item: Fields, say: Say): Fact[] {
  memory.records.commands = true
  const argv = list(item.command).map(String)
  const script = argv.length === 3 && /^-[a-z]*c$/.test(argv[1]!) ? argv[2]! : undefined
  const command = script ?? (argv.length > 0 ? argv : text(item.command))
  const known = typeof command === 'string' ? memory.open[command] : undefined
  if (known !== undefined) delete memory.open[String(command)]
  const meta = { context: false, within: Object.keys(memory.cells).at(-1) ?? id }
  const workdir = text(item.cwd)?.replace(/^file:\/\//, '')
  const call = { id: known ?? id, name: 'exec_command', arguments: { cmd: command, ...given({ workdir }) } }
  const output = text(item.aggregated_output) ?? text(item.stdout) ?? ''
  const refused = item.status === 'declined'
  const result = refused
    ? { output: 'rejected by user', is_error: true }
    : { output: { exit_code: number(item.exit_code) ?? -1, output } }
  return [
    ...(known === undefined ? [say('tool_call', { calls: [call] }, meta)] : []),
    say('tool_result', { results: [{ call_id: call.id, name: call.name, ...result }] }, meta),
  ]
}

/** Files that Codex recorded as changed: of `item_completed`, or of `patch_apply_end`. */
export function changeFacts(memory: CodeMode, id: string, item: Fields, say: Say): Fact[] {
  memory.records.files = true
  const changes = Object.entries(fields(item.changes)).map(([path, each]) => changeOf(path, fields(each)))
  if (changes.length === 0) return []
  const failed = item.success === false || item.status === 'failed' || item.status === 'declined'
  const meta = { context: false, within: Object.keys(memory.cells).at(-1) ?? id }
  const output = (failed ? text(item.stderr) : undefined) ?? text(item.stdout) ?? ''
  const result = { call_id: id, name: 'apply_patch', output, ...(failed ? { is_error: true } : {}) }
  return [
    say('tool_call', { calls: [{ id, name: 'apply_patch', arguments: { changes } }] }, meta),
    say('tool_result', { results: [result] }, meta),
  ]
}

/** What became of a file, without its content. */
function changeOf(path: string, change: Fields): Fields {
  const type = text(change.type) ?? 'update'
  if (type !== 'update') {
    const content = text(change.content) ?? ''
    return {
      path,
      type,
      ...(type === 'add' ? { added: content === '' ? 0 : content.replace(/\n$/, '').split('\n').length } : {}),
    }
  }
  const lines = (text(change.unified_diff) ?? '').split('\n').filter((line) => !/^(?:---|\+\+\+) /.test(line))
  const added = lines.filter((line) => line.startsWith('+'))
  const removed = lines.filter((line) => line.startsWith('-'))
  // Marks of the text before and after, by which a reader recognises a later change that takes this one back.
  const [before, after] = [markOf(removed), markOf(added)]
  return {
    path,
    type,
    added: added.length,
    removed: removed.length,
    before,
    after,
    ...given({ to: text(change.move_path) }),
  }
}

function markOf(lines: readonly string[]): string {
  return createHash('sha1')
    .update(lines.map((line) => line.slice(1)).join('\n'))
    .digest('base64')
    .slice(0, 16)
}

/** The texts of an output, each as the script printed it. */
function textsOf(output: unknown): string[] {
  if (typeof output === 'string') {
    const head = /^Script [\s\S]*?\nOutput:\n?/.exec(output)?.[0]
    return head === undefined ? [output] : [head, output.slice(head.length)]
  }
  return list(Array.isArray(output) ? output : fields(output).content).flatMap((part) => {
    const words = fields(part).text
    return typeof words === 'string' ? [words] : []
  })
}
