// Finds supervised sessions by the names that people give them: in this workspace first, then in every other one of this machine. For
// people they are rows of a table: state, last cycle, and when to expect the next one.

import path from 'node:path'
import { NotFoundError } from '../../errors.ts'
import { nearest } from '../../tape/index.ts'
import { isNamed, registeredWorkspaces } from '../../config/index.ts'
import { supervisedList } from '../../operations/index.ts'
import type { SessionRow } from '../../supervisor/index.ts'
import { chosenWorkspace, isMissingFolder } from '../base/chosen-workspace.ts'
import { type Globals, Output, age, brief } from '../base/output.ts'
import { type Door, withWorkspace } from '../base/workspace.ts'
import { percent, stateWord } from './event-lines.ts'
import { gauge } from '../sessions/table.ts'

/** The sessions of one workspace, those that have ended too. */
export async function allSupervised({ run }: Door): Promise<readonly SessionRow[]> {
  return (await run(supervisedList, { all: true })).sessions
}

/** What opens the store of each workspace that a command is about: all of them, unless one was named. */
function addressesFor(globals: Globals): string[] {
  const chosen = chosenWorkspace(globals)
  const { address } = chosen
  if (isNamed(chosen)) return [address]
  const all = [address, ...registeredWorkspaces(globals.io.env).filter((each) => each !== address)]
  // A list creates no workspace: what is not there holds no sessions.
  return all.filter((each) => !isMissingFolder(each))
}

/** A session together with the workspace that it is in, which commands about it work in. */
export interface Located {
  readonly row: SessionRow
  readonly globals: Globals
}

/** The sessions of every workspace, those of this one first. */
export async function supervisedEverywhere(globals: Globals): Promise<Located[]> {
  const found: Located[] = []
  for (const address of addressesFor(globals)) {
    const there = { ...globals, store: address }
    const rows = await withWorkspace(there, allSupervised).catch((error: unknown) => {
      // One workspace that cannot be read hides no other.
      new Output(globals).warn(`baton: ${address}: ${error instanceof Error ? error.message : String(error)}`)
      return []
    })
    found.push(...rows.map((row) => ({ row, globals: there })))
  }
  return found
}

/** Does work with the session of that name, or with the beginning of the id that its agent gave it, wherever it is. */
export async function withSupervised<T>(
  globals: Globals,
  ref: string,
  work: (door: Door, out: Output, located: Located) => Promise<T>,
): Promise<T> {
  const located = await locate(globals, ref)
  return withWorkspace(located.globals, (door) => work(door, new Output(globals), located))
}

/** Throws an error with similar names if there is no such session. */
async function locate(globals: Globals, ref: string): Promise<Located> {
  const all = await supervisedEverywhere(globals)
  const named = all.filter(({ row }) => row.name === ref)
  const here = named.find(({ globals: there }) => there.store === chosenWorkspace(globals).address)
  const open = named.filter(({ row }) => row.state !== 'ended')
  const found =
    here ?? onlyOne(open) ?? onlyOne(named) ?? onlyOne(all.filter(({ row }) => row.session?.startsWith(ref) === true))
  if (found !== undefined) return found
  if (named.length > 1) {
    const places = named.map(({ row }) => row.project).join(', ')
    throw new NotFoundError(`There are several sessions "${ref}", and none of them in this folder: ${places}`, {
      hint: 'Run the command in the folder of the one you mean.',
    })
  }
  const names = all.map(({ row }) => row.name)
  const close = nearest(ref, names)
  const help = close.length > 0 ? { nearest: close } : { hint: hintFor(names) }
  throw new NotFoundError(`There is no supervised session "${ref}"`, help)
}

function hintFor(names: readonly string[]): string {
  if (names.length === 0) return 'Start one with "baton run AGENT".'
  return `There ${names.length === 1 ? 'is' : 'are'} ${names.slice(0, 5).join(', ')}${names.length > 5 ? '…' : ''}.`
}

function onlyOne<T>(found: readonly T[]): T | undefined {
  return found.length === 1 ? found[0] : undefined
}

export function supervisedRows(rows: readonly SessionRow[], out: Output, now: number): string[] {
  const cells = rows.map((row) => [
    row.name,
    row.agent,
    brief(path.basename(row.project), 20),
    row.state === 'cycling' && row.step !== undefined ? `cycling: ${brief(row.step, 40)}` : stateWord(row),
    row.context_usage === undefined
      ? '?'
      : gauge({ tokens: row.tokens ?? 0, percent: row.context_usage * 100, quotas: [] }),
    row.lastCycle === undefined ? `${row.cycles}` : `${row.cycles}, ${age(row.lastCycle, now)}`,
    nextOf(row),
    row.usd === undefined ? '' : `$${row.usd.toFixed(2)}`,
  ])
  const head = ['SUPERVISED', 'AGENT', 'PROJECT', 'STATE', 'CONTEXT', 'CYCLES', 'NEXT', 'COST']
  const widths = head.map((title, i) => Math.max(title.length, ...cells.map((row) => row[i]!.length)))
  const line = (row: readonly string[]) =>
    row
      .map((cell, i) => cell.padEnd(widths[i]!))
      .join('  ')
      .trimEnd()
  return [out.style('dim', line(head)), ...cells.map((row, i) => styled(line(row), rows[i]!, out))]
}

function styled(text: string, { state }: SessionRow, out: Output): string {
  if (state === 'dialog' || state === 'limited' || state === 'restarting') return out.style('yellow', text)
  return state === 'ended' ? out.style('dim', text) : text
}

/** Says when to expect the next cycle. */
function nextOf({ nextCycleTurns, threshold, state }: SessionRow): string {
  if (state === 'ended' || state === 'cycling') return ''
  if (nextCycleTurns !== undefined) return `~${nextCycleTurns} turn${nextCycleTurns === 1 ? '' : 's'}`
  return threshold === undefined ? '' : `at ${percent(threshold)}`
}
