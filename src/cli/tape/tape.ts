// `baton tape …`: tapes as they are stored.

import fs from 'node:fs'
import path from 'node:path'
import readline from 'node:readline'
import { InvalidError, NotFoundError } from '../../errors.ts'
import { shellWord } from '../../system/index.ts'
import {
  importLines,
  tapeAnchors,
  tapeAppend,
  tapeContext,
  tapeExport,
  tapeFork,
  tapeHandoff,
  tapeInfo,
  tapeList,
  tapeMerge,
  tapePurge,
  tapeRead,
  tapeRepair,
  tapeReset,
  tapeSearch,
  tapeVerify,
  tapeWatch,
} from '../../operations/index.ts'
import type { Damage, Draft, Entry, Expect } from '../../store/index.ts'
import { type Format, type Hit, isHeavy, parseExportLine, tapeMeant } from '../../tape/index.ts'
import { entryRow, printEntry } from './entry-line.ts'
import { type Io, untilStopped } from '../base/io.ts'
import { age, brief, count, entryCount, type Globals, type Output, size } from '../base/output.ts'
import { demand, type Door, withWorkspace } from '../base/workspace.ts'

/** How many appends may be under way: enough to share syncs, few enough to stop soon after a bad line. */
const window = 64

/** Where a list is printed whole. */
const all = Number.MAX_SAFE_INTEGER

/** For commands that only read: the beginning of a tape's name will do, or of the id of its session. */
async function reading(
  globals: Globals,
  name: string,
  work: (door: Door, out: Output, tape: string) => Promise<void>,
): Promise<void> {
  await withWorkspace(globals, async (door, out) =>
    work(door, out, await tapeMeant((await door.workspace('read')).store, name)),
  )
}

export async function ls(globals: Globals): Promise<void> {
  await withWorkspace(globals, async ({ run }, out) => {
    const { tapes } = await run(tapeList, { limit: all })
    out.list(tapes, {
      none: 'No tapes yet. Make one with "baton tape append main".',
      head: ['TAPE', 'ENTRIES', 'ANCHORS', 'LAST ANCHOR', 'SIZE', 'CHANGED'],
      right: [1, 2, 4],
      row: ({ tape, entries, anchors, lastAnchor, bytes, date }) => [
        tape,
        count(entries),
        count(anchors),
        brief(lastAnchor?.name ?? '', 30),
        size(bytes),
        age(date),
      ],
    })
  })
}

interface AppendOptions extends Globals {
  file?: string
  atomic?: boolean
  expect?: string
  as?: string
}

export async function append(options: AppendOptions, tape: string): Promise<void> {
  const expect = options.expect === undefined ? undefined : parseExpect(options.expect)
  const { as } = options
  await withWorkspace(options, async ({ run }, out) => {
    const print = (entry: Entry) => printEntry(entry, out)
    if (options.atomic === true || expect !== undefined) {
      const drafts: Draft[] = []
      for await (const { draft } of draftLines(options)) drafts.push(draft)
      if (drafts.length === 0) throw new InvalidError('There is nothing to append: the input is empty')
      const { entries } = await run(tapeAppend, { tape, entries: drafts, expect, as })
      entries.forEach(print)
      return
    }
    let failure: Error | undefined
    const pending: Promise<void>[] = []
    const settle = () => Promise.all(pending.splice(0))
    for await (const { draft, number } of draftLines(options)) {
      const heavy = mayBeHeavy(draft)
      // A heavy entry is first written to a blob: later entries would be appended before it.
      if (heavy || pending.length >= window) await settle()
      if (failure !== undefined) break
      const appended = run(tapeAppend, { tape, entries: [draft], as }).then(({ entries }) => entries.forEach(print))
      pending.push(appended.catch((error: Error) => void (failure ??= atLine(error, number))))
      if (heavy) await settle()
    }
    await settle()
    if (failure !== undefined) throw failure
  })
}

interface ReadOptions extends Globals {
  after?: number
  before?: number
  kinds?: string[]
  limit?: number
  reverse?: boolean
}

export async function read(options: ReadOptions, name: string): Promise<void> {
  const { kinds, reverse } = options
  let { after, before, limit: left = all } = options
  await reading(options, name, async ({ run }, out, tape) => {
    while (left > 0) {
      const page = await run(tapeRead, { tape, after, before, kinds, reverse, limit: Math.min(left, 1000) })
      for (const entry of page.entries) printEntry(entry, out)
      warnOf(out, page.damage)
      if (page.next === undefined) return
      left -= page.entries.length
      if (reverse === true) before = page.next
      else after = page.next
    }
  })
}

export async function handoff(
  options: Globals & {
    state?: { value: unknown }
    summary?: string
    nextSteps?: string
    keepFrom?: number
    as?: string
  },
  tape: string,
  anchor: string,
): Promise<void> {
  const words = defined({ summary: options.summary, next_steps: options.nextSteps })
  const given = options.state?.value
  const isObject = typeof given === 'object' && given !== null && !Array.isArray(given)
  if (given !== undefined && !isObject && Object.keys(words).length > 0) {
    throw new InvalidError('--summary and --next-steps go into a state that is an object, and --state is not one')
  }
  const state = isObject ? { ...given, ...words } : given === undefined ? words : given
  await withWorkspace(options, async ({ run }, out) => {
    const { keepFrom: from, as } = options
    const made = await run(tapeHandoff, { tape, name: anchor, state, from, as })
    for (const entry of [made.anchor, made.event]) printEntry(entry, out)
  })
}

export async function anchors(options: Globals & { limit?: number }, name: string): Promise<void> {
  await reading(options, name, async ({ run }, out, tape) => {
    const { anchors } = await run(tapeAnchors, { tape, limit: options.limit ?? all })
    out.list(anchors, {
      none: `${tape} has no anchor yet.`,
      head: ['ANCHOR', 'ENTRY', 'MADE', 'STATE'],
      row: (each) => [each.name, `#${each.id}`, age(each.date), brief(JSON.stringify(each.state), 80)],
    })
  })
}

interface ContextOptions extends Globals {
  anchor?: string
  full?: boolean
  maxTokens?: number
  format?: Format
}

export async function context(options: ContextOptions, name: string): Promise<void> {
  const { anchor, full, maxTokens } = options
  if (anchor !== undefined && full === true) throw new InvalidError('--anchor and --full exclude each other')
  await reading(options, name, async ({ run }, out, tape) => {
    const format = options.format ?? (out.json ? 'openai' : 'text')
    const built = await run(tapeContext, { tape, anchor, full, maxTokens, format })
    for (const damage of built.damage) out.warn(`baton: damaged: ${describe(damage)}`)
    const { system, messages, omitted } = built
    if (format !== 'text' || out.json) out.data({ system, messages, ...defined({ omitted }) })
    else {
      if (system !== undefined) out.line(`system: ${system}\n`)
      out.line(String(messages))
    }
  })
}

interface SearchOptions extends Globals {
  kinds?: string[]
  from?: string
  to?: string
  limit?: number
  archived?: boolean
}

export async function search(options: SearchOptions, name: string, text: string): Promise<void> {
  const { kinds, from, to, limit = 20, archived } = options
  await reading(options, name, async ({ run }, out, tape) => {
    const { hits, damage } = await run(tapeSearch, { tape, text, kinds, from, to, limit, archived })
    warnOf(out, damage)
    if (out.json) for (const { entry, blob } of hits) out.data({ ...entry, ...defined({ found_in: blob }) })
    else
      out.list(hits, {
        none: `No entry of ${tape} contains "${text}".`,
        head: ['ENTRY', 'KIND', 'MADE', 'TEXT'],
        row: ({ entry, blob }) => hitRow(entry, blob),
      })
  })
}

/** Text that is in a blob is not in the entry's own line: the row shows it where it was found, and how to read on. */
function hitRow(entry: Entry, blob: Hit['blob']): string[] {
  const row = entryRow(entry, 110)
  if (blob === undefined) return row
  const { sha256, offset, excerpt } = blob
  return [...row.slice(0, -1), `${brief(excerpt, 110)}  (baton show blob:${sha256} --offset ${offset})`]
}

export async function info(options: Globals, name: string): Promise<void> {
  await reading(options, name, async ({ run }, out, tape) => {
    const found = await run(tapeInfo, { tape })
    const { archives } = found
    if (out.json) return out.data(found)
    const since = found.lastAnchor === undefined ? 'since the beginning' : `since ${found.lastAnchor}`
    const lines: [string, string][] = [
      ['tape', tape],
      ['entries', `${count(found.entries)}, the last is #${found.lastId}, ${age(found.date)}`],
      ['anchors', count(found.anchors)],
      ['context', `${entryCount(found.entriesSinceAnchor)} ${since}, about ${count(found.contextTokens)} tokens`],
      ['size', size(found.bytes)],
      ['usage', found.lastUsage === undefined ? 'unknown' : JSON.stringify(found.lastUsage)],
    ]
    if (archives.length > 0)
      lines.push(['archives', archives.map((each) => `${each.ref} (#${each.firstId} to #${each.lastId})`).join(', ')])
    for (const [label, value] of lines) out.line(`${out.style('dim', label.padEnd(9))}${value}`)
  })
}

export async function fork(
  options: Globals & { from?: string; nextSteps?: string; contextSummary?: string; onComplete?: string },
  tape: string,
  child: string,
): Promise<void> {
  const intention = defined({
    next_steps: options.nextSteps,
    context_summary: options.contextSummary,
    trigger_on_complete: options.onComplete,
  })
  await withWorkspace(options, async ({ run }, out) => {
    const made = await run(tapeFork, { tape, child, from: options.from, intention })
    const at = options.from === undefined ? '' : ` at ${options.from}`
    out.record(made, `${child} continues ${tape}${at} with ${entryCount(made.entries)}`)
  })
}

export async function merge(options: Globals & { into?: string }, tape: string): Promise<void> {
  await withWorkspace(options, async ({ run }, out) => {
    const done = await run(tapeMerge, { tape, into: options.into })
    const { parent, merged } = done
    out.record(
      done,
      merged === 0
        ? `${parent} has everything of ${tape} already`
        : `${entryCount(merged)} of ${tape} merged into ${parent}`,
    )
  })
}

export async function reset(options: Globals, tape: string): Promise<void> {
  await withWorkspace(options, async ({ run }, out) => {
    const archive = await run(tapeReset, { tape })
    const { firstId, lastId, ref } = archive
    out.record(archive, `#${firstId} to #${lastId} of ${tape} are in ${ref}; the tape starts afresh`)
  })
}

export async function purge(options: Globals, tape: string): Promise<void> {
  await withWorkspace(options, async ({ run }, out) => {
    const { purged } = await run(tapePurge, { tape })
    out.list(purged, { none: `${tape} has no archives.`, line: ({ ref }) => `deleted ${ref}` })
  })
}

export async function tail(options: Globals & { after?: number }, name: string): Promise<void> {
  await reading(options, name, async ({ run, follow }, out, tape) => {
    const { lastId } = await run(tapeRead, { tape, limit: 1, reverse: true })
    const after = options.after ?? Math.max(0, lastId - 10)
    await untilStopped(options.io, async (signal) => {
      for await (const entry of follow(tapeWatch, { tape, after }, signal)) printEntry(entry, out)
    })
  })
}

export async function verify(options: Globals, name: string | undefined): Promise<void> {
  await withWorkspace(options, async (door, out) => {
    // Looking for it first, which makes no workspace.
    if (name !== undefined) await demand((await door.workspace('read')).store, name)
    const names = name === undefined ? await everyTape(door) : [name]
    const damaged = new Set<string>()
    for (const tape of names) {
      const { segments } = await door.run(tapeVerify, { tape })
      for (const found of segments) {
        if (found.damage.length > 0) damaged.add(tape)
        if (out.json) {
          out.data(found)
          continue
        }
        const index = found.index === 'ok' ? '' : `, index ${found.index} (it is rebuilt when needed)`
        const state = found.damage.length === 0 ? out.style('green', 'sound') : out.style('red', 'damaged')
        out.line(`${tape}: ${state}, ${entryCount(found.entries)}, ${size(found.bytes)}${index}`)
        for (const damage of found.damage) out.line(`  ${describe(damage)}`)
      }
    }
    if (names.length === 0) out.note('No tapes yet. Make one with "baton tape append main".')
    if (damaged.size > 0) options.io.exit.code = 1
    for (const tape of damaged) if (!out.json) out.warn(`See "baton tape repair ${shellWord(tape)}".`)
  })
}

async function everyTape({ run }: Door): Promise<string[]> {
  const { tapes } = await run(tapeList, { own: true, limit: all })
  // The lineage follows from the others, so it comes last.
  return tapes.map(({ tape }) => tape).sort((a, b) => Number(a === 'lineage') - Number(b === 'lineage'))
}

export async function repair(options: Globals, tape: string): Promise<void> {
  await withWorkspace(options, async ({ run }, out) => {
    const done = await run(tapeRepair, { tape })
    if (out.json) return out.data(done)
    if (done.damage.length === 0) return out.line(`${tape} is sound, nothing to do`)
    for (const damage of done.damage) out.line(describe(damage))
    for (const file of done.cut) out.line(`kept what was cut in ${file}`)
    out.line(`${tape} continues with ${entryCount(done.kept)}`)
  })
}

export async function exportOne(options: Globals, name: string): Promise<void> {
  await reading(options, name, async ({ run, follow }, out, tape) => {
    await run(tapeInfo, { tape })
    for await (const record of follow(tapeExport, { tape })) out.data(record)
  })
}

export async function importOne(options: Globals & { file?: string }, tape: string): Promise<void> {
  const source = options.file === undefined ? 'stdin' : path.resolve(options.io.cwd(), options.file)
  await withWorkspace(options, async ({ workspace }, out) => {
    const made = await importLines((await workspace('write')).store, tape, lines(options), source)
    out.record(made, `${tape} holds ${entryCount(made.entries)}`)
  })
}

interface LinesOptions {
  readonly io: Io
  readonly file?: string
}

async function* lines({ io, file }: LinesOptions): AsyncGenerator<string> {
  let input: NodeJS.ReadableStream = io.stdin
  if (file !== undefined) {
    const found = path.resolve(io.cwd(), file)
    if (fs.statSync(found, { throwIfNoEntry: false })?.isFile() !== true)
      throw new NotFoundError(`There is no file ${file}`)
    input = fs.createReadStream(found)
  }
  yield* readline.createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
}

async function* draftLines(options: LinesOptions): AsyncGenerator<{ draft: Draft; number: number }> {
  let number = 0
  for await (const line of lines(options)) {
    number++
    if (line.trim() !== '') yield { draft: parseExportLine(line, number) as Draft, number }
  }
}

function mayBeHeavy(draft: Draft): boolean {
  try {
    return isHeavy(draft)
  } catch {
    return true // malformed: appending it says what is wrong
  }
}

function atLine(error: Error, number: number): Error {
  error.message = `Line ${number}: ${error.message}`
  return error
}

function parseExpect(text: string): Expect {
  const keyed = /^(.+)=(\d+)$/.exec(text)
  if (keyed !== null) return { key: keyed[1]!, id: Number(keyed[2]) }
  if (/^\d+$/.test(text)) return Number(text)
  throw new InvalidError(`--expect takes N or KEY=N, not "${text}"`)
}

/** Reports damage, and lets the command fail at the end. */
function warnOf(out: Output, found: readonly Damage[]): void {
  for (const damage of found) out.warn(`baton: damaged: ${describe(damage)}`)
  if (found.length > 0) out.io.exit.code = 1
}

function describe(damage: Damage): string {
  const { kind, file, offset, length, lost, message } = damage
  const ids =
    lost === undefined
      ? ''
      : lost.from === lost.to
        ? `; entry ${lost.from} is lost`
        : `; entries ${lost.from} to ${lost.to} are lost`
  return `${file}, byte ${offset}${length === 0 ? '' : ` (${length} bytes)`}: ${kind}, ${message}${ids}`
}

/** Leaves out the fields that are undefined. */
function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never
}
