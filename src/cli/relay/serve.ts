// `baton relay serve AGENT -- COMMAND`: an agent that is a command. It gets a request on its standard input and prints the
// answer; the claim is kept for as long as it runs.

import os from 'node:os'
import { CancelledError, NotFoundError } from '../../errors.ts'
import { answerSchema, type HandoffAnswer, type HandoffHandler, type HandoffHandlerContext } from '../../relay/index.ts'
import { checked } from '../../config/index.ts'
import { redactValue } from '../../handoff/index.ts'
import { type Run, runCommand } from '../../system/index.ts'
import { cancellable, type Io, userName } from '../base/io.ts'
import { parseObject } from '../base/json-file.ts'
import { brief, type Globals } from '../base/output.ts'
import { withRelay } from '../base/workspace.ts'

interface ServeOptions extends Globals {
  concurrency: number
  lease?: number
  worker?: string
}

export async function serve(options: ServeOptions, agent: string, command: readonly string[]): Promise<void> {
  await withRelay(options, async ({ relay, out }) => {
    /** Aborted when the program does not exist, because otherwise every request would fail. */
    const broken = new AbortController()
    const handler: HandoffHandler = async (request, context) => {
      const { requestId } = context.envelope
      if (!out.json) out.line(`${requestId}  ${request.sourceAgent}: ${brief(request.contextForTarget.summary, 100)}`)
      const answer = await run(command, context, broken, options.io)
      const why = answer.failureReason === undefined ? '' : `: ${answer.failureReason}`
      if (out.json) out.data({ requestId, answer })
      else out.line(`${requestId}  says ${answer.status}${brief(why, 200)}`)
      return answer
    }
    await cancellable(options.io, async (signal) => {
      await relay.serve(agent, handler, {
        signal: AbortSignal.any([signal, broken.signal]),
        concurrency: options.concurrency,
        worker: options.worker ?? `${userName()}@${os.hostname()}:${process.pid}`,
        ...(options.lease === undefined ? {} : { leaseMs: options.lease }),
      })
    })
    broken.signal.throwIfAborted()
    options.io.exit.code = 130
  })
}

/** How much of what a command that failed has printed on standard error goes into its answer. */
const most = { lines: 5, characters: 600 }
/** It is searched for secrets, so more of it is kept than is shown. */
const keptErrors = 64 * 1024

/** What a command prints is kept in memory until it ends; a larger answer belongs into a file. */
const mostMebibytes = 32
const mostBytes = mostMebibytes * 1024 * 1024

async function run(
  command: readonly string[],
  { envelope, signal, traceparent, tracestate }: HandoffHandlerContext,
  broken: AbortController,
  io: Io,
): Promise<HandoffAnswer> {
  const [program] = command
  const tooMuch = new AbortController()
  let bytes = 0
  let errors: Buffer = Buffer.alloc(0)
  let result: Run
  try {
    result = await runCommand(command, {
      cwd: io.cwd(),
      env: {
        ...io.env,
        BATON_REQUEST_ID: envelope.requestId,
        BATON_TRACE_ID: envelope.request.traceId,
        ...(traceparent === undefined ? {} : { TRACEPARENT: traceparent }),
        ...(tracestate === undefined ? {} : { TRACESTATE: tracestate }),
      },
      input: `${JSON.stringify(envelope)}\n`,
      keep: 'stdout',
      keptBytes: mostBytes + 1,
      signal: AbortSignal.any([signal, tooMuch.signal]),
      onOutput: (chunk) => {
        bytes += chunk.length
        if (bytes > mostBytes) tooMuch.abort()
      },
      onErrors: (chunk) => {
        io.stderr.write(chunk)
        errors = Buffer.concat([errors, chunk]).subarray(-keptErrors)
      },
      // A process that the program left behind may still print the answer.
      leftovers: 'keep',
      drainMs: Infinity,
    })
  } catch (error) {
    broken.abort(new NotFoundError(`${program} cannot be run: ${(error as Error).message}`))
    throw error
  }
  if (signal.aborted) throw new CancelledError(`${program} was ended`)
  if (bytes > mostBytes) return { status: 'failed', failureReason: `${program} printed more than ${mostMebibytes} MiB` }
  if (result.code !== 0) {
    const why = await lastLines(errors)
    return { status: 'failed', failureReason: `${program} ended with ${result.code}${why === '' ? '' : `: ${why}`}` }
  }
  const printed = result.output.whole().toString('utf8').trim()
  return checked(answerSchema, parseObject(printed, `What ${program} printed`), `What ${program} printed`)
}

/** Without secrets and escape sequences. */
async function lastLines(errors: Buffer): Promise<string> {
  const { value } = await redactValue(errors.toString('utf8'))
  const text = value.trim().split('\n').slice(-most.lines).join('\n')
  return text.length > most.characters ? `…${text.slice(-most.characters)}` : text
}
