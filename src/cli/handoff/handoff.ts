// `baton handoff`: the document that whoever takes over starts from.

import fs from 'node:fs'
import path from 'node:path'
import type { AgentName } from '../../agents/index.ts'
import { dropPending, pendingFor, preparePending, realProject } from '../../connect/index.ts'
import { chosenName, configuredModels, loadModel, type Models, priceOf } from '../../config/index.ts'
import { BatonError, CancelledError, InvalidError, NotFoundError, StorageError } from '../../errors.ts'
import { diffDocuments, renderDiff } from '../../handoff/index.ts'
import type { HandoffDocument, Profile, Progress } from '../../handoff/index.ts'
import { parseDocument } from '../../handoff/index.ts'
import { validate } from '../../handoff/index.ts'
import { projectDocument } from '../../handoff/index.ts'
import { documentText, savedAt, saveDocument, type SavedDocument, savedDocuments } from '../../handoff/index.ts'
import { handoffSession } from '../../handoff/index.ts'
import { phaseLedger, type WriteOptions, writeDocument, type Written } from '../../handoff/index.ts'
import type { Store } from '../../store/index.ts'
import { resolve, Tape } from '../../tape/index.ts'
import { chosenWorkspace } from '../base/chosen-workspace.ts'
import { edited } from '../base/editor.ts'
import { cancellable, type Io } from '../base/io.ts'
import { age, count, type Globals, Output } from '../base/output.ts'
import { ProgressLine } from '../base/progress.ts'
import { demand, handoffsFolder, withStore } from '../base/workspace.ts'
import { placed } from './continue.ts'
import { sourceOf } from './source.ts'

export interface HandoffOptions extends Globals {
  tape?: string
  agent?: AgentName
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
  next?: boolean
}

export async function handoff(options: HandoffOptions, session?: string): Promise<void> {
  if (session !== undefined && options.tape !== undefined) throw new InvalidError('Name a session or a tape, not both')
  await withStore(options, async (store, out) => {
    const source = await sourceOf(store, session, options, out)
    const { name } = source
    const tape = new Tape(store, name)
    const progress = new ProgressLine(options)
    await cancellable(options.io, async (signal) => {
      try {
        const write: WriteOptions = {
          ...(await writeOptions(options)),
          ...source.about,
          signal,
          onProgress: (at) => progress.show(progressText(at)),
        }
        if (options.new !== undefined) return await moveTo(tape, options, write, out, progress)
        const written = await writeDocument(tape, write)
        progress.clear()
        const markdown = options.edit === true ? edited(written.markdown, options.io) : written.markdown
        const saved = await saveDocument(
          store,
          name,
          markdown,
          written.note,
          options.edit === true ? undefined : written.document,
        )
        const file = project(options, saved, markdown)
        if (options.next === true) openNext(options, saved, markdown, source.about.cwd)
        for (const problem of written.problems) out.warn(`baton: ${problem.message}`)
        if (written.spent !== undefined && options.quiet !== true)
          out.warn(spentText(written.spent, written.note.writer, await configuredModels(options.io.cwd())))
        give(options, markdown, out, options.edit === true ? undefined : written.document)
        if (options.io.stderr.isTTY === true && options.quiet !== true)
          out.warn(`Saved as ${name}#${saved.id} and ${file}`)
      } catch (error) {
        if (signal.aborted) throw new CancelledError('Handoff cancelled')
        throw withAdvice(error, options)
      } finally {
        progress.clear()
      }
    })
  })
}

function progressText({ step, part, parts, tokens, elapsedMs }: Progress): string {
  const of = part === undefined ? '' : ` part ${part} of ${parts}`
  const written = tokens > 0 ? `, ${tokens} tokens` : ''
  return `${step}${of}… ${(elapsedMs / 1000).toFixed(1)} s${written} (Ctrl-C cancels)`
}

/** What the model took, e.g. `anthropic/claude-haiku-5: 1 request, 8,120 tokens in, 640 out, $0.0011, 4.2 s`. */
function spentText(spent: NonNullable<Written['spent']>, model: string, models: Models): string {
  const { requests, inputTokens, outputTokens, ms } = spent
  const price = priceOf(model.slice(model.indexOf('/') + 1), models)
  const usd = price && (inputTokens * price.input + outputTokens * price.output) / 1e6
  const isKnown = inputTokens + outputTokens > 0
  return [
    `${model}: ${requests} request${requests === 1 ? '' : 's'}`,
    ...(isKnown ? [`${count(inputTokens)} tokens in`, `${count(outputTokens)} out`] : ['tokens not reported']),
    ...(usd === undefined || !isKnown ? [] : [`$${usd.toFixed(4)}`]),
    `${(ms / 1000).toFixed(1)} s`,
  ].join(', ')
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
    ...(options.edit === true ? { edit: async (markdown: string) => edited(markdown, options.io) } : {}),
  })
  progress.clear()
  if (result.status === 'cancelled') throw new CancelledError(result.message)
  if (result.status === 'empty') throw new NotFoundError(result.message)
  if (result.status === 'failed') {
    if (BatonError.is(result.error)) throw result.error
    throw withAdvice(new StorageError(result.message, { cause: result.error }), options)
  }
  const file = project(options, result.document, result.markdown)
  out.record({ ...result, file }, `${result.message}: ${result.tape}`)
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
  const chosen = await loadModel({ model: options.model, baseUrl: options.baseUrl, env: options.io.env })
  return { ...base, model: chosen.model, modelName: chosen.name }
}

/** Returns the current folder, unless the workspace was named: that one may belong to another project. */
function workingFolder(options: Globals): { cwd?: string } {
  const { by } = chosenWorkspace(options)
  return by === 'store' || by === 'workspace' ? {} : { cwd: options.io.cwd() }
}

function give(options: HandoffOptions, markdown: string, out: Output, document?: HandoffDocument): void {
  const asJson = options.format === 'json' || (options.format === undefined && out.json)
  const text = asJson ? `${JSON.stringify(document ?? parseDocument(markdown))}\n` : markdown
  if (options.out === undefined) out.write(text.endsWith('\n') ? text : `${text}\n`)
  else fs.writeFileSync(path.resolve(out.io.cwd(), options.out), text)
}

/** Keeps the document for the next session of a connected agent in this project. */
function openNext(options: Globals, saved: SavedDocument, markdown: string, cwd = options.io.cwd()): void {
  const { tape, id, date } = saved
  const { document } = placed(cwd, tape, new Date(date), markdown, options)
  preparePending(options.io.env, { project: realProject(cwd), document, tape, entry: id, date })
  new Output(options).note(`The next session in ${realProject(cwd)} opens with it, if its agent is connected.\n`)
}

/** Writes a copy of the document to a file, for people and agents. */
function project(options: Globals, saved: SavedDocument, markdown: string): string {
  return projectDocument(handoffsFolder(options), new Date(saved.date), markdown)
}

function withAdvice(error: unknown, options: HandoffOptions): unknown {
  if (BatonError.is(error)) return error
  const name = chosenName({ model: options.model, env: options.io.env }) ?? 'the model'
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
    out.list(found, {
      none: 'No handoff documents yet. Write one with "baton handoff".',
      head: ['DOCUMENT', 'PROFILE', 'WRITER', 'MADE', 'SIZE', 'GOAL'],
      right: [4],
      row: (each) => [
        `${each.tape}#${each.id}`,
        each.profile,
        each.writer,
        age(each.date),
        `${count(each.bytes)} B`,
        each.goal ?? '',
      ],
    })
  })
}

export async function show(options: Globals & { format?: 'md' | 'json' }, ref: string): Promise<void> {
  await withStore(options, async (store, out) => give(options, await textOf(store, ref, options.io), out))
}

/** The document that `--next` has prepared. */
export async function next(options: Globals & { drop?: boolean }): Promise<void> {
  const out = new Output(options)
  const { env } = options.io
  const project = realProject(options.io.cwd())
  const pending = pendingFor(env, project)
  if (pending === undefined)
    return out.note('No document waits for the next session here. Write one with "baton handoff --next".')
  if (options.drop === true) dropPending(env, project)
  out.record(
    { ...pending, dropped: options.drop === true },
    options.drop === true
      ? `${pending.tape}#${pending.entry} waits no longer`
      : `${pending.tape}#${pending.entry} opens the next session in ${project}: ${pending.document}`,
  )
}

export async function diff(options: Globals, before: string, after: string): Promise<void> {
  await withStore(options, async (store, out) => {
    const changes = diffDocuments(
      await documentAt(store, before, options.io),
      await documentAt(store, after, options.io),
    )
    out.record(changes, () => renderDiff(changes))
  })
}

export async function check(options: Globals & { tape?: string; profile?: Profile }, ref: string): Promise<void> {
  await withStore(options, async (store, out) => {
    const document = await documentAt(store, ref, options.io, options.profile)
    const ledger =
      options.tape === undefined ? undefined : await phaseLedger(new Tape(store, options.tape), workingFolder(options))
    const problems = validate(document, ledger)
    out.list(problems, { line: ({ section, message }) => `${section}: ${message}` })
    if (problems.length > 0) options.io.exit.code = 1
    else
      out.note(
        `A valid ${document.profile} document${ledger === undefined ? '' : `, and ${options.tape} bears it out`}`,
      )
  })
}

async function documentAt(store: Store, ref: string, io: Io, profile?: Profile): Promise<HandoffDocument> {
  return parseDocument(await textOf(store, ref, io), profile)
}

/** `ref` is a file or a saved document such as `main#12`; `main` alone means its newest. */
async function textOf(store: Store, ref: string, io: Io): Promise<string> {
  const file = path.resolve(io.cwd(), ref)
  if (fs.statSync(file, { throwIfNoEntry: false })?.isFile() === true) return fs.readFileSync(file, 'utf8')
  if (!ref.includes('#') && !ref.startsWith('tape://')) {
    for await (const saved of savedDocuments(store, ref)) return documentText(store, saved)
    throw new NotFoundError(`There is no file and no saved document "${ref}"`, { hint: 'See "baton handoff ls".' })
  }
  const { tape, place } = await resolve(store, ref)
  if (place.type !== 'entry') throw new InvalidError(`"${ref}" does not name one document`)
  return documentText(store, await savedAt(store, tape, place.id))
}
