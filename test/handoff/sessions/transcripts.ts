// Sessions as the agents themselves write them to disk. A test tells what happened; the transcript, the import and the ledger
// are the real ones.

import fs from 'node:fs'
import path from 'node:path'
import { makeDocument } from '../../../src/handoff/document/write/make.ts'
import { type HandoffDocument, sectionOf, type SectionKey } from '../../../src/handoff/document/document.ts'
import { ledger } from '../../../src/handoff/ledger/ledger.ts'
import { sessionEntries } from '../../../src/transcripts/index.ts'
import { fileAt } from '../../../src/transcripts/resolve.ts'
import { todoList } from '../ledger/session.ts'
import { temporaryFolder } from '../../support/workspace.ts'

export const folder = '/home/ines/projects/atlas'

type Line = Record<string, unknown>

abstract class Transcript {
  protected readonly lines: unknown[] = []
  #at = Date.parse('2026-05-04T09:00:00.000Z')
  #count = 0

  protected now(): string {
    this.#at += 7_000
    return new Date(this.#at).toISOString()
  }

  protected id(prefix: string): string {
    this.#count += 1
    return `${prefix}${String(this.#count).padStart(4, '0')}`
  }

  /** The file as the agent leaves it. */
  text(): string {
    return this.lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  }
}

/** Claude Code: one block a line, results in lines of the user. */
export class Claude extends Transcript {
  readonly #session = '7b1f0a52-3d0e-4c57-9a44-51f1f0f0a001'
  #parent: string | null = null
  #cwd = folder

  user(content: unknown, extra: Line = {}): this {
    return this.#line('user', { message: { role: 'user', content }, ...extra })
  }

  /** Words before a call. */
  says(words: string): this {
    return this.#reply([{ type: 'text', text: words }], 'tool_use')
  }

  /** The words that end a turn. */
  ends(words: string): this {
    return this.#reply([{ type: 'text', text: words }], 'end_turn')
  }

  call(name: string, input: Line): string {
    const id = this.id('toolu_')
    this.#reply([{ type: 'tool_use', id, name, input }], 'tool_use')
    return id
  }

  result(id: string, content: unknown, isError = false, toolUseResult?: unknown): this {
    const block = { type: 'tool_result', tool_use_id: id, content, ...(isError && { is_error: true }) }
    return this.user([block], toolUseResult === undefined ? {} : { toolUseResult })
  }

  tool(name: string, input: Line, content: unknown, isError = false): this {
    return this.result(this.call(name, input), content, isError)
  }

  run(command: string, output: string, exit = 0): this {
    return this.tool('Bash', { command }, exit === 0 ? output : `Exit code ${exit}\n${output}`, exit !== 0)
  }

  read(file: string, content = 'export {}'): this {
    return this.tool('Read', { file_path: `${folder}/${file}` }, `     1→${content}`)
  }

  edit(file: string, before: string, after: string): this {
    const input = { file_path: `${folder}/${file}`, old_string: before, new_string: after }
    return this.tool('Edit', input, `The file ${folder}/${file} has been updated successfully.`)
  }

  write(file: string, content: string): this {
    const input = { file_path: `${folder}/${file}`, content }
    return this.tool('Write', input, `File created successfully at: ${folder}/${file}`)
  }

  todos(list: Parameters<typeof todoList>[0]): this {
    return this.tool('TodoWrite', { todos: todoList(list) }, 'Todos have been modified successfully.')
  }

  refuse(name: string, input: Line, comment?: string): this {
    const said =
      comment === undefined
        ? ' STOP what you are doing and wait for the user to tell you how to proceed.'
        : ` To tell you how to proceed, the user said:\n${comment}`
    const output = `The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file).${said}`
    return this.tool(name, input, output, true)
  }

  interrupted(during?: 'tool'): this {
    const words = `[Request interrupted by user${during === 'tool' ? ' for tool use' : ''}]`
    return this.user([{ type: 'text', text: words }])
  }

  apiError(words: string, status: number): this {
    const message = { model: '<synthetic>', role: 'assistant', content: [{ type: 'text', text: words }], usage: {} }
    return this.#line('assistant', { message, isApiErrorMessage: true, error: 'server_error', apiErrorStatus: status })
  }

  compacted(summary: string): this {
    this.#parent = null
    this.#line('system', { subtype: 'compact_boundary', compactMetadata: { trigger: 'auto', preTokens: 155_000 } })
    return this.user(summary, { isCompactSummary: true })
  }

  movesTo(cwd: string): this {
    this.#cwd = cwd
    return this
  }

  line(type: string, more: Line): this {
    return this.#line(type, more)
  }

  #reply(content: unknown[], stop: string): this {
    const message = { id: this.id('msg_'), role: 'assistant', model: 'claude-sonnet-4-5', content, stop_reason: stop }
    return this.#line('assistant', { message })
  }

  #line(type: string, more: Line): this {
    const uuid = this.id('line-')
    this.lines.push({
      parentUuid: this.#parent,
      isSidechain: false,
      type,
      ...more,
      uuid,
      timestamp: this.now(),
      cwd: this.#cwd,
      sessionId: this.#session,
      version: '2.1.197',
      gitBranch: 'main',
    })
    this.#parent = uuid
    return this
  }
}

/** Codex with its own tools; `script` is code mode. */
export class Codex extends Transcript {
  constructor() {
    super()
    this.#push('session_meta', { id: '0199b7aa-4c1e-7d11-b001-2a0000000001', cwd: folder, cli_version: '0.144.0' })
    this.#push('response_item', {
      type: 'message',
      role: 'user',
      content: [{ type: 'input_text', text: `<environment_context>\n<cwd>${folder}</cwd>\n</environment_context>` }],
    })
  }

  user(words: string): this {
    this.#push('event_msg', { type: 'task_started', model_context_window: 272_000 })
    const content = [{ type: 'input_text', text: words }]
    this.#push('response_item', { type: 'message', role: 'user', content })
    return this.#push('event_msg', { type: 'user_message', message: words })
  }

  says(words: string): this {
    const content = [{ type: 'output_text', text: words }]
    this.#push('event_msg', { type: 'agent_message', message: words })
    return this.#push('response_item', { type: 'message', role: 'assistant', content })
  }

  ends(words: string): this {
    return this.says(words).#push('event_msg', { type: 'task_complete', last_agent_message: words })
  }

  fails(words: string, info: unknown): this {
    const error = { message: words, codex_error_info: info }
    return this.#push('event_msg', { type: 'task_complete', last_agent_message: null, error })
  }

  aborted(): this {
    return this.#push('event_msg', { type: 'turn_aborted', reason: 'interrupted' })
  }

  run(command: string, output: string, exit = 0): this {
    const id = this.id('call_')
    const args = JSON.stringify({ cmd: command, workdir: folder })
    this.#push('response_item', { type: 'function_call', name: 'exec_command', arguments: args, call_id: id })
    const text = `Chunk ID: 1f\nWall time: 0.4 seconds\nProcess exited with code ${exit}\nOutput:\n${output}`
    return this.#push('response_item', { type: 'function_call_output', call_id: id, output: text })
  }

  patch(file: string, body: string, kind: 'Update' | 'Add' = 'Update'): this {
    const id = this.id('call_')
    const input = `*** Begin Patch\n*** ${kind} File: ${file}\n${body}\n*** End Patch`
    this.#push('response_item', { type: 'custom_tool_call', name: 'apply_patch', input, call_id: id })
    const output = JSON.stringify({ output: 'Success. Updated the following files', metadata: { exit_code: 0 } })
    return this.#push('response_item', { type: 'custom_tool_call_output', call_id: id, output })
  }

  plan(steps: readonly (readonly [string, 'pending' | 'in_progress' | 'completed'])[]): this {
    const id = this.id('call_')
    const args = JSON.stringify({ plan: steps.map(([step, status]) => ({ step, status })) })
    this.#push('response_item', { type: 'function_call', name: 'update_plan', arguments: args, call_id: id })
    return this.#push('response_item', { type: 'function_call_output', call_id: id, output: 'Plan updated' })
  }

  /** `printed`: what the script wrote; undefined while it runs. */
  script(code: string, printed?: readonly string[], state: 'completed' | 'failed' = 'completed'): this {
    const id = this.id('call_')
    this.#push('response_item', { type: 'custom_tool_call', name: 'exec', input: code, call_id: id })
    if (printed === undefined) return this
    const head = `Script ${state}\nWall time 1.2 seconds\nOutput:\n`
    const output = [head, ...printed].map((text) => ({ type: 'input_text', text }))
    return this.#push('response_item', { type: 'custom_tool_call_output', call_id: id, output })
  }

  changed(changes: Line): this {
    return this.#push('event_msg', { type: 'patch_apply_end', call_id: this.id('patch_'), success: true, changes })
  }

  compacted(summary: string, kept: readonly string[]): this {
    const message = (text: string) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] })
    const replacement_history = [...kept, `Another language model started to solve this problem.\n${summary}`]
    return this.#push('compacted', { message: '', replacement_history: replacement_history.map(message) })
  }

  #push(type: string, payload: Line): this {
    this.lines.push({ timestamp: this.now(), type, payload })
    return this
  }
}

export class Pi extends Transcript {
  #parent: string | null = null

  constructor() {
    super()
    this.lines.push({
      type: 'session',
      version: 3,
      id: 'c0ffee00-0000-4000-8000-000000000001',
      timestamp: this.now(),
      cwd: folder,
    })
  }

  user(words: string): this {
    return this.#message({ role: 'user', content: [{ type: 'text', text: words }] })
  }

  says(words: string, stopReason = 'toolUse', errorMessage?: string): this {
    const content = words === '' ? [] : [{ type: 'text', text: words }]
    return this.#message({
      role: 'assistant',
      content,
      stopReason,
      ...(errorMessage !== undefined && { errorMessage }),
    })
  }

  ends(words: string): this {
    return this.says(words, 'stop')
  }

  call(name: string, args: Line): string {
    const id = this.id('call_')
    const content = [{ type: 'toolCall', id, name, arguments: args }]
    this.#message({ role: 'assistant', content, stopReason: 'toolUse' })
    return id
  }

  tool(name: string, args: Line, output: string, isError = false): this {
    const toolCallId = this.call(name, args)
    const content = [{ type: 'text', text: output }]
    return this.#message({ role: 'toolResult', toolCallId, toolName: name, content, isError })
  }

  run(command: string, output: string, exit = 0): this {
    const text = exit === 0 ? output : `${output}\n\nCommand exited with code ${exit}`
    return this.tool('bash', { command }, text, exit !== 0)
  }

  edit(file: string, before: string, after: string): this {
    return this.tool('edit', { path: file, oldText: before, newText: after }, `Successfully replaced text in ${file}.`)
  }

  compacted(summary: string): this {
    return this.#line({ type: 'compaction', summary, firstKeptEntryId: this.#parent, tokensBefore: 150_000 })
  }

  #message(message: Line): this {
    return this.#line({ type: 'message', message })
  }

  #line(more: Line): this {
    const id = this.id('0000')
    this.lines.push({ ...more, id, parentId: this.#parent, timestamp: this.now() })
    this.#parent = id
    return this
  }
}

export class Gemini extends Transcript {
  constructor() {
    super()
    const about = { sessionId: '5f0c8d11-0000-4000-8000-000000000001', projectHash: 'a1', directories: [folder] }
    this.lines.push({ ...about, startTime: this.now(), lastUpdated: this.now(), kind: 'main' })
  }

  user(words: string): this {
    return this.#message('user', { content: [{ text: words }] })
  }

  ends(words: string): this {
    return this.#message('gemini', { content: words, model: 'gemini-3-pro' })
  }

  tool(words: string, name: string, args: Line, response: Line, status = 'success'): this {
    const id = this.id(`${name}-`)
    const result = [{ functionResponse: { id, name, response } }]
    const toolCalls = [{ id, name, args, result, status, timestamp: this.now() }]
    return this.#message('gemini', { content: words, model: 'gemini-3-pro', toolCalls })
  }

  run(words: string, command: string, output: string, exit = 0): this {
    const text = `Command: ${command}\nDirectory: (root)\nOutput: ${output}\nError: (none)\nExit Code: ${exit}\nSignal: (none)\nBackground PIDs: (none)\nProcess Group PGID: 4711`
    return this.tool(words, 'run_shell_command', { command }, { output: text })
  }

  edit(words: string, file: string, before: string, after: string): this {
    const args = { file_path: `${folder}/${file}`, old_string: before, new_string: after, instruction: 'change it' }
    const output = `Successfully modified file: ${folder}/${file} (1 replacements).`
    return this.tool(words, 'replace', args, { output })
  }

  note(type: 'info' | 'error', words: string): this {
    return this.#message(type, { content: words })
  }

  #message(type: string, more: Line): this {
    this.lines.push({ id: this.id('m'), timestamp: this.now(), type, ...more })
    return this
  }
}

/** As `opencode export` prints it. */
export class Opencode extends Transcript {
  user(words: string): this {
    return this.#message({ role: 'user' }, [{ type: 'text', text: words }])
  }

  says(words: string, ...tools: readonly Line[]): this {
    const parts = [...(words === '' ? [] : [{ type: 'text', text: words }]), ...tools]
    return this.#message({ role: 'assistant', finish: tools.length > 0 ? 'tool-calls' : 'stop' }, parts)
  }

  fails(name: string, message: string): this {
    return this.#message({ role: 'assistant', error: { name, data: { message } } }, [])
  }

  tool(tool: string, input: Line, output: string, more: Line = {}): Line {
    return { type: 'tool', tool, callID: this.id('call_'), state: { status: 'completed', input, output, ...more } }
  }

  run(command: string, output: string, exit = 0): Line {
    return this.tool('bash', { command, description: 'Run it' }, output, { metadata: { exit } })
  }

  edit(file: string, before: string, after: string): Line {
    const input = { filePath: `${folder}/${file}`, oldString: before, newString: after }
    return this.tool('edit', input, 'Edit applied successfully.')
  }

  override text(): string {
    const info = { id: 'ses_5f00aa11', directory: folder, title: 'New session - 2026-05-04', version: '1.18.33' }
    return JSON.stringify({ info, messages: this.lines }, null, 2)
  }

  #message(info: Line, parts: readonly Line[]): this {
    const created = Date.parse(this.now())
    const time = info.role === 'user' ? { created } : { created, completed: created + 900 }
    this.lines.push({ info: { id: this.id('msg_'), ...info, time }, parts })
    return this
  }
}

export interface Told {
  readonly markdown: string
  /** The items of a section, one below the other. */
  readonly section: (key: SectionKey) => string
  /** What the document says to do first. */
  readonly first: string
}

/** The document that a successor gets of a transcript. */
export async function documentOf(transcript: { text(): string }, budget = 2_000): Promise<Told> {
  const file = path.join(temporaryFolder(), 'session.jsonl')
  fs.writeFileSync(file, transcript.text())
  const facts = ledger(sessionEntries(fileAt(file)))
  const { document, markdown } = await makeDocument(facts, { tape: 's', budget })
  return { markdown, section: (key) => itemsOf(document, key), first: itemsOf(document, 'next').split('\n')[0] ?? '' }
}

function itemsOf(document: HandoffDocument, key: SectionKey): string {
  const items = sectionOf(document, key)?.items ?? []
  return items
    .map(({ text, data, why }) => [text, data, why].filter((each) => each !== undefined).join('\n'))
    .join('\n')
}
