// The items that tell of the work: how it stands, what was done and ran, what failed, which files changed, and what is next.

import type { Failure, FileFact, Ledger } from '../../ledger/facts.ts'
import { FailedCommands } from '../../ledger/tools/failure-book.ts'
import { clip } from '../../ledger/tools/tool-calls.ts'
import { codeSpan } from '../../safety/fence.ts'
import type { Item } from '../document.ts'
import { oneLine } from '../markdown/normalise.ts'
import { printedBy } from '../phrases.ts'
import { inheritedText, stateText } from './inherited.ts'
import { turnIdOf } from './last-request.ts'
import { longest, type Material } from './material.ts'
import { brief, code, commandText, openFailures, todoText } from './next-step.ts'
import { closing, replies } from './said-items.ts'
import { shorten, shortenStart } from './shorten.ts'
import { hasChangedSince } from './since.ts'

/** How the work stands, in a sentence. */
export function status(material: Material): Item[] {
  const { ending } = material.ledger
  const ids = ending.id === undefined ? [] : [ending.id]
  const during = ending.during === undefined ? '' : ` in the middle of ${code(ending.during)} (result unknown)`
  switch (ending.state) {
    case 'answered':
      return [material.item('Answered: the last turn ended with the reply of the assistant', ids)]
    case 'asks':
      return [material.item("Waiting for the user's answer to the question under Next Steps", ids)]
    case 'interrupted':
      return [material.item(`Interrupted${stoppers[ending.by ?? '']}${during || after(material)}`, ids)]
    case 'error':
      return [
        material.item(`Stopped by an error${ending.message === undefined ? '' : `: ${code(ending.message)}`}`, ids),
      ]
    case 'requested':
      return [material.item("The user's last request is not answered yet", ids)]
    case 'silent':
      return [material.item(`The last turn has no closing words; ${code(ending.during ?? '')} succeeded`, ids)]
    case 'empty':
      return [material.item('Nothing was said or done yet')]
  }
}

/**
 * Where no call is without a result, the last command that did something tells how far the work had come: if it came last of all,
 * or if it failed and no file was changed since. A document was written after the end.
 */
function after({ ledger }: Material): string {
  const { commands, ending } = ledger
  const [last] = commands
    .filter(({ looks, endId = 0 }) => looks !== true && endId > turnIdOf(ledger) && endId <= (ending.id ?? endId))
    .sort((a, b) => (b.endId ?? 0) - (a.endId ?? 0))
  if (last === undefined) return ''
  const { endId = 0, ok, command } = last
  const isStuck = ok === false && !hasChangedSince(endId, ledger)
  if (endId !== ending.id && !isStuck) return ''
  return ` after ${code(firstLine(command))}${ok === false ? ', which failed' : ''}`
}

export function done(material: Material): Item[] {
  const { tests, subagents, deeds } = material.ledger
  const failsSince = failingCommands(material)
  const failedLast = new Map<string, number>()
  for (const { message, lastId } of openFailures(material.ledger))
    failedLast.set(message, Math.max(lastId, failedLast.get(message) ?? 0))
  const failsAgain = ({ message, resolvedBy = 0 }: Failure) => (failedLast.get(message) ?? 0) > resolvedBy
  return [
    ...closing(material),
    ...deeds.map(({ text, id }): Item => ({ ...material.item(deedText(text), [id]), tag: 'deed' })).reverse(),
    ...todos(material, 'completed'),
    ...tests
      .filter(({ ok, command, id }) => ok && !failsSince(command, id))
      .map((test) => material.item(`${code(test.command)} passes${tally(test)}`, [test.id])),
    ...subagents
      .filter((agent) => agent.status === 'done')
      .map((agent) => material.item(`Subagent finished: ${brief(agent.task)}`, [agent.resultId ?? agent.id])),
    ...material.ledger.failures
      // A step on the way, such as an edit that missed its text, is no news once the work has gone on.
      .filter(({ closed, kind, role }) => closed?.reason === 'passed' && kind !== 'error' && role !== 'step')
      .filter((failure) => !failsAgain(failure))
      .map(({ what, message, closed, resolvedBy }) => {
        // A second run that passes has fixed nothing.
        const how = closed?.unchanged === true ? 'Passes on a later run:' : 'Fixed'
        return material.item(`${how} ${code(commandText(what, material.ledger))}: ${code(message)}`, [resolvedBy!])
      })
      .reverse(),
    ...replies(material),
  ]
}

export function doing(material: Material): Item[] {
  const { inFlight, background, subagents } = material.ledger
  return [
    ...todos(material, 'in_progress'),
    ...inFlight.map(({ tool, what, interrupted, by, id }) => {
      const stands =
        by === 'baton' ? 'Interrupted by Baton, to hand over' : interrupted ? 'Interrupted' : 'No result yet'
      const told = what === '' || what.startsWith(`${tool} `) ? code(what || tool) : `${tool} ${code(what)}`
      return material.item(`${stands}: ${told}`, [id])
    }),
    ...background.map(({ command, handle, startedId }) =>
      material.item(`In the background: ${code(command)}${handle === undefined ? '' : ` (${brief(handle)})`}`, [
        startedId,
      ]),
    ),
    ...subagents
      .filter((agent) => agent.status === 'running')
      .map((agent) => material.item(`Subagent at work: ${brief(agent.task)}`, [agent.id])),
  ]
}

export function todos(material: Material, status: Ledger['todos'][number]['status']): Item[] {
  return material.ledger.todos
    .filter((todo) => todo.status === status)
    .map((todo) => ({
      ...material.item(todoText(todo, material.ledger), [todo.id]),
      ...(status !== 'completed' && { tag: 'todo' as const }),
    }))
}

export function state(material: Material): Item[] {
  const { git, inherited, noted, unknownTools, subagents } = material.ledger
  const items: Item[] = []
  if (git !== undefined) {
    const where = git.branch === undefined ? git.cwd : `${git.cwd} on branch ${git.branch}`
    const commit = git.commit === undefined ? '' : ` at ${git.commit.slice(0, 10)}`
    const dirty = git.dirty === undefined ? '' : `, ${git.dirty.length} uncommitted`
    items.push({ ...material.item(where + commit + dirty, git.id === undefined ? [] : [git.id]), tag: 'place' })
  }
  if (noted !== undefined) {
    const state = stateText(noted.state)
    items.push({
      ...material.item(`Noted at the anchor ${code(noted.name)}`, [noted.id]),
      ...(state.trim() !== '' && { data: shorten(state, longest) }),
    })
  }
  const said = inheritedText(material.ledger)
  if (inherited !== undefined && said !== undefined)
    items.push({
      ...material.item(`Handed over before: ${brief(inherited.name)}`, [inherited.id]),
      data: shorten(said, longest),
    })
  for (const { task, id, resultId, status } of subagents) {
    if (status === 'failed') items.push(material.item(`Subagent failed: ${brief(task)}`, [resultId ?? id]))
  }
  for (const { name, times, lastId } of unknownTools) {
    items.push(material.item(`Tool that Baton cannot read: ${brief(name)}, ${times}×`, [lastId]))
  }
  return items
}

export function commands(material: Material): Item[] {
  const { deeds, tests } = material.ledger
  // What was committed or passed is told as done.
  const told = new Set([...deeds, ...tests.filter(({ ok }) => ok)].map(({ id }) => id))
  const failsSince = failingCommands(material)
  const worked = material.ledger.commands.filter(
    ({ ok, looks, printed, command, endId = 0 }) =>
      ok === true && (looks !== true || printed !== undefined) && !told.has(endId) && !failsSince(command, endId),
  )
  return [
    ...worked.filter(({ printed }) => printed !== undefined).sort((a, b) => b.lastId - a.lastId),
    ...worked.filter(({ printed }) => printed === undefined).sort((a, b) => b.times - a.times || b.lastId - a.lastId),
  ].map(({ command, times, lastId, printed }): Item => ({
    ...material.item(
      printed === undefined
        ? `Ran ${code(firstLine(command))}${often(times)}`
        : printedBy(brief(firstLine(command), printingLimit), often(times)),
      [lastId],
    ),
    ...(printed !== undefined && { data: printed }),
    tag: 'command',
  }))
}

export function next(material: Material): Item[] {
  return material.steps.map(({ text, ids, data, short, waits, tag = waits === true ? 'wait' : undefined }) => ({
    ...material.item(text, ids),
    ...(short !== undefined && { short }),
    ...(tag !== undefined && { tag }),
    ...(data !== undefined && { data: shorten(data, longest) }),
  }))
}

/** The error that ended the work is told by its status. */
export function failures(material: Material): Item[] {
  const seen = new Set<string>()
  const { ending } = material.ledger
  return openFailures(material.ledger)
    .filter(({ kind, lastId }) => kind !== 'error' || ending.state !== 'error' || lastId !== ending.id)
    .reverse()
    .map((failure) => {
      const again = seen.has(failure.message)
      seen.add(failure.message)
      return failureItem(material, failure, again)
    })
}

/** The call that failed and what it said in a line; how it ended, below. */
function failureItem(
  material: Material,
  { what, message, tail, exit, times, lastId, role }: Failure,
  again: boolean,
): Item {
  const command = role === 'report' ? what : code(commandText(what, material.ledger))
  const since = material.ledger.instructions.filter(({ id }) => id > lastId).length
  const status = [
    ...(exit === undefined || exit === 0 ? [] : [`exit ${exit}`]),
    ...(times > 1 ? [`${times}×`] : []),
    ...(since >= longAgo ? [longAgoText] : []),
  ].join(', ')
  const stale = since >= longAgo ? { tag: 'stale' as const } : {}
  if (again) return { ...material.item(`${command}${status === '' ? '' : ` ${status}`}: the same`, [lastId]), ...stale }
  const end = tail === undefined || brief(tail) === brief(message) ? {} : { data: shortenStart(tail, longest) }
  return {
    ...material.item(
      `${command}${status === '' ? '' : ` ${status}`}: ${codeSpan(clip(oneLine(message), messageLimit))}`,
      [lastId],
    ),
    // What the user reported has no other name than what it says.
    ...(role !== 'report' && { short: `${command}${exit === undefined || exit === 0 ? '' : ` exit ${exit}`}` }),
    ...stale,
    ...end,
  }
}

export function files(material: Material): Item[] {
  const known = material.ledger.files.filter((file) => file.state === 'changed' || file.state === 'read')
  return known.sort(byActionAndPath).map((file) => ({
    ...material.item(
      file.folder ? `${file.path.replace(/\/$/, '')}/` : file.path,
      file.lastId === undefined ? [] : [file.lastId],
    ),
    file: {
      action: file.state === 'read' ? ('read' as const) : file.action,
      from: file.from,
      ...(file.state === 'changed' && file.added !== undefined && { added: file.added }),
      ...(file.state === 'changed' && file.removed !== undefined && { removed: file.removed }),
      ...(file.source === 'git' && { git: true as const }),
      ...(file.uncertain && { uncertain: true as const }),
    },
  }))
}

/** Tells whether something fails since that entry which a command includes: then its success is of the past. */
function failingCommands({ ledger }: Material): (command: string, id: number) => boolean {
  const failed = new FailedCommands(openFailures(ledger).filter(({ kind }) => kind !== 'error'))
  return (command, id) => failed.includedIn(command).some(({ lastId }) => lastId > id)
}

/** What a command feeds to a program or a file is not told with it: cut in the middle, a value in it would be another. */
function firstLine(command: string): string {
  const [first = '', ...more] = command.trim().split('\n')
  return more.length === 0 ? first : `${first} […]`
}

function often(times: number): string {
  return times > 1 ? ` ${times}×` : ''
}

/** Characters of a command whose output is told: the brief form of an item has room for them. */
const printingLimit = 120

/** Who interrupted the work. */
const stoppers: Readonly<Record<string, string>> = { user: ' by the user', baton: ' by Baton, to hand over', '': '' }

/** Said of a failure that was neither put right nor tried again while the work went on to other things. */
const longAgoText = 'not run again since'

/** Messages of the user after which a failure that nobody came back to is not what the work is about. */
const longAgo = 10

/** An error message is cut to this length; its beginning says what went wrong. */
const messageLimit = 160

const order = ['edited', 'created', 'renamed', 'deleted', 'read']

function byActionAndPath(a: FileFact, b: FileFact): number {
  const action = (file: FileFact) => (file.state === 'read' ? order.length : order.indexOf(file.action))
  if (action(a) !== action(b)) return action(a) - action(b)
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0
}

/** The verb, and behind it the words of the agent (a commit message, arguments) as code. */
function deedText(text: string): string {
  const [, verb = '', rest = ''] = /^(\S+) ([\s\S]*)$/.exec(text) ?? []
  return `${verb} ${code(rest)}`
}

function tally({ passed, skipped }: { passed?: number; skipped?: number }): string {
  if (passed === undefined) return ''
  return skipped === undefined || skipped === 0 ? ` (${passed})` : ` (${passed}, ${skipped} skipped)`
}
