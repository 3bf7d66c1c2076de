// Files as lines: neighbours of one action and folder share a line, `edited src/tape/: fork.ts +12 -3 #40, uri.ts`.

import type { FileNote, Item, Status } from './document.ts'
import { ownPlace, readRef, refMark, takeRefs, takeStatus } from './marks.ts'

type FileItem = Item & { readonly file: FileNote }

export function isFileItem(item: Item): item is FileItem {
  return item.file !== undefined
}

interface Group {
  readonly action: FileNote['action']
  readonly status: Status
  /** Ends in `/`, or is empty. */
  folder: string
  readonly items: FileItem[]
}

const plainPath = /^[\p{L}\p{N}_.@/~([$%][\p{L}\p{N}_.@/~+=%$()[\]-]*$/u

/** Needs no quotes, and neither it nor what follows one of its folders can be mistaken for a mark. */
function isPlain(path: string): boolean {
  return plainPath.test(path) && !/\/[+=)\]-]|\((?:claimed|verified)\)$/.test(path)
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

/** Joins neighbours while that is shorter than a line of their own. */
function grouped(items: readonly FileItem[]): Group[] {
  const groups: Group[] = []
  for (const item of items) {
    const folder = folderOf(item)
    const last = groups.at(-1)
    if (last === undefined || last.action !== item.file.action || last.status !== item.status) {
      groups.push({ action: item.file.action, status: item.status, folder, items: [item] })
      continue
    }
    const common = commonFolder(last.folder, folder)
    const longer = words(last.folder) - words(common)
    const joining = longer * last.items.length + words(folder) - words(common)
    if (joining <= words(folder) + 3) {
      last.folder = common
      last.items.push(item)
    } else groups.push({ action: item.file.action, status: item.status, folder, items: [item] })
  }
  return groups.map((group) => (group.items.length > 1 ? group : { ...group, folder: '' }))
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
const entryPattern = String.raw`(?:(${path}) → )?(${path})(?: \+(\d+))?(?: -(\d+))?( git)?( \?)?(?: (#\d+(?:\.\.\d*)?|${refList}))?`
const linePattern = /^(created|edited|renamed|deleted|read) (.+)$/su
const oneEntry = new RegExp(`${entryPattern}(?:, |$)`, 'uy')
const folderPattern = new RegExp(`^(${plain}/|/): `, 'u')

/** The files of a line without its bullet, or undefined when it is not such a line. */
export function readFileLine(line: string, tape: string | undefined, fallback: Status): FileItem[] | undefined {
  const { rest, status = fallback } = takeStatus(line)
  const match = linePattern.exec(rest)
  if (match === null) return undefined
  const action = match[1] as FileNote['action']
  const folder = folderPattern.exec(match[2]!)?.[1] ?? ''
  const entries = match[2]!.slice(folder === '' ? 0 : folder.length + 2)
  const items: FileItem[] = []
  oneEntry.lastIndex = 0
  while (oneEntry.lastIndex < entries.length) {
    const found = oneEntry.exec(entries)
    if (found === null) return undefined
    const [, from, name, added, removed, git, uncertain, ref] = found
    const refs = ref === undefined ? [] : ref.startsWith('#') ? [readRef(ref, tape)] : takeRefs(` ${ref}`, tape).refs
    items.push({
      text: name!.startsWith('"') ? unquote(name!) : folder + name!,
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
