// What an item is worth to whoever takes over, in one table. The budget buys worth for tokens: a class loses worth with each
// item that was told of it, so that no class crowds out the others.

import { asks } from '../../ledger/words/sentences.ts'
import { termsOf, weightIn } from '../../ledger/words/terms.ts'
import { isNone } from '../check/concrete.ts'
import type { Item, Profile, SectionKey } from '../document.ts'
import { hasLaterWords } from '../phrases.ts'

interface Weight {
  /** Of the first item of the class, in its brief form. */
  readonly worth: number
  /** After so many items of the class, one more is worth half. */
  readonly half: number
  /** What the longer forms add, each as a part of the worth. */
  readonly more?: readonly [normal: number, full: number]
  /** The first of the class comes before anything else has a second. */
  readonly early?: true
}

/** Those without which there is no document come first, whatever they cost. */
const always = Number.POSITIVE_INFINITY

export const weights = {
  /** How the work stands, what the user asked for, the first step, and sections that hold nothing. */
  needed: { worth: always, half: always, more: [110, 40] },
  otherGoal: { worth: 40, half: 2 },
  rule: { worth: 150, half: 20, early: true },
  /** A rule about one file: more often a wish for a piece of work. */
  ruleForFile: { worth: 70, half: 4 },
  /** Later words are about the same: those come first. */
  overtakenRule: { worth: 60, half: 4 },
  failure: { worth: 120, half: 10, more: [0.5, 0.3], early: true },
  /** The work has left it behind. */
  staleFailure: { worth: 100, half: 10, more: [0.3, 0.2], early: true },
  open: { worth: 86, half: 8, early: true },
  question: { worth: 90, half: 2, early: true },
  laterStep: { worth: 30, half: 2 },
  closing: { worth: 150, half: 1, more: [1.2, 0.8], early: true },
  deed: { worth: 45, half: 3 },
  changedFile: { worth: 34, half: 80, early: true },
  place: { worth: 35, half: 1 },
  /** What a person confirmed: an answer, a plan, a refusal. */
  confirmed: { worth: 100, half: 12, more: [0.2, 0.1] },
  decision: { worth: 58, half: 15 },
  words: { worth: 80, half: 50, more: [0.3, 0.1] },
  reply: { worth: 35, half: 4, more: [0.3, 0.2] },
  /** A line tells all of it, so its decisions are told nowhere else. */
  wholeReply: { worth: 58, half: 8 },
  note: { worth: 12, half: 6 },
  done: { worth: 12, half: 6 },
  command: { worth: 3, half: 6 },
  readFile: { worth: 2, half: 10 },
} as const satisfies Record<string, Weight>

export type WeightName = keyof typeof weights

/** Items that are worth more than this for a token are told before a document is made comfortable to read. */
export const essential = 0.5

/** What a model or an agent only says counts for less than what the tape shows. */
const claimed = 0.8
/** A question of the user's was answered, as a rule; but people also put their wishes as questions. */
const asked = 0.7
/** Words of the user's that weigh less say little: "sleep", "try again". */
const fullWeight = 22
/** A statement of the assistant's that weighs less tells a detail: "Sub-step 2.2", a single value. */
const fullStatement = 26

export function weightName(profile: Profile, key: SectionKey, item: Item, at: number, items: number): WeightName {
  const byUser = item.by === 'user'
  if (items === 1 && isNone(item.text)) return 'needed'
  switch (key) {
    case 'status':
      return 'needed'
    case 'goal':
      return byUser || at === 0 ? 'needed' : 'otherGoal'
    case 'next':
      if (at === 0) return 'needed'
      return profile === 'cycle' ? 'open' : 'laterStep'
    case 'constraints':
      if (hasLaterWords(item)) return 'overtakenRule'
      return item.tag === 'ruleForFile' ? item.tag : 'rule'
    case 'failures':
      return item.tag === 'stale' ? 'staleFailure' : 'failure'
    case 'doing':
      return profile === 'cycle' && byUser ? 'needed' : 'open'
    case 'pending':
      return 'open'
    case 'blockers':
      return 'question'
    case 'files':
      return item.file?.action === 'read' ? 'readFile' : 'changedFile'
    case 'decisions':
      return item.status === 'claimed' ? 'decision' : 'confirmed'
    case 'context':
      if (profile === 'cycle' && byUser) return hasLaterWords(item) ? 'overtakenRule' : 'rule'
      return tagged(item) ?? 'note'
    case 'notes':
      return tagged(item) ?? (profile === 'cycle' ? 'decision' : 'note')
    case 'done':
      return tagged(item) ?? 'done'
  }
}

function tagged({ by, tag }: Item): WeightName | undefined {
  if (by === 'user') return 'words'
  switch (tag) {
    case 'closing':
    case 'words':
      return 'closing'
    case 'deed':
    case 'place':
    case 'command':
    case 'reply':
    case 'wholeReply':
      return tag
    default:
      return undefined
  }
}

/** The part of its weight that an item has for what it says. */
export function partOf(name: WeightName, item: Item): number {
  const says = (full: number) => Math.min(1, weightIn(termsOf(item.text.slice(0, 400))) / full)
  if (name === 'words') return says(fullWeight) * (asks(item.text) ? asked : 1)
  if (name === 'decision' || name === 'wholeReply') return says(fullStatement)
  return item.status === 'claimed' && name !== 'closing' && name !== 'reply' ? claimed : 1
}
