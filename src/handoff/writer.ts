// Writes a handoff document. The facts come from the ledger; the narrative from a model where one is given, and where not,
// from the ledger as well: a document can always be had, without a key and without a network.

import fs from 'node:fs'
import path from 'node:path'
import type { LanguageModel } from 'ai'
import type { AnchorRef, Draft, Entry, Store } from '../store/index.ts'
import { contentText, edgeTo, type Tape, tokenCounter, usageKey } from '../tape/index.ts'
import { findAnchor } from '../tape/index.ts'
import type { ComposeOptions } from './document/write/compose.ts'
import { type HandoffDocument, type Item, type Profile, sectionOf } from './document/document.ts'
import { makeDocument } from './document/write/make.ts'
import { parseClaims } from './document/markdown/parse.ts'
import { type Problem, validate } from './document/check/validate.ts'
import type { CommandFact, Ledger, Quote } from './ledger/facts.ts'
import { reconcileWithGit } from './ledger/files/git.ts'
import { withSubagentFiles } from './ledger/tools/subagent-book.ts'
import { ledger } from './ledger/ledger.ts'
import { documentIn } from './ledger/words/document-text.ts'
import {
  condense,
  conversationText,
  defaultWindow,
  generate,
  type Generation,
  type Progress,
  type Spent,
  withinWindow,
} from './narrative.ts'
import { narrativeText, repairText, wrapDocument } from './agent-prompts.ts'
import { opensPhase, type PhaseFacts } from './phase.ts'
import { redact } from './safety/redact.ts'
import { type DocumentNote, saveDocument, type SavedDocument, savedFrom } from './saved.ts'

/** What a document is about, how long it may be, and which model writes its narrative. */
export interface WriteOptions {
  /** Start at that anchor rather than at the last one. */
  from?: string
  /** What the next session is for: steers what is kept. */
  goal?: string
  /** In tokens; never exceeded. */
  budget?: number
  profile?: Profile
  /** Writes the narrative; without one the ledger does. */
  model?: LanguageModel
  modelName?: string
  /** How many tokens the model takes at once. */
  window?: number
  /** Where the work happened, if that is on this machine: its files are reconciled with git. */
  cwd?: string
  project?: string
  /** The facts, where the tape was written a moment ago. */
  phase?: PhaseFacts
  /** In percent, where it is known. */
  contextUsage?: number
  /** What the agent wrote about its own work: its claims, beside the facts. */
  claims?: HandoffDocument
  /** The document before this one, where the tape does not hold it. */
  before?: HandoffDocument
  /** A folder whose files are not part of the work, such as that of the documents. */
  leaveOut?: string
  signal?: AbortSignal
  onProgress?: (progress: Progress) => void
  now?: () => Date
}

/** A document that was written, as data and as Markdown, and the ledger behind it. */
export interface Written {
  readonly document: HandoffDocument
  readonly markdown: string
  readonly tokens: number
  readonly ledger: Ledger
  readonly note: DocumentNote
  /** What the model's own version was still wrong about after its second try; the ledger has overruled it. */
  readonly problems: readonly Problem[]
  /** What the model took, where there was one. */
  readonly spent?: Readonly<Spent>
}

/** `tape`: undefined for work that is on none. */
export async function writeDocument(tape: Tape | undefined, options: WriteOptions = {}): Promise<Written> {
  const { goal, profile = 'session', budget, project, model, now = () => new Date() } = options
  const clock = stopwatch(options.onProgress)
  clock.at('reading')
  const anchor = tape && (await startOf(tape, options.from))
  const facts = await phaseLedger(tape, options)
  const contextUsage =
    options.contextUsage ?? (tape === undefined || options.from !== undefined ? undefined : await recordedUsage(tape))
  const header: ComposeOptions = {
    profile,
    ...(tape === undefined ? {} : { tape: tape.name }),
    created: `${now().toISOString().slice(0, 19)}Z`,
    ...(anchor === undefined ? {} : { anchor: anchor.name }),
    ...(goal === undefined ? {} : { goal }),
    ...(project === undefined ? {} : { project }),
    ...(contextUsage === undefined ? {} : { contextUsage }),
  }
  const bound = budget === undefined ? {} : { budget }
  const narrated =
    model === undefined || tape === undefined ? undefined : await narrate(tape, model, facts, header, options, clock)
  const claims = narrated?.claims ?? options.claims
  const judged = narrated?.ledger ?? facts
  const made = await makeDocument(judged, {
    ...header,
    ...bound,
    ...(claims === undefined ? {} : { narrative: claims }),
  })
  const note: DocumentNote = {
    profile,
    writer: model !== undefined ? (options.modelName ?? 'model') : options.claims === undefined ? 'ledger' : 'agent',
    ...(goal === undefined ? {} : { goal }),
    ...(facts.range === undefined ? {} : { range: facts.range }),
    whole: made.whole,
    ...(made.document.header.leftOut === undefined
      ? {}
      : { leftOut: { id: made.document.header.leftOut, sections: made.leftOut } }),
  }
  const { document, markdown, tokens } = made
  return {
    document,
    markdown,
    tokens,
    ledger: judged,
    note,
    problems: [...(narrated?.problems ?? []), ...(claims === undefined ? [] : validate(claims, judged))],
    ...(narrated === undefined ? {} : { spent: narrated.spent }),
  }
}

/** How full the context was when a model counted it last in this phase, in percent, where the tape tells. */
async function recordedUsage(tape: Tape): Promise<number | undefined> {
  const entry = await tape.store.latest(tape.name, usageKey)
  const phase = (await tape.store.info(tape.name))?.lastAnchor?.id ?? 0
  if (entry?.kind !== 'event' || entry.id < phase) return undefined
  const { input, output, window } = (entry.payload.data ?? {}) as Record<string, unknown>
  if (typeof input !== 'number' || typeof output !== 'number' || typeof window !== 'number') return undefined
  return Math.round(((input + output) / window) * 100)
}

/** The facts of the phase that a context starts with: the anchor's state, and the entries from its `from` on. */
export async function phaseLedger(
  tape: Tape | undefined,
  options: Pick<WriteOptions, 'from' | 'cwd' | 'phase' | 'signal' | 'before' | 'leaveOut'> = {},
): Promise<Ledger> {
  const { from, cwd, signal, before, leaveOut } = options
  const place = cwd === undefined ? {} : { cwd }
  if (tape === undefined) return withBefore(ledger([], place), before)
  const seen = from === undefined ? options.phase?.facts(cwd) : undefined
  const own = seen ?? (await ledger(phaseEntries(tape, await startOf(tape, from)), place))
  const told = before === undefined ? withDocumentFile(own) : withBefore(own, before)
  const known = await withSavedDocument(told, tape.store)
  const found = withSubagentFiles(known, await subagentLedgers(tape, known.span?.from))
  const facts = await reconcileWithGit(found, { cwd, signal })
  const document = known.inherited?.path === undefined ? undefined : path.resolve(cwd ?? '', known.inherited.path)
  // The document that the work goes on from is no part of it.
  const isWork = (file: string) => file !== document && path.dirname(file) !== leaveOut
  const isOwn = ({ command, printed }: CommandFact) =>
    leaveOut !== undefined && printed === undefined && command.includes(`${leaveOut}${path.sep}`)
  return {
    ...facts,
    files: facts.files.filter((each) => isWork(path.resolve(cwd ?? '', each.path))),
    commands: facts.commands.filter((each) => !isOwn(each)),
  }
}

/** The ledger of work that goes on from that document; what the agent has summed up since goes beside it. */
function withBefore(facts: Ledger, before: HandoffDocument | undefined): Ledger {
  const { inherited } = facts
  if (before === undefined) return facts
  const summary = inherited?.name === 'compaction' ? { id: inherited.id, state: inherited.state } : inherited?.summary
  return {
    ...facts,
    inherited: {
      id: inherited?.id ?? 0,
      name: 'handoff',
      state: before,
      ...(summary === undefined ? {} : { summary }),
    },
  }
}

/** A session that was told to read a document and did so out of sight is given what stands in the file. */
function withDocumentFile(facts: Ledger): Ledger {
  const { inherited } = facts
  if (inherited?.path === undefined || inherited.state !== '' || !fs.existsSync(inherited.path)) return facts
  const text = documentIn(fs.readFileSync(inherited.path, 'utf8'))
  return text === undefined ? facts : { ...facts, inherited: { ...inherited, state: text } }
}

/** A document of this workspace is known with all its items: in the text only those stand that had room. */
async function withSavedDocument(facts: Ledger, store: Store): Promise<Ledger> {
  const { inherited } = facts
  if (inherited?.name !== 'handoff' || typeof inherited.state !== 'string') return facts
  const document = await savedFrom(store, inherited.state)
  return document === undefined ? facts : { ...facts, inherited: { ...inherited, state: document } }
}

/** The facts of the subagents that were imported with this tape, if they began after `since`. */
async function subagentLedgers({ store, name }: Tape, since: string | undefined): Promise<Ledger[]> {
  const found: Ledger[] = []
  for await (const { tape } of store.list(`${name}/`)) {
    const edge = await edgeTo(store, tape, 'import')
    if (edge?.parent !== name) continue
    const facts = await ledger(store.read(tape))
    if (since === undefined || facts.span === undefined || facts.span.to >= since) found.push(facts)
  }
  return found
}

async function startOf(tape: Tape, from: string | undefined): Promise<AnchorRef | undefined> {
  if (from !== undefined) return findAnchor(tape.store, tape.name, from)
  let before: number | undefined
  for (;;) {
    const found = await tape.anchors({ limit: 1, before })
    const [anchor] = found
    if (anchor === undefined || opensPhase(anchor)) return anchor
    before = anchor.id
  }
}

async function* phaseEntries(tape: Tape, anchor: AnchorRef | undefined): AsyncGenerator<Entry> {
  const first = anchor === undefined ? 1 : (anchor.from ?? anchor.id)
  if (anchor !== undefined && first < anchor.id) {
    yield* tape.entries({ after: anchor.id - 1, before: anchor.id + 1 })
    yield* tape.entries({ after: first - 1, before: anchor.id })
  }
  yield* tape.entries({ after: anchor === undefined || first >= anchor.id ? first - 1 : anchor.id })
}

interface Narrated {
  readonly claims: HandoffDocument
  /** The facts, with what the model corrected in their judgement. */
  readonly ledger: Ledger
  /** Corrections that nobody's words bear out. */
  readonly problems: readonly Problem[]
  readonly spent: Spent
}

/** A model's version of the document, given one chance to mend what is wrong with it. */
async function narrate(
  tape: Tape,
  model: LanguageModel,
  facts: Ledger,
  header: ComposeOptions,
  options: WriteOptions,
  clock: Stopwatch,
): Promise<Narrated> {
  const { goal, profile = 'session', signal } = options
  const { correct, judgementLines, readCorrections } = await import('./corrections.ts')
  const count = await tokenCounter()
  const spent: Spent = { requests: 0, inputTokens: 0, outputTokens: 0, ms: 0 }
  const generation: Generation = { model, signal, onText: (text) => clock.wrote(text), spent }
  const { messages } = await tape.context({ format: 'openai', anchor: options.from })
  const conversation = (await redact(conversationText(messages))).text
  const judgements = (await redact(judgementLines(facts))).text
  const text = await withinWindow(options.window ?? defaultWindow, async (window) => {
    // The facts get at most a quarter, so that a small window still has room for the conversation.
    const budget = Math.min(4_000, Math.max(500, Math.floor(window / 4)))
    const { markdown: known } = await makeDocument(facts, { ...header, budget })
    const room = Math.max(1_000, window - budget - 1_000)
    const short = await condense(conversation, room, goal, count, generation, (part, parts) =>
      clock.at('condensing', part, parts),
    )
    clock.at('writing')
    return generate(narrativeText(profile, short, goal, known, judgements), generation)
  })
  const { document, corrections } = readCorrections(text)
  const corrected = correct(facts, corrections, await replies(tape, facts), tape.name)
  const narrated = (claims: HandoffDocument): Narrated => ({
    claims: withItems(claims, corrected.items),
    ledger: corrected.ledger,
    problems: corrected.problems,
    spent,
  })
  const first = parseClaims(document, profile)
  const problems = validate(first, corrected.ledger)
  if (problems.length === 0) return narrated(first)
  clock.at('repairing')
  const prompt = repairText(
    (await redact(document)).text,
    problems.map((problem) => problem.message),
  )
  const second = parseClaims(readCorrections(await generate(prompt, generation)).document, profile)
  return narrated(validate(second, corrected.ledger).length <= problems.length ? second : first)
}

/** What the model corrected is told among what is done, as its claim. */
function withItems(claims: HandoffDocument, items: readonly Item[]): HandoffDocument {
  if (items.length === 0) return claims
  const done = sectionOf(claims, 'done')?.items ?? []
  const others = claims.sections.filter(({ key }) => key !== 'done')
  return { ...claims, sections: [...others, { key: 'done', items: [...items, ...done] }] }
}

/** What the assistant said in the phase. */
async function replies(tape: Tape, { range }: Ledger): Promise<Quote[]> {
  const found: Quote[] = []
  if (range === undefined) return found
  for await (const { id, payload } of tape.entries({
    kinds: ['message'],
    after: range.from - 1,
    before: range.to + 1,
  })) {
    const { role, content } = payload as { role?: unknown; content?: unknown }
    if (role === 'assistant') found.push({ id, text: contentText(content).text })
  }
  return found
}

interface Stopwatch {
  at(step: Progress['step'], part?: number, parts?: number): void
  wrote(text: string): void
}

/** Reports progress with the time since the beginning. Tokens are estimated: counting would take longer than writing. */
function stopwatch(report: ((progress: Progress) => void) | undefined): Stopwatch {
  const started = performance.now()
  let now: Omit<Progress, 'tokens' | 'elapsedMs'> = { step: 'reading' }
  const tell = (tokens: number) => report?.({ ...now, tokens, elapsedMs: performance.now() - started })
  return {
    at(step, part, parts) {
      now = { step, part, parts }
      tell(0)
    },
    wrote: (text) => tell(Math.ceil(text.length / 4)),
  }
}

/** As for a document, and the anchor that the handoff puts on the tape. */
export interface WriteHandoffOptions extends WriteOptions {
  /** The name of the anchor. */
  name?: string
  runId?: string
  /** What comes right behind the document, in the same batch: a prompt that is asked again. */
  behind?: readonly Draft[]
}

/** A handoff on the same tape: the context starts anew, and the document is the first thing in it. */
export async function writeHandoff(
  tape: Tape,
  options: WriteHandoffOptions = {},
): Promise<{ anchor: Entry; document: SavedDocument; markdown: string }> {
  const { name = 'handoff', goal, runId, behind = [] } = options
  const { markdown, note, document: items } = await writeDocument(tape, options)
  const document = await saveDocument(tape.store, tape.name, markdown, note, items)
  const state = { document: `${tape.name}#${document.id}`, ...(goal === undefined ? {} : { goal }) }
  const meta = runId === undefined ? {} : { run_id: runId }
  const message = { role: 'user', content: wrapDocument(markdown), customType: 'handoff', display: true }
  const [anchor] = await tape.append([
    { kind: 'anchor', payload: { name, state }, meta },
    { kind: 'event', payload: { name: 'handoff', data: { name, state } }, meta },
    { kind: 'message', payload: message, meta },
    ...behind,
  ])
  return { anchor: anchor!, document, markdown }
}
