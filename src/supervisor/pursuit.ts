// A prompt on its way to the agent. It is typed once; again only where nothing was typed before, or where it has not shown
// in the transcript for long while the agent rests at an empty prompt.

import type { Policy, Prompt, Seen, Sight, Touch, Waits } from './cycle-state.ts'

export type Pursued =
  | { readonly is: 'heard'; readonly prompt: Prompt }
  /** To be typed now. */
  | { readonly is: 'again'; readonly prompt: Prompt }
  /** Typed twice, and never heard. */
  | { readonly is: 'lost' }
  | { readonly is: 'waiting'; readonly prompt: Prompt; readonly waits: Waits }

/** How often what was refused is tried again, and a screen looked at that is in the way. */
export const again = 1_000
/** So many times the usual wait, and a prompt whose fate cannot be seen is given up. */
const patience = 6

export function typing(text: string, now: number): Prompt {
  return { text, state: 'typing', at: now, began: now, typings: 1 }
}

/** To be typed as soon as that is possible. */
export function pending(text: string, now: number): Prompt {
  return { text, state: 'refused', at: now, began: now, typings: 0 }
}

export function pursue(prompt: Prompt, seen: Seen, what: Touch, policy: Policy, now: number): Pursued {
  const { at, typings } = prompt
  const typed = { for: 'its prompt to appear in the transcript', until: at + policy.submitMs }
  if (seen.seen === 'done' && seen.what === what) {
    return { is: 'waiting', prompt: { ...prompt, state: 'typed', at: now }, waits: typed }
  }
  if (seen.seen === 'refused' && seen.what === what) {
    const refused = { ...prompt, state: 'refused' as const, at: now, typings: typings - 1, reason: seen.reason }
    return { is: 'waiting', prompt: refused, waits: { for: `a chance to type (${seen.reason})`, until: now + again } }
  }
  if (seen.seen !== 'session') return { is: 'waiting', prompt, waits: typed }
  if (seen.heard) return { is: 'heard', prompt: { ...prompt, state: 'heard', at: now } }
  if (prompt.state === 'typing') return { is: 'waiting', prompt, waits: { for: 'a prompt that is being typed' } }
  const { reason, ...rest } = prompt
  const next: Prompt = { ...rest, state: 'typing', at: now, typings: typings + 1 }
  if (prompt.state === 'refused') {
    if (mayType(seen) && now - at >= again) return { is: 'again', prompt: next }
    const why = obstacle(seen) ?? reason ?? 'not yet'
    return { is: 'waiting', prompt, waits: { for: `a chance to type (${why})`, until: Math.max(at, now) + again } }
  }
  const late = now - at
  if (late < policy.submitMs) return { is: 'waiting', prompt, waits: typed }
  if (mayType(seen)) return typings < 2 ? { is: 'again', prompt: next } : { is: 'lost' }
  // The agent may be at work on it: some write nothing before their first reply.
  if (isWorking(seen) || late < policy.submitMs * patience) {
    return { is: 'waiting', prompt, waits: { ...typed, until: now + again } }
  }
  return { is: 'lost' }
}

export function isWorking({ look, screen }: Sight): boolean {
  return look.turn === 'asked' || look.turn === 'working' || screen.is === 'busy'
}

/** Whether the agent rests at an empty prompt. */
export function mayType(sight: Sight): boolean {
  return obstacle(sight) === undefined
}

export function obstacle(sight: Sight): string | undefined {
  const { look, screen } = sight
  if (look.dialog !== undefined || screen.is === 'dialog') return 'it asks a question'
  if (isWorking(sight)) return 'it works'
  if (screen.is === 'prompt') return screen.draft === '' ? undefined : 'somebody is typing'
  return screen.is === 'starting' ? 'it is starting' : 'its screen shows something else'
}
