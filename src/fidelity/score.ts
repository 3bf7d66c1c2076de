// Compares a document with what is true of its session. A text counts as kept if most of its rarer words stand close together
// in the document; a file, if its path does.

import type { Truth } from './truth.ts'

interface Kept {
  readonly found: number
  readonly of: number
  readonly missed: readonly string[]
}

export interface Score {
  readonly kept: Readonly<Record<FactClass, Kept>>
  /** What the document says, and nothing bears out. */
  readonly wrong: readonly string[]
}

type FactClass = 'requests' | 'words' | 'result' | 'todos' | 'failing' | 'files'

/** The document as its maker prints it, with what it lists as changed and as failing. */
interface Told {
  readonly markdown: string
  readonly files: readonly string[]
  readonly failures: readonly string[]
}

/** `git`: the paths that git calls changed, where it was asked. They count besides what the session's calls say. */
export function score(truth: Truth, told: Told, git?: readonly string[]): Score {
  const short = (path: string) =>
    truth.folder !== undefined && path.startsWith(`${truth.folder}/`) ? path.slice(truth.folder.length + 1) : path
  const own = truth.files.map(short)
  const page = plain(told.markdown)
  const listed = new Set(told.files.map(short))
  // Where git was asked, it decides: what a call wrote may have been taken back, and git does not see outside its folder.
  const changed = git === undefined ? own : [...new Set([...git, ...own.filter((path) => path.startsWith('/'))])]
  const texts = (facts: readonly string[]): Kept => kept(facts, (fact) => holds(page, fact))
  const known = new Set([...changed, ...own])
  const isKnown = (path: string) => known.has(path) || truth.named.has(path.replace(/\/$/, '').split('/').at(-1)!)
  return {
    kept: {
      requests: texts(truth.requests),
      words: texts(truth.words),
      result: texts(truth.result),
      todos: texts(truth.todos),
      failing: kept(truth.failing, (command) => page.includes(plain(command).slice(0, 60))),
      files: kept(changed, (path) => listed.has(path) || told.markdown.includes(path)),
    },
    wrong: [
      ...[...listed].filter((path) => !isKnown(path)).map((path) => `lists ${path} as changed`),
      ...truth.passing
        .filter((command) => told.failures.some((each) => plain(each).trim().startsWith(plain(command).trim())))
        .map((command) => `calls ${command} failing, although it passed`),
    ],
  }
}

function kept(facts: readonly string[], isFound: (fact: string) => boolean): Kept {
  const missed = facts.filter((fact) => !isFound(fact))
  return { found: facts.length - missed.length, of: facts.length, missed }
}

function plain(words: string): string {
  return words.toLowerCase().replaceAll(/[^\p{L}\p{N}./_-]+/gu, ' ')
}

/** How much of a text has to be there, how many of its words are looked for, and how far apart they may stand. */
const enough = 0.7
const mostWords = 40
const apart = 1_200

/** Whether the words of a text stand together on a page. Of a long text its beginning is enough. */
function holds(page: string, fact: string): boolean {
  const words = [...new Set(plain(fact).split(' '))]
    .filter((word) => word.length >= 4 || /\d/.test(word))
    .slice(0, mostWords)
  if (words.length === 0) return page.includes(plain(fact).trim())
  const needed = Math.ceil(words.length * enough)
  for (let at = 0; at < page.length; at += apart / 2) {
    const part = page.slice(at, at + apart)
    if (words.filter((word) => part.includes(word)).length >= needed) return true
  }
  return false
}
