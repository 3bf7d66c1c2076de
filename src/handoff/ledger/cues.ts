// Words by which the larger languages forbid, allow, bind and take back, as data. A message in a language that is not here
// loses nothing but its mark: it is kept all the same.

/** A sentence, taken apart once for all that is asked of it. */
export interface Sentence {
  readonly text: string
  /** What it is about: names and paths as they are, words by their beginning, Chinese and the like by pairs. */
  readonly stems: readonly string[]
  /** Binds what follows: never, only, must. */
  readonly binding: boolean
  /** Forbids or denies, rather than merely binds. */
  readonly negative: boolean
  readonly allows: boolean
  /** Allows in words that cannot mean anything else. */
  readonly allowsNow: boolean
  readonly takesBack: boolean
  /** Adds to what was said before. */
  readonly adds: boolean
}

let bits = -1

/** English, German, French, Spanish, Portuguese, Italian, Dutch, Polish, Turkish, Russian, Ukrainian; then by pattern the scripts that do not put spaces between words. */
const BINDING = cue(
  "never|don't|dont|do not|must not|mustn't|must|only|always|without|avoid|make sure|ensure|keep|leave|no longer|shall not|at most|at least|under no circumstances|prefer|not allowed|forbidden|" +
    'nie|niemals|nicht|keine|keinen|kein|keinesfalls|nur|immer|ohne|musst|muss|müssen|vermeide|auf keinen fall|' +
    'jamais|uniquement|seulement|toujours|sans|évite|évitez|interdit|il faut|ne pas|surtout pas|' +
    'nunca|jamás|solo|sólo|solamente|únicamente|siempre|sin|evita|evite|debes|prohibido|' +
    'sempre|apenas|somente|sem|deve|proibido|' +
    'mai|soltanto|senza|devi|vietato|' +
    'nooit|niet|alleen|altijd|zonder|vermijd|moet|geen|' +
    'nigdy|tylko|zawsze|bez|unikaj|musisz|nie wolno|' +
    'asla|sadece|yalnızca|her zaman|olmadan|sakın|' +
    'никогда|только|всегда|без|нельзя|избегай|избегайте|обязательно|должен|должна|должны|не надо|не нужно|запрещено|' +
    'ніколи|тільки|лише|завжди|не можна',
  /(?<!\p{L})не\s+\p{L}+(?:й|йте|ть)(?!\p{L})|不要|不能|不得|不许|不准|禁止|请勿|切勿|勿|别(?!的|人|处)|必须|只能|只用|务必|一定要|始终|总是|避免|不可|ないで|必ず|だけ|してはいけ|しては(?:なら|ダメ)|のみ|常に|지\s*마|금지|반드시|항상|만\s*사용|하면\s*안|لا\s|يجب|فقط|دائما|أبدا|मत|हमेशा|केवल|कभी नहीं|อย่า|ห้าม|đừng|không được|luôn|chỉ/u,
)
/** French puts the verb between, Spanish, Portuguese, Italian and Polish put it behind. */
const BINDING_SHAPES = /(?:^|\s)(?:ne\s+|n')\p{L}+\s+(?:pas|jamais|rien)(?!\p{L})|^\s*(?:no|não|non|nie)\s+\p{L}+/u
const NEGATIVE = cue(
  "never|don't|dont|do not|must not|mustn't|no|not|without|avoid|stop|nicht|kein|keine|keinen|nie|niemals|ohne|jamais|sans|pas|nunca|jamás|sin|não|sem|non|mai|senza|niet|geen|nooit|zonder|nigdy|asla|не|нельзя|никогда|без",
  /不|别|勿|禁止|ないで|なく|지\s*마|금지|말고|đừng/u,
)
const TAKING_BACK = cue(
  "actually|instead|rather than|wrong|not what i|forget|never mind|nevermind|i meant|that's not|thats not|on second thought|changed my mind|change of plan|no longer|disregard|" +
    'doch|stattdessen|statt|anstatt|falsch|vergiss|rückgängig|lieber|sondern|eigentlich|ich meinte|nicht mehr|' +
    'plutôt|en fait|au lieu|à la place|oublie|oubliez|annule|annulez|finalement|je voulais dire|' +
    'en realidad|en vez de|en lugar de|mejor|olvida|olvídalo|deshaz|cancela|quise decir|más bien|ya no|' +
    'na verdade|em vez de|ao invés de|esquece|esqueça|desfaz|cancele|quis dizer|' +
    'anzi|invece|in realtà|dimentica|annulla|volevo dire|piuttosto|al posto di|' +
    'toch|in plaats van|vergeet|eigenlijk|liever|' +
    'jednak|zamiast|zapomnij|cofnij|właściwie|' +
    'yerine|aslında|vazgeç|unut|boş ver|' +
    'вместо|на самом деле|забудь|забудьте|отмени|отмените|лучше|передумал|передумала|больше не|' +
    'замість|насправді|краще',
  /不对|不是这|错了|改成|改为|改用|换成|而不是|算了|撤销|忘掉|忘了|取消|其实|还是用|不再|回退|いや[、,]|違う|違います|ではなく|じゃなくて|やっぱり|代わりに|取り消し|忘れて|やめて|아니[,\s]|대신|취소|말고|틀렸|잊어|بدلا|बजाय|thay vì/u,
)
const ALLOWING = cue(
  "you may|you can|may now|can now|it's ok|it's okay|it is ok|it's fine|is fine|are fine|allowed|feel free|go ahead and|now ok|okay to|ok to|fine to|" +
    'darfst|dürft|dürfen|erlaubt|kannst|in ordnung|' +
    'tu peux|vous pouvez|autorisé|autorisée|permis|' +
    'puedes|puede|permitido|permitida|' +
    'você pode|pode|podes|' +
    'puoi|permesso|consentito|' +
    'mogen|toegestaan|' +
    'możesz|wolno|' +
    'можно|можешь|можете|разрешено|разрешаю|' +
    'можна',
  /可以|允许|してもいい|しても良い|してよい|해도\s*(?:돼|됩니다|좋)|يمكنك|được phép/u,
)
const ALLOWING_NOW = cue(
  'now|anyway|after all|allowed|fine|ok|okay|go ahead|feel free|jetzt|doch|erlaubt|wieder|maintenant|autorisé|autorisée|permis|ahora|permitido|permitida|agora|adesso|consentito|nu|toegestaan|teraz|теперь|разрешено|тепер',
  /现在|允许|了[。！!\s]*$|もう|이제/u,
)
const ADDING = cue(
  'also|too|as well|additionally|auch|außerdem|aussi|également|también|además|também|anche|ook|też|тоже|также|ayrıca',
  /也|还要|另外|\Sも|また|도\s|또한/u,
)

interface Cue {
  readonly bit: number
  readonly list: readonly string[]
  readonly pattern: RegExp
}

function cue(list: string, pattern: RegExp): Cue {
  bits += 1
  return { bit: 1 << bits, list: list.split('|'), pattern }
}

/** What a word means by itself, and the phrases that begin with it: one look per word, however many languages there are. */
const LEXICON = new Map<string, { bits: number; phrases: { text: string; bit: number }[] }>()
const CUES = [BINDING, NEGATIVE, TAKING_BACK, ALLOWING, ALLOWING_NOW, ADDING]
for (const { bit, list } of CUES) {
  for (const one of list) {
    const [first = '', ...rest] = one.split(' ')
    const known = LEXICON.get(first) ?? { bits: 0, phrases: [] }
    if (rest.length === 0) known.bits |= bit
    else known.phrases.push({ text: ` ${one} `, bit })
    LEXICON.set(first, known)
  }
}

/** The bits of all cues in a text. */
function cuesIn(text: string): number {
  const plain = isAscii(text)
  const lower = text.toLowerCase().replaceAll('’', "'")
  let words: readonly string[] = lower.match(plain ? ASCII_WORD : WORD) ?? []
  let joined = ` ${words.join(' ')} `
  // What the user does not know binds nobody; nor does keeping on, that there is only one, or that it must be something.
  if (joined.includes(' i ') || joined.includes(' keep ') || joined.includes(' only ') || joined.includes(' must ')) {
    joined = joined
      .replaceAll(/ i (?:don't|dont|do not|can't|cannot) (?!want|need|like)\S+/g, '')
      .replaceAll(/ keep (?:going|on|at|it up)(?= )/g, '')
      .replaceAll(/ (?:there's|there is|there are|it's|that's|we're|was|were|is|are|have|has) only(?= )/g, '')
      .replaceAll(/ (?:(?:it|that|this|there) must be|must have(?: been)?)(?= )/g, '')
    words = joined.trim().split(' ')
  }
  let found = 0
  for (const word of words) {
    const meaning = LEXICON.get(word)
    if (!meaning) continue
    found |= meaning.bits
    for (const { text, bit } of meaning.phrases) if ((found & bit) === 0 && joined.includes(text)) found |= bit
  }
  if (!plain) for (const { bit, pattern } of CUES) if ((found & bit) === 0 && pattern.test(text)) found |= bit
  return found
}

const ASCII_WORD = /[a-z0-9]+(?:'[a-z0-9]+)*/g
const WORD = /[\p{L}\p{N}]+(?:'[\p{L}\p{N}]+)*/gu

function isAscii(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- ASCII begins with control characters
  return !/[^\u0000-\u007F]/.test(text)
}

/** Of a longer message, most of which may be pasted, only so many are read for what it takes back. */
export const MAX_SENTENCES = 20

export function sentences(text: string): Sentence[] {
  return text
    .split(/(?<=[.!?;])\s+|(?<=[。！？；])|\n+/u)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '')
    .slice(0, MAX_SENTENCES)
    .map(readSentence)
}

function readSentence(text: string): Sentence {
  const found = cuesIn(text)
  const has = ({ bit }: Cue): boolean => (found & bit) !== 0
  // A question binds nobody.
  const asks = /[?？؟]\s*$/.test(text)
  return {
    text,
    stems: stems(text),
    binding: !asks && (has(BINDING) || BINDING_SHAPES.test(text.toLowerCase())),
    negative: has(NEGATIVE),
    allows: has(ALLOWING),
    allowsNow: has(ALLOWING_NOW),
    takesBack: has(TAKING_BACK),
    adds: has(ADDING),
  }
}

/** What a whole text may hold, in one look. */
export interface Cues {
  readonly mayBind: boolean
  readonly negative: boolean
  readonly allows: boolean
  readonly takesBack: boolean
}

export function cuesOf(text: string): Cues {
  const found = cuesIn(text)
  const has = ({ bit }: Cue): boolean => (found & bit) !== 0
  return {
    mayBind: has(BINDING) || has(NEGATIVE) || BINDING_HINT.test(text),
    negative: has(NEGATIVE),
    allows: has(ALLOWING),
    takesBack: has(TAKING_BACK),
  }
}

const BINDING_HINT = /(?:^|\s)(?:ne\s|n'|no\s|não\s|non\s|nie\s)/i

const EAST = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}'
const TERM = new RegExp(`[${EAST}]+|(?:(?![${EAST}])[\\p{L}\\p{N}_./@-])+`, 'gu')
const ASCII_TERM = /[\w./@-]+/g
const EASTERN = new RegExp(`^[${EAST}]`, 'u')

export function stems(text: string): string[] {
  const found = new Set<string>()
  for (const token of text.toLowerCase().match(isAscii(text) ? ASCII_TERM : TERM) ?? []) {
    if (token > '\u2E7F' && EASTERN.test(token)) {
      const kept = token.replaceAll(/[\p{Script=Hiragana}]+/gu, ' ').replaceAll(EASTERN_FILL, ' ')
      for (const part of kept.split(' ')) {
        for (let at = 0; at + 1 < part.length; at += 1) found.add(part.slice(at, at + 2))
      }
      continue
    }
    const word = /^[./-]|[./-]$/.test(token) ? token.replaceAll(/^[./-]+|[./-]+$/g, '') : token
    if (word.length < 2 || FILL.has(word) || /^[\d.]+$/.test(word)) continue
    found.add(/[._/@\d-]/.test(word) || word.length <= 5 ? word : word.slice(0, 6))
  }
  return [...found]
}

const EASTERN_FILL =
  /请|不要|不能|不得|不许|不用|不再|禁止|可以|现在|必须|只能|务必|一定|使用|改用|改成|改为|换成|而不是|其实|还是|的|了|吧|用|把|在|和|与|就|都|要|我|你|하지|마세요|해주세요|사용|대신|이제/g
const FILL = new Set(
  (
    'set put add make write create keep the and for with that this from into not don do does use using used please now just all any are is be to of in on it a an as at by or if ' +
    "so no yes you your we our i my me can could should would must will shall may never always only instead rather than actually ok okay it's don't " +
    'sure want need let lets have has was were but then also too more very new still longer allowed fine forget drop switch change wait stop ' +
    'der die das den dem ein eine einen und oder nicht kein keine mit für von zu im am ist sind du bitte nur immer nie statt doch stattdessen jetzt verwende verwenden nimm benutze nutze lieber darfst ' +
    'le la les un une des du de et ou ne pas plus jamais avec pour dans sur est il faut que utilise utiliser utilisez plutôt au lieu tu peux ' +
    'el los las una unos y o no con para en es que usa usar use mejor vez lugar siempre nunca solo puedes ' +
    'os uma com não sempre apenas pode ' +
    'lo gli uno e non per di che usare invece puoi ' +
    'het een niet geen met voor van op gebruik liever ' +
    'и в на не с по для это используй используйте вместо лучше только всегда никогда можно теперь'
  ).split(/\s+/),
)
