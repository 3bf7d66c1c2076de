// `baton chat` on a terminal. The first frame is drawn before anything is opened or loaded; what is typed meanwhile waits.

import { UnsupportedError } from '../../errors.ts'
import type { Store } from '../../store/index.ts'
import { report } from '../base/failure.ts'
import type { Io } from '../base/io.ts'
import { mayColor } from '../base/output.ts'
import { Conversation } from './conversation.ts'
import type { ChatOptions } from './create-agent.ts'
import { ChatScreen } from './screen/screen.ts'
import type { ChatSession } from './session.ts'
import { themeOf } from './screen/theme.ts'

/** A model or a disk that does not answer must not keep the person from leaving. */
const patienceMs = 3_000
const frameMs = 30

const signals = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const

export async function chat(options: ChatOptions): Promise<void> {
  demandTerminal(options.io)
  const screen = new ChatScreen(themeOf(mayColor(options)))
  const open: { store?: Store; session?: ChatSession } = {}

  let leaving = false
  const leave = async (code: number): Promise<void> => {
    if (leaving) return
    leaving = true
    conversation.leave()
    let failure: { error: unknown } | undefined
    const closed = Promise.resolve(open.session?.close()).then(() => open.store?.close())
    const tooLong = new Promise((resolve) => setTimeout(resolve, patienceMs))
    await Promise.race([closed, tooLong]).catch((error: unknown) => (failure = { error }))
    screen.status.hide()
    await new Promise((resolve) => setTimeout(resolve, frameMs)) // the last frame says that nothing runs
    screen.stop()
    process.exit(failure === undefined ? code : report(failure.error, options))
  }
  const crash = (error: unknown): void => {
    screen.stop()
    process.exit(report(error, options))
  }
  process.on('uncaughtException', crash).on('unhandledRejection', crash)
  for (const [signal, code] of Object.entries(signals)) process.on(signal, () => void leave(code))

  const conversation = new Conversation(screen, () => void leave(0))
  screen.footer.set({ model: options.model ?? options.io.env.BATON_MODEL, yes: options.yes === true })
  screen.log.notice('Baton chat: Enter sends, /help lists commands and keys')
  screen.start()
  await screen.painted
  const { startChat } = await import('./start.ts')
  try {
    await startChat(options, conversation, screen, open)
  } catch (error) {
    screen.stop()
    await leave(report(error, options))
  }
  // Waits until `leave` ends the process; the timer keeps it running while the chat is suspended.
  await new Promise(() => setInterval(() => {}, 60_000))
}

function demandTerminal({ env, stdin, stdout }: Io): void {
  const isDumb = env.TERM === 'dumb'
  if (stdin.isTTY === true && stdout.isTTY === true && !isDumb) return
  throw new UnsupportedError(`baton chat needs a terminal${isDumb ? ', and TERM says that this one is dumb' : ''}`, {
    hint: 'In a pipe or a script, ask with: baton chat -p "…"',
  })
}
