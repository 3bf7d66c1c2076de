// What the chat needs beyond its screen: store, tape, agent and model. Loaded once the first frame stands.

import { CombinedAutocompleteProvider } from '@earendil-works/pi-tui'
import { findWorkspace } from '../../config/workspace.ts'
import { BatonError } from '../../errors.ts'
import { openStore, type Store } from '../../store/index.ts'
import { noModel } from './advice.ts'
import { chooseTape } from './choice.ts'
import type { Conversation } from './conversation.ts'
import { makingOf } from './making.ts'
import type { ChatOptions } from './options.ts'
import { lastModel } from './place.ts'
import type { Screen } from './screen.ts'
import { ChatSession } from './session.ts'
import { slashCommands } from './slash.ts'

/** Puts what it opens into `open` as it goes, so that it can be closed at any moment. */
export async function openChat(
  options: ChatOptions,
  conversation: Conversation,
  screen: Screen,
  open: { store?: Store; session?: ChatSession },
): Promise<void> {
  const folder = process.cwd()
  screen.editor.setAutocompleteProvider(new CombinedAutocompleteProvider([...slashCommands], folder))
  const store = await openStore(findWorkspace(options).address)
  open.store = store
  const { tape, remark } = await chooseTape(store, folder, options)
  if (remark !== undefined) screen.transcript.notice(remark, 'warn')
  const making = makingOf(options, store, folder, {
    ask: (question) => conversation.ask(question),
    onEvent: (event) => conversation.take(event),
  })
  const { model, baseUrl } = options
  // What was asked for now, else what was chosen here last time, else what the environment says.
  const choice = {
    ...(model === undefined ? await lastModel(store, folder) : { model }),
    ...(baseUrl === undefined ? {} : { baseUrl }),
  }
  const session = await ChatSession.open({ store, folder, making, choice }, tape)
  open.session = session
  await conversation.begin(session)
  await greet(session, screen)
}

/** A chat without a model is still a chat: it says what is missing and takes commands. */
async function greet(session: ChatSession, screen: Screen): Promise<void> {
  try {
    if (!(await session.hasModel())) screen.transcript.notice(noModel, 'warn')
  } catch (error) {
    if (!BatonError.is(error)) throw error
    screen.transcript.notice(`${error.message}\n${error.hint ?? ''}`, 'warn')
  }
  screen.footer.set(await session.standing())
  screen.draw()
}
