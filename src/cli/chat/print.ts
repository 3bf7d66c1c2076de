// `baton chat -p`: one question, one answer, for pipes and scripts. Only the answer goes to stdout; nobody is asked
// anything: what would be asked about is denied, unless `--yes`.

import { text as readAll } from 'node:stream/consumers'
import type { AgentEvent } from '../../agent/event.ts'
import type { TurnResult } from '../../agent/agent.ts'
import { findCommand, help } from '../../agent/commands.ts'
import { route } from '../../agent/router.ts'
import { chosenName } from '../../config/model.ts'
import { BatonError, CancelledError, InvalidError, NotFoundError, StorageError } from '../../errors.ts'
import type { Store } from '../../store/index.ts'
import { withStore } from '../workspace.ts'
import { noModel, recoveryText } from './advice.ts'
import { namedTape } from './choice.ts'
import { findModel, makingOf } from './making.ts'
import { neutral } from './neutral.ts'
import type { ChatOptions } from './options.ts'
import { lastTape, newTape } from './place.ts'
import { gist } from './tool-block.ts'

/** Each cancels the turn, so that no command of it goes on alone. */
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

export async function print(options: ChatOptions): Promise<void> {
  const given = typeof options.print === 'string' ? options.print : ''
  const piped = process.stdin.isTTY ? '' : (await readInput(given !== '')).trimEnd()
  const prompt = given !== '' && piped !== '' ? `${given}\n\n${piped}` : given + piped
  if (prompt.trim() === '') {
    throw new InvalidError('There is nothing to ask', { hint: 'baton chat -p "…", or text on stdin' })
  }
  // Only what the person wrote can be a command, never what came through a pipe.
  const to = route(given)
  if (to.to === 'slash') {
    throw new InvalidError(`/${to.name} works in the chat only`, { hint: 'baton handoff --new starts a new session.' })
  }
  const isCommand = to.to === 'command'
  if (isCommand) demandCommand(to.name)
  if (isCommand && to.name === 'help') return give({ kind: 'command', ok: true, ...help(to.args) }, '', options)
  if (!isCommand && chosenName(options) === undefined) throw new InvalidError(noModel)
  await withStore(options, async (store) => {
    // What can fail comes first: a run that never began leaves no tape behind.
    const making = makingOf(options, store, process.cwd(), { onEvent: reporter(options) })
    const found = isCommand ? undefined : await findModel(options)
    const agent = await making(await tapeFor(store, isCommand, options))
    if (found !== undefined) agent.setModel(found.model, found.window)
    const cancel = () => agent.abort()
    for (const signal of signals) process.on(signal, cancel)
    // A reader that leaves cancels it too; to end at once would leave commands behind.
    process.stdout.removeAllListeners('error').on('error', cancel)
    try {
      give(await (isCommand ? agent.submit(given) : agent.say(prompt)), agent.tape.name, options)
    } finally {
      for (const signal of signals) process.off(signal, cancel)
      await agent.close()
    }
  })
}

/** A command that is not known is bad input, and told before anything is opened. */
function demandCommand(name: string): void {
  try {
    findCommand(name)
  } catch (error) {
    if (!BatonError.is(error)) throw error
    throw new InvalidError(error.message, error.hint === undefined ? {} : { hint: error.hint })
  }
}

/** What comes through the pipe. Whoever left one open by mistake is told what is waited for. */
async function readInput(hasPrompt: boolean): Promise<string> {
  const patience = setTimeout(() => {
    if (hasPrompt) process.stderr.write('baton: waiting for the end of stdin; where there is none, add < /dev/null\n')
  }, 3_000)
  try {
    return await readAll(process.stdin)
  } finally {
    clearTimeout(patience)
  }
}

/**
 * Apart from the chat's own session: scripts run at once, and do not mean to talk about each other. A command is about what is
 * there already.
 */
async function tapeFor(store: Store, isCommand: boolean, { tape }: ChatOptions): Promise<string> {
  if (tape !== undefined) return namedTape(store, tape)
  if (!isCommand) return newTape(store, 'print')
  const last = await lastTape(store, process.cwd())
  if (last !== undefined) return last
  throw new NotFoundError('There is no chat in this folder yet', {
    hint: 'Name a tape with --tape; baton tape ls lists them.',
  })
}

function give(result: TurnResult, tape: string, options: ChatOptions): void {
  if (options.json === true) process.stdout.write(`${JSON.stringify({ type: 'result', tape, ...result })}\n`)
  if (result.kind === 'turn' && result.status === 'failed') {
    const [message = '', ...hint] = (result.error ?? 'The turn failed').split('\n')
    throw new StorageError(message, hint.length === 0 ? {} : { hint: hint.join('\n  ') })
  }
  if (result.kind === 'turn' && result.status === 'aborted') throw new CancelledError('Cancelled')
  if (result.kind === 'command' && !result.ok) throw new InvalidError(result.text)
  if (options.json === true || (result.kind !== 'turn' && result.kind !== 'command')) return
  // A file or a program gets what the model wrote; a terminal only what cannot steer it.
  const text = process.stdout.isTTY ? neutral(result.text) : result.text
  process.stdout.write(text.endsWith('\n') ? text : `${text}\n`)
}

function reporter(options: ChatOptions): (event: AgentEvent) => void {
  if (options.json === true) return (event) => void process.stdout.write(`${JSON.stringify(event)}\n`)
  const tell = (text: string) => void process.stderr.write(`${neutral(text)}\n`)
  const watched = process.stderr.isTTY && options.quiet !== true
  return (event) => {
    if (event.type === 'permission' && event.answer === 'deny') {
      // Nobody asked means: the policy would have. Its own refusals are sentences that say what to do.
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
