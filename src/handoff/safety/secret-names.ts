// Names that say their value is a secret: of variables, fields, options, headers and parameters, and words of prose.

/** How sure a name is. A password may be any word; the others look like no word of code or prose. */
type NameClass = 'password' | 'secret' | 'token' | 'key' | 'login' | 'number' | 'phrase'

export interface SecretName {
  readonly class: NameClass
  /** What was taken out, for the reader. */
  readonly kind: string
}

/** Where a name may be: cheap to look for, and looked at closely afterwards. */
export const nameHint =
  /pass|pwd|pswd|psk|psw|pw|secret|token|key|cred|auth|cookie|pat|pin|otp|sess|sid|sig|jwt|mnemonic|phrase|kennwort|parol|senha|contrase|clave|wachtwoord|heslo|seed|salt|senord|adgangskode|salasana|jelsz|code/gi

function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.split(' '))
}

const passwordWords = wordSet(
  'password passwd passwort passphrase passcode passwrd pass pwd pswd psw pw psk presharedkey kennwort contraseña contrasena clave senha wachtwoord hasło haslo heslo lösenord losenord adgangskode passord salasana şifre sifre parola parole jelszó requirepass masterauth masterpass storepass keypass',
)
/** The end of a word that is written in one with what comes before, as in `PGPASSWORD`. */
const passwordEnd = /(?:password|passwd|passphrase|passwort|kennwort)$/
const joinedPass =
  /^(?:db|user|usr|root|admin|my|ssh|smtp|mail|ftp|sa|pg|mysql|redis|vnc|sudo|login|rpc|proxy|account|auth)(?:pass|pwd|pw)$/
/** `bindpw`: no other word ends like that. */
const shortPass = /^[a-z]{3,12}(?:pw|pwd)$/
const secretEnd = /secret$/
const tokenEnd = /token$/
const keyEnd = /(?:api|access|private|secret|signing|encryption|auth|master|account|shared)key$/

/** Words behind the one that counts, which leave it a secret. */
const qualifiers = wordSet(
  'value val plain plaintext raw base64 b64 encoded prod production dev development staging stage test testing live local old new current previous prev backup primary secondary main default admin root env string str base data bytes hex pem a b one two id0',
)

/** `page_token`, `idempotencyKey`, …: not secret, whatever the value looks like. */
const plainTokens = wordSet(
  'page next nextpage continuation continue cursor sync resume start end stop pad eos bos unk mask cls sep special max min num total input output prompt completion cached count by per last first previous design color colour lexer syntax verb this placeholder device push registration key',
)
const plainKeys = wordSet(
  'public pub publishable primary foreign partition sort cache idempotency idempotence index unique composite natural surrogate object s3 row lookup map hash group dedup dedupe deduplication routing message event local i18n translation registry hot shortcut keyboard arrow escape enter space tab delete function modifier config setting settings query react item list parent child order tag label metadata header column field json dict prop property state store lock shard range search answer dispatch action path url issue project ticket jira board feature flag experiment metric trace certificate cert host peer verification verify recipient the a this that each same any every no of by one which integrity artifact build restore blob bucket file image job run session user storage content data type sub super foo some cipher exchange record entity entry socket gpg pgp',
)
const plainPasses = wordSet(
  'first second third final one two three single multi render next last tests test by optimization compiler shadow forward backward boarding season all did must will should can could would let to proxy fastcgi uwsgi scgi grpc',
)

/** The words of an identifier: `awsSecretKey`, `AWS_SECRET_KEY` and `aws-secret-key` are the same. */
function wordsOf(name: string): string[] {
  return name
    .replace(/([\p{Ll}\d])(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\d]+/u)
    .filter((word) => word !== '')
}

/** What a value of this name would be, or undefined where the name promises no secret. */
export function secretName(name: string, inQuery: boolean): SecretName | undefined {
  const key = inQuery ? `?${name}` : name
  if (!known.has(key)) {
    if (known.size > 5_000) known.clear()
    known.set(key, judge(name, inQuery))
  }
  return known.get(key)
}

/** Names repeat: a text has many more assignments than names. */
const known = new Map<string, SecretName | undefined>()

function judge(name: string, inQuery: boolean): SecretName | undefined {
  const words = wordsOf(name)
  while (words.length > 1 && (qualifiers.has(words.at(-1)!) || /^v?\d{1,3}$/.test(words.at(-1)!))) words.pop()
  const last = words.at(-1) ?? ''
  const before = words.at(-2) ?? ''
  if (/^(?:hash|digest|hashed|encrypted)$/.test(last) && isPassword(before))
    return { class: 'key', kind: 'password hash' }
  if (isPassword(last)) {
    if (last === '1password') return undefined
    if (last === 'pass' && plainPasses.has(before)) return undefined
    // `pass` alone and in `two-pass` is a word of many meanings, and `PWD` is a folder.
    if (/^(?:pwd|pass)$/.test(last) && (words.length === 1 || name.includes('-')))
      return { class: 'login', kind: 'password' }
    return { class: 'password', kind: /^(?:passphrase|psk)$/.test(last) ? 'passphrase' : 'password' }
  }
  if (last === 'secret' || secretEnd.test(last))
    return { class: 'secret', kind: before === 'client' ? 'client secret' : 'secret' }
  if (last === 'id' && before === 'secret') return { class: 'key', kind: 'secret' }
  if (last === 'token' || tokenEnd.test(last)) {
    return plainTokens.has(before) ? undefined : { class: 'token', kind: 'token' }
  }
  if (/^(?:jwt|pat)$/.test(last) && words.length > (last === 'pat' ? 1 : 0)) return { class: 'token', kind: 'token' }
  if (last === 'key' && words.length > 1) {
    if (plainKeys.has(before)) return undefined
    return { class: 'key', kind: keyKind(before) }
  }
  if (last === 'code' && /^(?:activation|licen[sc]e|product|serial|invite|coupon)$/.test(before))
    return { class: 'key', kind: 'code' }
  if ((last === 'cookie' && words.length > 1) || (last === 'verifier' && before === 'code'))
    return { class: 'key', kind: last }
  if ((last === 'salt' && words.length > 1) || last === 'passwordsalt') return { class: 'key', kind: 'salt' }
  if (last === 'session' && before === 'bw') return { class: 'key', kind: 'session' }
  if (last === 'seed') return { class: 'key', kind: 'seed' }
  if (keyEnd.test(last)) return { class: 'key', kind: keyKind(last.slice(0, -3)) }
  if (/^(?:credential|credentials|creds|auth|authorization)$/.test(last)) return { class: 'login', kind: 'credentials' }
  if (
    /^(?:pin|otp|totp|passkey)$/.test(last) ||
    (/^codes?$/.test(last) && /^(?:pin|otp|mfa|2fa|verification|security|access|recovery|backup|auth)$/.test(before))
  )
    return { class: 'number', kind: last === 'pin' ? 'pin' : 'one-time code' }
  if (last === 'mnemonic' || (last === 'phrase' && /^(?:seed|recovery|mnemonic|secret|backup)$/.test(before)))
    return { class: 'phrase', kind: 'recovery phrase' }
  if (/^(?:jsessionid|phpsessid|aspsessionid|sessid|sess)$/.test(last)) return { class: 'token', kind: 'session' }
  if (inQuery && /^(?:\w{0,12}auth|sig|signature|key|code|sid|session|ticket|hmac|credential)$/.test(last))
    return { class: 'key', kind: last === 'sig' ? 'signature' : last }
  return undefined
}

function isPassword(word: string): boolean {
  return passwordWords.has(word) || passwordEnd.test(word) || joinedPass.test(word) || shortPass.test(word)
}

function keyKind(before: string): string {
  if (before === 'api') return 'api key'
  return before === '' ? 'key' : `${before} key`
}

/** Names in several words or without letters that have cases; what joins them to the value is the other expression. */
export const foreignName =
  /mots? de passe|hasło|şifre|m[aậ]t kh[aẩ]u|kata sandi|парол[ьяюе]|密码|密碼|口令|パスワード|暗証番号|비밀번호|패스워드|암호|סיסמה|كلمة (?:المرور|السر)|पासवर्ड|รหัสผ่าน|κωδικός(?: πρόσβασης)?/giu

/** `is` and its sisters, between a word for a password and the password. */
export const copula =
  /(?:\s{1,2}[^\s:：=]{1,20}){0,3}(?:\s{0,2}[:：]\s{0,3}|\s{1,2}(?:est|es|ist|is|это)\s{1,2})|\s{0,3}(?:[:：=]|是|为|為|は|が|는|은|is|was|are|to|ist|war|lautet|est|es|era|é|è|era|är|er|on|to jest|jest|это|будет|--|[-–—])\s{0,3}/uy
