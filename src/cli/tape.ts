// `baton tape …`: tapes as they are stored.

import fs from 'node:fs'
import path from 'node:path'
import readline from 'node:readline'
import { InvalidError, NotFoundError } from '../errors.ts'
import type { Damage, Draft, Entry, Expect, Store } from '../store/index.ts'
import { isHeavy } from '../tape/blob.ts'
import type { Format } from '../tape/context.ts'
import { forkOf } from '../tape/fork.ts'
import { edgeTo } from '../tape/lineage.ts'
import { exportTape, importTape, parseLine } from '../tape/portable.ts'
import { isReserved, Tape } from '../tape/tape.ts'
import { entryLine, entryRow } from './entry-line.ts'
import { age, brief, count, type Globals, type Output, size } from './output.ts'
import { demand, withStore } from './workspace.ts'

/** How many appends may be under way: enough to share syncs, few enough to stop soon after a bad line. */
const window = 64

export async function ls(globals: Globals): Promise<void> {
  await withStore(globals, async (store, out) => {
    const rows = [['TAPE', 'ENTRIES', 'ANCHORS', 'LAST ANCHOR', 'SIZE', 'CHANGED']]
    for await (const info of store.list()) {
      if (isReserved(info.tape)) continue
      if (out.json) out.data(info)
      else {
        const last = brief(info.lastAnchor?.name ?? '', 30)
        rows.push([info.tape, count(info.entries), count(info.anchors), last, size(info.bytes), age(info.date)])
      }
    }
    if (rows.length > 1) out.table(rows, [1, 2, 4])
    else out.note('No tapes yet. Make one with "baton tape append main".')
  })
}

interface AppendOptions extends Globals {
  file?: string
  atomic?: boolean
  expect?: string
}

export async function append(options: AppendOptions, name: string): Promise<void> {
  const expect = options.expect === undefined ? undefined : parseExpect(options.expect)
  await withStore(options, async (store, out) => {
    const tape = new Tape(store, name)
    const print = (entry: Entry) => (out.json ? out.data(entry) : out.line(entryLine(entry, out)))
    if (options.atomic === true || expect !== undefined) {
      const drafts: Draft[] = []
      for await (const { draft } of draftLines(options.file)) drafts.push(draft)
      if (drafts.length === 0) throw new InvalidError('There is nothing to append: no line came in')
      const entries = await tape.append(drafts, expect === undefined ? {} : { expect })
      entries.forEach(print)
      return
    }
    let failure: Error | undefined
    const pending: Promise<void>[] = []
    const settle = () => Promise.all(pending.splice(0))
    for await (const { draft, number } of draftLines(options.file)) {
      const heavy = mayBeHeavy(draft)
      // What first goes to a blob would be overtaken by its successors.
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

export async function read(
  options: Globals & { after?: number; before?: number; kinds?: string[]; limit?: number; reverse?: boolean },
  name: string,
): Promise<void> {
  const { after, before, kinds, limit, reverse } = options
  await withStore(options, async (store, out) => {
    await demand(store, name)
    const range = defined({ after, before, kinds, limit, reverse })
    await warned(out, async (onDamage) => {
      for await (const entry of store.read(name, { ...range, onDamage })) {
        if (out.json) out.data(entry)
        else out.line(entryLine(entry, out))
      }
    })
  })
}

export async function handoff(
  options: Globals & { state?: unknown; summary?: string; nextSteps?: string; keepFrom?: number },
  name: string,
  anchor: string,
): Promise<void> {
  const words = defined({ summary: options.summary, next_steps: options.nextSteps })
  const isObject = typeof options.state === 'object' && options.state !== null && !Array.isArray(options.state)
  if (options.state !== undefined && !isObject && Object.keys(words).length > 0) {
    throw new InvalidError('--summary and --next-steps go into a state that is an object, and --state is not one')
  }
  const state = isObject ? { ...(options.state as object), ...words } : (options.state ?? words)
  await withStore(options, async (store, out) => {
    const from = options.keepFrom === undefined ? {} : { from: options.keepFrom }
    const entries = await new Tape(store, name).handoff(anchor, { state, ...from })
    for (const entry of entries) {
      if (out.json) out.data(entry)
      else out.line(entryLine(entry, out))
    }
  })
}

export async function anchors(options: Globals & { limit?: number }, name: string): Promise<void> {
  await withStore(options, async (store, out) => {
    await demand(store, name)
    const found = await store.anchors(name, defined({ limit: options.limit }))
    if (out.json) for (const anchor of found) out.data(anchor)
    else if (found.length === 0) out.note(`${name} has no anchor yet.`)
    else
      out.table([
        ['ANCHOR', 'ENTRY', 'MADE', 'STATE'],
        ...found.map((each) => [each.name, `#${each.id}`, age(each.date), brief(JSON.stringify(each.state), 80)]),
      ])
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
  options: Globals & { kinds?: string[]; from?: string; to?: string; limit?: number },
  name: string,
  text: string,
): Promise<void> {
  const { kinds, from, to, limit } = options
  await withStore(options, async (store, out) => {
    await demand(store, name)
    await warned(out, async (onDamage) => {
      const found = await new Tape(store, name).search(text, { ...defined({ kinds, from, to, limit }), onDamage })
      if (out.json) for (const entry of found) out.data(entry)
      else if (found.length === 0) out.note(`Nothing on ${name} holds "${text}".`)
      else out.table([['ENTRY', 'KIND', 'MADE', 'TEXT'], ...found.map((entry) => entryRow(entry, 110))])
    })
  })
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
    if (out.json) out.data({ parent: name, child, entries: made.entries, lastId: made.lastId })
    else
      out.line(
        `${child} goes on from ${name}${options.from === undefined ? '' : ` at ${options.from}`} with ${count(made.entries)} entries`,
      )
  })
}

export async function merge(options: Globals & { into?: string }, child: string): Promise<void> {
  await withStore(options, async (store, out) => {
    await demand(store, child)
    const parent = options.into ?? (await parentOf(store, child))
    const merged = await new Tape(store, parent).merge(child)
    if (out.json) out.data({ child, parent, merged })
    else
      out.line(
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
    if (out.json) out.data(archive)
    else out.line(`#${archive.firstId} to #${archive.lastId} of ${name} are in ${archive.ref}; the tape starts afresh`)
  })
}

export async function purge(options: Globals, name: string): Promise<void> {
  await withStore(options, async (store, out) => {
    await demand(store, name)
    const gone = await new Tape(store, name).purge()
    if (out.json) for (const archive of gone) out.data(archive)
    else if (gone.length === 0) out.note(`${name} has no archives.`)
    else for (const archive of gone) out.line(`deleted ${archive.ref}`)
  })
}

export async function tail(options: Globals & { after?: number }, name: string): Promise<void> {
  await withStore(options, async (store, out) => {
    await demand(store, name)
    const stop = new AbortController()
    const interrupt = () => stop.abort()
    process.once('SIGINT', interrupt).once('SIGTERM', interrupt)
    const last = (await store.info(name))?.lastId ?? 0
    for await (const entry of store.watch(name, options.after ?? Math.max(0, last - 10), stop.signal)) {
      if (out.json) out.data(entry)
      else out.line(entryLine(entry, out))
    }
    process.exitCode = 130
  })
}

export async function verify(options: Globals, name: string | undefined): Promise<void> {
  await withStore(options, async (store, out) => {
    if (store.verify === undefined)
      throw new InvalidError('This store checks itself; there is nothing to verify from outside')
    const names = name === undefined ? await allTapes(store) : [name]
    if (name !== undefined) await demand(store, name)
    let damaged = false
    for (const tape of names) {
      for (const found of await store.verify(tape)) {
        damaged ||= found.damage.length > 0
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
    if (damaged) {
      process.exitCode = 1
      if (!out.json) out.warn('See "baton tape repair NAME".')
    }
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
    const source = options.file === undefined ? 'stdin' : path.resolve(options.file)
    const made = await importTape(store, name, lines(options.file), source)
    if (out.json) out.data(made)
    else out.line(`${name} holds ${count(made.entries)} entries`)
  })
}

async function allTapes(store: Store): Promise<string[]> {
  const names: string[] = []
  for await (const { tape } of store.list()) names.push(tape)
  return (await store.info('lineage')) === undefined ? names : [...names, 'lineage']
}

async function* lines(file: string | undefined): AsyncGenerator<string> {
  let input: NodeJS.ReadableStream = process.stdin
  if (file !== undefined) {
    if (fs.statSync(file, { throwIfNoEntry: false })?.isFile() !== true)
      throw new NotFoundError(`There is no file ${file}`)
    input = fs.createReadStream(file)
  }
  yield* readline.createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
}

async function* draftLines(file: string | undefined): AsyncGenerator<{ draft: Draft; number: number }> {
  let number = 0
  for await (const line of lines(file)) {
    number++
    if (line.trim() !== '') yield { draft: parseLine(line, number) as Draft, number }
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

/** Reports damage on the way, and fails at the end if there was any. */
async function warned(out: Output, work: (onDamage: (damage: Damage) => void) => Promise<void>): Promise<void> {
  let damaged = false
  await work((damage) => {
    damaged = true
    warnOf(out, damage)
  })
  if (damaged) process.exitCode = 1
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

/** The fields that were given. */
function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never
}
