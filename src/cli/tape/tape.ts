// `baton tape …`: tapes as they are stored.

import fs from 'node:fs'
import path from 'node:path'
import readline from 'node:readline'
import { InvalidError, NotFoundError } from '../../errors.ts'
import { shellWord } from '../../system/index.ts'
import type { Damage, Draft, Entry, Expect, Store, TapeInfo } from '../../store/index.ts'
import { isHeavy } from '../../tape/index.ts'
import type { Format, Hit } from '../../tape/index.ts'
import { forkOf } from '../../tape/index.ts'
import { edgeTo } from '../../tape/index.ts'
import { exportTape, importTape, parseExportLine } from '../../tape/index.ts'
import { isReserved, Tape } from '../../tape/index.ts'
import { entryRow, printEntry } from './entry-line.ts'
import { type Io, untilStopped } from '../base/io.ts'
import { age, brief, count, type Globals, type Output, size } from '../base/output.ts'
import { demand, withStore } from '../base/workspace.ts'

/** How many appends may be under way: enough to share syncs, few enough to stop soon after a bad line. */
const window = 64

export async function ls(globals: Globals): Promise<void> {
  await withStore(globals, async (store, out) => {
    const tapes: TapeInfo[] = []
    for await (const info of store.list()) if (!isReserved(info.tape)) tapes.push(info)
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

export async function append(options: AppendOptions, name: string): Promise<void> {
  const expect = options.expect === undefined ? undefined : parseExpect(options.expect)
  await withStore(options, async (store, out) => {
    const tape = await tapeAs(store, name, options.as)
    const print = (entry: Entry) => printEntry(entry, out)
    if (options.atomic === true || expect !== undefined) {
      const drafts: Draft[] = []
      for await (const { draft } of draftLines(options)) drafts.push(draft)
      if (drafts.length === 0) throw new InvalidError('There is nothing to append: no line came in')
      const entries = await tape.append(drafts, expect === undefined ? {} : { expect })
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
      const appended = tape.append([draft]).then((entries) => entries.forEach(print))
      pending.push(appended.catch((error: Error) => void (failure ??= atLine(error, number))))
      if (heavy) await settle()
    }
    await settle()
    if (failure !== undefined) throw failure
  })
}

/** On a tape that belongs to an agent, only that one writes; whoever says nothing is not it. */
async function tapeAs(store: Store, name: string, as: string | undefined): Promise<Tape> {
  const owner = await new Tape(store, name).owner()
  return new Tape(store, name, undefined, as ?? (owner === undefined ? undefined : 'the command line'))
}

export async function read(
  options: Globals & { after?: number; before?: number; kinds?: string[]; limit?: number; reverse?: boolean },
  name: string,
): Promise<void> {
  const { after, before, kinds, limit, reverse } = options
  await withStore(options, async (store, out) => {
    await demand(store, name)
    const range = defined({ after, before, kinds, limit, reverse })
    await warned(out, async (onDamage) => {
      for await (const entry of store.read(name, { ...range, onDamage })) printEntry(entry, out)
    })
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
  name: string,
  anchor: string,
): Promise<void> {
  const words = defined({ summary: options.summary, next_steps: options.nextSteps })
  const given = options.state?.value
  const isObject = typeof given === 'object' && given !== null && !Array.isArray(given)
  if (given !== undefined && !isObject && Object.keys(words).length > 0) {
    throw new InvalidError('--summary and --next-steps go into a state that is an object, and --state is not one')
  }
  const state = isObject ? { ...given, ...words } : given === undefined ? words : given
  await withStore(options, async (store, out) => {
    const from = options.keepFrom === undefined ? {} : { from: options.keepFrom }
    const tape = await tapeAs(store, name, options.as)
    const entries = await tape.handoff(anchor, { state, ...from })
    for (const entry of entries) printEntry(entry, out)
  })
}

export async function anchors(options: Globals & { limit?: number }, name: string): Promise<void> {
  await withStore(options, async (store, out) => {
    await demand(store, name)
    const found = await store.anchors(name, defined({ limit: options.limit }))
    out.list(found, {
      none: `${name} has no anchor yet.`,
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
  await withStore(options, async (store, out) => {
    await demand(store, name)
    const format = options.format ?? (out.json ? 'openai' : 'text')
    const built = await new Tape(store, name).context({ ...defined({ anchor, full, maxTokens }), format })
    for (const damage of built.damage) warnOf(out, damage)
    const { system, messages, omitted } = built
    if (format !== 'text' || out.json) out.data({ system, messages, ...defined({ omitted }) })
    else {
      if (system !== undefined) out.line(`system: ${system}\n`)
      out.line(String(messages))
    }
  })
}

export async function search(
  options: Globals & { kinds?: string[]; from?: string; to?: string; limit?: number; archived?: boolean },
  name: string,
  text: string,
): Promise<void> {
  const { kinds, from, to, limit, archived } = options
  await withStore(options, async (store, out) => {
    await demand(store, name)
    await warned(out, async (onDamage) => {
      const query = { ...defined({ kinds, from, to, limit, archived }), onDamage }
      const found = await new Tape(store, name).find(text, query)
      if (out.json) for (const { entry, blob } of found) out.data({ ...entry, ...defined({ found_in: blob }) })
      else
        out.list(found, {
          none: `Nothing on ${name} holds "${text}".`,
          head: ['ENTRY', 'KIND', 'MADE', 'TEXT'],
          row: ({ entry, blob }) => hitRow(entry, blob),
        })
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
  await withStore(options, async (store, out) => {
    await demand(store, name)
    const found = await new Tape(store, name).info()
    const archives = await store.archives(name)
    if (out.json) return out.data({ ...found, archives })
    const since = found.lastAnchor === undefined ? 'since the beginning' : `since ${found.lastAnchor}`
    const lines: [string, string][] = [
      ['tape', found.tape],
      ['entries', `${count(found.entries)}, the last is #${found.lastId}, ${age(found.date)}`],
      ['anchors', count(found.anchors)],
      ['context', `${count(found.entriesSinceAnchor)} entries ${since}, about ${count(found.contextTokens)} tokens`],
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
  name: string,
  child: string,
): Promise<void> {
  const intention = defined({
    next_steps: options.nextSteps,
    context_summary: options.contextSummary,
    trigger_on_complete: options.onComplete,
  })
  await withStore(options, async (store, out) => {
    await demand(store, name)
    const tape = await new Tape(store, name).fork(child, { ...defined({ from: options.from }), intention })
    const made = await tape.info()
    const at = options.from === undefined ? '' : ` at ${options.from}`
    out.record(
      { parent: name, child, entries: made.entries, lastId: made.lastId },
      `${child} goes on from ${name}${at} with ${count(made.entries)} entries`,
    )
  })
}

export async function merge(options: Globals & { into?: string }, child: string): Promise<void> {
  await withStore(options, async (store, out) => {
    await demand(store, child)
    const parent = options.into ?? (await parentOf(store, child))
    const merged = await new Tape(store, parent).merge(child)
    out.record(
      { child, parent, merged },
      merged === 0
        ? `${parent} has everything of ${child} already`
        : `${count(merged)} entries of ${child} came to ${parent}`,
    )
  })
}

async function parentOf(store: Store, child: string): Promise<string> {
  const parent = (await forkOf(store, child))?.origin.parent ?? (await edgeTo(store, child, 'fork'))?.parent
  if (parent !== undefined) return parent
  throw new NotFoundError(`${child} is not a fork of another tape`, { hint: 'Say where it should go with --into.' })
}

export async function reset(options: Globals, name: string): Promise<void> {
  await withStore(options, async (store, out) => {
    await demand(store, name)
    const archive = await new Tape(store, name).reset()
    const { firstId, lastId, ref } = archive
    out.record(archive, `#${firstId} to #${lastId} of ${name} are in ${ref}; the tape starts afresh`)
  })
}

export async function purge(options: Globals, name: string): Promise<void> {
  await withStore(options, async (store, out) => {
    await demand(store, name)
    const gone = await new Tape(store, name).purge()
    out.list(gone, { none: `${name} has no archives.`, line: ({ ref }) => `deleted ${ref}` })
  })
}

export async function tail(options: Globals & { after?: number }, name: string): Promise<void> {
  await withStore(options, async (store, out) => {
    await demand(store, name)
    const last = (await store.info(name))?.lastId ?? 0
    await untilStopped(options.io, async (signal) => {
      for await (const entry of store.watch(name, options.after ?? Math.max(0, last - 10), signal)) {
        printEntry(entry, out)
      }
    })
  })
}

export async function verify(options: Globals, name: string | undefined): Promise<void> {
  await withStore(options, async (store, out) => {
    if (store.verify === undefined)
      throw new InvalidError('This store checks itself; there is nothing to verify from outside')
    const names = name === undefined ? await allTapes(store) : [name]
    if (name !== undefined) await demand(store, name)
    const damaged = new Set<string>()
    for (const tape of names) {
      for (const found of await store.verify(tape)) {
        if (found.damage.length > 0) damaged.add(tape)
        if (out.json) {
          out.data(found)
          continue
        }
        const index = found.index === 'ok' ? '' : `, index ${found.index} (it is rebuilt when needed)`
        const state = found.damage.length === 0 ? out.style('green', 'sound') : out.style('red', 'damaged')
        out.line(`${tape}: ${state}, ${count(found.entries)} entries, ${size(found.bytes)}${index}`)
        for (const damage of found.damage) out.line(`  ${describe(damage)}`)
      }
    }
    if (names.length === 0) out.note('No tapes yet.')
    if (damaged.size > 0) options.io.exit.code = 1
    for (const tape of damaged) if (!out.json) out.warn(`See "baton tape repair ${shellWord(tape)}".`)
  })
}

export async function repair(options: Globals, name: string): Promise<void> {
  await withStore(options, async (store, out) => {
    if (store.repair === undefined) throw new InvalidError('This store repairs itself')
    const done = await store.repair(name)
    if (out.json) return out.data(done)
    if (done.damage.length === 0) return out.line(`${name} is sound, nothing to do`)
    for (const damage of done.damage) out.line(describe(damage))
    for (const file of done.cut) out.line(`kept what was cut in ${file}`)
    out.line(`${name} goes on with ${count(done.kept)} entries`)
  })
}

export async function exportOne(options: Globals, name: string): Promise<void> {
  await withStore(options, async (store, out) => {
    await demand(store, name)
    for await (const line of exportTape(store, name)) out.line(line)
  })
}

export async function importOne(options: Globals & { file?: string }, name: string): Promise<void> {
  await withStore(options, async (store, out) => {
    if (isReserved(name)) throw new InvalidError(`${name} is one of Baton's own tapes`)
    const source = options.file === undefined ? 'stdin' : path.resolve(options.io.cwd(), options.file)
    const made = await importTape(store, name, lines(options), source)
    out.record(made, `${name} holds ${count(made.entries)} entries`)
  })
}

async function allTapes(store: Store): Promise<string[]> {
  const names: string[] = []
  for await (const { tape } of store.list()) names.push(tape)
  return (await store.info('lineage')) === undefined ? names : [...names, 'lineage']
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

/** Reports damage when it is found, and lets the command fail at the end if there was any. */
async function warned(out: Output, work: (onDamage: (damage: Damage) => void) => Promise<void>): Promise<void> {
  let damaged = false
  await work((damage) => {
    damaged = true
    warnOf(out, damage)
  })
  if (damaged) out.io.exit.code = 1
}

function warnOf(out: Output, damage: Damage): void {
  out.warn(`baton: damaged: ${describe(damage)}`)
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
