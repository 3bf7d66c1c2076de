// What the step function is shown: the session as its transcript tells it, the screen where that matters, the document.

import fs from 'node:fs'
import path from 'node:path'
import { BatonError } from '../errors.ts'
import type { Look } from './adapter.ts'
import type { Cycle, Found, Prompt, Sight } from './cycle-state.ts'
import { isLeftDraft } from './draft.ts'
import { examine, judge } from './document-file.ts'
import type { Observation } from './eyes.ts'
import { samePrompt } from './prompts.ts'
import type { Hands } from './run.ts'
import type { TranscriptTape } from './transcript-tape.ts'

export interface SceneOptions {
  readonly hands: Hands
  readonly look: Observation
  readonly cycle: Cycle
  readonly cwd: string
  readonly tape: TranscriptTape
  /** Whether the screen is worth a look: it costs more than the transcript. */
  readonly screen: boolean
  readonly submitMs: number
  readonly now: number
}

export async function sightOf(options: SceneOptions): Promise<Sight> {
  const { hands, look, cycle } = options
  const drawn = options.screen || cycle.at !== 'watching' ? await hands.driver.look().catch(unseen) : unknown
  const screen = withoutOurs(drawn, promptOf(cycle)?.text ?? hands.adapter.clear ?? '')
  return {
    seen: 'session',
    look,
    screen,
    heard: await isHeard(options),
    read: await isRead(options),
    found: await found(options),
  }
}

const unknown: Look = { is: 'unknown' }

/** A screen that is gone shows nothing: that its agent is gone too is seen elsewhere. */
function unseen(error: unknown): Look {
  if (BatonError.is(error) && (error.code === 'refused' || error.code === 'storage')) return unknown
  throw error
}

/** A supervisor that died before it pressed Enter leaves its own words: nobody is typing there. */
function withoutOurs(screen: Look, words: string): Look {
  return 'draft' in screen && isLeftDraft(screen.draft, words) ? { ...screen, draft: '' } : screen
}

function promptOf(cycle: Cycle): Prompt | undefined {
  return 'prompt' in cycle ? cycle.prompt : cycle.at === 'watching' ? cycle.say : undefined
}

/** By the last words of the transcript; before anything is typed again, by all of it. */
async function isHeard({ look, cycle, tape, submitMs, now }: SceneOptions): Promise<boolean> {
  const prompt = promptOf(cycle)
  if (prompt === undefined || prompt.state === 'heard') return false
  const { text, at } = look.prompt ?? {}
  const since = prompt.began - 5_000
  if (text !== undefined && samePrompt(prompt.text, text) && (at === undefined || Date.parse(at) >= since)) return true
  const late = prompt.state === 'typed' && now - prompt.at >= submitMs
  return late && look.file !== undefined && (await tape.heard(look.file, prompt.text, prompt.began))
}

/** Whether the fresh context has read the document; by its name in a call, where the agent has ways of its own to read. */
async function isRead({ hands, look, cycle, tape }: SceneOptions): Promise<boolean> {
  if (cycle.at !== 'verifying' || look.session === cycle.from) return false
  if (hands.adapter.inline === true) return true
  const { path: file } = cycle.document
  if (look.read.some((each) => path.resolve(each) === file || real(each) === real(file))) return true
  return look.turn === 'idle' && look.file !== undefined && (await tape.touched(look.file, file))
}

function real(file: string): string {
  try {
    return fs.realpathSync(file)
  } catch {
    return file
  }
}

/** The file, or a reply that is the document: an agent that cannot write can still speak. */
async function found({ look, cycle, cwd, tape, now }: SceneOptions): Promise<Found> {
  if (cycle.at !== 'asked' && cycle.at !== 'documented') return { is: 'nothing' }
  const settled = look.turn === 'idle'
  const file = examine({ path: cycle.path, since: cycle.trigger.at, cwd, settled }, now)
  if (file.is !== 'nothing' || cycle.at !== 'asked' || look.turn !== 'idle' || cycle.prompt.state !== 'heard')
    return file
  const reply = look.file === undefined ? undefined : await tape.reply(look.file)
  if (reply === undefined) return file
  const judged = judge(reply, cwd)
  return judged.is === 'valid' ? judged : file
}

/** When what is seen was written: what Baton does about it is measured from there. */
export function evidenceOf(sight: Sight | undefined): number | undefined {
  const { file, turnSince } = sight?.look ?? {}
  // A database is written for other sessions too, and its file only now and then: its rows tell their own times.
  if (file?.agent === 'opencode') return Date.parse(turnSince ?? '') || undefined
  const stat = file === undefined ? undefined : fs.statSync(file.path, { throwIfNoEntry: false })
  return stat?.mtimeMs
}
