// `baton docs`: the pages that come with Baton, for when there is no network.

import fs from 'node:fs'
import path from 'node:path'
import { NotFoundError } from '../../errors.ts'
import { nearest } from '../../tape/index.ts'
import { type Globals, Output } from '../base/output.ts'

export async function docs(globals: Globals, topic?: string): Promise<void> {
  const out = new Output(globals)
  const folder = folderOf(globals)
  const pages = pagesIn(folder)
  if (topic === undefined) {
    out.list(
      pages.map((page) => ({ ...page, title: titleOf(page.file) })),
      { head: ['TOPIC', 'ABOUT'], row: ({ topic, title }) => [topic, title] },
    )
    return out.note('\nRead one with "baton docs TOPIC".')
  }
  const found = pageNamed(topic, pages)
  if (found === undefined) {
    const topics = pages.map((page) => page.topic)
    const close = nearest(topic, topics)
    throw new NotFoundError(
      `There is no page "${topic}"`,
      close.length > 0 ? { nearest: close } : { hint: 'See "baton docs".' },
    )
  }
  const text = fs.readFileSync(found.file, 'utf8')
  if (out.json) return out.data({ ...found, text })
  const { isTTY, columns = 80 } = globals.io.stdout
  const shown = isTTY === true ? filled(text, columns) : text
  out.write(shown.endsWith('\n') ? shown : `${shown}\n`)
}

/** The pages as a shell completes them. */
export function topics(globals: Globals): { word: string; about: string }[] {
  return pagesIn(folderOf(globals)).map(({ topic, file }) => ({ word: topic, about: titleOf(file) }))
}

/** Fits paragraphs and the items of lists into the width of a terminal. Code, tables and headings stay as they are. */
export function filled(markdown: string, columns: number): string {
  const parts: { text: string; readonly isProse: boolean }[] = []
  let isCode = false
  for (const line of markdown.split('\n')) {
    const isFence = line.trimStart().startsWith('```')
    const isProse = !isCode && !isFence && line.trim() !== '' && !/^\s*[|#<!]/.test(line)
    if (isFence) isCode = !isCode
    const last = parts.at(-1)
    if (isProse && last?.isProse === true && !itemMark.test(line)) last.text += ` ${line.trim()}`
    else parts.push({ text: line, isProse })
  }
  return parts.flatMap(({ text, isProse }) => (isProse ? folded(text, columns) : [text])).join('\n')
}

const itemMark = /^\s*(?:[-*]|\d+\.) /

function folded(text: string, columns: number): string[] {
  const indent = ' '.repeat((itemMark.exec(text) ?? /^\s*/.exec(text)!)[0].length)
  const lines: string[] = []
  let line = /^\s*/.exec(text)![0]
  for (const word of text.trim().split(/ +/)) {
    const isFirst = line.trim() === ''
    if (!isFirst && line.length + 1 + word.length > columns) {
      lines.push(line)
      line = indent + word
    } else line += isFirst ? word : ` ${word}`
  }
  return [...lines, line]
}

interface Page {
  /** The path in the folder, such as `tapes` or `reference/rest`. */
  readonly topic: string
  readonly file: string
}

/** What explains comes first, then the reference. */
function pagesIn(folder: string): Page[] {
  const names = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'))
  const depth = (name: string) => name.split(path.sep).length
  return names
    .sort((a, b) => depth(a) - depth(b) || (a < b ? -1 : 1))
    .map((name) => ({ topic: name.slice(0, -3).split(path.sep).join('/'), file: path.join(folder, name) }))
}

/** By its topic, the last word of that, or the beginning of either where only one page has it. */
function pageNamed(topic: string, pages: readonly Page[]): Page | undefined {
  const lastWord = (page: Page) => path.posix.basename(page.topic)
  const begins = pages.filter((page) => page.topic.startsWith(topic) || lastWord(page).startsWith(topic))
  const exact = pages.find((page) => page.topic === topic) ?? pages.find((page) => lastWord(page) === topic)
  return exact ?? (begins.length === 1 ? begins[0] : undefined)
}

/** Beside the program, in the package as in the repository. */
function folderOf({ io }: Globals): string {
  const program = fs.existsSync(io.self[1]) ? fs.realpathSync(io.self[1]) : io.self[1]
  const folder = path.resolve(path.dirname(program), '../../docs')
  if (fs.existsSync(folder)) return folder
  throw new NotFoundError('The pages are not beside this program', { hint: 'Install the package again.' })
}

function titleOf(file: string): string {
  return /^# (.+)$/m.exec(fs.readFileSync(file, 'utf8'))?.[1] ?? ''
}
