// Whether a text looks like a secret, or like code, a placeholder or a word of prose.

const types =
  'string str text char varchar nvarchar number int integer bool boolean bytes buffer binary blob any unknown object none null nil undefined void true false yes no on off required optional hidden masked redacted encrypted hashed plaintext password passwd passphrase passwort pwd pass secret token key value data field input default empty blank unset missing invalid valid expired wrong incorrect correct same new old here there see tbd todo ask prompt env file config var variable method function self this user username login name description label title type object array list map dict json yaml return await yield throw break async public private protected static'
const plainWords = new Set(types.split(' '))

/** Words of which placeholders are made. */
const markers =
  /^(?:your?|yours|insert|enter|replace|replaceme|change|changeme|changeit|put|paste|fill|example|sample|dummy|placeholder|todo|fixme|redacted|masked|hidden|omitted|removed|here|foo|bar|baz|foobar|mysecret|mypassword|mytoken|mykey)$/
/** Words that only keep placeholders company. */
const fillers =
  /^(?:my|the|a|an|some|this|test|fake|mock|stub|api|app|access|auth|bearer|client|secret|secrets|token|key|keys|password|passwd|pass|pwd|pw|user|username|value|string|id|with|real|actual|me|it|in|production|prod|dev|local|default|super|very|long|random|strong|secure|generated|please|goes|new|old|own|and|or|of|for|to|db|database|github|openai|aws|anthropic|stripe|slack|google|jwt|session|hash|private|public)$/

/** A blank to be filled in, a reference to where the value is, or a mask over it. */
export function isPlaceholder(value: string): boolean {
  if (
    /^(?:\[redacted|<[^>]*>?$|\$\{|\$\(|\{\{|%[A-Za-z_]\w*%$|%env\(|[*&][A-Za-z_-]+$|\{[\w.-]+\}$|\[[^\]]*\]$|\$[A-Za-z_]\w*$|\$env:|\$__\w+\{|@[A-Za-z]+\.|#\{|!\w+|ENC\[|enc:|vault:|op:\/\/|arn:|secretsmanager:|file:|env:|ssm:|keychain:|secret:\/\/|projects\/)/i.test(
      value,
    )
  )
    return true
  if (/\$\{|\{\{|\}\}/.test(value)) return true
  if (/^[*xX.•●…#?_\s-]+$/.test(value) || /\*{3}|•{3}|x{6}|X{6}|\.{3}|…/.test(value)) return true
  if (/\d/.test(value)) return false
  const words = value
    .toLowerCase()
    .split(/[\s_.-]+/)
    .filter((word) => word !== '')
  return words.some((word) => markers.test(word)) && words.every((word) => markers.test(word) || fillers.test(word))
}

/** The blank in an example of a token: `xxxx…`, `****`, or words such as `your_key_goes_here`. */
export function isBlankToken(body: string): boolean {
  if (/^[xX*.•_-]+$|x{6}|X{6}|\*{3}|•{3}|…|EXAMPLE/.test(body)) return true
  return !/\d/.test(body) && /^[a-z]+(?:[_-][a-z]+)+$|^[A-Z]+(?:[_-][A-Z]+)+$/.test(body)
}

/** Made of nothing but the words that name secrets, such as `my-secret-token`. */
export function namesSecret(value: string): boolean {
  const words = value
    .toLowerCase()
    .split(/[\s_.-]+/)
    .filter((word) => word !== '')
  return words.every(
    (word) => markers.test(word) || fillers.test(word) || plainWords.has(word) || /^\d{1,3}$/.test(word),
  )
}

/** The name of a type, a word about values, or a value of another type. */
export function isPlainWord(value: string): boolean {
  return plainWords.has(value.toLowerCase()) || /^\d{1,3}$/.test(value)
}

/** An expression of a programming language: a call, a member, an index, an interpolation. */
export function isExpression(value: string): boolean {
  if (
    /^(?:process\.env|os\.environ|os\.getenv|import\.meta|env\.|ENV\[|secrets\.|config\.|settings\.|self\.|this\.|req\.|request\.|params\.|args\.|options\.|opts\.|await\b|new\b|!|&|[()[\]{}]|=|>|<|->|\||@\w+\(|\.[*+])/.test(
      value,
    )
  )
    return true
  if (/^[A-Za-z_$][\w$]*(?:(?:\.|\?\.|->|::)[A-Za-z_$][\w$]*)*[!?]?[([]/.test(value)) return true
  if (/\(\?[:=!<]|\[\^?[A-Za-z0-9]-|\\[dwsb]|^\/\^|\|\||&&/.test(value)) return true
  return (
    /^[A-Za-z_$][\w$]*(?:(?:\.|\?\.|->|::)[A-Za-z_$][\w$]*)+[!?]?[;,)]*$/.test(value) &&
    isWordy(value.replace(/->|::|\?\./g, '.').replace(/\$/g, ''))
  )
}

/** A path, the address of a page, a version, a size, a date or another well-known form that is no secret. */
export function isPlainForm(value: string): boolean {
  return (
    (/^(?:~|\.{0,2})\/[\w.@/-]*$/.test(value) && isWordy(value)) ||
    /^[A-Za-z]:[\\/][\w\\/ .-]*$/.test(value) ||
    /^(?:https?|ftp|file|s3|gs|ssh|git|mailto|tel|data):/.test(value) ||
    /^v?\d{1,5}(?:[.:/-]\d{1,5})*$|^\d{1,9}(?:\.\d+)?(?:px|r?em|ms|[smhdkb%x]|[kmg]b|th|st|nd|rd|pt|v[hw]|fps|hz)$/i.test(
      value,
    ) ||
    /^v?\d+\.\d+(?:[.+-][\w.+-]*|[\w.+-]{0,16})$/.test(value) ||
    /^\d{4}-\d\d-\d\d(?:[T ][\d:.Z+-]*)?$/.test(value) ||
    /^0x(?:[0-9a-fA-F]{1,16}|[0-9a-fA-F]{40})$/.test(value) ||
    /^(?:sha(?:1|224|256|384|512)|md5)[-:]/i.test(value) ||
    /^(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-\S+|sk-ssh-\S+)\b/.test(value) ||
    /^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$/.test(value) ||
    /^[\w.-]+\.(?:[cm]?[jt]sx?|py|rb|go|rs|java|kt|php|cs|cpp|[ch]|md|txt|json|ya?ml|toml|ini|cfg|conf|env|pem|crt|cer|key|pub|p12|pfx|jks|xml|html|css|sh|sql|lock|log|csv)$/i.test(
      value,
    ) ||
    technical.test(value)
  )
}

const technical =
  /^(?:oauth-?2?(?:\.\d)?|openid|saml2?|argon2(?:id?|d)?|bcrypt|scrypt|pbkdf2|hmac(?:-?sha\d*)?|sha-?\d{1,3}(?:-\d{3})?|md[45]|aes-?\d*(?:-?[a-z]{3})?|rsa-?\d*|ed25519|x25519|ecdsa-?p?\d*|[hrep]s(?:256|384|512)|base(?:16|32|58|62|64)(?:url)?|utf-?(?:8|16|32)|rfc-?\d+|x\.?509|pkcs-?#?\d*|2fa|mfa|k8s|s3|ec2|i18n|http\/?\d?|tls-?v?[\d.]*|ipv[46]|cl100k_base|o200k_base|gpt-?\d[\w.-]{0,12}|w3c|e2e|p12|\w+_\w+_v\d|u?int\d+|float\d+|varchar\d*)$/i

/** Made of words as people write them in code: `userToken2`, `parseJSONLine`, `my-tls-secret`, `src/auth/token.ts`. */
export function isWordy(value: string): boolean {
  return value.split(/[\s./_:@-]+/).every(isWordOrIdentifier)
}

function isWordOrIdentifier(part: string): boolean {
  if (!/^[a-z]{0,20}\d{0,3}(?:[A-Z]{1,6}[a-z]{1,20}\d{0,3}){0,12}[A-Z]{0,6}\d{0,4}$|^[A-Z]{1,16}\d{0,3}$/.test(part))
    return false
  const pieces = part.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g) ?? []
  const odd = pieces.filter((piece) => !isReadable(piece.toLowerCase()))
  // Long, with digits and both cases: by chance, some of what a machine draws falls into pieces like words.
  if (part.length >= 16 && /\d/.test(part) && /[a-z]/.test(part) && /[A-Z]/.test(part))
    return odd.length === 0 && pieces.length * 4 <= part.length
  return pieces.length <= 1
    ? part.length <= 3 || odd.length === 0 || /^[A-Z]+$/.test(part)
    : odd.length * 10 <= part.length && pieces.length * 3 <= part.length + 3
}

const shortWords = new Set(
  'an as at aws be by cli cpu css ctx cwd db dc de do dns ec ed en es fn fs go gpu gs html http https id if in io ip is it js json jsonl jwt kb ln md me mp ms msg my nb nbr ng no npm ns of ok on or os pc php pr ps pwd py rb rds rgb rs sdk so sql src ssh ssl str svg tb tcp tls tmp to ts tty tx ui up url us ux vm vpc vs we www xml yml'.split(
    ' ',
  ),
)

/** Could be said aloud, as words can and what a machine draws seldom can. */
function isReadable(piece: string): boolean {
  if (/^\d+$/.test(piece)) return piece.length <= 4
  if (shortWords.has(piece)) return true
  return (
    piece.length >= 3 &&
    /[aeiouy]/.test(piece) &&
    !/[^aeiouy]{5}|[aeiou]{4}|[jqxz].{0,3}[jqxz]|q[^u]|[bcdfgjkmpqtvwxz]{4}|^(?:[bcdfgjkmnpqtvwxz]{3}|[lnrmv][bcdfgkpqtvwxz])/.test(
      piece,
    )
  )
}

/** Not a word of code or prose: digits or signs between letters, or letters in no order. */
export function isStrong(value: string, least: number): boolean {
  if (value.length < least || isPlaceholder(value) || isPlainForm(value)) return false
  if (/^\*{1,2}[A-Za-z]+\*{0,2}$/.test(value)) return false
  const letters = /[A-Za-z]/.test(value)
  const digits = /\d/.test(value)
  if (/[!@#$%^&*~+=?|]/.test(value) && letters) return true
  if (letters && digits) return !isWordy(value) || /^[A-Za-z]{2,20}\d{1,4}$/.test(value)
  if (digits) return value.length >= 6 && !/[^\d]/.test(value)
  if (value.length >= 10 && /[a-z].*[A-Z].*[a-z]/.test(value) && /^[A-Za-z]+$/.test(value))
    return !isWordy(value) && entropy(value) >= 2.8
  return value.length >= 16 && !isWordy(value) && entropy(value) >= 3
}

/** Long and in no order, as what a machine has made. */
export function isOpaque(value: string): boolean {
  if (value.length < 8 || isPlaceholder(value) || isPlainForm(value) || /\s|\]\(/.test(value)) return false
  if (value.length >= 20 && /^[a-z]+$|^[A-Z]+$/.test(value)) return entropy(value) >= 3.2
  if (/^(?=.*\d)[A-Z0-9]{4,6}(?:-[A-Z0-9]{4,6}){2,7}$/.test(value)) return true
  if (isWordy(value)) return false
  if (!/\d/.test(value) && value.length < 16) return false
  return entropy(value) >= 2.2
}

/** Several words with some that hold sentences together: a label, a message or a description. */
export function isSentence(value: string): boolean {
  const words = value.trim().split(/\s+/)
  if (words.length < 2) return false
  return (
    words.length > 8 ||
    (/^[A-Z¡¿]/.test(value) && words.length > 1 && !/\d/.test(value)) ||
    words.some((word) =>
      /^(?:the|a|an|is|are|was|be|to|of|in|on|or|and|not|no|for|your|you|my|this|that|with|must|should|cannot|can|please|enter|at|it|from|by|as|has|have|if|too|der|die|das|ist|le|la|les|el|un|une|de|du)$/i.test(
        word.replace(/[.,:;!?]+$/, ''),
      ),
    )
  )
}

/** The entropy of a text in bits per character. */
function entropy(value: string): number {
  const head = value.slice(0, 200)
  const counts = new Map<string, number>()
  for (const character of head) counts.set(character, (counts.get(character) ?? 0) + 1)
  let bits = 0
  for (const count of counts.values()) bits -= (count / head.length) * Math.log2(count / head.length)
  return bits
}
