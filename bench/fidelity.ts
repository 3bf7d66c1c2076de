// npm run bench fidelity [-- --quick] [-- --markdown] [-- --show claude,500,1,2000]
//
// How much of what happened in a session its document tells, beside the last messages and beside an oracle that knows the
// truth, all within the same budget. The sessions really happen: to a git repository, with programs that really fail. A full
// run takes a few minutes and is kept in docs/bench/results; `--show` prints the document of a dialect, a length, a
// seed and a budget.

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { compose } from '../src/handoff/document/write/compose.ts'
import { fit } from '../src/handoff/document/write/budget.ts'
import { reconcileWithGit } from '../src/handoff/ledger/files/git.ts'
import { type Ledger, ledger } from '../src/handoff/ledger/ledger.ts'
import type { Entry } from '../src/store/index.ts'
import { tokenCounter } from '../src/tape/tokens.ts'
import { median } from './contest.ts'
import { asTape, type DialectName, dialects } from './fidelity/dialects.ts'
import {
  errorsIn,
  type Fact,
  factsOf,
  type Kind,
  kinds,
  type Reading,
  readLoosely,
  readMarkdown,
  tells,
} from './fidelity/facts.ts'
import { play } from './fidelity/plot.ts'
import { lastMessages, oracle } from './fidelity/rivals.ts'
import type { Session, Truth } from './fidelity/session.ts'
import { keepResults, machine, render, type Section } from './table.ts'

const args = process.argv.slice(2)
const quick = args.includes('--quick')
const budgets = [500, 1_000, 2_000, 4_000]
const lengths = quick ? [20, 100, 500] : [20, 100, 500, 5_000]
const seedsOf = (turns: number) => (quick ? [1] : turns >= 5_000 ? [1] : [1, 2, 3, 4])
/** All of these must be told wherever the oracle can tell them all. */
const complete: readonly Kind[] = ['file', 'todo', 'constraint']

interface Case {
  readonly dialect: DialectName
  readonly turns: number
  readonly seed: number
}

interface Score extends Case {
  readonly budget: number
  readonly tokens: number
  readonly document: number
  readonly oracle: number
  /** An oracle that pays for the head, headings, marks and counts of a document. */
  readonly framed: number
  readonly messages: number
  /** Recall by kind, of the document and of the oracle. */
  readonly byKind: Record<Kind, { document: number; oracle: number } | undefined>
  readonly missed: readonly string[]
  readonly errors: readonly string[]
}

const checks = fs.readFileSync(new URL('fidelity/checks.sh', import.meta.url), 'utf8')
const count = await tokenCounter()
const home = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-fidelity-'))
process.on('exit', () => fs.rmSync(home, { recursive: true, force: true }))
const stop = () => process.exit(130)
process.on('SIGINT', stop).on('SIGTERM', stop)

const shown = args.indexOf('--show')
if (shown >= 0) await show(args[shown + 1] ?? '')
else await main()

async function main(): Promise<void> {
  const scores: Score[] = []
  const alone: number[] = []
  const speeds: { dialect: DialectName; bytes: number; ratio: number }[] = []
  for (const turns of lengths) {
    for (const seed of seedsOf(turns)) {
      say(`a session of ${turns.toLocaleString('en')} turns, seed ${seed}`)
      const session = perform(turns, seed)
      const truth = session.truth()
      const facts = factsOf(truth)
      const bests = budgets.map((budget) => ({
        framed: readMarkdown(oracle(truth, facts, budget, count)),
        bare: readMarkdown(oracle(truth, facts, budget, count, false)),
      }))
      for (const dialect of dialects) {
        const entries = asTape(session, dialect, seed)
        const told = ledger(entries)
        alone.push(recallOnTape(told, truth))
        const known = await reconcileWithGit(told)
        for (const [at, budget] of budgets.entries()) {
          scores.push(score({ dialect, turns, seed }, budget, entries, known, truth, facts, bests[at]!))
        }
        if (turns === lengths.at(-1) && seed === 1) speeds.push({ dialect, ...throughput(entries) })
      }
    }
  }
  report(scores, alone, speeds)
}

function perform(turns: number, seed: number): Session {
  const folder = path.join(home, `${turns}-${seed}`)
  fs.mkdirSync(folder)
  return play(folder, turns, seed, checks)
}

function documentOf(known: Ledger, budget: number) {
  const document = compose(known, { created: known.span?.to ?? '', project: 'shop', tape: 'main' })
  return fit(document, budget, count)
}

function score(
  at: Case,
  budget: number,
  entries: readonly Entry[],
  known: Ledger,
  truth: Truth,
  facts: readonly Fact[],
  best: { framed: Reading; bare: Reading },
): Score {
  const { markdown } = documentOf(known, budget)
  const tokens = count(markdown)
  const reading = readMarkdown(markdown)
  const latest = readLoosely(lastMessages(entries, budget, count))
  const told = (by: Reading, some: readonly Fact[]) => some.filter((fact) => tells(by, fact))
  const recall = (by: Reading, some: readonly Fact[]) => told(by, some).length / some.length
  const byKind = Object.fromEntries(
    kinds.map((kind) => {
      const some = facts.filter((fact) => fact.kind === kind)
      return [
        kind,
        some.length === 0 ? undefined : { document: recall(reading, some), oracle: recall(best.bare, some) },
      ]
    }),
  ) as Score['byKind']
  const missed = told(best.bare, facts).filter((fact) => !tells(reading, fact))
  return {
    ...at,
    budget,
    tokens,
    document: recall(reading, facts),
    oracle: recall(best.bare, facts),
    framed: recall(best.framed, facts),
    messages: recall(latest, facts),
    byKind,
    missed: missed.map(({ kind, needles, change }) => `${kind}: ${change?.action ?? ''} ${needles.join('; ')}`),
    errors: [...errorsIn(reading, truth), ...(tokens > budget ? [`${tokens} tokens`] : [])],
  }
}

/** Of the changed files, how many the tape alone tells, without git. */
function recallOnTape({ files }: Ledger, { changes }: Truth): number {
  const known = new Map(files.flatMap(({ path: name, action, state }) => (state === 'changed' ? [[name, action]] : [])))
  return changes.filter(({ path: name, action }) => known.get(name) === action).length / changes.length
}

/** Bytes a second of the ledger, to those of JSON.parse of the same lines. */
function throughput(entries: readonly Entry[]): { bytes: number; ratio: number } {
  const lines = entries.map((entry) => JSON.stringify(entry))
  const rounds = Array.from({ length: quick ? 5 : 15 }, () => {
    const start = performance.now()
    const parsed = lines.map((line) => JSON.parse(line) as Entry)
    const middle = performance.now()
    ledger(parsed)
    return (middle - start) / (performance.now() - middle)
  })
  const bytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0) / lines.length
  return { bytes, ratio: median(rounds) }
}

function report(
  scores: readonly Score[],
  alone: readonly number[],
  speeds: readonly { dialect: DialectName; bytes: number; ratio: number }[],
): void {
  const mean = (list: readonly number[]) => list.reduce((sum, one) => sum + one, 0) / Math.max(1, list.length)
  const percent = (list: readonly number[]) => 100 * mean(list)
  const at = (budget: number, some = scores) => some.filter((one) => one.budget === budget)
  const ratio = (one: Score) => one.document / one.oracle
  const columns = budgets.map((budget) => `${budget.toLocaleString('en')} tokens`)
  const worst = (some: readonly Score[]) => some.reduce((low, one) => (ratio(one) < ratio(low) ? one : low))
  const gaps = scores.flatMap((one) =>
    complete.flatMap((kind) => {
      const both = one.byKind[kind]
      return both !== undefined && both.oracle === 1 ? [{ one, kind, ok: both.document === 1 }] : []
    }),
  )
  const lows = lengths.flatMap((turns) => dialects.map((dialect) => ({ turns, dialect })))
  const sections: Section[] = [
    {
      title: 'Recall of true facts within a budget, to that of the oracle (worst seed)',
      note: 'The oracle writes bare facts; in a frame, it pays for the head, headings, marks and counts that a document must have. Facts: requests, next step, constraints, open failures, open todos, changed files with what happened to them, decisions.',
      columns,
      rows: lows
        .map(({ turns, dialect }) => ({
          name: `${dialect}, ${turns.toLocaleString('en')} turns`,
          unit: '×',
          values: budgets.map((budget) =>
            ratio(worst(at(budget).filter((one) => one.turns === turns && one.dialect === dialect))),
          ),
        }))
        .concat({
          name: 'worst, to an oracle in a frame',
          unit: '×',
          values: budgets.map((budget) => Math.min(...at(budget).map((one) => one.document / one.framed))),
        }),
      bars: budgets.map((budget) => ({
        name: `recall at ${budget.toLocaleString('en')}, to the oracle, worst case`,
        value: ratio(worst(at(budget))),
        unit: '×',
        atLeast: 0.9,
      })),
    },
    {
      title: 'Recall, all dialects',
      note: 'The last messages are cut to the same budget; in them, a file counts when it is named at all.',
      columns,
      rows: lengths.flatMap((turns) =>
        (['document', 'oracle', 'framed', 'messages'] as const).map((who) => ({
          name: `${turns.toLocaleString('en')} turns, ${who === 'framed' ? 'oracle in a frame' : who}`,
          unit: '%',
          values: budgets.map((budget) =>
            percent(
              at(budget)
                .filter((one) => one.turns === turns)
                .map((one) => one[who]),
            ),
          ),
        })),
      ),
      bars: [],
    },
    {
      title: 'Recall of the document by kind (of the oracle)',
      note: 'All dialects and lengths.',
      columns,
      rows: kinds.flatMap((kind) =>
        (['document', 'oracle'] as const).map((who) => ({
          name: who === 'document' ? kind : `  oracle`,
          unit: '%',
          values: budgets.map((budget) => percent(at(budget).flatMap((one) => one.byKind[kind]?.[who] ?? []))),
        })),
      ),
      bars: [
        ...complete.map((kind) => ({
          name: `every ${kind} kept where the oracle keeps all`,
          value: percent(gaps.filter((gap) => gap.kind === kind).map(({ ok }) => (ok ? 1 : 0))),
          unit: '%',
          atLeast: 100,
        })),
        {
          name: 'false statements',
          value: scores.reduce((sum, one) => sum + one.errors.length, 0),
          unit: '',
          atMost: 0,
        },
      ],
    },
    {
      title: 'The ledger',
      note: 'Files by the tape alone: the generators and scripts that only git sees are missing.',
      columns: ['mean', 'worst'],
      rows: [
        { name: 'changed files by the tape alone', unit: '%', values: [percent(alone), 100 * Math.min(...alone)] },
      ],
      bars: [],
    },
    {
      title: 'Throughput of the ledger, to that of JSON.parse',
      note: 'The longest session. It depends on how long the lines are and how many are commands, so every dialect is measured.',
      columns: ['bytes a line', 'ratio, %'],
      rows: speeds.map(({ dialect, bytes, ratio: found }) => ({
        name: dialect,
        unit: '',
        values: [bytes, 100 * found],
      })),
      bars: [
        {
          name: 'throughput, slowest dialect',
          value: Math.min(...speeds.map((one) => one.ratio)),
          unit: '×',
          atLeast: 0.5,
        },
      ],
    },
  ]
  const where = machine(home)
  const date = new Date().toISOString()
  const line = `${date.slice(0, 10)}, ${where.cpu} (${where.cores} cores), Node ${where.node}${quick ? ', quick' : ''}`
  console.log(render(line, sections, args.includes('--markdown')))
  const low = worst(scores)
  console.log(`Worst: ${nameOf(low)}: ${low.document.toFixed(3)} of ${low.oracle.toFixed(3)}`)
  const listed = (title: string, texts: readonly string[]) => {
    const times = new Map<string, number>()
    for (const text of texts) times.set(text, (times.get(text) ?? 0) + 1)
    const top = [...times].sort((a, b) => b[1] - a[1])
    if (top.length > 0)
      console.log(
        `\n${title}\n${top
          .slice(0, 40)
          .map(([text, n]) => `${n} × ${text}`)
          .join('\n')}`,
      )
  }
  listed(
    'False statements',
    scores.flatMap((one) => one.errors.map((error) => `${one.dialect} ${one.turns}/${one.seed}: ${error}`)),
  )
  const ample = scores.filter((one) => one.budget === budgets.at(-1))
  listed(
    'Missed though there was room',
    ample.flatMap((one) => one.missed.map((text) => `${one.dialect}: ${text}`)),
  )
  listed(
    'Incomplete',
    gaps.flatMap(({ one, kind, ok }) => (ok ? [] : [`${kind}: ${nameOf(one)}`])),
  )
  keepResults('fidelity', os.tmpdir(), sections, { quick })
}

async function show(wanted: string): Promise<void> {
  const [dialect, turns, seed, budget] = wanted.split(',')
  const known = dialects.find((one) => one === dialect)
  if (known === undefined) throw new Error('usage: --show DIALECT,TURNS,SEED,BUDGET')
  const session = perform(Number(turns), Number(seed))
  const entries = asTape(session, known, Number(seed))
  const told = await reconcileWithGit(ledger(entries))
  const truth = session.truth()
  const facts = factsOf(truth)
  const best = oracle(truth, facts, Number(budget), count, false)
  const result = score(
    { dialect: known, turns: Number(turns), seed: Number(seed) },
    Number(budget),
    entries,
    told,
    truth,
    facts,
    { framed: readMarkdown(oracle(truth, facts, Number(budget), count)), bare: readMarkdown(best) },
  )
  console.log(
    `${documentOf(told, Number(budget)).markdown}\n${'='.repeat(40)} oracle, ${count(best)} tokens\n${best}\n`,
  )
  const { byKind, missed, errors, ...figures } = result
  console.log(JSON.stringify({ ...figures, errors, missed }, fourDigits, 2), JSON.stringify(byKind, fourDigits))
}

function fourDigits(_key: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(4)) : value
}

function nameOf({ dialect, turns, seed, budget }: Score): string {
  return `${dialect}, ${turns.toLocaleString('en')} turns, seed ${seed}, ${budget.toLocaleString('en')} tokens`
}

function say(step: string): void {
  process.stderr.write(`bench: ${step}\n`)
}
