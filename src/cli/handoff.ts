// `baton handoff`: the document that whoever takes over starts from.

import fs from 'node:fs'
import { chosenName, loadModel } from '../config/model.ts'
import { findWorkspace } from '../config/workspace.ts'
import { BatonError, CancelledError, InvalidError, NotFoundError, StorageError } from '../errors.ts'
import { diffDocuments, renderDiff } from '../handoff/document/diff.ts'
import type { HandoffDocument, Profile } from '../handoff/document/document.ts'
import { parseDocument } from '../handoff/document/parse.ts'
import { validate } from '../handoff/document/validate.ts'
import { projectDocument } from '../handoff/projection.ts'
import { documentText, savedAt, saveDocument, type SavedDocument, savedDocuments } from '../handoff/saved.ts'
import { handoffSession, resumeHandoff } from '../handoff/session.ts'
import { phaseLedger, type WriteOptions, writeDocument } from '../handoff/writer.ts'
import type { Store } from '../store/index.ts'
import { isReserved, resolve, Tape } from '../tape/index.ts'
import { edited } from './editor.ts'
import { age, count, type Globals, type Output } from './output.ts'
import { ProgressLine } from './progress.ts'
import { demand, handoffsFolder, withStore } from './workspace.ts'

export interface HandoffOptions extends Globals {
  tape?: string
  from?: string
  goal?: string
  budget?: number
  writer?: 'ledger' | 'model'
  model?: string
  baseUrl?: string
  profile?: Profile
  format?: 'md' | 'json'
  out?: string
  edit?: boolean
  new?: string | true
}

export async function handoff(options: HandoffOptions, session?: string): Promise<void> {
  if (session !== undefined && options.tape !== undefined) throw new InvalidError('Name a session or a tape, not both')
  await withStore(options, async (store, out) => {
    const source = await sourceOf(store, session ?? options.tape, session !== undefined, options, out)
    const { name } = source
    const tape = new Tape(store, name)
    const stop = new AbortController()
    const interrupt = () => stop.abort()
    process.once('SIGINT', interrupt)
    const progress = new ProgressLine(options)
    try {
      const write: WriteOptions = {
        ...(await writeOptions(options)),
        ...source.about,
        signal: stop.signal,
        onProgress: (at) => progress.show(at),
      }
      if (options.new !== undefined) return await moveTo(tape, options, write, out, progress)
      const written = await writeDocument(tape, write)
      progress.clear()
      const markdown = options.edit === true ? edited(written.markdown) : written.markdown
      const saved = await saveDocument(store, name, markdown, written.note)
      const file = project(options, saved, markdown)
      for (const problem of written.problems) out.warn(`baton: ${problem.message}`)
      give(options, markdown, out)
      if (process.stderr.isTTY && options.quiet !== true) out.warn(`Saved as ${name}#${saved.id} and ${file}`)
    } catch (error) {
      if (stop.signal.aborted) throw new CancelledError('Handoff cancelled')
      throw withAdvice(error, options)
    } finally {
      progress.clear()
      process.removeListener('SIGINT', interrupt)
    }
  })
}

async function moveTo(
  tape: Tape,
  options: HandoffOptions,
  write: WriteOptions,
  out: Output,
  progress: ProgressLine,
): Promise<void> {
  const result = await handoffSession(tape, {
    ...write,
    ...(typeof options.new === 'string' ? { into: options.new } : {}),
    ...(options.edit === true ? { edit: async (markdown: string) => edited(markdown) } : {}),
  })
  progress.clear()
  if (result.status === 'cancelled') throw new CancelledError(result.message)
  if (result.status === 'empty') throw new NotFoundError(result.message)
  if (result.status === 'failed') {
    if (BatonError.is(result.error)) throw result.error
    throw withAdvice(new StorageError(result.message, { cause: result.error }), options)
  }
  const file = project(options, result.document, result.markdown)
  if (out.json) out.data({ ...result, file })
  else out.line(`${result.message}: ${result.tape}`)
}

async function writeOptions(options: HandoffOptions): Promise<WriteOptions> {
  const { from, goal, budget, profile } = options
  const wanted = options.writer ?? (options.model === undefined ? 'ledger' : 'model')
  const base = {
    ...(from === undefined ? {} : { from }),
    ...(goal === undefined ? {} : { goal }),
    ...(budget === undefined ? {} : { budget }),
    ...(profile === undefined ? {} : { profile }),
  }
  if (wanted === 'ledger') {
    if (options.model !== undefined) throw new InvalidError('--writer ledger uses no model; leave out --model')
    return base
  }
  const chosen = await loadModel(options)
  return { ...base, model: chosen.model, modelName: chosen.name }
}

/** What is handed off: a tape, or a session of another agent, which is brought onto its tape first. */
async function sourceOf(store: Store, ref: string | undefined, maySession: boolean, options: Globals, out: Output) {
  const isTape = ref !== undefined && ((await store.info(ref)) !== undefined || !maySession)
  if (ref === undefined || isTape) {
    const name = ref ?? (await newestTape(store, out))
    await demand(store, name)
    return { name, about: workingFolder(options) }
  }
  const { sessionTape } = await import('./session-tape.ts')
  return sessionTape(store, ref)
}

/** The current folder, where the workspace was found through it: one named outright may be about another. */
function workingFolder(options: Globals): { cwd?: string } {
  const { by } = findWorkspace(options)
  return by === 'store' || by === 'workspace' ? {} : { cwd: process.cwd() }
}

/** Without a name, the tape that changed last. */
async function newestTape(store: Store, out: Output): Promise<string> {
  let newest: { tape: string; date: string } | undefined
  let others = 0
  for await (const { tape, date = '' } of store.list()) {
    if (isReserved(tape)) continue
    others++
    if (newest === undefined || date > newest.date) newest = { tape, date }
  }
  if (newest === undefined)
    throw new NotFoundError('There is no tape to hand off', { hint: 'Make one with "baton tape append main".' })
  const active = await resumeHandoff(store, newest.tape)
  if (others > 1) out.warn(`baton: handing off ${active}, which changed last; choose another with --tape`)
  return active
}

function give(options: HandoffOptions, markdown: string, out: Output): void {
  const asJson = options.format === 'json' || (options.format === undefined && out.json)
  const text = asJson ? `${JSON.stringify(parseDocument(markdown))}\n` : markdown
  if (options.out === undefined) process.stdout.write(text.endsWith('\n') ? text : `${text}\n`)
  else fs.writeFileSync(options.out, text)
}

/** A copy for people and agents. */
function project(options: Globals, saved: SavedDocument, markdown: string): string {
  return projectDocument(handoffsFolder(options), new Date(saved.date), markdown)
}

function withAdvice(error: unknown, options: HandoffOptions): unknown {
  if (BatonError.is(error)) return error
  const name = chosenName(options) ?? 'the model'
  const message = error instanceof Error ? error.message : String(error)
  return new StorageError(`Handoff failed: ${message}`, {
    hint: `${name} did not write it. Without a model it always works: --writer ledger.`,
    cause: error,
  })
}

export async function ls(options: Globals & { tape?: string }): Promise<void> {
  await withStore(options, async (store, out) => {
    const found: SavedDocument[] = []
    if (options.tape !== undefined) await demand(store, options.tape)
    for await (const { tape } of store.list()) {
      if (options.tape !== undefined && options.tape !== tape) continue
      for await (const saved of savedDocuments(store, tape)) found.push(saved)
    }
    found.sort((a, b) => (a.date < b.date ? 1 : -1))
    if (out.json) for (const saved of found) out.data(saved)
    else if (found.length === 0) out.note('No handoff documents yet. Write one with "baton handoff".')
    else {
      const rows = found.map((each) => [
        `${each.tape}#${each.id}`,
        each.profile,
        each.writer,
        age(each.date),
        `${count(each.bytes)} B`,
        each.goal ?? '',
      ])
      out.table([['DOCUMENT', 'PROFILE', 'WRITER', 'MADE', 'SIZE', 'GOAL'], ...rows], [4])
    }
  })
}

export async function show(options: Globals & { format?: 'md' | 'json' }, ref: string): Promise<void> {
  await withStore(options, async (store, out) => give(options, await textOf(store, ref), out))
}

export async function diff(options: Globals, before: string, after: string): Promise<void> {
  await withStore(options, async (store, out) => {
    const changes = diffDocuments(await documentAt(store, before), await documentAt(store, after))
    if (out.json) out.data(changes)
    else out.line(renderDiff(changes))
  })
}

export async function check(options: Globals & { tape?: string; profile?: Profile }, ref: string): Promise<void> {
  await withStore(options, async (store, out) => {
    const document = await documentAt(store, ref, options.profile)
    const ledger =
      options.tape === undefined ? undefined : await phaseLedger(new Tape(store, options.tape), workingFolder(options))
    const problems = validate(document, ledger)
    if (out.json) for (const problem of problems) out.data(problem)
    else for (const problem of problems) out.line(`${problem.section}: ${problem.message}`)
    if (problems.length > 0) process.exitCode = 1
    else
      out.note(
        `A valid ${document.profile} document${ledger === undefined ? '' : `, and ${options.tape} bears it out`}`,
      )
  })
}

async function documentAt(store: Store, ref: string, profile?: Profile): Promise<HandoffDocument> {
  return parseDocument(await textOf(store, ref), profile)
}

/** A file, or a reference to a saved document such as `main#12`; `main` alone is its newest. */
async function textOf(store: Store, ref: string): Promise<string> {
  if (fs.statSync(ref, { throwIfNoEntry: false })?.isFile() === true) return fs.readFileSync(ref, 'utf8')
  if (!ref.includes('#') && !ref.startsWith('tape://')) {
    for await (const saved of savedDocuments(store, ref)) return documentText(store, saved)
    throw new NotFoundError(`There is no file and no saved document "${ref}"`, { hint: 'See "baton handoff ls".' })
  }
  const { tape, place } = await resolve(store, ref)
  if (place.type !== 'entry') throw new InvalidError(`"${ref}" does not name one document`)
  return documentText(store, await savedAt(store, tape, place.id))
}
