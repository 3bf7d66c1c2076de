// Finds secrets in a text: by the forms that need no name, which are here, and by names that say what their value is.

import { keyForms, tokenForms, type TokenForm } from './secret-forms.ts'
import { commandForms, shapeForms } from './secret-shapes.ts'
import { foreign, named } from './named-secrets.ts'
import { secretName } from './secret-names.ts'
import { isBlankToken, isPlaceholder, isPlainWord, isStrong } from './secret-values.ts'

export interface Found {
  readonly start: number
  readonly end: number
  readonly kind: string
}

export function findSecrets(text: string): Found[] {
  return [
    ...privateKeys(text),
    ...tokens(text),
    ...shapes(text),
    ...options(text),
    ...cards(text),
    ...inserts(text),
    ...named(text),
    ...foreign(text),
  ]
}

const forms = new Map<string, TokenForm>()
for (const form of [...tokenForms, ...keyForms]) for (const start of form.starts.split(' ')) forms.set(start, form)
/** Longer starts first: `sk-ant-` is no `sk-`. */
const starts = [...forms.keys()].sort((a, b) => b.length - a.length)
const anyStart = new RegExp(
  `(?<![A-Za-z0-9])(?:${starts.map((start) => start.replaceAll(/[.$^{}()|[\]\\+*?/-]/g, String.raw`\$&`)).join('|')})`,
  'g',
)

function tokens(text: string): Found[] {
  const found: Found[] = []
  anyStart.lastIndex = 0
  for (let match = anyStart.exec(text); match !== null; match = anyStart.exec(text)) {
    const { kind, body } = forms.get(match[0])!
    body.lastIndex = match.index + match[0].length
    const rest = body.exec(text)?.[0]
    if (rest === undefined || isBlankToken(rest)) continue
    anyStart.lastIndex = match.index + match[0].length + rest.length
    found.push({ start: match.index, end: anyStart.lastIndex, kind })
  }
  return found
}

function shapes(text: string): Found[] {
  const found: Found[] = []
  for (const { kind, pattern, doubtful } of shapeForms) {
    for (const match of text.matchAll(pattern)) {
      const value = match.groups?.secret ?? match[0]
      const password = kind === 'basic auth' || kind === 'login' ? value.slice(value.indexOf(':') + 1) : value
      if (isPlaceholder(password) || (doubtful === true && !isStrong(password, 5))) continue
      if (kind !== 'password' ? isPlainWord(password) : /^(?:password|\$\w+)$/i.test(password)) continue
      const start = match.indices?.groups?.secret?.[0] ?? match.index + match[0].lastIndexOf(value)
      found.push({ start, end: start + value.length, kind })
    }
  }
  return found
}

const optionOf = new Map(
  commandForms.flatMap(({ programs, option }) =>
    programs.split(' ').map((program) => [program, new RegExp(option, 'dg')]),
  ),
)
const anyProgram = new RegExp(
  `(?<![\\w.-])(?:${[...optionOf.keys()].map((program) => program.replaceAll('.', String.raw`\.`)).join('|')})(?=\\s)`,
  'g',
)

/** Options of programs whose value is a password. */
function options(text: string): Found[] {
  const found: Found[] = []
  for (const match of text.matchAll(anyProgram)) {
    const from = match.index + match[0].length
    const command = /^(?:\\\n|[^\n|;])*/.exec(text.slice(from, from + 400))![0]
    for (const { indices } of command.matchAll(optionOf.get(match[0])!)) {
      const [start, end] = indices!.groups!.secret!
      const value = command.slice(start, end)
      if (isPlaceholder(value) || /^(?:password|passwd|pass|pwd)$/i.test(value)) continue
      found.push({ start: from + start, end: from + end, kind: 'password' })
    }
  }
  return found
}

/** Numbers of payment cards: the lengths and first digits of issuers, with a valid check digit. */
function cards(text: string): Found[] {
  const found: Found[] = []
  for (const { 0: number, index } of text.matchAll(
    /(?<![\w.+/-])[3-6]\d{3}(?:[ -]?\d{4}[ -]?\d{4}[ -]?\d{1,4}|[ -]?\d{6}[ -]?\d{4,5})(?![\w+/-]|\.\d)/g,
  )) {
    const digits = number.replaceAll(/\D/g, '')
    if (!/^(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|6(?:011|5\d\d)\d{12}|35\d{14})$/.test(digits))
      continue
    if (number === digits && hasOtherName(text.slice(Math.max(0, index - 60), index))) continue
    if (hasCheckDigit(digits) && new Set(digits).size > 1)
      found.push({ start: index, end: index + number.length, kind: 'card number' })
  }
  return found
}

/** `"feature": 5436853517811712`: a number with a name that is no card's. */
function hasOtherName(before: string): boolean {
  const name = /([\w.-]+)["']?\s{0,3}[:=]\s{0,3}["']?$/.exec(before)?.[1]
  return name !== undefined && !/card|cc|pan|visa|master|amex|credit|debit|number|payment/i.test(name)
}

function hasCheckDigit(digits: string): boolean {
  let sum = 0
  for (let i = 0; i < digits.length; i += 1) {
    const digit = Number(digits[digits.length - 1 - i])
    const doubled = digit * 2
    sum += i % 2 === 0 ? digit : doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}

/** `INSERT INTO users (name, password) VALUES ('joe', '…')`: the value is in the place of its column. */
function inserts(text: string): Found[] {
  const found: Found[] = []
  for (const match of text.matchAll(
    /\binsert\s+into\s+\S{1,100}\s{0,3}\(([^()]{1,400})\)\s{0,3}values\s{0,3}\(([^()]{1,1000})\)/dgi,
  )) {
    const columns = match[1]!.split(',').map((column) => secretName(column.trim(), false)?.class === 'password')
    const values = [...match[2]!.matchAll(/'((?:[^']|'')*)'|[^,'\s]+/g)]
    for (const [i, value] of values.entries()) {
      const text = value[1] ?? ''
      if (columns[i] !== true || text === '' || isPlaceholder(text)) continue
      const start = match.indices![2]![0] + value.index + 1
      found.push({ start, end: start + text.length, kind: 'password' })
    }
  }
  return found
}

const border = /----(?:-| )(BEGIN|END) (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?(?:-| )----/g
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
