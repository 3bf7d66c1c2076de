// Files as lines: neighbours of one action and folder share a line, `edited src/tape/: fork.ts +12 -3 #40, uri.ts`.

import type { FileNote, Item, Status } from '../document.ts'
import { lazyPattern } from '../../lazy-pattern.ts'
import { ownPlace, readRef, refMark, takeRefs, takeStatus } from './references.ts'

type FileItem = Item & { readonly file: FileNote }

export function isFileItem(item: Item): item is FileItem {
  return item.file !== undefined
}

interface Group {
  readonly action: FileNote['action']
  readonly status: Status
  /** Ends in `/`, or is empty. */
  readonly folder: string
  readonly items: readonly FileItem[]
}

const plainAscii = /^[\w.@/~([$%][\w.@/~+=%$()[\]-]*$/
const plainPath = lazyPattern(String.raw`^[\p{L}\p{N}_.@/~([$%][\p{L}\p{N}_.@/~+=%$()[\]-]*$`)

/** Needs no quotes, and neither it nor what follows one of its folders can be mistaken for a mark. */
function isPlain(path: string): boolean {
  return (plainAscii.test(path) || plainPath().test(path)) && !/\/[+=)\]-]|\((?:claimed|verified)\)$/.test(path)
}

export function fileLines(items: readonly FileItem[], tape: string | undefined, statusHoisted: boolean): string {
  return grouped(items)
    .map(({ action, status, folder, items }) => {
      const prefix = folder === '' ? '' : `${folder}: `
      const entries = items.map((item) => entry(item, folder, tape)).join(', ')
      return `- ${action} ${prefix}${entries}${status === 'claimed' && !statusHoisted ? ' (claimed)' : ''}`
    })
    .join('\n')
}

function entry({ text, refs, file }: FileItem, folder: string, tape: string | undefined): string {
  const own = refs.length === 1 && tape !== undefined ? ownPlace(refs[0]!, tape) : undefined
  return [
    file.from === undefined ? '' : `${pathWord(file.from, '')} → `,
    pathWord(text, folder),
    file.added === undefined ? '' : ` +${file.added}`,
    file.removed === undefined ? '' : ` -${file.removed}`,
    file.git ? ' git' : '',
    file.uncertain ? ' ?' : '',
    own === undefined ? refMark(refs, tape) : ` ${own}`,
  ].join('')
}

function pathWord(path: string, folder: string): string {
  return isPlain(path) ? path.slice(folder.length) : JSON.stringify(path)
}

/** Tokens that a line of its own takes, beyond its folder. */
const lineCost = 4
/** No line names more, so that a grouping of many files is found in time that grows with their number. */
const longestLine = 40

/** Neighbours of one action share lines where that takes fewer tokens in all. */
function grouped(items: readonly FileItem[]): Group[] {
  const groups: Group[] = []
  for (let at = 0; at < items.length;) {
    const { file, status } = items[at]!
    let end = at + 1
    const joins = (item: FileItem) => item.file.action === file.action && item.status === status
    while (end < items.length && joins(items[end]!)) end++
    groups.push(...lines(items.slice(at, end)))
    at = end
  }
  return groups
}

/** The cheapest way to cut a run of files into lines, found from its end. */
function lines(run: readonly FileItem[]): Group[] {
  const folders = run.map(folderOf)
  const costs = folders.map(words)
  const best: { cost: number; next: number; folder: string }[] = []
  best[run.length] = { cost: 0, next: run.length, folder: '' }
  for (let from = run.length - 1; from >= 0; from--) {
    let common = folders[from]!
    let sum = 0
    for (let to = from + 1; to <= run.length && to - from <= longestLine; to++) {
      common = commonFolder(common, folders[to - 1]!)
      sum += costs[to - 1]!
      const shared = to - from > 1 ? words(common) : 0
      const cost = lineCost + sum - shared * (to - from - 1) + best[to]!.cost
      if (cost < (best[from]?.cost ?? Number.POSITIVE_INFINITY)) best[from] = { cost, next: to, folder: common }
    }
  }
  const groups: Group[] = []
  for (let at = 0; at < run.length; at = best[at]!.next) {
    const { next, folder } = best[at]!
    const { file, status } = run[at]!
    groups.push({ action: file.action, status, folder: next - at > 1 ? folder : '', items: run.slice(at, next) })
  }
  return groups
}

function folderOf({ text }: FileItem): string {
  return isPlain(text) ? text.slice(0, text.lastIndexOf('/', text.length - 2) + 1) : ''
}

function commonFolder(a: string, b: string): string {
  let end = 0
  for (let at = 0; at < a.length && a[at] === b[at]; at++) if (a[at] === '/') end = at + 1
  return a.slice(0, end)
}

/** About as many tokens as a folder takes. */
function words(folder: string): number {
  return folder === '' ? 0 : Math.max(folder.split('/').length * 2 - 2, Math.ceil(folder.length / 5))
}

const quoted = String.raw`"(?:[^"\\]|\\.)*"`
const plain = String.raw`[\p{L}\p{N}_.@/~([$%][\p{L}\p{N}_.@/~+=%$()[\]-]*`
const path = `(?:${quoted}|${plain})`
const refList = String.raw`\[(?:"(?:[^"\\]|\\.)*"|[^\]"])*\]`
/** Versions before 0.2 wrote files that share a beginning with braces, `src/{tape/{fork,uri},cli/main}.ts`. */
const braced = String.raw`[\p{L}\p{N}_.@/~([$%{][\p{L}\p{N}_.@/~+=%$()[\]{},-]*[{},][\p{L}\p{N}_.@/~+=%$()[\]{},-]*[^\s,]`
const entryPattern = String.raw`(?:(${path}) → )?(${braced}|${path})(?: \+(\d+))?(?: -(\d+))?( git)?( \?)?(?: (#\d+(?:\.\.\d*)?|${refList}))?`
const linePattern = /^(created|edited|renamed|deleted|read) (.+)$/su
const entryAt = lazyPattern(`${entryPattern}(?:, |$)`, 'uy')
const folderPattern = lazyPattern(`^(${plain}/|/): `)

/** The files of a line without its bullet, or undefined when it is not such a line. */
export function readFileLine(line: string, tape: string | undefined, fallback: Status): FileItem[] | undefined {
  const { rest, status = fallback } = takeStatus(line)
  const match = linePattern.exec(rest)
  if (match === null) return undefined
  const action = match[1] as FileNote['action']
  const folder = folderPattern().exec(match[2]!)?.[1] ?? ''
  const entries = match[2]!.slice(folder === '' ? 0 : folder.length + 2)
  const items: FileItem[] = []
  const oneEntry = entryAt()
  oneEntry.lastIndex = 0
  while (oneEntry.lastIndex < entries.length) {
    const found = oneEntry.exec(entries)
    if (found === null) return undefined
    const [, from, name, added, removed, git, uncertain, ref] = found
    const refs = ref === undefined ? [] : ref.startsWith('#') ? [readRef(ref, tape)] : takeRefs(` ${ref}`, tape).refs
    const names = name!.startsWith('"') ? [unquote(name!)] : fromBraces(folder + name!)
    if (names === undefined) return undefined
    const described = (text: string): FileItem => ({
      text,
      status,
      refs,
      file: {
        action,
        ...(from !== undefined && { from: from.startsWith('"') ? unquote(from) : from }),
        ...(added !== undefined && { added: Number(added) }),
        ...(removed !== undefined && { removed: Number(removed) }),
        ...(git !== undefined && { git: true as const }),
        ...(uncertain !== undefined && { uncertain: true as const }),
      },
    })
    items.push(...names.map(described))
  }
  return items
}

function unquote(word: string): string {
  try {
    return String(JSON.parse(word))
  } catch {
    return word
  }
}

/** The paths of a word with braces, in order; undefined when they do not match. */
function fromBraces(word: string): string[] | undefined {
  const open = word.indexOf('{')
  if (open < 0) return word.includes('}') ? undefined : [word]
  let depth = 0
  const cuts = [open]
  for (let at = open; at < word.length; at++) {
    if (word[at] === '{') depth++
    else if (word[at] === '}' && --depth === 0) cuts.push(at)
    else if (word[at] === ',' && depth === 1) cuts.push(at)
    if (depth > 0) continue
    const head = word.slice(0, open)
    const tails = fromBraces(word.slice(at + 1))
    const inner = cuts.slice(1).map((cut, i) => fromBraces(word.slice(cuts[i]! + 1, cut)))
    if (tails === undefined || inner.some((each) => each === undefined)) return undefined
    return inner.flatMap((each) => each!.flatMap((middle) => tails.map((tail) => head + middle + tail)))
  }
  return undefined
}
