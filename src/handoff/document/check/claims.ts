// Claims that the ledger contradicts: files that it never saw, success where something still fails, todos that are open. What is read
// here are sentences of a model or an agent, which have no other form; a claim that none of the patterns knows stays a claim.

import type { Ledger } from '../../ledger/facts.ts'
import type { HandoffDocument, Item, SectionKey } from '../document.ts'
import { quotesAssistant } from '../phrases.ts'
import { contains } from './similarity.ts'
import { openFailures } from '../write/next-step.ts'

export interface Contradiction {
  readonly section: SectionKey
  readonly kind: 'unknown-file' | 'contradicted' | 'open-todo'
  readonly message: string
}

/** Sections that report what happened. The others say what is wanted: a next step may name a file that does not exist yet. */
const past: ReadonlySet<SectionKey> = new Set([
  'done',
  'doing',
  'context',
  'blockers',
  'failures',
  'notes',
  'decisions',
])

/** Whether the words claim a success that the ledger denies. */
export function isDenied(text: string, ledger: Ledger): boolean {
  return successDenied(text, ledger) !== undefined
}

export function contradictions(document: HandoffDocument, ledger: Ledger): Map<Item, Contradiction> {
  const found = new Map<Item, Contradiction>()
  const sight = seen(ledger)
  const open = ledger.todos.filter((todo) => todo.status === 'pending' || todo.status === 'in_progress')
  for (const { key, items } of document.sections) {
    for (const item of items) {
      if (item.status === 'verified' || item.by === 'user' || quotesAssistant(item)) continue
      const problem =
        (past.has(key) ? successDenied(item.text, ledger) : undefined) ??
        (key === 'done' || item.checked === true ? todoOpen(item.text, open) : undefined) ??
        (past.has(key) || key === 'files' ? fileUnseen(item, sight) : undefined)
      if (problem !== undefined) found.set(item, { section: key, ...problem })
    }
  }
  return found
}

type Problem = Omit<Contradiction, 'section'>

const tests =
  /\b(?:all|every|full)\b[^.;\n]{0,40}\b(?:tests?|specs?|suites?|checks?)\b[^.;\n]{0,30}\b(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?|ok)\b|\b(?:tests?|specs?|(?:test )?suites?)\b\s*(?:(?:are|is|were|now|all|still|run|runs)\s+){0,3}(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?)\b|\b(?:0|no|zero) (?:failing tests?|test failures?|failures?)\b/i
const builds =
  /\b(?:build|compil(?:e|es|ation)|type[- ]?check|lint(?:er|ing)?|tsc)\b[^.;\n]{0,30}\b(?:pass(?:es|ed|ing)?|succeed(?:s|ed)?|clean|green|works?)\b/i
const everything =
  /\b(?:everything|it all|all of it)\b[^.;\n]{0,20}\b(?:works?|pass(?:es|ed)?|is done|green)\b|\b(?:no|zero) (?:open |unresolved |known |remaining )?(?:errors?|failures?|issues|problems)\b|\b(?:fully|all) (?:working|functional)\b/i
/** A sentence that is a wish, a condition or a denial rather than a claim. */
const unsure =
  /\b(?:not|n't|never|until|once|when|if|unless|should|must|make|makes|ensure|so that|need(?:s|ed)?|to get|want|before|after|verify|check that|confirm|except|but|only|most|some)\b|n't\b/i

function successDenied(text: string, ledger: Ledger): Problem | undefined {
  const failing = openFailures(ledger)
  const failedTest = ledger.tests.find((test) => !test.ok)
  const test = failing.find((failure) => failure.kind === 'test')
  for (const sentence of text.split(/[.;\n]+/)) {
    if (unsure.test(sentence)) continue
    const evidence = tests.test(sentence)
      ? ((test && { what: test.what, id: test.lastId }) ??
        (failedTest && { what: failedTest.command, id: failedTest.id }))
      : builds.test(sentence)
        ? broken(failing.find((failure) => /build|compile|tsc|lint|check|make|cargo|gradle|mvn/i.test(failure.what)))
        : everything.test(sentence)
          ? broken(failing[0])
          : undefined
    if (evidence !== undefined) {
      const message = `"${sentence.trim().slice(0, 120)}", but ${evidence.what.slice(0, 120)} still fails (#${evidence.id})`
      return { kind: 'contradicted', message }
    }
  }
  return undefined
}

function broken(failure: { what: string; lastId: number } | undefined) {
  return failure && { what: failure.what, id: failure.lastId }
}

function todoOpen(text: string, open: Ledger['todos']): Problem | undefined {
  const todo = open.find((todo) => contains(text, todo.text))
  if (todo === undefined) return undefined
  return {
    kind: 'open-todo',
    message: `"${todo.text.slice(0, 120)}" is said to be done, but is ${todo.status.replace('_', ' ')} on the list (#${todo.id})`,
  }
}

/** A path: with a folder and an extension, or code with one. */
const pathLike =
  /(?<![\w:/.@-])(?:\.{0,2}\/)?(?:[\w.@()[\]-]+\/)+[\w.@()[\]-]*\w\.[A-Za-z]\w{0,7}\b(?!\/)|(?<=`)[\w@-][\w.@-]*\.[a-z]\w{0,5}(?=`)/g

function fileUnseen(item: Item, sight: (path: string) => boolean): Problem | undefined {
  const path = item.file === undefined ? undefined : item.text
  const text = [item.text, item.why ?? '', item.ruledOut ?? ''].join('\n').slice(0, 50_000)
  const unseen =
    path === undefined ? (text.match(pathLike) ?? []).find((one) => !sight(one)) : sight(path) ? undefined : path
  return unseen === undefined ? undefined : { kind: 'unknown-file', message: `${unseen} is nowhere on the tape` }
}

/** Whether a path, or the end of one, is known: as a file, or in the words of the user, a command, a failure. */
function seen(ledger: Ledger): (path: string) => boolean {
  const ends = new Set<string>()
  const add = (path: string) => {
    for (let at = 0; at >= 0; at = path.indexOf('/', at) + 1 || -1) ends.add(path.slice(at))
  }
  for (const { path, from } of ledger.files) [path, from ?? path].forEach(add)
  for (const { path } of ledger.git?.dirty ?? []) add(path)
  const texts = [
    ...ledger.instructions.map((one) => one.text),
    ...ledger.commands.map((one) => `${one.command}\n${one.failureTail ?? ''}`),
    ...ledger.failures.map((one) => `${one.what}\n${one.message}\n${one.tail ?? ''}`),
    ...ledger.todos.map((one) => one.text),
    ...ledger.decisions.map((one) => `${one.text} ${one.why ?? ''} ${one.ruledOut ?? ''}`),
    ...ledger.tests.flatMap((one) => one.failing ?? []),
    ledger.lastWords?.text ?? '',
    JSON.stringify(ledger.inherited?.state ?? ''),
  ]
  let words: string | undefined
  return (path) => {
    const bare = path.replace(/^\.\//, '')
    if (ends.has(bare)) return true
    words ??= texts.join('\n')
    return words.includes(bare)
  }
}
