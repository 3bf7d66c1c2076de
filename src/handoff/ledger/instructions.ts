// The user's messages: what kind each is, and which later one takes an earlier one back. Every message is kept; what is
// taken back is marked.

import { type Cues, cuesOf, MAX_SENTENCES, sentences, stems, type Sentence } from './cues.ts'
import type { Instruction, Quote } from './facts.ts'
import { withoutPastes } from './pastes.ts'

/** `use a instead of b`, `statt b`, `而不是 b`, `b ではなく`: what the rejected thing stands behind or in front of. */
const REJECTED_AFTER =
  /(?:instead of|rather than|in place of|no longer(?: use)?|, not|don't use|do not use|forget(?: about)?|statt(?:dessen)?|anstatt|nicht mehr|au lieu (?:de |d')|plutôt que|en vez de|en lugar de|em vez de|ao invés de|invece (?:di|che)|al posto (?:di|del)|in plaats van|zamiast|вместо|замість|而不是|不要用?|不用|不再用|thay vì)\s*["'`«“]?([\p{L}\p{N}_./@-]{2,})/gu
const REJECTED_BEFORE = /([\p{L}\p{N}_./@-]{2,})["'`»”]?\s*(?:ではなく|じゃなくて|の代わりに|대신|말고|yerine)/gu

/** Takes back what the user said right before. */
const WHOLE_BACK =
  /^\W*(?:(?:no|actually|sorry|wait)\W+)*(?:never ?mind(?: that)?|scrap (?:that|it)|forget (?:that|it|what i (?:just )?said)|ignore (?:that|my (?:last|previous) (?:message|instruction|request))|disregard (?:that|my (?:last|previous) \w+)|vergiss (?:es|das)|ignoriere (?:das|meine letzte)|oubliez? (?:ça|cela)|olvídalo|olvida (?:eso|lo)|esquece (?:isso)?|lascia (?:stare|perdere)|vergeet (?:het|dat)|забудь(?:те)?(?: об этом| это)?|算了|当我没说|忘れて|忘れてください|잊어(?:버려)?|boş ver)/u

interface Kept {
  fact: Instruction
  /** What is looked at: the ends of a very long message. */
  text: string
  /** Taken apart when they are first asked for; without those that are taken back. */
  sentences?: readonly Sentence[]
}

/** People paste in the middle: what they want stands at the beginning or the end. */
function sampleOf(text: string): string {
  return text.length <= 2_000 ? text : `${text.slice(0, 1_400)}\n${text.slice(-600)}`
}

function sentencesOf(kept: Kept): readonly Sentence[] {
  return (kept.sentences ??= sentences(kept.text))
}

/** A stem in more messages than this says nothing about what a message is about. */
const COMMON = 20

export class InstructionBook {
  private readonly all: Kept[] = []
  /** Stem: the messages that hold it. */
  private readonly index = new Map<string, number[]>()

  add(quote: Quote, answers: number | undefined): void {
    const text = sampleOf(withoutPastes(quote.text))
    const kept: Kept = { text, fact: { ...quote, kind: 'instruct', ...(answers !== undefined && { answers }) } }
    const cues = cuesOf(text)
    // Most messages bind nothing and take nothing back: those are not even taken apart.
    if (cues.takesBack || cues.allows || cues.negative || WHOLE_BACK.test(text.toLowerCase()))
      this.supersede(kept, quote.id)
    kept.fact = { ...kept.fact, kind: classify(kept, cues) }
    for (const stem of stems(text)) {
      const holders = this.index.get(stem)
      if (!holders) this.index.set(stem, [this.all.length])
      else if (holders.length <= COMMON) holders.push(this.all.length)
    }
    this.all.push(kept)
  }

  get first(): Instruction | undefined {
    return (this.all.find(({ fact }) => !isBareCommand(fact.text)) ?? this.all[0])?.fact
  }

  get last(): Instruction | undefined {
    return (this.all.findLast(({ fact }) => !isBareCommand(fact.text)) ?? this.all.at(-1))?.fact
  }

  has(text: string): boolean {
    return this.all.some(({ fact }) => fact.text === text)
  }

  facts(): Instruction[] {
    return this.all.map(({ fact }) => fact)
  }

  private supersede(message: Kept, by: number): void {
    const { text } = message
    const isWhole = WHOLE_BACK.test(text.toLowerCase())
    const previous = this.all.at(-1)
    // "Forget it" is about what was said right before, unless the message itself says what it is about.
    if (!this.takeBack(text, sentencesOf(message), by) && isWhole && previous) {
      previous.fact = { supersededBy: by, ...previous.fact }
    }
  }

  /** Marks what the sentences take back; false when there is no such thing. */
  private takeBack(text: string, later: readonly Sentence[], by: number): boolean {
    let found = false
    const rejected = rejectedIn(text)
    // In a long message, most of which may be pasted, a cue speaks for its own sentence only.
    const brief = later.length <= 4
    const back = later.some(({ takesBack }) => takesBack)
    const telling = later.filter(
      ({ allows, negative, takesBack }) => allows || negative || takesBack || (brief && back),
    )
    if (telling.length === 0 && rejected.length === 0) return false
    const candidates = new Set(
      [...telling.flatMap(({ stems }) => stems), ...rejected].flatMap((stem) => {
        const holders = this.index.get(stem) ?? []
        return holders.length > COMMON ? [] : holders
      }),
    )
    for (const index of candidates) {
      const kept = this.all[index]
      if (!kept || kept.fact.supersededBy !== undefined) continue
      const before = sentencesOf(kept)
      const taken = before.filter(
        (earlier) =>
          (!earlier.negative && earlier.stems.some((stem) => rejected.includes(stem))) ||
          telling.some((sentence) => overrides(sentence, earlier, brief ? back : sentence.takesBack)),
      )
      if (taken.length === 0) continue
      found = true
      if (taken.length === before.length && before.length < MAX_SENTENCES && kept.fact.amended === undefined) {
        kept.fact = { ...kept.fact, supersededBy: by }
      } else {
        kept.fact = {
          ...kept.fact,
          amended: [...(kept.fact.amended ?? []), ...taken.map(({ text }) => ({ text, by }))],
        }
        kept.sentences = before.filter((sentence) => !taken.includes(sentence))
      }
    }
    return found
  }
}

function rejectedIn(given: string): string[] {
  // Ignoring case in all scripts is slow; lower case is not.
  const text = given.toLowerCase()
  const before = /ではなく|じゃなくて|の代わりに|대신|말고|yerine/.test(text) ? [...text.matchAll(REJECTED_BEFORE)] : []
  return [...text.matchAll(REJECTED_AFTER), ...before].flatMap(([, word = '']) => stems(word))
}

/** Conservative: a constraint that is wrongly taken for revoked does harm, an old one beside a newer one does not. */
function overrides(later: Sentence, earlier: Sentence, takesBack: boolean): boolean {
  const size = earlier.stems.length
  const shared = earlier.stems.filter((stem) => later.stems.includes(stem)).length
  if (shared === 0) return false
  const all = shared === size
  if (later.allows && earlier.negative && !later.negative) return shared * 2 >= size && (all || later.allowsNow)
  const alike = later.stems.length <= size + 1
  if (later.negative && !earlier.negative && !earlier.binding) return all && alike
  if (!takesBack || later.adds || later.negative !== earlier.negative) return false
  // One word in common is enough only for the sentence that itself takes something back.
  return shared * 2 >= size && alike && (size > 1 || later.takesBack)
}

function classify(message: Kept, cues: Cues): Instruction['kind'] {
  const opening = message.text.slice(0, 160)
  if (OPENING.test(opening.toLowerCase()) || (cues.takesBack && cuesOf(opening).takesBack)) return 'correction'
  return cues.mayBind && sentencesOf(message).some(({ binding }) => binding) ? 'constraint' : 'instruct'
}

// In Spanish and Italian, `no` before a verb forbids; only set apart does it contradict.
const OPENING =
  /^\W*(?:(?:no|non|não|nie|не)(?:\s*[,.!:;—-]|\s*$|\s+(?:the|that|this|it|i|we|you|use|not|just|wait|please)\b)|(?:nope|stop|wait|hold on|undo|revert|cancel that|nein|halt|nee|нет|стоп|ні|hayır|不|不是|いいえ|いや|아니요?|لا|नहीं)(?:[\s,.!。，、:—-]|$))/u

/** `/model`: typed for the agent's program, not for the agent. */
function isBareCommand(text: string): boolean {
  return /^\/[\w:-]*$/.test(text)
}
