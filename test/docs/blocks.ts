// The commands that pages tell people to type, with the output that the page shows for them.

import fs from 'node:fs'
import path from 'node:path'

const root = path.join(import.meta.dirname, '../..')

/** Every page for people but the generated ones. */
export const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...fs
    .readdirSync(path.join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]

export interface Typed {
  readonly line: string
  /** What the page shows below it, line by line. */
  readonly shown: readonly string[]
}

/** What is typed in the code blocks of a page: lines behind `$` where a block has some, else every line that calls Baton. */
export function typedIn(page: string): Typed[] {
  return blocksOf(page).flatMap((block) => (shells.includes(block.language) ? typedInBlock(block.text) : []))
}

const shells = ['sh', 'console', 'bash', 'text', '']

export interface Block {
  readonly language: string
  readonly text: string
}

/** The code blocks of a page, in their order. */
export function blocksOf(page: string): Block[] {
  const blocks: Block[] = []
  let open: { language: string; indent: number; lines: string[] } | undefined
  for (const line of fs.readFileSync(path.join(root, page), 'utf8').split('\n')) {
    const fence = /^( *)```(\w*)/.exec(line)
    if (fence === null) open?.lines.push(line.slice(open.indent))
    else if (open === undefined) open = { language: fence[2]!, indent: fence[1]!.length, lines: [] }
    else {
      blocks.push({ language: open.language, text: open.lines.join('\n') })
      open = undefined
    }
  }
  return blocks
}

/** As `typedIn`, of one block. */
export function typedInBlock(block: string): Typed[] {
  // A line that ends with a backslash continues on the next.
  const lines = block.replaceAll(/\\\n\s*/g, ' ').split('\n')
  const isSession = lines.some((line) => line.startsWith('$ '))
  const typed: { line: string; shown: string[] }[] = []
  for (const line of lines) {
    const isTyped = isSession ? line.startsWith('$ ') : callsBaton(line)
    if (isTyped) typed.push({ line: withoutRemark(line.replace(/^\$ /, '')), shown: [] })
    else if (isSession) typed.at(-1)?.shown.push(line)
  }
  return typed.filter(({ line }) => callsBaton(line))
}

function callsBaton(line: string): boolean {
  return /(?:^|\| )(?:[A-Z_]+=\S+ )*baton(?: |$)/.test(line.trim())
}

function withoutRemark(line: string): string {
  return line.replace(/\s+# .*$/, '').trim()
}

/** As a shell splits a line. */
export function wordsOf(line: string): string[] {
  const words = line.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? []
  return words.map((word) => word.replaceAll(/"([^"]*)"|'([^']*)'/g, '$1$2'))
}
