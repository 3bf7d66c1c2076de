// Takes secrets out of a text and says what kind each was. The rules are secretlint's, and our own for what they leave
// out. secretlint's can overflow on odd input, so they are given one window at a time; where they fail, the window
// goes rather than the secret.

import { clean } from './clean.ts'
import { isBlankToken, isPlaceholder, isPlainWord, isWordy } from './secret-values.ts'
import { findSecrets, type Found } from './secrets.ts'

export interface Redacted {
  readonly text: string
  /** Kinds of what was taken out, and how many of each. */
  readonly kinds: ReadonlyMap<string, number>
}

type FindRules = (text: string) => Promise<Found[]>

/** Long enough for any secret but a private key, which is found without windows. */
const overlap = 4_096
const windowSize = 65_536

/** The text without its secrets, escape sequences and control characters. */
export async function redact(text: string): Promise<Redacted> {
  const { texts, kinds } = await redactAll([text])
  return { text: texts[0]!, kinds }
}

/** A secret found in one of the texts is taken out of all of them. `times`: how often each of them counts. */
export async function redactAll(
  texts: readonly string[],
  times?: readonly number[],
): Promise<{ texts: string[]; kinds: ReadonlyMap<string, number> }> {
  const rules = await ruleSet()
  const cleaned = texts.map(clean)
  const whole = cleaned.join(separator)
  const found = merge([...(await inWindows(whole, rules)), ...findSecrets(whole)], whole)
  const kinds = new Map<string, number>()
  if (found.length === 0) return { texts: cleaned, kinds }
  let out = ''
  let from = 0
  let at = 0
  let endOfText = cleaned[0]!.length
  for (const { start, end, kind } of withRepeats(whole, found)) {
    while (start >= endOfText && at + 1 < cleaned.length) endOfText += separator.length + cleaned[++at]!.length
    out += `${whole.slice(from, start)}[redacted: ${kind}]`
    from = end
    kinds.set(kind, (kinds.get(kind) ?? 0) + (times?.[at] ?? 1))
  }
  return { texts: (out + whole.slice(from)).split(separator), kinds }
}

/**
 * Every string of a JSON value, keys aside, without its secrets. What holds none is not copied; a text that is there more than
 * once is searched once.
 */
export async function redactValue<T>(value: T): Promise<{ value: T; kinds: ReadonlyMap<string, number> }> {
  const found = new Map<string, number>()
  gatherStrings(value, found)
  const strings = [...found.keys()]
  const { texts, kinds } = await redactAll(strings, [...found.values()])
  const changed = new Map<string, string>()
  for (const [i, text] of texts.entries()) if (text !== strings[i]) changed.set(strings[i]!, text)
  return { value: changed.size === 0 ? value : mapStrings(value, (text) => changed.get(text) ?? text), kinds }
}

/** Every text, and how often it is there. */
function gatherStrings(value: unknown, found: Map<string, number>): void {
  if (typeof value === 'string') found.set(value, (found.get(value) ?? 0) + 1)
  else if (Array.isArray(value)) for (const one of value as unknown[]) gatherStrings(one, found)
  else if (typeof value === 'object' && value !== null)
    for (const key in value) gatherStrings(value[key as keyof typeof value], found)
}

/** The value with other strings; whatever stays as it is, is not copied. */
export function mapStrings<T>(value: T, change: (text: string) => string): T {
  return mapped(value, change) as T
}

function mapped(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    let copy: unknown[] | undefined
    for (let i = 0; i < value.length; i++) {
      const item = mapped(value[i], change)
      if (item !== value[i]) (copy ??= [...(value as unknown[])])[i] = item
    }
    return copy ?? value
  }
  let copy: Record<string, unknown> | undefined
  for (const key in value) {
    const item: unknown = value[key as keyof typeof value]
    const other = mapped(item, change)
    if (other !== item) (copy ??= { ...value })[key] = other
  }
  return copy ?? value
}

/** Separates texts: a cleaned text cannot hold it, and no secret reaches across it. */
const separator = '\n\u0000\n'

async function inWindows(text: string, rules: FindRules): Promise<Found[]> {
  const found: Found[] = []
  for (let at = 0; at < text.length; at += windowSize - overlap) {
    found.push(...(await inWindow(text, at, Math.min(text.length, at + windowSize), rules)))
    if (at + windowSize >= text.length) break
  }
  return found
}

async function inWindow(text: string, start: number, end: number, rules: FindRules): Promise<Found[]> {
  try {
    const found = await rules(text.slice(start, end))
    return found.map((one) => ({ start: start + one.start, end: start + one.end, kind: one.kind }))
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    if (end - start <= overlap) return [{ start, end, kind: 'text that could not be searched for secrets' }]
    const middle = Math.floor((start + end) / 2)
    const half = Math.floor(Math.min(overlap, end - start) / 4)
    const first = await inWindow(text, start, middle + half, rules)
    return [...first, ...(await inWindow(text, middle - half, end, rules))]
  }
}

function merge(found: Found[], text: string): Found[] {
  found.sort((a, b) => a.start - b.start || b.end - a.end)
  const merged: Found[] = []
  for (const one of found) {
    const last = merged.at(-1)
    if (last !== undefined && one.start < last.end) {
      if (one.end > last.end) merged[merged.length - 1] = { ...last, end: one.end }
    } else if (one.end > one.start) merged.push(one)
  }
  // A finding never reaches across the separator into the next text.
  return merged.flatMap((one) => splitAtSeparator(one, text))
}

function splitAtSeparator(one: Found, text: string): Found[] {
  const at = text.slice(one.start, one.end).indexOf(separator)
  if (at < 0) return [one]
  const rest = { ...one, start: one.start + at + separator.length }
  return [
    ...(at > 0 ? [{ ...one, end: one.start + at }] : []),
    ...(rest.end > rest.start ? splitAtSeparator(rest, text) : []),
  ]
}

/** The same secrets where nothing around them gave them away. */
function withRepeats(text: string, found: readonly Found[]): Found[] {
  const kinds = new Map<string, string>()
  for (const { start, end, kind } of found)
    if (end - start >= 8 && end - start <= 400 && !isWord(text.slice(start, end)))
      kinds.set(text.slice(start, end), kind)
  // More than these are the rows of a dump rather than something quoted again.
  const values = [...kinds.keys()].slice(0, 100)
  if (values.length === 0) return [...found]
  const all = [...found]
  for (const value of values) {
    for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + value.length)) {
      all.push({ start: at, end: at + value.length, kind: kinds.get(value)! })
    }
  }
  return merge(all, text)
}

/** `postgres` is a password in one place and a word in all others. */
function isWord(value: string): boolean {
  return /^[a-z]+$|^[A-Z][a-z]+$/.test(value) || (isWordy(value) && !/\d/.test(value))
}

let loaded: Promise<FindRules> | undefined

/** Loads the rules when the first text is redacted. */
function ruleSet(): Promise<FindRules> {
  loaded ??= load()
  return loaded
}

/** As much of a rule of secretlint as we use. */
interface Rule {
  readonly meta: { readonly id: string; readonly type: 'scanner' | 'filter' }
  create(context: RuleContext, options: object): { file?(source: RuleSource): void | Promise<void> }
}

interface RuleContext {
  readonly sharedOptions: object
  createTranslator(): typeof translate
  report(found: { readonly message: Message; readonly range: readonly [number, number] }): void
  ignore(): void
}

interface Message {
  readonly messageId: string
  readonly data: Record<string, unknown>
}

interface RuleSource {
  readonly content: string
  readonly filePath: string
  readonly ext: string
  readonly contentType: 'text'
  readonly hasBOM: boolean
}

/** Without secretlint's core: that keeps a profile of every run in the process, which takes quadratic time to look at. */
async function load(): Promise<FindRules> {
  const preset = await import('@secretlint/secretlint-rule-preset-recommend')
  // Filters let a comment in the text switch the search off.
  const rules = (preset.rules as unknown as readonly Rule[]).filter((rule) => rule.meta.type === 'scanner')
  return async (content) => {
    const found: Found[] = []
    const source: RuleSource = { content, filePath: 'text.md', ext: '.md', contentType: 'text', hasBOM: false }
    for (const rule of rules) {
      const handler = rule.create(
        {
          sharedOptions: {},
          createTranslator: () => translate,
          report: ({ message: { messageId, data }, range }) =>
            found.push(
              ...locate(content, range, Object.values(data), kindOf(rule.meta.id, messageId)).filter((one) =>
                isFilledIn(content.slice(one.start, one.end)),
              ),
            ),
          ignore: () => undefined,
        },
        {},
      )
      await handler.file?.(source)
    }
    return found
  }
}

function translate(messageId: string, data: Record<string, unknown> = {}): Message {
  return { messageId, data }
}

/** Some rules report the place of the assignment rather than of its value. */
function locate(text: string, range: readonly number[], values: unknown[], kind: string): Found[] {
  const [start = 0, end = 0] = range
  const value = values.find(
    (one): one is string => typeof one === 'string' && one.length >= 4 && text.includes(one, start),
  )
  if (value === undefined) return [{ start, end, kind }]
  const at = text.indexOf(value, start)
  const scheme = value.indexOf('://')
  const host = value.lastIndexOf('@')
  // Of an address, only who and the password.
  if (scheme > 0 && host > scheme) return [{ start: at + scheme + 3, end: at + host, kind }]
  return [{ start: at, end: at + value.length, kind }]
}

/** Not the blank of an example, such as `user:password` or `ghp_xxxx…`. */
function isFilledIn(found: string): boolean {
  const password = found.slice(found.indexOf(':') + 1)
  return !isPlaceholder(password) && !isBlankToken(password) && !isPlainWord(password)
}

const kindNames: Readonly<Record<string, string>> = {
  github: 'GitHub token',
  npm: 'npm token',
  slack: 'Slack token',
  aws: 'AWS key',
  gcp: 'Google Cloud key',
  anthropic: 'Anthropic API key',
  openai: 'OpenAI API key',
  linear: 'Linear API key',
  sendgrid: 'SendGrid key',
  shopify: 'Shopify key',
  privatekey: 'private key',
  basicauth: 'basic auth',
  '1password': '1Password token',
  'database-connection-string': 'database password',
}

function kindOf(rule: string, message: string): string {
  const name = rule.replace(/^.*secretlint-rule-/, '')
  return kindNames[name] ?? `${name} ${message.toLowerCase().replace(/_/g, ' ')}`
}
