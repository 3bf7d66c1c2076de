// Finds secrets by names that say what their value is. A value behind such a name is judged by where it stands: in a file of settings a
// password may be any word, in code it has to look like one.

import { copula, foreignName, nameHint, secretName, type SecretName } from './secret-names.ts'
import {
  isExpression,
  isOpaque,
  isPlaceholder,
  isPlainForm,
  isPlainWord,
  isSentence,
  isStrong,
  isWordy,
  namesSecret,
} from './secret-values.ts'
import type { Found } from './secrets.ts'

/** How a value is joined to its name. `sure`: nobody writes code or prose there. */
type Place = 'sure' | 'quoted' | 'tight' | 'line' | 'code' | 'prose' | 'loose'

interface Value {
  readonly start: number
  readonly text: string
  readonly quoted: boolean
}

export function named(text: string): Found[] {
  const found: Found[] = []
  const plain = new Set<string>()
  let past = 0
  for (const hit of text.matchAll(nameHint)) {
    if (hit.index < past) continue
    const name = identifierAround(text, hit.index, hit.index + hit[0].length)
    past = name.end
    const line = header(text, name)
    const place = placeKey(text, name)
    const isPlain = place !== undefined && plain.has(place)
    const value = line === undefined && !isPlain ? byName(text, name) : undefined
    if (line === undefined && value === undefined && place !== undefined && plain.size < maxPlain) plain.add(place)
    if (value !== undefined) found.push(value)
    if (line !== undefined) found.push(...line.found)
    past = Math.max(past, line?.end ?? value?.end ?? 0)
  }
  return found
}

const maxPlain = 1_000

/**
 * All that is looked at to judge a name: where it stands again in the same surroundings, nothing needs to be judged again. Undefined
 * where a quote opens, since a text in quotes may be longer.
 */
function placeKey(text: string, { start, end }: Name): string | undefined {
  const from = Math.max(0, start - 210)
  const after = text.slice(end, end + 440)
  return /["'`]/.test(after) ? undefined : `${start - from} ${text.slice(from, end)}${after}`
}

interface Name {
  readonly start: number
  readonly end: number
  readonly text: string
}

const maxName = 80

function identifierAround(text: string, from: number, to: number): Name {
  let start = from
  let end = to
  while (start > 0 && from - start < maxName && isNamePart(text.charCodeAt(start - 1))) start -= 1
  while (end < text.length && end - to < maxName && isNamePart(text.charCodeAt(end))) end += 1
  while (end > to && /[.-]/.test(text[end - 1]!)) end -= 1
  return { start, end, text: text.slice(start, end) }
}

/** Letters, digits, `_`, `-`, `.` and the letters of European languages. */
function isNamePart(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    (code >= 48 && code <= 57) ||
    code === 95 ||
    code === 45 ||
    code === 46 ||
    (code >= 0xc0 && code < 0x250)
  )
}

const schemes =
  /^(?:bearer|basic|token|apikey|api-key|ssws|bot|key|digest|negotiate|ntlm|hawk|aws4-hmac-sha256|oauth|jwt|splunk|genie(?:key)?|sso-key|sharedkey|sharedaccesssignature|discogs|pve\w+|zoho-oauthtoken|klaviyo-api-key|flyv1|client-id)\s+/i

/** Headers, whose value is the rest of the line, or of the text in quotes that holds them. */
function header(text: string, { start: from, end, text: name }: Name): { found: Found[]; end: number } | undefined {
  const lower = name.toLowerCase().replace(/^-+/, '')
  if (!/^(?:proxy-)?authorization$|^(?:set-)?cookie$/.test(lower)) return undefined
  const joint = name.startsWith('-')
    ? /[ =]{1,3}["']?/y
    : /\\{0,3}["'`]?\s{0,3}(?:(?:[:=]|=>)\s{0,3}\\{0,3}["'`]?|,\s{0,3}\\{0,3}["'`])/y
  joint.lastIndex = end
  const joined = joint.exec(text)
  if (joined === null) return undefined
  const start = end + joined[0].length
  const around = /["'`]$/.exec(joined[0])?.[0] ?? /["'`]$/.exec(text[from - 1] ?? '')?.[0]
  const rest = /^[^\n]{0,8000}/.exec(text.slice(start, start + 8000))![0]
  const closed = around === undefined ? -1 : rest.indexOf(around)
  const line = (closed < 0 ? rest : rest.slice(0, closed)).replace(/\\+$/, '').trimEnd()
  if (lower.endsWith('cookie')) return { found: cookies(line, start), end: start + line.length }
  const scheme = schemes.exec(line)?.[0] ?? ''
  const value = line.slice(scheme.length).replace(/[\s,;)}\]"'`]+$/, '')
  const first = value.split(/[\s,"'`]/)[0]!
  const secret = scheme === '' ? first : value
  if (isPlaceholder(first) || isExpression(first) || isPlainWord(first)) return undefined
  // `Hawk id="…", mac="…"`: parameters, of which one is long.
  const hasParameters = /^\w+=$/.test(first) && /="[\w+/=.~%-]{16}/.test(value)
  if (
    scheme === ''
      ? !isStrong(first, 8) && !isOpaque(first)
      : !hasParameters && (first.length < 6 || (isWordy(first) && !/\d/.test(first)))
  )
    return undefined
  const at = start + scheme.length
  return { found: [{ start: at, end: at + secret.length, kind: 'authorization' }], end: at + secret.length }
}

function cookies(line: string, start: number): Found[] {
  const found: Found[] = []
  for (const { 1: name, 2: value, index, 0: all } of line.matchAll(/([\w.%-]{1,100})=([^;\s,]{4,4000})/g)) {
    if (/^(?:path|domain|expires|max-age|samesite|_ga\w*|_gid|theme|lang\w*|locale|consent\w*)$/i.test(name!)) continue
    const session = /sess|sid|auth|token|jwt|login|csrf|xsrf|remember/i.test(name!)
    if (session ? isPlaceholder(value!) || value!.length < 6 || isExpression(value!) : !isOpaque(value!)) continue
    const at = start + index + all.length - value!.length
    found.push({ start: at, end: at + value!.length, kind: 'cookie' })
  }
  return found
}

const typed = String.raw`:\s{0,3}(?:&(?:'static\s)?)?[A-Za-z][\w.<>[\]| ]{0,30}=(?=[ \t]+[^\s=]|["'${'`'}])|\s(?:string|String|\[\]byte)\s{0,3}=(?!=)|\[\d{0,4}\]\s{0,3}=(?!=)`
/** What a literal is wrapped in: a constructor, or a look-up that falls back to it. */
const wrapper = String.raw`(?:(?:@|\$|[bBrRfFuUL]{1,2}|[[{]\s{0,2})(?=["'])|(?:\[\]byte|String::from|String|str|bytes|Buffer\.from|Some|SecretStr|Secret(?:String)?::new|new\s(?:SecureString|String))\(\s{0,2}|(?:env|getenv|os\.getenv|os\.environ\.get|ENV\.fetch|System\.getenv|config)\(\s{0,2}["'][^"'\n]{1,60}["']\s{0,2},\s{0,2})(?=["'])|ENV\.fetch\(\s{0,2}["'][^"'\n]{1,60}["']\s{0,2}\)\s{0,2}\{\s{0,2}(?=["'])|[A-Za-z_$][\w$.?![\]()"'-]{0,100}\s{1,2}(?:\|\||\?\?|\?:|or)\s{1,2}(?=["'])`
const joints: readonly (readonly [
  joint: 'assigned' | 'called' | 'pair' | 'element' | 'listed' | 'cell' | 'said' | 'said of' | 'beside',
  pattern: RegExp,
])[] = [
  ['pair', /["'`]?(?:\s{0,3},)?\s{1,80}["']?(?:value|Value|VALUE)["']?\s{0,3}[:=]\s{0,3}/y],
  ['pair', /["'`],["'](?:value|Value|VALUE)["']\s{0,3}:\s{0,3}/y],
  ['pair', /["']\s{0,3}\{[^{}]{0,200}?\bdefault\s{0,3}=\s{0,3}(?=["'])/y],
  ['pair', /["'][^<>\n]{0,60}>\s{0,40}<value>/y],
  ['pair', /<\/key>\s{0,40}<string>/y],
  [
    'assigned',
    new RegExp(
      String.raw`\\{0,3}["'${'`'}]?\]?\)?\*{0,2}\s{0,3}(?:${typed}|:=|=>|\?=|={1,3}|[:：](?!:)|%3[Dd])\*{0,2}[ \t]{0,20}(?:[|>][+-]?[ \t]{0,3}\n[ \t]{1,20})?(?:${wrapper})?`,
      'y',
    ),
  ],
  ['element', /(?:["']|\s[^<>\n]{0,80})?>\s{0,3}(?:<!\[CDATA\[)?/y],
  [
    'called',
    /["'\])]{1,6}\.(?:type|fill|sendKeys|send_keys|setValue|pressSequentially|press_sequentially)\(\s{0,2}(?=["'])/y,
  ],
  ['listed', /\\{0,3}["'`]\s{0,3},\s{0,3}(?=\\{0,3}["'`])/y],
  ['cell', /[`*"]{0,3}\s{1,30}\|\s{1,30}/y],
  [
    'said',
    /["'`]?\s{1,3}(?:(?:is|was|are|to|equals|ist|war|lautet|est|es|era|é|è|är|er|on|jest|field is|value is)(?:\s{0,2}:)?\s{1,3}){1,2}(?:(?:now|set to|currently|changed to)\s{1,3})?:?\s{0,3}/y,
  ],
  [
    'said of',
    /\s{1,3}(?:for|of|on|at|to|von|für|pour|de|del|para)\s{1,3}[^\n:=]{1,40}?(?::|\s(?:is|was|ist|est|es|lautet))\s{1,3}/y,
  ],
  ['said of', /[ \t]\([^()\n]{1,30}\)\s{0,2}[:=][ \t]{1,3}/y],
  ['said of', /[ \t]{0,3}(?:→|->|–|—)[ \t]{0,3}|[ \t]-[ \t]{1,3}|[ \t]\p{L}{2,15}:[ \t]{1,3}/uy],
  ['beside', /["'`]?[ \t]{1,20}/y],
]

/** The value behind a name that promises a secret. */
function byName(text: string, name: Name): Found | undefined {
  const prefix = text[name.start - 1] ?? '\n'
  const isFlag = name.text.startsWith('-')
  const bare = name.text.replace(/^[-.]+/, '')
  const inQuery = /[?&;]/.test(prefix) && text[name.end] === '=' && text[name.end + 1] !== '='
  if (/\[redacted: [\w ]{0,40}$/.test(text.slice(Math.max(0, name.start - 52), name.start))) return undefined
  if (prefix === ':' && /\barn:[\w:-]{0,100}$/.test(text.slice(Math.max(0, name.start - 110), name.start)))
    return undefined
  if (/\bcase\s+["']$/.test(text.slice(Math.max(0, name.start - 8), name.start))) return undefined
  const secret = secretName(spaced(text, name, bare), inQuery)
  if (secret === undefined) return undefined
  if (prefix === '{' && text[name.end] === ':' && /[-=?+]/.test(text[name.end + 1] ?? ''))
    return fallback(text, name, secret)
  for (const [joint, pattern] of joints) {
    if (joint === 'element' && !isElement(text, name)) continue
    if (joint === 'listed' && !/["'`#.]/.test(prefix)) continue
    if (joint === 'beside' && !isFlag && prefix === '/') continue
    pattern.lastIndex = name.end
    const joined = pattern.exec(text)
    if (joined === null) continue
    const at = name.end + joined[0].length
    if (secret.class === 'phrase') return phrase(text, at, secret.kind)
    // In a shell, backquotes run a command.
    if (joint === 'assigned' && text[at] === '`' && joined[0].endsWith('=')) return undefined
    const value = readValue(text, at, joint === 'element' || /<(?:string|value)>$/.test(joined[0]))
    if (value === undefined) continue
    if (
      joint === 'element' &&
      !/^(?:\]\]>|<\/)/.test(text.slice(value.start + value.text.length, value.start + value.text.length + 3))
    )
      continue
    if (joint === 'pair' && !value.quoted && !/[\n>,]/.test(joined[0])) continue
    // `sk-abc...` was shortened by whoever wrote it.
    if (
      joint === 'assigned' &&
      /^(?:\.{3}|…)/.test(text.slice(value.start + value.text.length, value.start + value.text.length + 3))
    )
      return undefined
    const place = placeOf(text, name, bare, joint, joined[0], value, isFlag, inQuery)
    if (!isSecret(value.text, secret, place)) {
      if (joint === 'assigned' || joint === 'pair') return undefined
      continue
    }
    return { start: value.start, end: endOf(text, value), kind: secret.kind }
  }
  return undefined
}

/** `${DB_PASSWORD:-…}`: what a shell takes where the variable is not set. With `?` and `+` it is no value of the variable. */
function fallback(text: string, { end }: Name, secret: SecretName): Found | undefined {
  const value = /^:[-=]([^\s{}$]{3,300})\}/.exec(text.slice(end, end + 310))?.[1]
  if (value === undefined || !isSecret(value, secret, 'quoted')) return undefined
  return { start: end + 2, end: end + 2 + value.length, kind: secret.kind }
}

/** `API key` and `seed phrase` are names too. */
function spaced(text: string, name: Name, bare: string): string {
  if (name.text.startsWith('-') || !/^(?:keys?|phrase|codes?|secret|token|pass)$/i.test(bare)) return bare
  const before = /([A-Za-z0-9]{2,20})[ ]$/.exec(text.slice(Math.max(0, name.start - 24), name.start))?.[1]
  if (before === undefined) return bare
  if (
    /^key$/i.test(bare) &&
    !/^(?:api|access|secret|private|licen[sc]e|encryption|signing|service|account|admin|master|deploy|auth|product|activation|shared|subscription|unseal|app|application|client|server|webhook|hmac|aes|integration|ingest|ingestion|write|read|send|connection|device|bot|jwt|symmetric|recovery|wifi|security|developer|partner|merchant|sandbox|live|test|prod|production|stripe|openai|anthropic|datadog|sendgrid|mailgun|twilio|gemini|google|aws|azure|cloudflare|sentry|algolia|rapidapi|deepseek|mistral|groq)$/i.test(
      before,
    )
  )
    return bare
  return `${before}_${bare}`
}

/** `<password>` and `<string name="password">`, but no closing tag and no attribute of another kind. */
function isElement(text: string, { start }: Name): boolean {
  const prefix = text[start - 1]
  if (prefix === '<' || (prefix === ':' && /<\w{1,20}:$/.test(text.slice(Math.max(0, start - 24), start)))) return true
  return /\b(?:name|key)=["']$/.test(text.slice(Math.max(0, start - 8), start))
}

function phrase(text: string, at: number, kind: string): Found | undefined {
  const words = /^["'`\s]{0,4}((?:[a-z]{3,8}[\s,]{1,3}){11,23}[a-z]{3,8})/.exec(text.slice(at, at + 300))
  if (words === null) return undefined
  const start = at + words[0].length - words[1]!.length
  return { start, end: start + words[1]!.length, kind }
}

const maxValue = 4_000
/** Enough to judge what stands without quotes; the rest of a longer one belongs to it all the same. */
const maxJudged = 300

const closing: Readonly<Record<string, RegExp>> = { '“': /”/, '„': /[“”]/, '「': /」/, '『': /』/ }

/** In quotes up to the same quote, else up to a blank, or to what separates it from the next pair. */
function readValue(text: string, at: number, inTag: boolean): Value | undefined {
  const open = /"""(?!")|'''(?!')|\\{0,3}["'`]|[“„「『]/y
  open.lastIndex = at
  const quote = open.exec(text)?.[0]
  let from = at
  if (quote !== undefined) {
    from = at + quote.length
    const near = text.slice(from, from + maxValue)
    const found = quote in closing ? near.search(closing[quote]!) : near.indexOf(quote)
    const inside = near.slice(0, Math.max(0, found))
    const end = inside.includes('\n') ? -1 : found
    if (end > 0) return { start: from, text: inside, quoted: true }
    // Without its other end it was cut, or it closes another text.
    if (end === 0 || !/\w/.test(text[from] ?? '')) return undefined
  }
  const rest = text.slice(from, from + maxJudged)
  const run =
    inTag && quote === undefined
      ? /^(?:(?!\]\]>)[^<\n"'])+/.exec(rest)?.[0].trimEnd()
      : /^(?:[^\s"'`<>\\“”„「」『』]|\\(?![nrt"'\\]))+/.exec(rest)?.[0]
  if (run === undefined || run === '') return undefined
  const cut = /\)(?=[.?,;)\]])|\]\(|[,;&](?=[\w.$ -]{1,40}[=:]|["']|$)|[)}\],;.:!?*|]+$/.exec(run)
  // A tag ends its value itself, and passwords with digits like to end with `!`.
  const isWhole =
    cut === null ||
    cut.index === 0 ||
    inTag ||
    (/^!+$/.test(run.slice(cut.index)) && (/\d/.test(run) || !isWordy(run.slice(0, cut.index))))
  const value = isWhole ? run : run.slice(0, cut.index)
  return { start: from, text: balanced(value.replace(/%26.*$/s, '')), quoted: false }
}

/** Where a value ends that is longer than what was judged of it. */
function endOf(text: string, { start, text: value }: Value): number {
  const end = start + value.length
  if (value.length < maxJudged) return end
  return end + /^[^\s"'`<>\\]*/.exec(text.slice(end, end + maxValue))![0].length
}

/** Without the bracket that closes what was opened before the value. */
function balanced(value: string): string {
  return /[)\]}]$/.test(value) && !/[([{]/.test(value) ? value.replace(/[)\]}]+$/, '') : value
}

function placeOf(
  text: string,
  name: Name,
  bare: string,
  joint: string,
  joined: string,
  value: Value,
  isFlag: boolean,
  inQuery: boolean,
): Place {
  if (joint === 'cell') return 'loose'
  if (isFlag) return 'sure'
  const near = text.slice(Math.max(0, name.start - 200), name.start)
  const before = near.slice(near.lastIndexOf('\n') + 1)
  const isUpper = bare === bare.toUpperCase() && /[A-Z]/.test(bare)
  if (joint === 'listed')
    return /(?:\bdefine|[sS]et_?[eE]nv|\bputenv|\bsetProperty)\(\s{0,3}["'`]$/.test(before) ? 'quoted' : 'loose'
  if (joint === 'beside') {
    if (
      /^(?:requirepass|masterauth)$/.test(bare) ||
      (/^\s*(?:ENV|ARG)\s+$/.test(before) && /^[A-Z]/.test(bare)) ||
      /\b(?:config|configure)\s+(?:-\S+\s+)?set\s+(?:\S{0,80}:)?$/.test(before)
    )
      return 'sure'
    if (value.quoted && (isUpper || /\d|[!@#$%^&*]/.test(value.text)) && !/\s/.test(value.text))
      return isUpper ? 'sure' : 'quoted'
    return /\((?:the\s+)?$|\b(?:with|using|and|mit|avec|con|und|et|y)\s+(?:the\s+|a\s+)?$/i.test(before.slice(-24))
      ? 'code'
      : 'loose'
  }
  if (joint === 'called') return 'quoted'
  if (joint === 'said of') return /\d/.test(value.text) && value.text.length > 4 ? 'quoted' : 'code'
  if (joint === 'said') return /\b(?:is|was)\b/.test(joined) && bare !== 'wachtwoord' ? 'prose' : 'code'
  if (joint === 'element' || inQuery) return 'sure'
  if (isUpper && /^["'`]?\]?=["'`]?$/.test(joined)) return 'sure'
  if (value.quoted) return /[[{]\s*$/.test(joined) ? 'code' : 'quoted'
  if (joint === 'pair') return 'line'
  const end = value.start + value.text.length
  const after = text.slice(end, end + 3)
  const isChained =
    /[=:][^=:;&\s]{0,100}[;&,]\s{0,2}[\w ]{0,20}$/.test(before) || /^[;&,][\w ]{1,30}=/.test(text.slice(end, end + 40))
  if (isChained && !/[({[]/.test(before)) return 'sure'
  if (
    /[({[]|\b(?:const|let|var|val|final|return|def|if|while|function|self|this|public|private|static|new|type|interface)\b/.test(
      before,
    )
  )
    return 'code'
  if (/^[ \t]*[,;)}\]]/.test(after) || /^\s.*=\s/.test(joined)) return 'code'
  if (/^["'`]?\]?=$/.test(joined) && /^(?:\s|$)/.test(after) && !/^\s+$/.test(before)) return 'tight'
  // `x = y` with blanks is a statement of code when it is indented, and a line of settings when it is not.
  if (/=\s/.test(joined) && /\S|^\s/.test(before)) return 'code'
  // A sentence goes on behind its word, a setting ends there.
  return /^[A-Za-z]+$/.test(value.text) && /^[ \t]+\w/.test(after) ? 'code' : 'line'
}

const unspaced = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u

function isSecret(value: string, { class: kind, kind: said }: SecretName, place: Place): boolean {
  if (value === '' || isPlaceholder(value)) return false
  // In a script that puts no spaces between words, what stands behind the name is the rest of a sentence.
  if ((place === 'prose' || place === 'loose') && unspaced.test(value)) return false
  if (kind === 'number')
    return place !== 'loose' && /^\d(?:[ -]?\d){3,7}$|^(?=.*\d)[a-z0-9]{4,8}(?:-[a-z0-9]{4,8}){1,3}$/i.test(value)
  if (place !== 'quoted' && isExpression(value)) return false
  if (place === 'quoted' && /^`|[$#]\{|\{\w*\}/.test(value)) return false
  switch (kind) {
    case 'password':
      return isPasswordAt(value, place, said === 'passphrase')
    case 'login':
      if (place === 'loose' || /\s/.test(value)) return false
      if (place === 'sure' || place === 'quoted') {
        const [, password] = /^[\w.@+-]{1,80}:(.{3,})$/.exec(value) ?? []
        if (password !== undefined && isStrong(password, 5)) return true
        if (said === 'password' && /\d|[!@#$%^&*]/.test(value) && isPasswordAt(value, 'quoted', false))
          return !/^\d+$/.test(value)
      }
      return (
        (isStrong(value, place === 'sure' ? 4 : 5) && /\d|[!@#$%^&*]/.test(value)) ||
        ((place === 'quoted' || place === 'sure') && isOpaque(value)) ||
        (place === 'sure' && isStrong(value, 10))
      )
    case 'secret':
      if (isPlainForm(value) || namesSecret(value)) return false
      if (place === 'sure') return value.length >= 4
      if (place === 'quoted')
        return isStrong(value, 6) || (value.length >= 8 && !/[-_./:]/.test(value) && !isSentence(value))
      return isStrong(value, 6) || isOpaque(value)
    case 'token':
    case 'key':
      if (/\s/.test(value) || isPlainForm(value) || namesSecret(value)) return false
      if (place === 'sure' || place === 'tight')
        return (
          isStrong(value, 6) ||
          isOpaque(value) ||
          (kind === 'token' ? /^[A-Za-z0-9]{8,}$/ : /^(?=.*\d)[A-Za-z0-9]{16,}$/).test(value)
        )
      return isOpaque(value) || (isStrong(value, 8) && place !== 'loose' && !/^[A-Za-z]+\d{1,4}$/.test(value))
    default:
      return false
  }
}

function isPasswordAt(value: string, place: Place, mayBeWords: boolean): boolean {
  if (isPlainForm(value) && !/^\d+$/.test(value)) return false
  switch (place) {
    case 'sure':
      return (
        value.length >= 3 &&
        !/^(?:true|false|null|none|nil|undefined|string|required|optional|yes|no|password|passwd)$/i.test(value)
      )
    case 'quoted':
      if (value.length < 3 || isPlainWord(value) || namesSecret(value)) return false
      if (mayBeWords ? /^[A-Z].*\s/.test(value) : isSentence(value)) return false
      if (/^[#.][\w-]+$|\[type=/.test(value) || (/password|passwort/i.test(value) && !/[\d!@$%^&*]/.test(value)))
        return false
      return !(value.includes('.') && isWordy(value))
    case 'tight':
      return value.length >= 3 && !isPlainWord(value) && !namesSecret(value) && !/password|passwd/i.test(value)
    case 'line':
      if (value.length < 4 || isPlainWord(value) || namesSecret(value)) return false
      if (isStrong(value, 4) || /\d|[!@#$%^&*]/.test(value)) return true
      return isWordOfItsOwn(value)
    case 'code':
      return (
        isStrong(value, 5) &&
        !/^(?:pw|pass|password|passwd|pwd|secret|token|key|value|val|str|string|arg|param|input|text|user|test|data|field|tmp|temp|new|old)\d*$/i.test(
          value,
        ) &&
        !/^[A-Za-z_]\w*\(/.test(value)
      )
    case 'prose':
      return isStrong(value, 5) || isWordOfItsOwn(value)
    case 'loose':
      return isStrong(value, 6) && !/^\d+$|^[\w.-]{1,30}=|^[A-Za-z]+\d{1,4}$/.test(value)
  }
}

/** A word that is no adjective and no participle: what stands behind `the password is`, if it is the password. */
function isWordOfItsOwn(value: string): boolean {
  return (
    /^[A-Za-z]{5,40}$/.test(value) &&
    !isPlainWord(value) &&
    !/[a-z][A-Z]/.test(value) &&
    !/(?:ed|ing|ly|ent|ect|ant|able|ible|ive|al|ful|less|ous|ary|ory|ty|ic|id|er|ion|ment|ness)$/i.test(value) &&
    !common.has(value.toLowerCase())
  )
}

const common = new Set(
  'pflichtfeld erforderlich notwendig obligatoire requis obligatorio obligatoria requerido requerida verplicht about above after again against almost along already also always among another anything around because become before behind being below between both broken called cannot close could during early either empty enough equal every everything except exists false first found given gone great hard have having idea inside instead just known large later least less long lost made make many maybe might more most much must never none nothing often only open other outside over part plain possible present quite rather read ready really safe same secure sent several short should show shown similar simple since some something soon still stored strong such sure taken that their them then there these they thing this those though through today together too unique under unknown unless until used useful very weak well what when where whether which while whose wide will with within without wrong yours yes'.split(
    ' ',
  ),
)

/** Names in other scripts, and in several words. */
export function foreign(text: string): Found[] {
  const found: Found[] = []
  for (const { 0: name, index } of text.matchAll(foreignName)) {
    copula.lastIndex = index + name.length
    const joined = copula.exec(text)
    if (joined === null) continue
    const value = readValue(text, copula.lastIndex, false)
    if (value === undefined || isPlaceholder(value.text)) continue
    const secret = /^[\x21-\x7e]+/.exec(value.text)?.[0] ?? ''
    if (secret.length < 3 || isPlainWord(secret)) continue
    // Latin letters behind a name in another script are no word of the sentence.
    const isOther = !/[a-z]/i.test(name) || value.quoted
    if (isOther ? isExpression(secret) : !isStrong(secret, 5)) continue
    found.push({ start: value.start, end: value.start + secret.length, kind: 'password' })
  }
  return found
}
