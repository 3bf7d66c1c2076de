// `baton eval`: how much of a person's own sessions a handoff document keeps, and what it gets wrong.

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { AgentName, SessionFile } from '../../agents/index.ts'
import { NotFoundError } from '../../errors.ts'
import { changesByGit, type Score, score, truthOf } from '../../fidelity/index.ts'
import { writeDocument } from '../../handoff/index.ts'
import { tapeOfSession } from '../../operations/index.ts'
import { openStore, type Store } from '../../store/index.ts'
import { Tape } from '../../tape/index.ts'
import { listSessions, resolveSession, sessionEntries, sessionFile } from '../../transcripts/index.ts'
import type { Io } from '../base/io.ts'
import { brief, type Globals, Output } from '../base/output.ts'
import { ProgressLine } from '../base/progress.ts'

interface EvalOptions extends Globals {
  agent?: AgentName
  budget?: number
  here?: boolean
}

interface Measured extends Score {
  readonly agent: string
  readonly session: string
  readonly title?: string
  readonly tokens: number
  /** Whether git was asked. */
  readonly git: boolean
}

/** How many sessions are measured if none is named. */
const newest = 20

export async function evaluate(options: EvalOptions, refs: readonly string[] = []): Promise<void> {
  const { io } = options
  const out = new Output(options)
  const files =
    refs.length > 0
      ? refs.map((ref) => resolveSession(ref, { env: io.env, cwd: io.cwd(), agent: options.agent }))
      : newestFiles(options)
  if (files.length === 0)
    throw new NotFoundError('There are no sessions to measure', { hint: 'See "baton ls", or name a transcript.' })
  const progress = new ProgressLine(options)
  // Measuring leaves nothing behind: the sessions are imported into a workspace that is removed again.
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-eval-'))
  const store = await openStore(path.join(folder, '.baton'))
  const measured: Measured[] = []
  try {
    for (const [done, file] of files.entries()) {
      progress.show(`Measuring session ${done + 1} of ${files.length}`)
      const found = await measure(store, file, options.budget, io)
      measured.push(found)
      if (out.json) out.data(found)
    }
  } finally {
    progress.clear()
    await store.close()
    fs.rmSync(folder, { recursive: true, force: true })
  }
  if (!out.json) print(measured, out)
}

function newestFiles({ io, agent, here }: EvalOptions): SessionFile[] {
  return listSessions({ env: io.env, agent, below: here === true ? io.cwd() : undefined })
    .slice(0, newest)
    .map(sessionFile)
}

async function measure(store: Store, file: SessionFile, budget: number | undefined, io: Io): Promise<Measured> {
  const truth = truthOf(sessionEntries(file))
  const { name, session, about } = await tapeOfSession({ store, env: io.env, cwd: io.cwd() }, file)
  const { folder, from, to } = truth
  const git =
    folder === undefined || from === undefined || to === undefined ? undefined : await changesByGit(folder, from, to)
  const { markdown, document, tokens } = await writeDocument(new Tape(store, name), {
    ...about,
    ...(budget === undefined ? {} : { budget }),
  })
  const listed = document.sections.flatMap(({ items }) => items)
  const told = {
    markdown,
    files: listed.flatMap(({ file: note, text }) =>
      note === undefined || note.action === 'read' || note.uncertain === true ? [] : [text],
    ),
    failures: document.sections.flatMap(({ key, items }) => (key === 'failures' ? items.map(({ text }) => text) : [])),
  }
  return {
    agent: file.agent,
    session: file.id,
    ...(session?.title === undefined ? {} : { title: session.title }),
    tokens,
    git: git !== undefined,
    ...score(truth, told, git),
  }
}

const columns = {
  requests: 'REQUESTS',
  words: 'WORDS',
  result: 'RESULT',
  todos: 'TODOS',
  failing: 'FAILING',
  files: 'FILES',
} as const

function print(measured: readonly Measured[], out: Output): void {
  const keys = Object.keys(columns) as (keyof typeof columns)[]
  const cell = (found: number, of: number) => (of === 0 ? '–' : `${found}/${of}`)
  const rows = measured.map((each) => [
    `${each.agent}:${each.session.slice(0, 12)}`,
    ...keys.map((key) => cell(each.kept[key].found, each.kept[key].of)),
    each.git ? 'git' : 'session',
    String(each.wrong.length),
    String(each.tokens),
    brief(each.title ?? '', 40),
  ])
  const sum = (of: (each: Measured) => number) => measured.reduce((total, each) => total + of(each), 0)
  const all = keys.map((key) => {
    const [found, of] = [sum(({ kept }) => kept[key].found), sum(({ kept }) => kept[key].of)]
    return of === 0 ? '–' : `${found}/${of} ${Math.round((100 * found) / of)}%`
  })
  const mean = String(Math.round(sum(({ tokens }) => tokens) / measured.length))
  out.table(
    [
      ['SESSION', ...keys.map((key) => columns[key]), 'TRUTH', 'WRONG', 'TOKENS', 'TITLE'],
      ...rows,
      [`all ${measured.length}`, ...all, '', String(sum(({ wrong }) => wrong.length)), mean, ''],
    ],
    [8, 9],
  )
  for (const { agent, session, wrong } of measured)
    for (const each of wrong) out.line(`wrong: ${agent}:${session.slice(0, 12)} ${each}`)
  out.note(out.style('dim', 'What was missed is in --json.'))
}
