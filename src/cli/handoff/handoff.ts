// `baton handoff`: the document that the next agent or person starts from.

import fs from 'node:fs'
import path from 'node:path'
import type { AgentName } from '../../agents/index.ts'
import { dropPending, pendingFor, realProject } from '../../connect/index.ts'
import { chosenName, configuredModels, type Models, priceOf } from '../../config/index.ts'
import { BatonError, CancelledError, InvalidError, NotFoundError, StorageError } from '../../errors.ts'
import {
  diffDocuments,
  parseDocument,
  type Profile,
  projectDocument,
  renderDiff,
  validate,
  redactValue,
} from '../../handoff/index.ts'
import {
  documentCheck,
  documentList,
  documentShow,
  documentWrite,
  tapeContinue,
  tapeInfo,
  tapeList,
  workList,
} from '../../operations/index.ts'
import { edited, cancellable } from '../base/io.ts'
import { age, count, type Globals, Output, brief } from '../base/output.ts'
import { ProgressLine } from '../base/progress.ts'
import { type Door, handoffsFolder, withWorkspace } from '../base/workspace.ts'

export interface HandoffCommandOptions extends Globals {
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

export async function handoff(given: HandoffCommandOptions, session?: string): Promise<void> {
  if (session !== undefined && given.tape !== undefined) throw new InvalidError('Name a session or a tape, not both')
  const { baseUrl } = given
  const options =
    baseUrl === undefined ? given : { ...given, io: { ...given.io, env: { ...given.io.env, BATON_BASE_URL: baseUrl } } }
  await withWorkspace(options, async (door, out) => {
    // Looking for it first, which makes no workspace.
    if (given.tape !== undefined) await door.run(tapeInfo, { tape: given.tape })
    const source = await sourceOf(door, session, options, out)
    const progress = new ProgressLine(options)
    const begun = performance.now()
    await cancellable(options.io, async (signal) => {
      const call = {
        signal,
        progress: (text: string) =>
          progress.show(`${text}… ${((performance.now() - begun) / 1000).toFixed(1)} s (Ctrl-C cancels)`),
        ...(options.edit === true ? { edit: async (markdown: string) => editedIn(markdown, options, progress) } : {}),
      }
      const job = { run: door.run, wanted: { ...source, ...wantedOf(options) }, call, options, out, progress }
      try {
        if (options.new === undefined) await write(job)
        else await moveTo(job)
      } catch (error) {
        if (signal.aborted) throw new CancelledError('Handoff cancelled')
        throw withAdvice(error, options)
      } finally {
        progress.clear()
      }
    })
  })
}

type Wanted = Parameters<typeof documentWrite.run>[1]

/** One run of `baton handoff`. */
interface Job {
  readonly run: Door['run']
  readonly wanted: Wanted
  readonly call: Parameters<Door['run']>[2]
  readonly options: HandoffCommandOptions
  readonly out: Output
  readonly progress: ProgressLine
}

async function write({ run, wanted, call, options, out, progress }: Job): Promise<void> {
  const asData = isJson(options, out)
  const made = await run(documentWrite, { ...wanted, next: options.next, content: asData }, call)
  progress.clear()
  const { document, markdown, problems, spent, content } = made
  const file = project(options, document.date, markdown)
  if (made.file !== undefined) {
    const opened = realProject(path.dirname(made.file))
    out.note(`The next session in ${opened} opens with it, if its agent is connected.\n`)
  }
  for (const problem of problems) out.warn(`baton: ${problem}`)
  if (spent !== undefined && options.quiet !== true)
    out.warn(spentText(spent, document.writer, await configuredModels(options.io.cwd())))
  give(options, markdown, out, content)
  if (options.io.stderr.isTTY === true && options.quiet !== true)
    out.warn(`Saved as ${document.tape}#${document.id} and ${file}`)
}

async function moveTo({ run, wanted, call, options, out, progress }: Job): Promise<void> {
  const into = typeof options.new === 'string' ? options.new : undefined
  const result = await run(tapeContinue, { ...wanted, into }, call)
  progress.clear()
  const file = project(options, result.document.date, result.markdown)
  out.record({ ...result, file }, `${result.message}: ${result.tape}`)
}

function editedIn(markdown: string, { io }: Globals, progress: ProgressLine): string {
  progress.clear()
  return edited(markdown, io)
}

function wantedOf({ from, goal, budget, profile, writer, model }: HandoffCommandOptions) {
  const chosen = writer ?? (model === undefined ? 'ledger' : 'model')
  if (chosen === 'ledger' && model !== undefined)
    throw new InvalidError('--writer ledger uses no model; leave out --model')
  return { from, goal, budget, profile, writer: chosen, model }
}

type Spent = NonNullable<Awaited<ReturnType<typeof documentWrite.run>>['spent']>

/** What the model took, e.g. `anthropic/claude-haiku-5: 1 request, 8,120 tokens in, 640 out, $0.0011, 4.2 s`. */
function spentText(spent: Spent, model: string, models: Models): string {
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

function isJson({ format }: { format?: 'md' | 'json' }, out: Output): boolean {
  return format === 'json' || (format === undefined && out.json)
}

function give(
  options: Globals & { format?: 'md' | 'json'; out?: string },
  markdown: string,
  out: Output,
  content?: object,
): void {
  const text = isJson(options, out) ? `${JSON.stringify(content ?? parseDocument(markdown))}\n` : markdown
  if (options.out === undefined) out.write(text.endsWith('\n') ? text : `${text}\n`)
  else fs.writeFileSync(path.resolve(out.io.cwd(), options.out), text)
}

/** Writes a copy of the document to a file, for people and agents. */
function project(options: Globals, date: string, markdown: string): string {
  return projectDocument(handoffsFolder(options), new Date(date), markdown)
}

function withAdvice(error: unknown, options: HandoffCommandOptions): unknown {
  // Without a model, what failed is the transcript or the disk.
  if (BatonError.is(error) || wantedOf(options).writer === 'ledger') return error
  const name = chosenName({ model: options.model, env: options.io.env }) ?? 'the model'
  const message = error instanceof Error ? error.message : String(error)
  return new StorageError(`Handoff failed: ${message}`, {
    hint: `${name} did not write it. Without a model it always works: --writer ledger.`,
    cause: error,
  })
}

export async function ls(options: Globals & { tape?: string }): Promise<void> {
  await withWorkspace(options, async ({ run }, out) => {
    const { documents, damaged } = await run(documentList, { tape: options.tape, limit: Number.MAX_SAFE_INTEGER })
    out.list(documents, {
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
    for (const tape of damaged) {
      out.note(`Not every document of ${tape} is listed, because it is damaged. See "baton tape verify ${tape}".`)
    }
  })
}

export async function show(options: Globals & { format?: 'md' | 'json' }, ref: string): Promise<void> {
  await withWorkspace(options, async (door, out) => give(options, await textOf(door, ref, options), out))
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
      ? `${pending.tape}#${pending.entry} no longer opens a session`
      : `${pending.tape}#${pending.entry} opens the next session in ${project}: ${pending.document}`,
  )
}

export async function diff(options: Globals, before: string, after: string): Promise<void> {
  await withWorkspace(options, async (door, out) => {
    const at = async (ref: string) => parseDocument(await textOf(door, ref, options))
    const changes = diffDocuments(await at(before), await at(after))
    out.record(changes, () => renderDiff(changes))
  })
}

export async function check(options: Globals & { tape?: string; profile?: Profile }, ref: string): Promise<void> {
  const { tape, profile } = options
  await withWorkspace(options, async (door, out) => {
    const markdown = await textOf(door, ref, options)
    const document = parseDocument(markdown, profile)
    const problems =
      tape === undefined ? validate(document) : (await door.run(documentCheck, { tape, markdown, profile })).problems
    out.list(problems, { line: ({ section, message }) => `${section}: ${message}` })
    if (problems.length > 0) options.io.exit.code = 1
    else out.note(`A valid ${document.profile} document${tape === undefined ? '' : `, and ${tape} confirms it`}`)
  })
}

/** `ref` is a file or a saved document such as `main#12`; `main` alone means its newest. */
async function textOf({ run }: Door, ref: string, { io }: Globals): Promise<string> {
  const file = path.resolve(io.cwd(), ref)
  if (fs.statSync(file, { throwIfNoEntry: false })?.isFile() === true) return fs.readFileSync(file, 'utf8')
  if (ref.includes('#') || ref.startsWith('tape://')) return (await run(documentShow, { tape: ref })).markdown
  try {
    return (await run(documentShow, { tape: ref })).markdown
  } catch (error) {
    if (!BatonError.is(error) || error.code !== 'not_found') throw error
    throw new NotFoundError(`There is no file and no saved document "${ref}"`, { hint: 'See "baton handoff ls".' })
  }
}

interface SourceOptions extends Globals {
  tape?: string
  agent?: AgentName
}

/** What `document.write` takes. */
interface Source {
  readonly tape?: string
  readonly session?: string
  readonly agent?: AgentName
}

/** `ref`: a session or a tape. Without one, and without `--tape`, the person or the dates decide. */
export async function sourceOf(
  door: Door,
  ref: string | undefined,
  options: SourceOptions,
  out: Output,
): Promise<Source> {
  const { tape, agent } = options
  if (tape !== undefined) return { tape }
  if (ref === undefined) return chosen(door, options, out)
  if (agent !== undefined) return { session: ref, agent }
  const { tapes } = await door.run(tapeList, { prefix: ref, own: true, limit: Number.MAX_SAFE_INTEGER })
  return tapes.some(({ tape }) => tape === ref) ? { tape: ref } : { session: ref }
}

/** How many the list on a terminal offers; older ones have to be named. */
const offered = 30

type Work = Awaited<ReturnType<typeof workList.run>>['work'][number]

async function chosen({ run }: Door, options: SourceOptions, out: Output): Promise<Source> {
  const { work } = await run(workList, { agent: options.agent })
  const [newest] = work
  if (newest === undefined) {
    throw new NotFoundError('Baton found no work in this folder', {
      hint: 'Name a session of another folder; "baton ls" shows them.',
    })
  }
  const { stdin, stdout } = options.io
  const asks = work.length > 1 && stdin.isTTY === true && stdout.isTTY === true
  const { tape, session } = asks ? await picked(work, options) : newest
  if (!asks && work.length > 1)
    out.warn(`baton: handing off ${tape}, which was worked on last; name another one, or use --tape`)
  return session === undefined ? { tape } : { session: tape }
}

async function picked(works: readonly Work[], { io }: SourceOptions): Promise<Work> {
  const { autocomplete, isCancel } = await import('@clack/prompts')
  const answer = await autocomplete({
    input: io.stdin,
    output: io.stdout,
    message: 'What do you want to hand off?',
    options: await Promise.all(
      works.slice(0, offered).map(async (work) => ({
        value: work,
        label: `${age(work.date).padStart(7)}  ${brief(await labelOf(work), 60)}`,
      })),
    ),
  })
  if (isCancel(answer)) throw new CancelledError('Nothing was chosen')
  return answer
}

/** A title often is the first prompt, and that may hold a secret. */
async function labelOf({ tape, session }: Work): Promise<string> {
  if (session === undefined) return `tape  ${tape}`
  const { value: title } = await redactValue(session.title ?? session.id)
  return `${session.agent}  ${title}`
}
