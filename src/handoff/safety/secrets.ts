// Secrets that the rule set does not know: values assigned to a name that says so, the tokens of more vendors, and private
// keys that were cut. Every expression is bounded, so that a long text takes time in proportion.

export interface Found {
  readonly start: number
  readonly end: number
  readonly kind: string
}

const vendors: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ['AWS access key id', /\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b/g],
  ['Google API key', /\bAIza[\w-]{35}/g],
  ['Google OAuth token', /\bya29\.[\w-]{20,2000}/g],
  ['Google OAuth secret', /\bGOCSPX-[\w-]{20,100}/g],
  ['Stripe key', /\b[srp]k_(?:live|test)_[A-Za-z0-9]{16,200}/g],
  ['GitLab token', /\bgl(?:pat|ptt|dt|rt|cbt|soat|ft|agent|imt|oas)-[\w.-]{20,300}/g],
  ['GitHub token', /\bgh[pousr]_[A-Za-z0-9]{30,260}|\bgithub_pat_\w{30,260}/g],
  ['Hugging Face token', /\bhf_[A-Za-z0-9]{30,100}/g],
  ['API key', /\bsk-[\w-]{20,300}/g],
  ['Slack token', /\bx(?:ox[abdeoprs]|app)-[\w-]{10,300}/g],
  ['PyPI token', /\bpypi-[\w-]{50,2000}/g],
  ['DigitalOcean token', /\bdo[opr]_v1_[a-f0-9]{64}/g],
  ['npm token', /\bnpm_[A-Za-z0-9]{36}/g],
  ['SendGrid key', /\bSG\.[\w-]{16,64}\.[\w-]{16,64}/g],
  ['JSON web token', /\beyJ[\w-]{8,8000}\.eyJ[\w-]{8,8000}(?:\.[\w-]{0,8000})?/g],
]

const name =
  'secret|token|passw(?:or)?d|passwd|passphrase|pwd|api[_-]?key|apikey|access[_-]?key|private[_-]?key|signing[_-]?key|' +
  'encryption[_-]?key|credentials?|auth[_-]?key|client[_-]?secret'
const assignment = new RegExp(
  `(${name})([A-Za-z0-9_-]{0,30})(["'\`]?\\s{0,3}(?::=|=>|=|:)\\s{0,3}["'\`]?)([^\\s"'\`,;<>{}]{6,4000})`,
  'gi',
)
const flag = new RegExp(`--(?:[a-z]{1,20}-){0,3}(${name})[ =]["']?([^\\s"'\`,;<>{}]{6,4000})`, 'gi')
const bearer = /\b(?:Bearer|Basic)\s{1,3}([\w.~+/=-]{12,8000})/g

export function findSecrets(text: string): Found[] {
  const found = privateKeys(text)
  for (const [kind, pattern] of vendors) {
    for (const match of text.matchAll(pattern)) add(found, match.index, match[0], kind)
  }
  for (const match of text.matchAll(assignment)) {
    const [all, key, rest, , value] = match as unknown as [string, string, string, string, string]
    if (isSecret(value, isEnvironment(key + rest, all)))
      add(found, match.index + all.length - value.length, value, kindOf(key))
  }
  for (const match of text.matchAll(flag)) {
    const [all, key, value] = match as unknown as [string, string, string]
    if (isSecret(value, true)) add(found, match.index + all.length - value.length, value, kindOf(key))
  }
  for (const match of text.matchAll(bearer)) {
    const value = match[1]!
    if (isSecret(value, false)) add(found, match.index + match[0].length - value.length, value, 'authorization')
  }
  return found
}

function add(found: Found[], start: number, value: string, kind: string): void {
  found.push({ start, end: start + value.length, kind })
}

function kindOf(key: string): string {
  const plain = key.toLowerCase().replace(/[_-]/g, ' ')
  if (/^p(?:ass|wd)/.test(plain)) return plain === 'passphrase' ? plain : 'password'
  return plain === 'apikey' ? 'api key' : plain
}

/** `DB_PASSWORD=…`: nobody writes a type or an expression there. */
function isEnvironment(key: string, all: string): boolean {
  return key === key.toUpperCase() && all[key.length] === '='
}

/** Looks like a value rather than code, a placeholder or a word of prose. */
function isSecret(value: string, sure: boolean): boolean {
  if (/^(?:\[redacted|\$|%|process\.env|os\.environ|env\.|\*+$|x+$|\.+$)/i.test(value)) return false
  if (/[()[\]]/.test(value) && !sure) return false
  if (sure) return !/^(?:true|false|null|undefined|string|required|optional)$/i.test(value)
  if (/^\d{1,9}$/.test(value) || /^[\w-]+(?:[./][A-Za-z][\w-]*)+$/.test(value)) return false
  const mixed = [/\d/, /[a-z]/, /[A-Z]/, /[^A-Za-z0-9]/].filter((kind) => kind.test(value)).length
  if (mixed < 2) return value.length >= 24 && entropy(value) >= 3.2
  return /\d|[^\w.-]/.test(value) ? entropy(value) >= 2 : value.length >= 16 && entropy(value) >= 3.5
}

/** Bits per character. */
function entropy(value: string): number {
  const head = value.slice(0, 200)
  const counts = new Map<string, number>()
  for (const character of head) counts.set(character, (counts.get(character) ?? 0) + 1)
  let bits = 0
  for (const count of counts.values()) bits -= (count / head.length) * Math.log2(count / head.length)
  return bits
}

const border = /-----(BEGIN|END) (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----/g
const inKey = /[A-Za-z0-9+/=\s\\:,.-]/

/** Whole keys, and what is left of one whose other end was cut. */
function privateKeys(text: string): Found[] {
  const found: Found[] = []
  let from = 0
  let open: number | undefined
  for (const match of text.matchAll(border)) {
    const end = match.index + match[0].length
    if (match[1] === 'BEGIN') {
      if (open !== undefined) from = close(text, found, open, match.index)
      open = match.index
      continue
    }
    let start = open ?? match.index
    if (open === undefined) while (start > from && inKey.test(text[start - 1]!)) start--
    found.push({ start, end, kind: 'private key' })
    from = end
    open = undefined
  }
  if (open !== undefined) close(text, found, open, text.length)
  return found
}

function close(text: string, found: Found[], open: number, limit: number): number {
  let end = Math.min(limit, text.indexOf('-----', open + 5) + 5)
  while (end < limit && inKey.test(text[end]!)) end++
  found.push({ start: open, end, kind: 'private key' })
  return end
}
