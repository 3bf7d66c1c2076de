// Opens what the chat needs beyond its screen: store, tape, agent and model. Loaded after the first frame is drawn.

import path from 'node:path'
import { CombinedAutocompleteProvider } from '@earendil-works/pi-tui'
import { projectInstructions } from '../../agent/index.ts'
import { BatonError } from '../../errors.ts'
import { openStore, type Store } from '../../store/index.ts'
import { chosenWorkspace } from '../base/chosen-workspace.ts'
import { noModel, slashCommands } from './help.ts'
import { chooseTape, lastModel } from './chat-register.ts'
import type { Conversation } from './conversation.ts'
import { agentMaker, type ChatOptions } from './create-agent.ts'
import type { ChatScreen } from './screen/screen.ts'
import { ChatSession } from './session.ts'

/** Puts what it opens into `open` as it goes, so that it can be closed at any moment. */
export async function startChat(
  options: ChatOptions,
  conversation: Conversation,
  screen: ChatScreen,
  open: { store?: Store; session?: ChatSession },
): Promise<void> {
  const folder = options.io.cwd()
  screen.editor.setAutocompleteProvider(new CombinedAutocompleteProvider([...slashCommands], folder))
  const store = await openStore(chosenWorkspace(options).address)
  open.store = store
  const { tape, remark } = await chooseTape(store, folder, options)
  if (remark !== undefined) screen.log.notice(remark, 'warn')
  const agentOn = agentMaker(options, store, folder, {
    ask: (question) => conversation.ask(question),
    onEvent: (event) => conversation.take(event),
  })
  const { model, baseUrl } = options
  const { env } = options.io
  // The model of the command line, else the one chosen last in this folder, else the one of the environment.
  const choice = {
    ...(model === undefined ? await lastModel(store, folder, env) : { model }),
    ...(baseUrl === undefined ? {} : { baseUrl }),
    env,
  }
  const session = await ChatSession.open({ store, folder, agentOn, choice }, tape)
  open.session = session
  await conversation.begin(session)
  const read = projectInstructions(folder).map(({ file }) => path.relative(folder, file))
  if (read.length > 0) screen.log.notice(`Instructions of the project: ${read.join(', ')}`)
  await greet(session, screen)
}

/** A chat without a model is still a chat: it says what is missing and takes commands. */
async function greet(session: ChatSession, screen: ChatScreen): Promise<void> {
  try {
    if (!(await session.hasModel())) screen.log.notice(noModel, 'warn')
  } catch (error) {
    if (!BatonError.is(error)) throw error
    screen.log.notice(`${error.message}\n${error.hint ?? ''}`, 'warn')
  }
  screen.footer.set(await session.status())
  screen.draw()
}
