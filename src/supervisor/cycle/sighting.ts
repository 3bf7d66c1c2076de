// Puts together what the step function is shown: the observation of the session, the screen where it matters, and the state
// of the document.

import fs from 'node:fs'
import path from 'node:path'
import { agentNamed, type ScreenState } from '../../agents/index.ts'
import { BatonError } from '../../errors.ts'
import { samePrompt } from '../../handoff/index.ts'
import { examineFile, isInline, judgeDocument, promptFor } from '../documents/document-file.ts'
import type { TranscriptTape } from '../documents/transcript-tape.ts'
import { isLeftDraft } from '../drivers/screen.ts'
import type { Observation } from '../observe/observation.ts'
import type { AgentHandle } from '../run.ts'
import type { Cycle, DocumentState, Prompt, Sighting } from './cycle-state.ts'

export interface SightingOptions {
  readonly handle: AgentHandle
  readonly observation: Observation
  readonly cycle: Cycle
  readonly cwd: string
  readonly tape: TranscriptTape
  /** Whether to read the screen, which costs more than reading the transcript. */
  readonly screen: boolean
  readonly submitMs: number
  readonly now: number
}

export async function sightingOf(options: SightingOptions): Promise<Sighting> {
  const { handle, observation, cycle } = options
  const isSeen = options.screen || cycle.at !== 'watching'
  const drawn = isReopening(options)
    ? ({ is: 'starting' } as const)
    : isSeen
      ? await handle.driver.screenState().catch(unseen)
      : unknown
  const prompt = promptOf(cycle)
  const wanted = prompt === undefined ? (handle.adapter.clear ?? '') : promptFor(handle.adapter, prompt.text)
  const screen = withoutOurs(drawn, [wanted, handle.driver.unsent ?? ''])
  return {
    type: 'session',
    observation,
    screen,
    heard: await isHeard(options),
    read: await isRead(options),
    document: await found(options),
  }
}

/** How long a session may take to be reopened, and how long its transcript rests when that is done. */
const reopenMs = 120_000
const settledMs = 1_500

/** Whether the agent has not reopened its session yet, although it may show its input already. */
function isReopening({ handle, observation, now }: SightingOptions): boolean {
  const { file, changed, started, prompt } = observation
  if (handle.adapter.resumeShows !== true || handle.driver.place.driver !== 'tmux') return false
  if (file === undefined || changed === undefined || started === undefined || now - started > reopenMs) return false
  const isAsked = Date.parse(prompt?.at ?? '') >= started
  return !isAsked && (changed < started || now - changed < settledMs)
}

const unknown: ScreenState = { is: 'unknown' }

/** A screen that is gone counts as unknown; the observer notices by itself that the agent is gone too. */
function unseen(error: unknown): ScreenState {
  if (BatonError.is(error) && (error.code === 'refused' || error.code === 'storage')) return unknown
  throw error
}

/** Words that Baton typed and that were not sent are its own: nobody is typing there. */
function withoutOurs(screen: ScreenState, texts: readonly string[]): ScreenState {
  const isOurs = 'draft' in screen && texts.some((text) => isLeftDraft(screen.draft, text))
  return isOurs ? { ...screen, draft: '' } : screen
}

function promptOf(cycle: Cycle): Prompt | undefined {
  return 'prompt' in cycle ? cycle.prompt : cycle.at === 'watching' ? cycle.say : undefined
}

/** Whether the transcript holds the prompt: looked up in its last prompt, and in all of it before anything is typed again. */
async function isHeard({ observation, cycle, tape, submitMs, now }: SightingOptions): Promise<boolean> {
  const prompt = promptOf(cycle)
  if (prompt === undefined || prompt.state === 'heard') return false
  const { text, at } = observation.prompt ?? {}
  // The same words may have been said to a process that is gone.
  const since = Math.max(prompt.began - 5_000, observation.started ?? 0)
  if (text !== undefined && samePrompt(prompt.text, text) && (at === undefined || Date.parse(at) >= since)) return true
  const late = prompt.state === 'typed' && now - prompt.at >= submitMs
  return late && observation.file !== undefined && (await tape.heard(observation.file, prompt.text, since))
}

/** Whether the fresh context has read the document; any tool call that names it counts once the turn is over. */
async function isRead({ handle, observation, cycle, tape }: SightingOptions): Promise<boolean> {
  if (cycle.at !== 'verifying' || observation.session === cycle.from) return false
  const { path: file } = cycle.document
  if (isInline(handle.adapter, file)) return true
  if (observation.read.some((each) => path.resolve(each) === file || real(each) === real(file))) return true
  return observation.turn === 'idle' && observation.file !== undefined && (await tape.touched(observation.file, file))
}

function real(file: string): string {
  try {
    return fs.realpathSync(file)
  } catch {
    return file
  }
}

/** The state of the file; where the agent could not write it, its reply may be the document. */
async function found({ observation, cycle, cwd, tape, now }: SightingOptions): Promise<DocumentState> {
  if (cycle.at !== 'asked' && cycle.at !== 'documented') return { is: 'nothing' }
  const settled = observation.turn === 'idle'
  const file = examineFile({ path: cycle.path, since: cycle.trigger.at, cwd, settled }, now)
  if (file.is !== 'nothing' || cycle.at !== 'asked' || observation.turn !== 'idle' || cycle.prompt.state !== 'heard')
    return file
  const reply = observation.file === undefined ? undefined : await tape.reply(observation.file)
  if (reply === undefined) return file
  const judged = judgeDocument(reply, cwd)
  return judged.is === 'valid' ? judged : file
}

/** When the lines were written that a sighting shows, or the agent told what they will say: Baton's own time is measured from there. */
export function evidenceOf(sighting: Sighting | undefined): number | undefined {
  const { file, turnSince } = sighting?.observation ?? {}
  // A database is written for other sessions too, and its file only now and then: its rows tell their own times.
  const told = Date.parse(turnSince ?? '') || undefined
  if (file !== undefined && agentNamed(file.agent).sharesFile === true) return told
  const stat = file === undefined ? undefined : fs.statSync(file.path, { throwIfNoEntry: false })
  // Claude Code says that it is idle before it writes the end of the turn.
  return stat === undefined ? undefined : Math.max(stat.mtimeMs, told ?? 0)
}
