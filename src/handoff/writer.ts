// Writes a handoff document. The facts come from the ledger; the narrative from a model where one is given, and where not,
// from the ledger as well: a document can always be had, without a key and without a network.

import type { LanguageModel } from 'ai'
import type { AnchorRef, Entry } from '../store/index.ts'
import { type Tape, tokenCounter } from '../tape/index.ts'
import { findAnchor } from '../tape/context.ts'
import type { ComposeOptions } from './document/compose.ts'
import type { HandoffDocument, Profile } from './document/document.ts'
import { makeDocument } from './document/make.ts'
import { parseClaims } from './document/parse.ts'
import { type Problem, validate } from './document/validate.ts'
import type { Ledger } from './ledger/facts.ts'
import { reconcileWithGit } from './ledger/git.ts'
import { ledger } from './ledger/ledger.ts'
import { condense, defaultWindow, generate, type Generation, type Progress, withinWindow } from './narrative.ts'
import { documentPrompt, repairPrompt } from './prompt.ts'
import { redact } from './safety/redact.ts'
import type { DocumentNote } from './saved.ts'

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
  /** In percent, where it is known. */
  contextUsage?: number
  signal?: AbortSignal
  onProgress?: (progress: Progress) => void
  now?: () => Date
}

export interface Written {
  readonly document: HandoffDocument
  readonly markdown: string
  readonly tokens: number
  readonly ledger: Ledger
  readonly note: DocumentNote
  /** What the model's own version was still wrong about after its second try; the ledger has overruled it. */
  readonly problems: readonly Problem[]
}

export async function writeDocument(tape: Tape, options: WriteOptions = {}): Promise<Written> {
  const { goal, profile = 'session', budget, contextUsage, project, model, now = () => new Date() } = options
  const clock = stopwatch(options.onProgress)
  clock.at('reading')
  const anchor = await startOf(tape, options.from)
  const facts = await phaseLedger(tape, options)
  const header: ComposeOptions = {
    profile,
    tape: tape.name,
    created: `${now().toISOString().slice(0, 19)}Z`,
    ...(anchor === undefined ? {} : { anchor: anchor.name }),
    ...(goal === undefined ? {} : { goal }),
    ...(project === undefined ? {} : { project }),
    ...(contextUsage === undefined ? {} : { contextUsage }),
  }
  const bound = budget === undefined ? {} : { budget }
  const claims = model === undefined ? undefined : await narrate(tape, model, facts, header, options, clock)
  const made = await makeDocument(facts, {
    ...header,
    ...bound,
    ...(claims === undefined ? {} : { narrative: claims }),
  })
  const note: DocumentNote = {
    profile,
    writer: model === undefined ? 'ledger' : (options.modelName ?? 'model'),
    ...(goal === undefined ? {} : { goal }),
    ...(facts.range === undefined ? {} : { range: facts.range }),
  }
  const { document, markdown, tokens } = made
  return {
    document,
    markdown,
    tokens,
    ledger: facts,
    note,
    problems: claims === undefined ? [] : validate(claims, facts),
  }
}

/** The facts of the phase that a context starts with: the anchor's state, and the entries from its `from` on. */
export async function phaseLedger(
  tape: Tape,
  options: Pick<WriteOptions, 'from' | 'cwd' | 'signal'> = {},
): Promise<Ledger> {
  const anchor = await startOf(tape, options.from)
  const found = await ledger(phaseEntries(tape, anchor), options.cwd === undefined ? {} : { cwd: options.cwd })
  return reconcileWithGit(found, {
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  })
}

/**
 * Where the phase begins. A compaction of the agent's own shortens what it sees, not what it did: its facts are those of
 * the whole, while the story before it is the agent's summary.
 */
async function startOf(tape: Tape, from: string | undefined): Promise<AnchorRef | undefined> {
  if (from !== undefined) return findAnchor(tape.store, tape.name, from)
  let before: number | undefined
  for (;;) {
    const found = await tape.anchors({ limit: 1, ...(before === undefined ? {} : { before }) })
    const [anchor] = found
    if (anchor?.name !== 'compaction') return anchor
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

/** A model's version of the document, given one chance to mend what is wrong with it. */
async function narrate(
  tape: Tape,
  model: LanguageModel,
  facts: Ledger,
  header: ComposeOptions,
  options: WriteOptions,
  clock: Stopwatch,
): Promise<HandoffDocument> {
  const { goal, profile = 'session', signal } = options
  const count = await tokenCounter()
  const generation: Generation = { model, signal, onText: (text) => clock.wrote(text) }
  const { messages } = await tape.context({
    format: 'text',
    ...(options.from === undefined ? {} : { anchor: options.from }),
  })
  const conversation = (await redact(messages)).text
  const text = await withinWindow(options.window ?? defaultWindow, async (window) => {
    // The facts get at most a quarter, so that a small window still has room for the conversation.
    const budget = Math.min(4_000, Math.max(500, Math.floor(window / 4)))
    const { markdown: known } = await makeDocument(facts, { ...header, budget })
    const room = Math.max(1_000, window - budget - 1_000)
    const short = await condense(conversation, room, goal, count, generation, (part, parts) =>
      clock.at('condensing', part, parts),
    )
    clock.at('writing')
    return generate(documentPrompt(profile, short, goal, known), generation)
  })
  const first = parseClaims(text, profile)
  const problems = validate(first, facts)
  if (problems.length === 0) return first
  clock.at('repairing')
  const prompt = repairPrompt(
    (await redact(text)).text,
    problems.map((problem) => problem.message),
  )
  const second = parseClaims(await generate(prompt, generation), profile)
  return validate(second, facts).length <= problems.length ? second : first
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
      now = { step, ...(part === undefined ? {} : { part }), ...(parts === undefined ? {} : { parts }) }
      tell(0)
    },
    wrote: (text) => tell(Math.ceil(text.length / 4)),
  }
}
