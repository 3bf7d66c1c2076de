// A shell command. What does not fit into the context is kept whole as a blob; the context gets its beginning and its end.

import { StringDecoder } from 'node:string_decoder'
import * as z from 'zod'
import type { Tape } from '../../tape/index.ts'
import { type CommandRun, runCommand } from '../process.ts'
import type { Output } from '../process-output.ts'
import type { Stray } from '../process-tree.ts'
import { defineTool } from './define.ts'
import { isText, mediaType } from './media.ts'

const defaultSeconds = 120
const maxSeconds = 1_800
/** Output up to this size is given as it is. */
const shownBytes = 16 * 1024
const headBytes = 5 * 1024
const tailBytes = 10 * 1024
/** As much is shown while the command runs; nobody reads more at that pace. */
const liveBytes = 1024 * 1024

export const bash = defineTool({
  name: 'bash',
  description:
    'Run a shell command in the workspace. Output and errors come together, long output with its middle left out and a reference for blob.read. ' +
    'There is no input and no terminal. Processes that are left in the background end with the call.',
  input: z.object({
    command: z.string().min(1),
    timeout: z.number().positive().max(maxSeconds).default(defaultSeconds).describe('Seconds'),
  }),
  access: ({ command }) => ({ kind: 'command', command }),
  async run({ command, timeout }, { tape, cwd, signal, onOutput }) {
    const run = await runCommand(command, { cwd, timeoutMs: timeout * 1000, signal, onOutput: live(onOutput) })
    const lines = [
      `Exit code: ${typeof run.code === 'number' ? run.code : `none (${run.code})`}`,
      `Wall time: ${run.seconds} s`,
      'Output:',
      await shown(run.output, tape),
      ...endingOf(run, timeout),
    ]
    return { output: lines.join('\n'), ...(run.end === 'exit' ? {} : { isError: true }) }
  },
})

function live(onOutput: (chunk: string) => void): (chunk: Buffer) => void {
  const decoder = new StringDecoder('utf8')
  let sent = 0
  return (chunk) => {
    if (sent >= liveBytes) return
    sent += chunk.length
    onOutput(decoder.write(chunk.subarray(0, liveBytes)))
    if (sent >= liveBytes) onOutput('\n[more output follows; it is kept, not shown]\n')
  }
}

function endingOf({ end, left, alive }: CommandRun, timeout: number): string[] {
  const lines: string[] = []
  const gone = left.filter(({ pid }) => !alive.some((each) => each.pid === pid))
  if (gone.length > 0 && end === 'exit') lines.push(`[left running and ended with the call: ${named(gone)}]`)
  if (alive.length > 0) lines.push(`[could not be ended and still running: ${named(alive)}]`)
  if (end === 'timeout') lines.push(`Command timed out after ${timeout} s and was ended with all that it had started`)
  if (end === 'aborted') lines.push('Command aborted')
  return lines
}

function named(processes: readonly Stray[]): string {
  const names = processes.slice(0, 5).map(({ pid, command }) => `${pid} ${command.slice(0, 80)}`)
  return `${names.join('; ')}${processes.length > 5 ? '; …' : ''}`
}

async function shown(output: Output, tape: Tape): Promise<string> {
  if (output.bytes === 0) return '(no output)'
  const whole = output.whole()
  const looksLikeText = isText(whole.subarray(0, 64 * 1024))
  if (looksLikeText && output.bytes <= shownBytes) return whole.toString().replace(/\n$/, '')
  const kept = await keep(whole, output, tape)
  if (!looksLikeText) return `[binary output: ${mediaType(whole)}, ${output.bytes} bytes; ${kept}]`
  const head = cutBehind(whole.subarray(0, headBytes))
  const tail = cutBefore(whole.subarray(-tailBytes))
  const left = output.bytes - Buffer.byteLength(head) - Buffer.byteLength(tail)
  return `${head}\n[… ${left} of ${output.bytes} bytes left out; ${kept} …]\n${tail.replace(/\n$/, '')}`
}

async function keep(whole: Buffer, output: Output, tape: Tape): Promise<string> {
  try {
    const { sha256 } = await tape.store.putBlob(whole)
    const part = output.missing === 0 ? 'all of it' : `its beginning and end, ${whole.length} bytes`
    return `${part}: blob.read sha256=${sha256}`
  } catch (error) {
    // The command has run: what it did must be told, also where the disk is full.
    return `it could not be kept: ${(error as Error).message}`
  }
}

/** Up to the last end of a line, if one is near; never within a letter. */
function cutBehind(bytes: Buffer): string {
  const end = bytes.lastIndexOf(10)
  if (end > bytes.length / 2) return bytes.toString('utf8', 0, end)
  return bytes.toString().replace(/\ufffd+$/, '')
}

function cutBefore(bytes: Buffer): string {
  const start = bytes.indexOf(10) + 1
  if (start > 0 && start < bytes.length / 2) return bytes.toString('utf8', start)
  return bytes.toString().replace(/^\ufffd+/, '')
}
