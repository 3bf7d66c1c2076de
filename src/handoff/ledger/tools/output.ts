// What came back from a tool, in whichever shape: text, parts, JSON, or a reference to a blob with a preview. Outputs can
// be huge, so only a window at each end is ever looked at; what matters in them stands there.

import { type Call, isFields } from './tool-calls.ts'

export interface Output {
  readonly head: string
  /** The same string as `head` when the output is short. */
  readonly tail: string
  readonly isError: boolean
  /** Only where the agent says so. */
  readonly exit?: number
  /** The structured answer, where there is one. */
  readonly fields?: Readonly<Record<string, unknown>>
}

const headLength = 2_000
const tailLength = 4_000
const maxDepth = 4

export function readOutput(output: unknown, isError: boolean): Output {
  const found: Found = { isError }
  const text = flatten(output, found, 0)
  return windows(text, found)
}

interface Found {
  isError: boolean
  exit?: number
  fields?: Readonly<Record<string, unknown>>
}

function windows(text: string, found: Found): Output {
  if (text.length <= headLength + tailLength) {
    const whole = plain(text)
    return { head: whole, tail: whole, ...found }
  }
  return { head: plain(text.slice(0, headLength)), tail: plain(text.slice(-tailLength)), ...found }
}

/** Without colours and other terminal codes, and with plain line ends. */
function plain(text: string): string {
  if (!text.includes('\u001B') && !text.includes('\r')) return text
  return text.replaceAll(terminalCodes, '').replaceAll(/\r+\n/g, '\n').replaceAll('\r', '\n')
}

// oxlint-disable-next-line no-control-regex -- terminal codes are control characters
const terminalCodes = /\u001B(?:\[[\d;?]*[A-Za-z]|\][^\u0007\u001B]*(?:\u0007|\u001B\\))/g

function flatten(value: unknown, found: Found, depth: number): string {
  if (typeof value === 'string') return depth === 0 ? fromString(value, found) : value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (depth > maxDepth || typeof value !== 'object' || value === null) return ''
  if (Array.isArray(value)) {
    const texts: string[] = []
    for (const part of value as unknown[]) {
      const text = flatten(part, found, depth + 1)
      if (text !== '') texts.push(text)
    }
    return texts.join('\n')
  }
  return isFields(value) ? fromFields(value, found, depth) : ''
}

/** Codex wraps output and exit status in JSON; other agents put a JSON answer into text. */
function fromString(text: string, found: Found): string {
  if (!text.startsWith('{')) return text
  if (text.length > 64 * 1024) {
    const exit = /"exit_code":\s*(-?\d+)/.exec(text.slice(-400)) ?? /"exit_code":\s*(-?\d+)/.exec(text.slice(0, 400))
    if (!exit?.[1] || !/^\{\s*"(?:output|metadata)"/.test(text)) return text
    found.exit = Number(exit[1])
    return (
      text.slice(0, headLength).replaceAll('\\n', '\n') +
      '\n'.repeat(headLength + tailLength) +
      text.slice(-tailLength).replaceAll('\\n', '\n')
    )
  }
  try {
    const value = JSON.parse(text) as unknown
    if (!isFields(value)) return text
    const inner = fromFields(value, found, 1)
    return inner === '' ? text : inner
  } catch {
    return text
  }
}

function fromFields(fields: Readonly<Record<string, unknown>>, found: Found, depth: number): string {
  found.fields ??= fields
  const metadata = isFields(fields['metadata']) ? fields['metadata'] : {}
  for (const value of [
    fields['exit_code'],
    fields['exitCode'],
    fields['exit'],
    metadata['exit_code'],
    metadata['exit'],
  ]) {
    if (typeof value === 'number') found.exit ??= value
  }
  const type = fields['type']
  // The AI SDK's shape of a failed call.
  if (type === 'error-text' || type === 'error-json' || fields['isError'] === true || fields['is_error'] === true) {
    found.isError = true
  }
  if (fields['functionResponse'] !== undefined || fields['response'] !== undefined) {
    return flatten(fields['functionResponse'] ?? fields['response'], found, depth + 1)
  }
  const texts: string[] = []
  for (const key of [
    'output',
    'text',
    'content',
    'value',
    'result',
    'stdout',
    'stderr',
    'aggregated_output',
    'preview',
    'message',
  ]) {
    const text = fields[key] === undefined ? '' : flatten(fields[key], found, depth + 1)
    if (text !== '' && !texts.includes(text)) texts.push(text)
  }
  const error = fields['error']
  if (error !== undefined && error !== null && error !== false && error !== '') {
    if (texts.length === 0) found.isError = true
    texts.push(flatten(error, found, depth + 1))
  }
  return texts.join('\n')
}

/** A shell's answer: its exit status in the words of each agent, and the text without them. */
export interface ShellOutput {
  readonly exit: number | undefined
  readonly head: string
  readonly tail: string
  readonly empty: boolean
  /** Handle of a process that goes on running. */
  readonly running: string | undefined
  readonly interrupted: boolean
  readonly timedOut: boolean
}

export function readShellOutput(output: Output, marksFailure: boolean): ShellOutput {
  let { head, tail, exit } = output
  const short = head === tail
  // Codex: a header, then `Output:`.
  const header =
    /^(?:Chunk ID: .*\n)?(?:(?:Exit code:|Duration:|Wall time:|Process (?:exited|running)|Total output lines:|Original token count:).*\n)+(?:Output:\n?)?/.exec(
      head,
    )
  const running = runningIn(header?.[0] ?? head.slice(0, 600)) ?? (header ? undefined : runningIn(tail.slice(-400)))
  if (header) {
    const code = /^(?:Exit code:|Process exited with code) (-?\d+)/m.exec(header[0])?.[1]
    if (code !== undefined) exit ??= Number(code)
    head = head.slice(header[0].length)
    if (short) tail = head
  }
  // Claude Code.
  const claude = output.isError ? /^(?:Error: )?Exit code (\d+)\n?/.exec(head) : undefined
  if (claude?.[1]) {
    exit ??= Number(claude[1])
    head = head.slice(claude[0].length)
    if (short) tail = head
  }
  const tagged = head.includes('<exit_code>') ? /<exit_code>(-?\d+)<\/exit_code>/.exec(head)?.[1] : undefined
  if (tagged !== undefined) exit ??= Number(tagged)
  // Gemini CLI: labelled lines.
  const gemini = /^(?:Command: |Output: |Stdout: )/.test(head)
    ? /^Exit Code: (-?\d+)$/m.exec(tail.slice(-800))?.[1]
    : undefined
  if (gemini !== undefined) exit ??= Number(gemini)
  if (/^(?:Command: |Output: |Stdout: )/.test(head)) {
    head = withoutLabels(head)
    tail = short ? head : withoutLabels(tail)
  }
  // pi.
  const pi = tail.includes('Command exited with code')
    ? /(?:^|\n)Command exited with code (\d+)\s*$/.exec(tail.slice(-200))
    : undefined
  if (pi?.[1] !== undefined && (output.isError || exit === undefined)) {
    exit ??= Number(pi[1])
    tail = tail.slice(0, Math.max(0, tail.length - 200) + pi.index)
    if (short) head = tail
  }
  const timedOut = timedOutPattern.test(tail.slice(-400)) && (output.isError || exit !== 0) && exit !== 0
  const interrupted =
    interruptedPattern.test(head.slice(0, 200)) || (output.isError && /Command aborted\s*$/.test(tail))
  if (exit === undefined && !output.isError && marksFailure && running === undefined) exit = 0
  const empty = head.trim() === '' || /^\s*\((?:no output|empty|Bash completed with no output)\)\s*$/i.test(head)
  return { exit, head, tail, empty, running, interrupted, timedOut: timedOut && (output.isError || exit !== undefined) }
}

function runningIn(text: string): string | undefined {
  if (!text.includes('ackground') && !text.includes('running with')) return undefined
  return runningPatterns.map((pattern) => pattern.exec(text)?.[1]).find((handle) => handle !== undefined)
}

const runningPatterns = [
  /^Process running with session ID (\S+)/m,
  /background(?:ed)?\b.{0,40}? with ID: ([\w-]+)/i,
  /moved to background \(PID: (\d+)\)/i,
  /^Background PIDs: (\d+)/m,
]
const timedOutPattern = /(?:Command timed out|command timed out|timed out after \d+)/
const interruptedPattern =
  /^(?:\[Request interrupted|aborted by user|Command was aborted|<error>Command was aborted|Tool execution was interrupted|interrupted\b)|^Error: (?:Request was )?aborted/i

/** Gemini's labels are not output: `Error: (none)` must not read as an error. */
function withoutLabels(text: string): string {
  return text
    .replaceAll(/^(?:Command|Directory|Signal|Exit Code|Background PIDs|Process Group PGID): .*$/gm, '')
    .replaceAll(/^(?:Output|Stdout|Stderr|Error): (?:\((?:none|empty)\)$)?/gm, '')
    .trim()
}

/** A policy, a hook or a sandbox kept the call from being made. In the words of each agent. */
const refusedPattern =
  /^(?:<tool_use_error>)?(?:Error: )?(?:exec_command failed(?: for `[^`]*`)?: (?:CreateProcess \{ message: "Rejected\(|.{0,40}\bRejected\()|(?:exec )?command rejected\b|PreToolUse:\S+ hook|Hook PreToolUse|Permission to use \S+ .{0,400}has been denied|Claude requested permissions? (?:to|for)|Tool execution (?:was )?denied|Tool ".{1,60}" (?:is not|was) (?:allowed|denied|blocked)|The user has specified a rule which prevents|This command (?:is not allowed|was blocked))/i

/** Nothing was run, and no person said so. */
export function isRefused(call: Call, { head, exit }: Output): boolean {
  return (call.kind === 'shell' || call.kind === 'files') && exit === undefined && refusedPattern.test(head)
}

const rejectedPattern =
  /^(?:<tool_use_error>)?(?:The user doesn't want to (?:proceed|take)|The user rejected|User rejected|rejected by user|\[Operation Cancelled\]|User denied)/i
/** Codex and Gemini CLI do not mark it as an error. */
const rejectedUnmarkedPattern = /^(?:(?:exec command|patch) )?rejected by user\b|^\[Operation Cancelled\] Reason: User/

/** Only for tools whose errors the agent itself words: what a server, a page or a subagent says is not a person's no. */
export function isRejected(call: Call, { isError, head, exit }: Output): boolean {
  if (call.kind === 'unknown' || call.kind === 'subagent' || call.kind === 'look' || call.kind === 'poll') return false
  if (isError) return rejectedPattern.test(head)
  const marked = call.kind === 'shell' && call.marksFailure
  return !marked && exit === undefined && head.length < 300 && rejectedUnmarkedPattern.test(head)
}

/** The agent's own words in front of what a person said when refusing a call: of Claude Code, of opencode. */
const commentPattern =
  /^(?:The user doesn't want to proceed[\s\S]*?(?:the user said|user feedback|with the following feedback|reason)|The user rejected permission to use this specific tool call with the following feedback):\s*([\s\S]+)$/i

/** What a person said when refusing a call, without the words that the agent puts around it. */
export function commentOf({ head, isError }: Output): string | undefined {
  const said = isError ? commentPattern.exec(head)?.[1] : undefined
  return said?.replace(/\n\nNote: The user's next message may contain[\s\S]*$/, '').trim() || undefined
}

/** Stands for what an agent says of a call that a supervisor has interrupted: its own words blame the user. */
export const cutByBaton = 'interrupted by Baton'

/** Claude Code cancels the calls beside one that failed: they never ran. */
export function isCancelled({ isError, head }: Output): boolean {
  return isError && /^(?:<tool_use_error>)?(?:Sibling tool call errored|Cancelled: parallel tool call)/.test(head)
}
