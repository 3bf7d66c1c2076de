// Delivers a prompt to the agent. It is typed once; a second time only where nothing was typed before, or where it has not
// appeared in the transcript for long while the agent is idle at an empty input line.

import type { Policy, Prompt, CycleEvent, Sighting, AgentAction, Waits } from './cycle-state.ts'

export type Delivery =
  | { readonly is: 'heard'; readonly prompt: Prompt }
  /** It is to be typed now. */
  | { readonly is: 'again'; readonly prompt: Prompt }
  /** It was typed twice and never appeared in the transcript. */
  | { readonly is: 'lost' }
  | { readonly is: 'waiting'; readonly prompt: Prompt; readonly waits: Waits }

/** How often a refused prompt is tried again, and an obstructing screen read again, in milliseconds. */
export const again = 1_000
/** After so many times the usual wait, a prompt whose fate cannot be observed is given up. */
const patience = 6

export function typing(text: string, now: number): Prompt {
  return { text, state: 'typing', at: now, began: now, typings: 1 }
}

/** A prompt that is to be typed as soon as that is possible. */
export function pending(text: string, now: number): Prompt {
  return { text, state: 'refused', at: now - again, began: now, typings: 0 }
}

export function deliver(prompt: Prompt, event: CycleEvent, what: AgentAction, policy: Policy, now: number): Delivery {
  const { at, typings } = prompt
  const typed = { for: 'its prompt to appear in the transcript', until: at + policy.submitMs }
  if (event.type === 'done' && event.what === what) {
    return { is: 'waiting', prompt: { ...prompt, state: 'typed', at: now }, waits: typed }
  }
  if (event.type === 'refused' && event.what === what) {
    const refused = { ...prompt, state: 'refused' as const, at: now, typings: typings - 1, reason: event.reason }
    return { is: 'waiting', prompt: refused, waits: { for: `a chance to type (${event.reason})`, until: now + again } }
  }
  if (event.type !== 'session') return { is: 'waiting', prompt, waits: typed }
  // A prompt that was never typed cannot have been heard: the transcript holds the same words from an earlier time.
  if (event.heard && typings > 0) return { is: 'heard', prompt: { ...prompt, state: 'heard', at: now } }
  if (prompt.state === 'typing') return { is: 'waiting', prompt, waits: { for: 'a prompt that is being typed' } }
  const { reason, ...rest } = prompt
  const next: Prompt = { ...rest, state: 'typing', at: now, typings: typings + 1 }
  if (prompt.state === 'refused') {
    if (mayType(event) && now - at >= again) return { is: 'again', prompt: next }
    const why = obstacle(event) ?? reason ?? 'not yet'
    return { is: 'waiting', prompt, waits: { for: `a chance to type (${why})`, until: Math.max(at, now) + again } }
  }
  const late = now - at
  if (late < policy.submitMs) return { is: 'waiting', prompt, waits: typed }
  if (mayType(event)) return typings < 2 ? { is: 'again', prompt: next } : { is: 'lost' }
  // The agent may be working on it: some agents write nothing before their first reply.
  if (isWorking(event) || late < policy.submitMs * patience) {
    return { is: 'waiting', prompt, waits: { ...typed, until: now + again } }
  }
  return { is: 'lost' }
}

export function isWorking({ observation, screen }: Sighting): boolean {
  return observation.turn === 'asked' || observation.turn === 'working' || screen.is === 'busy'
}

/** Whether words could be typed to the agent now, whether it works or not. */
export function hasEmptyInput({ observation, screen }: Sighting): boolean {
  if (observation.dialog !== undefined || (screen.is !== 'busy' && screen.is !== 'prompt')) return false
  return screen.draft === '' && !(screen.is === 'busy' && screen.deaf === true)
}

/** Whether the agent is idle at an empty input line. */
export function mayType(sighting: Sighting): boolean {
  return obstacle(sighting) === undefined
}

export function obstacle(sighting: Sighting): string | undefined {
  const { observation, screen } = sighting
  if (observation.dialog !== undefined || screen.is === 'dialog') return 'it asks a question'
  if (isWorking(sighting)) return 'it works'
  if (screen.is === 'prompt') return screen.draft === '' ? undefined : 'its input holds a line that was not sent'
  return screen.is === 'starting' ? 'it is starting' : 'its screen shows something else'
}
