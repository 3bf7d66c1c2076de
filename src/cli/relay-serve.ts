// `baton relay serve AGENT -- COMMAND`: an agent that is a command. It gets a request on its standard input and prints the
// answer; the claim is kept for as long as it runs.

import { spawn } from 'node:child_process'
import os from 'node:os'
import { CancelledError, NotFoundError } from '../errors.ts'
import type { HandoffAnswer } from '../relay/schema.ts'
import { answerSchema } from '../relay/schema.ts'
import type { Handler, HandlerContext } from '../relay/worker.ts'
import { checked } from '../config/checked.ts'
import { limits } from '../store/index.ts'
import { killTree } from '../system/process-tree.ts'
import { cancellable } from './interrupt.ts'
import { parseObject } from './json-file.ts'
import { brief, type Globals } from './output.ts'
import { withRelay } from './relay-door.ts'
import { userName } from './user-name.ts'

interface ServeOptions extends Globals {
  concurrency: number
  lease?: number
  worker?: string
}

export async function serve(options: ServeOptions, agent: string, command: readonly string[]): Promise<void> {
  await withRelay(options, async ({ relay, out }) => {
    /** A program that is not there would fail one request after the other: it ends the serving instead. */
    const broken = new AbortController()
    const handler: Handler = async (request, context) => {
      const { requestId } = context.envelope
      if (!out.json) out.line(`${requestId}  ${request.sourceAgent}: ${brief(request.contextForTarget.summary, 100)}`)
      const answer = await run(command, context, broken)
      const why = answer.failureReason === undefined ? '' : `: ${answer.failureReason}`
      if (out.json) out.data({ requestId, answer })
      else out.line(`${requestId}  says ${answer.status}${brief(why, 200)}`)
      return answer
    }
    await cancellable(async (signal) => {
      await relay.serve(agent, handler, {
        signal: AbortSignal.any([signal, broken.signal]),
        concurrency: options.concurrency,
        worker: options.worker ?? `${userName()}@${os.hostname()}:${process.pid}`,
        ...(options.lease === undefined ? {} : { leaseMs: options.lease }),
      })
    })
    broken.signal.throwIfAborted()
    process.exitCode = 130
  })
}

/** No answer is larger: it would not fit on a tape. */
const mostBytes = limits.batchBytes

async function run(
  [program, ...args]: readonly string[],
  { envelope, signal, traceparent }: HandlerContext,
  broken: AbortController,
): Promise<HandoffAnswer> {
  const child = spawn(program!, args, {
    env: {
      ...process.env,
      BATON_REQUEST_ID: envelope.requestId,
      BATON_TRACE_ID: envelope.request.traceId,
      ...(traceparent === undefined ? {} : { TRACEPARENT: traceparent }),
    },
    detached: process.platform !== 'win32',
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  // It may end without reading.
  child.stdin.on('error', () => {}).end(`${JSON.stringify(envelope)}\n`)
  const end = () => killTree(child)
  signal.addEventListener('abort', end)
  const output: Buffer[] = []
  let bytes = 0
  child.stdout.on('data', (chunk: Buffer) => {
    if (bytes > mostBytes) return
    bytes += chunk.length
    if (bytes <= mostBytes) output.push(chunk)
    else end()
  })
  try {
    const [code, by] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
      child.once('close', (code, by) => resolve([code, by])).once('error', reject)
    })
    if (signal.aborted) throw new CancelledError(`${program} was ended`)
    if (bytes > mostBytes) return { status: 'failed', failureReason: `${program} printed more than ${mostBytes} bytes` }
    if (code !== 0) return { status: 'failed', failureReason: `${program} ended with ${by ?? code}` }
    const printed = Buffer.concat(output).toString('utf8')
    return checked(answerSchema, parseObject(printed, `What ${program} printed`), `What ${program} printed`)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall?.startsWith('spawn') !== true) throw error
    broken.abort(new NotFoundError(`${program} cannot be run: ${(error as Error).message}`))
    throw error
  } finally {
    signal.removeEventListener('abort', end)
  }
}
