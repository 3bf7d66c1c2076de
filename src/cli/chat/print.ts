// `baton chat -p`: one question, one answer, for pipes and scripts. Only the answer goes to stdout; nobody is asked
// anything: what would be asked about is denied, unless `--yes`.

import { buffer as readAll } from 'node:stream/consumers'
import type { AgentEvent } from '../../agent/index.ts'
import type { TurnResult } from '../../agent/index.ts'
import { findCommand, help } from '../../agent/index.ts'
import { imagePart, type Prompt, route, withImages } from '../../agent/index.ts'
import { chosenName } from '../../config/index.ts'
import { BatonError, CancelledError, InvalidError, NotFoundError, StorageError } from '../../errors.ts'
import type { Store } from '../../store/index.ts'
import type { Io } from '../base/io.ts'
import { withStore } from '../base/workspace.ts'
import { recoveryText } from './help.ts'
import { lastTape, namedTape, newTape } from './chat-register.ts'
import { agentMaker, type ChatOptions, findModel, modelChoice } from './create-agent.ts'
import { sanitise } from './screen/sanitise.ts'
import { gist } from './screen/tool-block.ts'

/** Each of these signals cancels the turn, so that no command of it keeps running alone. */
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

export async function print(options: ChatOptions): Promise<void> {
  const given = typeof options.print === 'string' ? options.print : ''
  const { io } = options
  const input = io.stdin.isTTY === true ? Buffer.alloc(0) : await readInput(given !== '', io)
  const image = imagePart(input, 'stdin')
  const piped = image === undefined ? input.toString().trimEnd() : ''
  const text = given !== '' && piped !== '' ? `${given}\n\n${piped}` : given + piped
  if (text.trim() === '' && image === undefined) {
    throw new InvalidError('There is nothing to ask', { hint: 'baton chat -p "…", or text on stdin' })
  }
  // Only what the person wrote can be a command, never what came through a pipe.
  const to = route(given)
  if (to.to === 'slash') {
    throw new InvalidError(`/${to.name} works in the chat only`, { hint: 'baton handoff --new starts a new session.' })
  }
  const isCommand = to.to === 'command'
  const named = await withImages(given, io.cwd())
  // Only what the person wrote names images, and what came through the pipe may be one.
  const shown = [
    ...(typeof named.prompt === 'string' ? [] : named.prompt.slice(1)),
    ...(image === undefined ? [] : [image]),
  ]
  const prompt: Prompt = shown.length === 0 ? text : [{ type: 'text', text }, ...shown]
  if (isCommand) demandCommand(to.name)
  if (isCommand && to.name === 'help') return give({ kind: 'command', ok: true, ...help(to.args) }, '', options)
  if (!isCommand && chosenName(modelChoice(options)) === undefined)
    throw new InvalidError('No model is set', {
      hint: 'Add --model PROVIDER/NAME, such as anthropic/claude-sonnet-4-5 (with ANTHROPIC_API_KEY), or set BATON_MODEL.',
    })
  await withStore(options, async (store) => {
    // Everything that can fail comes first, so that a run that never began leaves no tape behind.
    const agentOn = agentMaker(options, store, io.cwd(), { onEvent: reporter(options) })
    const found = isCommand ? undefined : await findModel(modelChoice(options), io.cwd())
    const agent = await agentOn(await tapeFor(store, isCommand, options))
    if (found !== undefined) agent.setModel(found.model, found.window)
    const cancel = () => agent.abort()
    for (const signal of signals) io.signals.on(signal, cancel)
    // If the reader of stdout leaves, the turn is cancelled too; exiting at once would leave commands running.
    io.stdout.removeAllListeners('error').on('error', cancel)
    try {
      give(await (isCommand ? agent.submit(given) : agent.say(prompt)), agent.tape.name, options)
    } finally {
      for (const signal of signals) io.signals.off(signal, cancel)
      await agent.close()
    }
  })
}

/** An unknown command is bad input, and is reported before anything is opened. */
function demandCommand(name: string): void {
  try {
    findCommand(name)
  } catch (error) {
    if (!BatonError.is(error)) throw error
    throw new InvalidError(error.message, error.hint === undefined ? {} : { hint: error.hint })
  }
}

/** Reads standard input. A person who left a pipe open by mistake sees what Baton is waiting for. */
async function readInput(hasPrompt: boolean, { stdin, stderr }: Io): Promise<Buffer> {
  const patience = setTimeout(() => {
    if (hasPrompt) stderr.write('baton: waiting for the end of stdin; where there is none, add < /dev/null\n')
  }, 3_000)
  try {
    return await readAll(stdin)
  } finally {
    clearTimeout(patience)
  }
}

/**
 * A question gets a tape of its own, because scripts run at the same time and have nothing to do with each other. A command is about
 * a tape that exists already.
 */
async function tapeFor(store: Store, isCommand: boolean, { tape, io }: ChatOptions): Promise<string> {
  if (tape !== undefined) return namedTape(store, tape)
  if (!isCommand) return newTape(store, 'print')
  const last = await lastTape(store, io.cwd())
  if (last !== undefined) return last
  throw new NotFoundError('There is no chat in this folder yet', {
    hint: 'Name a tape with --tape; baton tape ls lists them.',
  })
}

function give(result: TurnResult, tape: string, options: ChatOptions): void {
  const { stdout } = options.io
  if (options.json === true) stdout.write(`${JSON.stringify({ type: 'result', tape, ...result })}\n`)
  if (result.kind === 'turn' && result.status === 'failed') {
    const [message = '', ...hint] = (result.error ?? 'The turn failed').split('\n')
    throw new StorageError(message, hint.length === 0 ? {} : { hint: hint.join('\n  ') })
  }
  if (result.kind === 'turn' && result.status === 'aborted') throw new CancelledError('Cancelled')
  if (result.kind === 'command' && !result.ok) throw new InvalidError(result.text)
  if (options.json === true || (result.kind !== 'turn' && result.kind !== 'command')) return
  // A file or a program gets exactly what the model wrote; a terminal gets it without control sequences.
  const text = stdout.isTTY === true ? sanitise(result.text) : result.text
  stdout.write(text.endsWith('\n') ? text : `${text}\n`)
}

function reporter(options: ChatOptions): (event: AgentEvent) => void {
  const { stdout, stderr } = options.io
  if (options.json === true) return (event) => void stdout.write(`${JSON.stringify(event)}\n`)
  const tell = (text: string) => void stderr.write(`${sanitise(text)}\n`)
  const watched = stderr.isTTY === true && options.quiet !== true
  return (event) => {
    if (event.type === 'permission' && event.answer === 'deny') {
      // This denial came because there is nobody to ask; denials by a rule already say what to do.
      const reason = event.reason ?? ''
      tell(
        `baton: denied ${event.name} ${gist(event.input)}: ${/[.]$/.test(reason) ? reason : `${reason}; --yes allows it`}`,
      )
    } else if (event.type === 'warning') tell(`baton: ${event.message}`)
    else if (event.type === 'recovered') tell(`baton: ${recoveryText(event)}`)
    else if (!watched) return
    else if (event.type === 'tool-start') tell(`${event.name} ${gist(event.input)}`)
    else if (event.type === 'tool-end' && event.isError) tell(`${event.name} failed`)
    else if (event.type === 'retry') tell(`${event.reason}; trying again in ${Math.ceil(event.seconds)} s`)
    else if (event.type === 'handoff' && event.phase === 'done') tell(event.message)
  }
}
