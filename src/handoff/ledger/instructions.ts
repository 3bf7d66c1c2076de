// The user's messages: what kind each is, and which later one takes an earlier one back. Every message is kept. Cues in the
// larger languages tell constraints and corrections apart; a message in any other language is still there, as `instruct`.

import type { Instruction, Quote } from './facts.ts'

/** Words that bind, by language; letters only, so they are looked for between non-letters. */
const BINDING = words(
  // English, German, French, Spanish, Portuguese, Italian, Dutch, Polish, Turkish, Russian, Ukrainian
  "never|don't|dont|do not|must not|mustn't|must|only|always|without|avoid|make sure|ensure|keep (?!going|on|at|it up)|leave|no longer|shall not|at most|at least|under no circumstances|prefer|not allowed|forbidden|" +
    'nie|niemals|keine|keinen|kein|keinesfalls|nur|immer|ohne|darfst nicht|darf nicht|dürfen nicht|musst|muss|müssen|vermeide|auf keinen fall|bitte nicht|' +
    'jamais|uniquement|seulement|toujours|sans|évite|évitez|interdit|il faut|ne pas|surtout pas|' +
    'nunca|jamás|solo|sólo|solamente|únicamente|siempre|sin|evita|evite|debes|no debes|prohibido|' +
    'sempre|apenas|somente|sem|evite|não deve|deve|proibido|' +
    'mai|soltanto|solamente|senza|evita|devi|non devi|vietato|' +
    'nooit|alleen|altijd|zonder|vermijd|moet|geen|' +
    'nigdy|tylko|zawsze|bez|unikaj|musisz|nie wolno|' +
    'asla|sadece|yalnızca|her zaman|olmadan|sakın|' +
    'никогда|только|всегда|без|нельзя|избегай|избегайте|обязательно|должен|должна|должны|не надо|не нужно|запрещено|' +
    'ніколи|тільки|лише|завжди|не можна',
)
const BINDING_PATTERNS =
  /\bne\s+\p{L}+\s+(?:pas|jamais|rien)\b|\b(?:nicht|niet)\b|(?<!\p{L})не\s+\p{L}+(?:й|йте|ть)(?!\p{L})|^\s*(?:no|não|non|nie)\s+\p{L}+|不要|不能|不得|不许|不准|禁止|请勿|切勿|勿|别(?!的|人|处)|必须|只能|只用|务必|一定要|始终|总是|避免|不可|ないで|禁止|必ず|だけ|してはいけ|しては(?:なら|ダメ)|のみ|常に|지\s*마|금지|반드시|항상|만\s*사용|하면\s*안|لا\s|يجب|فقط|دائما|أبدا|मत|हमेशा|केवल|कभी नहीं|อย่า|ห้าม|đừng|không được|luôn|chỉ/iu

/** Words that take something back. */
const TAKING_BACK = words(
  "actually|instead|instead of|rather than|wrong|not what i|forget|never mind|nevermind|i meant|that's not|thats not|on second thought|changed my mind|change of plan|no longer|disregard|" +
    'doch|stattdessen|statt|anstatt|falsch|vergiss|rückgängig|lieber|sondern|eigentlich|ich meinte|nicht mehr|' +
    'plutôt|en fait|au lieu de|à la place|oublie|oubliez|annule|annulez|finalement|je voulais dire|' +
    'en realidad|en vez de|en lugar de|mejor|olvida|olvídalo|deshaz|cancela|quise decir|más bien|ya no|' +
    'na verdade|em vez de|ao invés de|esquece|esqueça|desfaz|cancele|quis dizer|' +
    'anzi|invece|in realtà|dimentica|annulla|volevo dire|piuttosto|al posto di|' +
    'toch|in plaats van|vergeet|eigenlijk|liever|' +
    'jednak|zamiast|zapomnij|cofnij|właściwie|' +
    'yerine|aslında|vazgeç|unut|boş ver|' +
    'вместо|на самом деле|забудь|забудьте|отмени|отмените|лучше|передумал|передумала|больше не|' +
    'замість|насправді|забудь|краще',
)
const TAKING_BACK_PATTERNS =
  /不对|不是这|错了|改成|改为|改用|换成|而不是|算了|撤销|忘掉|忘了|取消|其实|还是用|不再|回退|いや[、,]|違う|違います|ではなく|じゃなくて|やっぱり|代わりに|取り消し|忘れて|やめて|아니[,\s]|대신|취소|말고|틀렸|잊어|بدلا|बजाय|thay vì/iu

/** Words that allow what was forbidden. */
const ALLOWING = words(
  "you may|you can|may now|can now|it's ok|it's okay|it is ok|it's fine|is fine|are fine|allowed|feel free|go ahead and|now ok|okay to|ok to|fine to|" +
    'darfst|dürft|dürfen|erlaubt|kannst|in ordnung|' +
    'tu peux|vous pouvez|autorisé|autorisée|permis|' +
    'puedes|puede|permitido|permitida|' +
    'você pode|pode|podes|permitido|' +
    'puoi|permesso|consentito|' +
    'mogen|toegestaan|' +
    'możesz|wolno|' +
    'можно|можешь|можете|разрешено|разрешаю|' +
    'можна',
)
const ALLOWING_PATTERNS = /可以|允许|してもいい|しても良い|してよい|해도\s*(?:돼|됩니다|좋)|يمكنك|được phép/u
/** Cues of permission that cannot mean anything else. */
const ALLOWED_NOW =
  /(?<!\p{L})(?:now|anyway|after all|allowed|fine|ok|okay|go ahead|feel free|jetzt|doch|erlaubt|wieder|maintenant|autorisée?|permis|ahora|permitid[oa]|agora|adesso|consentito|nu|toegestaan|teraz|теперь|разрешено|тепер)(?!\p{L})|现在|允许|了[。！!\s]*$|もう|이제/iu
/** Forbids or denies, rather than merely binds. */
const NEGATING =
  /(?<!\p{L})(?:never|don't|dont|do not|must not|mustn't|no|not|without|avoid|stop|nicht|kein|keine|keinen|nie|niemals|ohne|jamais|sans|pas|nunca|jamás|sin|não|sem|non|mai|senza|niet|geen|nooit|zonder|nigdy|asla|не|нельзя|никогда|без)(?!\p{L})|不|别|勿|禁止|ないで|なく|지\s*마|금지|말고|đừng/iu
/** Adds to what was said before. */
const ADDING =
  /(?<!\p{L})(?:also|too|as well|additionally|auch|außerdem|aussi|également|también|además|também|anche|ook|też|тоже|также|ayrıca)(?!\p{L})|也|还要|另外|\Sも|また|도\s|또한/iu
/** `use a instead of b`, `statt b`, `而不是 b`, `b ではなく`: what the rejected thing stands behind or in front of. */
const REJECTED_AFTER =
  /(?:instead of|rather than|in place of|no longer(?: use)?|, not|don't use|do not use|forget(?: about)?|statt(?:dessen)?|anstatt|nicht mehr|au lieu (?:de |d')|plutôt que|en vez de|en lugar de|em vez de|ao invés de|invece (?:di|che)|al posto (?:di|del)|in plaats van|zamiast|вместо|замість|而不是|不要用?|不用|不再用|thay vì)\s*["'`«“]?([\p{L}\p{N}_./@-]{2,})/giu
const REJECTED_BEFORE = /([\p{L}\p{N}_./@-]{2,})["'`»”]?\s*(?:ではなく|じゃなくて|の代わりに|대신|말고|yerine)/giu

/** Takes back what the user said right before. */
const WHOLE_BACK =
  /^\W*(?:(?:no|actually|sorry|wait)\W+)*(?:never ?mind(?: that)?|scrap (?:that|it)|forget (?:that|it|what i (?:just )?said)|ignore (?:that|my (?:last|previous) (?:message|instruction|request))|disregard (?:that|my (?:last|previous) \w+)|vergiss (?:es|das)|ignoriere (?:das|meine letzte)|oubliez? (?:ça|cela)|olvídalo|olvida (?:eso|lo)|esquece (?:isso)?|lascia (?:stare|perdere)|vergeet (?:het|dat)|забудь(?:те)?(?: об этом| это)?|算了|当我没说|忘れて|忘れてください|잊어(?:버려)?|boş ver)/iu

interface Kept {
  fact: Instruction
  sentences: Sentence[]
}

/** A stem in more messages than this says nothing about what a message is about. */
const COMMON = 200

export class InstructionBook {
  private readonly all: Kept[] = []
  /** Stem: the messages that hold it. */
  private readonly index = new Map<string, number[]>()

  add(quote: Quote, answers: number | undefined): void {
    const sample = quote.text.slice(0, 4_000)
    const found = sentences(sample)
    this.supersede(sample, found, quote.id)
    for (const stem of new Set(found.flatMap(({ stems }) => stems))) {
      const holders = this.index.get(stem)
      if (!holders) this.index.set(stem, [this.all.length])
      else if (holders.length <= COMMON) holders.push(this.all.length)
    }
    const fact = { ...quote, kind: classify(sample), ...(answers !== undefined && { answers }) }
    this.all.push({ fact, sentences: found })
  }

  get first(): Instruction | undefined {
    return (this.all.find(({ fact }) => !isBareCommand(fact.text)) ?? this.all[0])?.fact
  }

  get last(): Instruction | undefined {
    return (this.all.findLast(({ fact }) => !isBareCommand(fact.text)) ?? this.all.at(-1))?.fact
  }

  facts(): Instruction[] {
    return this.all.map(({ fact }) => fact)
  }

  private supersede(text: string, later: readonly Sentence[], by: number): void {
    if (WHOLE_BACK.test(text)) {
      const previous = this.all.at(-1)
      if (previous) previous.fact = { supersededBy: by, ...previous.fact }
    }
    const rejected = [...text.matchAll(REJECTED_AFTER), ...text.matchAll(REJECTED_BEFORE)].flatMap(([, word = '']) =>
      stems(word),
    )
    // In a long message, most of which may be pasted, a cue speaks for its own sentence only.
    const brief = later.length <= 4
    const takesBack = isTakingBack(text)
    if (!takesBack && rejected.length === 0 && !later.some(({ allows, negative }) => allows || negative)) return
    const candidates = new Set(
      [...later.flatMap(({ stems }) => stems), ...rejected].flatMap((stem) => {
        const holders = this.index.get(stem) ?? []
        return holders.length > COMMON ? [] : holders
      }),
    )
    for (const index of candidates) {
      const kept = this.all[index]
      if (!kept || kept.fact.supersededBy !== undefined) continue
      const taken = kept.sentences.filter(
        (earlier) =>
          (!earlier.negative && earlier.stems.some((stem) => rejected.includes(stem))) ||
          later.some((sentence) => overrides(sentence, earlier, brief ? takesBack : isTakingBack(sentence.text))),
      )
      if (taken.length === 0) continue
      if (taken.length === kept.sentences.length && kept.fact.amended === undefined) {
        kept.fact = { ...kept.fact, supersededBy: by }
      } else {
        kept.fact = {
          ...kept.fact,
          amended: [...(kept.fact.amended ?? []), ...taken.map(({ text }) => ({ text, by }))],
        }
        kept.sentences = kept.sentences.filter((sentence) => !taken.includes(sentence))
      }
    }
  }
}

/** Conservative: a constraint that is wrongly taken for revoked does harm, an old one beside a newer one does not. */
function overrides(later: Sentence, earlier: Sentence, takesBack: boolean): boolean {
  const size = earlier.stems.length
  const shared = earlier.stems.filter((stem) => later.stems.includes(stem)).length
  if (shared === 0) return false
  const all = shared === size
  if (later.allows && earlier.negative && !later.negative) {
    return shared * 2 >= size && (all || ALLOWED_NOW.test(later.text))
  }
  const alike = later.stems.length <= size + 1
  if (later.negative && !earlier.negative && !earlier.binding) return all && alike
  if (!takesBack || ADDING.test(later.text) || later.negative !== earlier.negative) return false
  // One word in common is enough only for the sentence that itself takes something back.
  return shared * 2 >= size && alike && (size > 1 || isTakingBack(later.text))
}

export function classify(text: string): Instruction['kind'] {
  const opening = text.slice(0, 160)
  if (OPENING.test(opening) || isTakingBack(opening)) return 'correction'
  return sentences(text).some(({ binding }) => binding) ? 'constraint' : 'instruct'
}

// In Spanish and Italian, `no` before a verb forbids; only set apart does it contradict.
const OPENING =
  /^\W*(?:(?:no|non|não|nie|не)(?:\s*[,.!:;—-]|\s*$|\s+(?:the|that|this|it|i|we|you|use|not|just|wait|please)\b)|(?:nope|stop|wait|hold on|undo|revert|cancel that|nein|halt|nee|нет|стоп|ні|hayır|不|不是|いいえ|いや|아니요?|لا|नहीं)(?:[\s,.!。，、:—-]|$))/iu

function isTakingBack(text: string): boolean {
  return TAKING_BACK.test(text) || TAKING_BACK_PATTERNS.test(text)
}

/** A question binds nobody, nor does what the user does not know. */
function isBinding(sentence: string): boolean {
  if (/[?？؟]\s*$/.test(sentence)) return false
  const text = sentence.replaceAll(/\bi (?:don't|dont|do not|can't|cannot) (?!want|need|like)\w+/gi, '')
  return BINDING.test(text) || BINDING_PATTERNS.test(text)
}

/** `/model`: typed for the agent's program, not for the agent. */
function isBareCommand(text: string): boolean {
  return /^\/[\w:-]*$/.test(text)
}

interface Sentence {
  readonly text: string
  readonly stems: readonly string[]
  readonly negative: boolean
  readonly binding: boolean
  readonly allows: boolean
}

const MAX_SENTENCES = 60

function sentences(text: string): Sentence[] {
  return text
    .split(/(?<=[.!?;])\s+|(?<=[。！？；])|\n+/u)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '')
    .slice(0, MAX_SENTENCES)
    .map((sentence) => ({
      text: sentence,
      stems: stems(sentence),
      negative: NEGATING.test(sentence),
      binding: isBinding(sentence),
      allows: ALLOWING.test(sentence) || ALLOWING_PATTERNS.test(sentence),
    }))
}

/** What a sentence is about: names and paths as they are, words by their beginning, Chinese and the like by pairs. */
function stems(text: string): string[] {
  const found = new Set<string>()
  for (const [token] of text
    .toLowerCase()
    .matchAll(
      /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]+|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}])[\p{L}\p{N}_./@-])+/gu,
    )) {
    if (/^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u.test(token)) {
      const kept = token.replaceAll(/[\p{Script=Hiragana}]+/gu, ' ').replaceAll(CJK_FILL, ' ')
      for (const part of kept.split(' '))
        for (let at = 0; at + 1 < part.length; at += 1) found.add(part.slice(at, at + 2))
      continue
    }
    const word = token.replaceAll(/^[./-]+|[./-]+$/g, '')
    if (word.length < 2 || FILL.has(word) || /^[\d.]+$/.test(word)) continue
    found.add(/[._/@\d-]/.test(word) || word.length <= 5 ? word : word.slice(0, 6))
  }
  return [...found]
}

const CJK_FILL =
  /请|不要|不能|不得|不许|不用|不再|禁止|可以|现在|必须|只能|务必|一定|使用|改用|改成|改为|换成|而不是|其实|还是|的|了|吧|用|把|在|和|与|就|都|要|我|你|하지|마세요|해주세요|사용|대신|이제/g
const FILL = new Set(
  (
    'the and for with that this from into not don do does use using used please now just all any are is be to of in on it a an as at by or if ' +
    "so no yes you your we our i my me can could should would must will shall may never always only instead rather than actually ok okay it's don't " +
    'make sure want need let lets have has was were but then also too more very new still longer allowed fine forget drop switch change wait stop ' +
    'der die das den dem ein eine einen und oder nicht kein keine mit für von zu im am ist sind du bitte nur immer nie statt doch stattdessen jetzt verwende verwenden nimm benutze nutze lieber darfst ' +
    'le la les un une des du de et ou ne pas plus jamais avec pour dans sur est il faut que utilise utiliser utilisez plutôt au lieu tu peux ' +
    'el los las una unos y o no con para en es que usa usar use mejor vez lugar siempre nunca solo puedes ' +
    'os uma com não sempre apenas usar use pode ' +
    'il lo gli uno e non con per di che usa usare invece puoi ' +
    'de het een en niet geen met voor van op gebruik liever ' +
    'и в на не с по для это используй используйте вместо лучше только всегда никогда можно теперь'
  ).split(/\s+/),
)

function words(list: string): RegExp {
  return new RegExp(`(?<![\\p{L}\\p{N}])(?:${[...new Set(list.split('|'))].join('|')})(?![\\p{L}\\p{N}])`, 'iu')
}
