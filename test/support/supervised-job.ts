// A supervised job in trouble, as its user sees it: what happened, what people were told, what was typed.

import fs from 'node:fs'
import path from 'node:path'
import { type Door, type Event, scriptedDoor, type Started } from './door.ts'
import { temporaryFolder } from './workspace.ts'

type AtEnd = (work: () => void | Promise<void>) => void

/** Four modules, two of them to a context; people are told by a command that writes to a file. */
export function open(onTestFinished: AtEnd, options: Parameters<typeof scriptedDoor>[1] = {}): Door {
  const folder = fs.realpathSync(temporaryFolder(onTestFinished))
  const tell = { type: 'command', command: ['tee', '-a', path.join(folder, 'told.jsonl')] }
  const small = { modules: 4, perTurn: 2, growth: 10_000, pace: 60 }
  const { timings, ...rest } = options
  const patient = { submitSeconds: 3, clearSeconds: 3, graceSeconds: 2, ...timings }
  const sections = { notify: { channels: [tell] } }
  const door = scriptedDoor(folder, { ...small, sections, timings: patient, ...rest })
  onTestFinished(() => door.close())
  return door
}

/** A supervised job that has been started. */
export function begin(...[onTestFinished, options]: Parameters<typeof open>): { door: Door; run: Started } {
  const door = open(onTestFinished, options)
  return { door, run: door.start(...door.job('scripted')) }
}

export const isStep =
  (step: string, cycle = 1) =>
  (event: Event) =>
    event.type === 'step' && event.step === step && event.cycle === cycle
export const isState = (state: string) => (event: Event) =>
  event.type === 'row' && (event.row as { state: string }).state === state
export const isHealth = (check: string, status: string) => (event: Event) =>
  event.type === 'health' &&
  (event.check as { check_type: string }).check_type === check &&
  (event.check as { status: string }).status === status

/** Its first reply is written, and it thinks about the next: no command runs whose output would be lost with it. */
export const hasBegun = ({ type, row }: Event) => type === 'row' && Number((row as { tokens?: number }).tokens) > 10_000

export function pidOf(door: Door): number {
  return Number(door.tmux('list-panes', '-a', '-F', '#{pane_pid}').trim())
}

export function told(door: Door): string {
  const file = path.join(door.folder, 'told.jsonl')
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : ''
}

/** What each context was told by us, from the transcripts: one request for a document at most, one to resume. */
export function prompts(door: Door): string[][] {
  const sessions = path.join(door.folder, 'agent/sessions')
  const files = fs
    .readdirSync(sessions, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.jsonl'))
  return files.map((file) =>
    fs
      .readFileSync(path.join(sessions, file), 'utf8')
      .split('\n')
      .filter((line) => line.includes('"role":"user"'))
      .map((line) => (JSON.parse(line) as { message: { content: { text: string }[] } }).message.content[0]!.text),
  )
}

function nothingTwice(door: Door): boolean {
  return prompts(door).every((said) => {
    const ours = said.filter((text) => /^(Create|Read) handoff/.test(text))
    return new Set(ours).size === ours.length
  })
}

export async function finish(door: Door, run: Started, expected = 0): Promise<{ code: number | null; twice: boolean }> {
  await run
    .event(({ type }) => type === 'ended')
    .catch((error: unknown) => {
      // A command that ended without that event is judged by its code.
      if (run.child.exitCode === null && run.child.signalCode === null) throw error
    })
  const code = await run.ended
  if (code !== expected) throw new Error(`it ended with ${code}: ${run.err()}\n${JSON.stringify(run.events.slice(-5))}`)
  return { code, twice: !nothingTwice(door) }
}
