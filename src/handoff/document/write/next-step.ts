// What to do next. It follows from how the work stands: an answered request is done, a question waits for its answer, and what was
// interrupted goes on where it stopped. Nothing is invented: where nothing is open, the step says so.

import { codeSpan } from '../../safety/fence.ts'
import type { BackgroundTask, Ending, Failure, Instruction, Ledger, Question, Quote, Todo } from '../../ledger/facts.ts'
import { isFields } from '../../ledger/tools/tool-calls.ts'
import { withoutPastes } from '../../ledger/words/pastes.ts'
import { questionIn, questionWithin } from '../../ledger/words/message-text.ts'
import { asks, lengthOf, sentencesOf } from '../../ledger/words/sentences.ts'
import type { Item } from '../document.ts'
import { oneLine } from '../markdown/normalise.ts'
import { shorten } from './shorten.ts'
import { hasWorkedSince } from './since.ts'
import { isIdle, isOneWord, lastRequestOf, turnIdOf } from './last-request.ts'
import { onListOfEarlierTurn, questionStep, quotedInStep } from '../phrases.ts'
import { inheritedFailures, inheritedRequest, inheritedTodos } from './inherited.ts'

export type Step = Pick<Item, 'text' | 'data' | 'short' | 'tag'> & {
  readonly ids: readonly number[]
  /** The todo or the failure that it is about. */
  readonly about?: string
  /** It quotes all that the assistant said last. */
  readonly saysLast?: boolean
  /** Nothing is to be done but to wait. */
  readonly waits?: boolean
  /** It quotes the end of what the assistant said last. */
  readonly saysEnd?: boolean
}

const wordLimit = 200

/** Best first, never empty; at most one per reason. */
export function nextSteps(ledger: Ledger, goal: string | undefined): Step[] {
  const wanted: Step[] = goal === undefined ? [] : [{ text: `Work towards: ${brief(goal)}`, ids: [] }]
  const noted = notedSteps(ledger)
  // Where somebody noted what comes next, there is something to do besides waiting.
  const own = stepsFrom(ledger).filter(({ waits }) => noted.length === 0 || waits !== true)
  const steps = [...wanted, ...noted, ...own, ...laterSteps(ledger)]
  return steps.filter(
    (step, at) => steps.findIndex((each) => each.text === step.text || isAboutTheSame(each, step)) === at,
  )
}

function isAboutTheSame(a: Step, b: Step): boolean {
  return a.about !== undefined && a.about === b.about
}

function stepsFrom(ledger: Ledger): Step[] {
  const { ending } = ledger
  const request = requestOf(ledger)
  switch (ending.state) {
    case 'asks':
      return waiting(ledger.questions).map(({ text, options = [], about, id }, at, all) => ({
        text: questionStep(
          `${brief(text)}${options.length === 0 ? '' : ` (${options.map((option) => brief(option)).join(' / ')})`}`,
        ),
        ids: [id],
        ...(about !== undefined && about !== '' ? { data: about } : at === all.length - 1 && saidBesides(ledger, text)),
      }))
    case 'answered':
      return afterAnswer(ledger)
    case 'silent':
      return [
        {
          text: sentences(
            `See whether the user's request is finished: ${request?.wanted ?? 'none is on the tape'}`,
            `The last command, ${code(ending.during ?? '')}, succeeded, and nothing was said after it`,
          ),
          ids: request?.ids ?? [],
        },
      ]
    case 'empty':
      return [{ text: 'Ask the user what to do: the tape holds no request', ids: [], tag: 'filler' }]
    default:
      return [goOn(ledger, request)]
  }
}

/** Questions whose answers somebody waits for. */
function waiting(questions: readonly Question[]): Question[] {
  return questions.filter(({ passedOver }) => passedOver === undefined)
}

/** What the assistant said around questions that do not stand alone; each of them is a step of its own. */
function saidBesides({ lastWords, questions }: Ledger, last: string): Pick<Item, 'data'> {
  const told = new Set(waiting(questions).map(({ text }) => text))
  const isTold = (line: string) => line.trim() !== '' && sentencesOf(line).every((sentence) => told.has(sentence))
  const lines = (lastWords?.text ?? '').split('\n').filter((line) => !isTold(line))
  const before = withoutEnd(lines.join('\n').replaceAll(/\n{3,}/g, '\n\n'), last)
  return before === '' ? {} : { data: before }
}

/** A text without the question that it ends with and that is told beside it; it may be printed in bold. */
export function withoutEnd(text: string, question: string): string {
  const whole = text.trim()
  const end = whole.lastIndexOf(question.trim())
  if (end < 0 || whole.length - end - question.trim().length > 4) return whole
  return whole
    .slice(0, end)
    .replace(/[*_]+$/, '')
    .trim()
}

/** The turn is over. What it left open by its own account comes first; otherwise its last words tell whether anything is. */
function afterAnswer(ledger: Ledger): Step[] {
  const { lastWords } = ledger
  const turnId = turnIdOf(ledger)
  const here = (id: number) => id > turnId
  const { todo, isStale } = todoOfTurn(ledger, here)
  const checking = ledger.background.findLast(({ checks, startedId }) => checks === true && here(startedId))
  const broken = brokenChecks(ledger).findLast(({ lastId }) => here(lastId))
  const asked = uncheckedOnServer(ledger)
  const found = [
    checking && checkOn(checking),
    isStale ? undefined : todo && todoStep(todo, ledger, hasWorkedSince(todo.id, ledger)),
    broken && leftBroken(broken, ledger),
    asked,
  ].filter((step) => step !== undefined)
  if (found.length > 0) return found.map((step, at) => (at === 0 ? withAccount(step, ledger) : step))
  const left = openTodo(ledger)
  const isNothing =
    left === undefined &&
    ledger.questions.length === 0 &&
    openFailures(ledger).length === 0 &&
    inheritedFailures(ledger).length === 0 &&
    inheritedTodos(ledger).length === 0
  if (isStale && lastWords !== undefined) {
    const text = `Wait for the user: no request is waiting. The todo list still has ${code(todo!.text)} in progress, but the turn is over. ${quotedInStep.closing(codeSpan(closingLine(lastWords.text)))}`
    return [{ text, ids: [todo!.id, lastWords.id], about: todo!.text, saysEnd: true, waits: true }]
  }
  const within = lastWords && questionWithin(lastWords.text)
  if (isNothing && within !== undefined) {
    const text = `Wait for the user: no request is waiting, but the assistant may have asked: ${code(within)}`
    const said = quotedInStep.closing(codeSpan(closingLine(lastWords!.text)))
    return [{ text: sentences(text, said), ids: [lastWords!.id], saysEnd: true, waits: true }]
  }
  const text = isNothing
    ? 'Wait for the user: no request is waiting, and nothing is known to be open'
    : ledger.questions.length > 0
      ? 'No request is waiting, but a question may be (under Blockers)'
      : 'No request is waiting'
  const running = isNothing ? ledger.background.findLast(({ startedId }) => here(startedId)) : undefined
  const besides = running && `${code(running.command)}, which still runs in the background`
  const about = running === undefined ? {} : { about: taskName(running.startedId) }
  if (lastWords === undefined)
    return [{ text: besides === undefined ? text : `${text} beyond ${besides}`, ids: [], waits: true, ...about }]
  const said = codeSpan(closingLine(lastWords.text))
  // Something may be left that no list, check or question shows: then only the assistant's own words name it.
  const beyond = besides === undefined ? 'beyond what' : `beyond ${besides}, and what`
  const closing = isNothing ? ` ${quotedInStep.closing(said, beyond)}` : `. ${quotedInStep.closing(said)}`
  return [{ text: text + closing, ids: [lastWords.id], saysEnd: true, waits: true, ...about }]
}

/**
 * What is open on the list of the turn. A list whose last items are in progress is stale if work was done after it was written
 * and the turn has ended: agents forget to tick off the last item.
 */
function todoOfTurn(ledger: Ledger, here: (id: number) => boolean): { todo: Todo | undefined; isStale: boolean } {
  const todo = openTodo(ledger, (each) => here(each.id))
  const isLast = todo?.status === 'in_progress' && !ledger.todos.some(({ status }) => status === 'pending')
  return { todo, isStale: isLast && hasWorkedSince(todo.id, ledger) }
}

function checkOn({ command, startedId }: BackgroundTask): Step {
  return {
    text: `Check on ${code(command)}, still running in the background`,
    ids: [startedId],
    about: taskName(startedId),
  }
}

function taskName(startedId: number): string {
  return `background ${startedId}`
}

/** Who left something open has said at the end why, and who can go on with it. */
function withAccount(step: Step, { lastWords }: Ledger): Step {
  if (lastWords === undefined) return step
  const text = sentences(step.text, quotedInStep.closing(codeSpan(closingLine(lastWords.text))))
  return { ...step, text, short: step.text, saysEnd: true }
}

/** A server said that the work fails, and it was sent out again since: nobody has asked how it fares now. */
function uncheckedOnServer(ledger: Ledger): Step | undefined {
  const failed = ledger.failures.findLast(({ role, closed }) => role === 'ci' && closed?.reason === 'published')
  if (failed === undefined) return undefined
  return {
    text: `See whether ${code(commandText(failed.what, ledger))} passes now: it failed before the last push and was not asked again since`,
    ids: [failed.lastId],
  }
}

/** The work stopped before it was finished. */
function goOn(ledger: Ledger, request: WantedRequest | undefined): Step {
  const { ending, lastWords } = ledger
  const turnId = turnIdOf(ledger)
  const todo = ledger.todos.find(({ status }) => status === 'in_progress')
  const isTodo = todo !== undefined && todo.id > turnId
  const words = lastWords !== undefined && lastWords.id > turnId ? lastWords : undefined
  const verb = ending.state === 'requested' ? 'Act on' : 'Continue with'
  const rest = [
    ...stoppedAt(ending),
    ...(words === undefined ? [] : [quotedInStep.stopped(codeSpan(closingLine(words.text)))]),
  ]
  const saysLast = words !== undefined && closingLine(words.text) === oneLine(words.text)
  const ids = [...(isTodo ? [todo.id] : (request?.ids ?? [])), ...(ending.id === undefined ? [] : [ending.id])]
  if (isTodo) return { text: sentences(`Finish: ${brief(todo.text)}`, ...rest), ids, saysLast, about: todo.text }
  if (request === undefined) return { text: sentences('Continue where the work stopped', ...rest), ids, saysLast }
  return {
    text: sentences(`${verb} the user's request: ${request.wanted}`, ...rest),
    // The request stands under the goal.
    short: sentences(`${verb} the user's request`, ...rest),
    ids,
    saysLast,
  }
}

function stoppedAt({ state, by, during, message }: Ending): string[] {
  if (state === 'error')
    return [message === undefined ? 'An error stopped it' : `An error stopped it: ${code(message)}`]
  if (state !== 'interrupted') return []
  const at = during === undefined ? '' : ` in the middle of ${code(during)}, whose result is unknown`
  if (by === 'user') return [`The user stopped it${at}: ask before the same is tried again`]
  if (by === 'baton') return [`Baton stopped it to hand over${at}`]
  return at === '' ? [] : [`It stopped${at}`]
}

/** One after the other; a quote may bring its own full stop. */
function sentences(...parts: readonly string[]): string {
  return parts.reduce((text, part) => `${text}${/[.!?…。！？]$/.test(text) ? '' : '.'} ${part}`)
}

/** What somebody noted at an anchor as the next steps, while nothing was asked or worked on since. */
function notedSteps(ledger: Ledger): Step[] {
  const { noted, lastRequest } = ledger
  const state = noted?.state
  if (noted === undefined || !isFields(state) || noted.id < (lastRequest?.id ?? 0)) return []
  if (hasWorkedSince(noted.id, ledger)) return []
  const given = state['next_steps'] ?? state['nextSteps']
  const steps = Array.isArray(given) ? given : [given]
  return steps.flatMap((step) =>
    typeof step === 'string' && step.trim() !== '' ? [{ text: brief(step), ids: [noted.id] }] : [],
  )
}

/** What else is open, behind the step that the state asks for. */
function laterSteps(ledger: Ledger): Step[] {
  const { background, ending } = ledger
  const todo = openTodo(ledger)
  const broken = brokenChecks(ledger).at(-1)
  const running = background.at(-1)
  const [earlier] = todo === undefined && ending.state === 'answered' ? inheritedTodos(ledger) : []
  const later: (Step | undefined)[] = [
    earlier && { text: `Still on the todo list: ${earlier.text}`, ids: [] },
    todo && ending.state === 'answered' && todo.id <= turnIdOf(ledger)
      ? { text: `Still on the todo list: ${todoText(todo, ledger)}`, ids: [todo.id] }
      : todo && todoStep(todo, ledger),
    broken &&
      (isOver(ledger) && broken.lastId > turnIdOf(ledger) ? leftBroken(broken, ledger) : fixStep(broken, ledger)),
    running && checkOn(running),
  ]
  return later.filter((step) => step !== undefined)
}

/** `worked`: something was done since the list was written, and the turn is over; agents tick off late. */
function todoStep(todo: Todo, ledger: Ledger, worked = false): Step {
  // What the user said about it since may be that it is not to be done.
  const verb =
    todo.mentioned !== undefined
      ? 'On the todo list'
      : todo.status !== 'in_progress'
        ? 'Start'
        : worked
          ? 'Finish, unless it is done by now'
          : 'Finish'
  return {
    text: `${verb}: ${brief(todoText(todo, ledger), 2 * wordLimit)}`,
    ids: [todo.id],
    about: todo.text,
  }
}

/** Whoever ends a turn right behind a failure may have wanted it, or be unable to mend it: only their words tell. */
function leftBroken(failure: Failure, ledger: Ledger): Step {
  const step = fixStep(failure, ledger)
  if (failure.role === 'report' || hasWorkedSince(failure.lastId, ledger)) return step
  return { ...step, text: sentences(`See whether to ${step.text.replace(/^F/, 'f')}`, 'The turn ended right after it') }
}

function fixStep(failure: Failure, ledger: Ledger): Step {
  const what = failure.role === 'report' ? 'what the user reported' : code(commandText(failure.what, ledger))
  return { text: `Fix ${what}: ${code(failure.message)}`, ids: [failure.lastId], about: failure.what }
}

/** A todo with what may have changed about it since it was written down. */
export function todoText({ text, status, mentioned, id }: Todo, ledger: Ledger): string {
  const isOld = (status === 'in_progress' || status === 'pending') && isOver(ledger) && id < turnIdOf(ledger)
  const mayBeDone = status === 'in_progress' && hasWorkedSince(id, ledger)
  const noted = isOld ? onListOfEarlierTurn(text, mayBeDone) : text
  return mentioned === undefined ? noted : sentences(noted, `The user said since: ${code(mentioned)}`)
}

function isOver({ ending }: Ledger): boolean {
  return ending.state === 'answered' || ending.state === 'asks'
}

function openTodo({ todos }: Ledger, accept: (todo: Todo) => boolean = () => true): Todo | undefined {
  return (
    todos.find((todo) => todo.status === 'in_progress' && accept(todo)) ??
    todos.find((todo) => todo.status === 'pending' && accept(todo))
  )
}

interface WantedRequest {
  readonly wanted: string
  readonly ids: readonly number[]
}

/** The user's last request that says something, with the question it answers. */
function requestOf(ledger: Ledger): WantedRequest | undefined {
  const { quotes, answered } = lastRequestOf(ledger)
  // Words typed within a turn add to its request; they are one themselves where nothing was done since.
  const isRequest = (one: Instruction) => one.within !== true || ledger.ending.state === 'requested'
  const given = quotes.findLast((one) => !isIdle(one.text) && isRequest(one)) ?? ledger.goal
  if (isBlank(given)) {
    const before = inheritedRequest(ledger)
    return before === undefined ? undefined : { wanted: brief(before, 160), ids: [ledger.inherited!.id] }
  }
  const leans = given === quotes.at(-1) && (isOneWord(given.text) || questionIn(answered?.text ?? '') !== undefined)
  const question = leans && answered !== undefined ? closingLine(answered.text) : undefined
  // The lines of a paste between the user's words stand under the goal, as far as they are told.
  const typed = withoutPastes(given.text)
  const wanted = question === undefined ? brief(typed, 160) : `${brief(question, 120)} → ${brief(typed, 80)}`
  return { wanted, ids: [given.id] }
}

/** Whether a quote has no visible text. */
export function isBlank(quote: Quote | undefined): quote is undefined {
  return quote === undefined || brief(quote.text) === ''
}

/** An error that stopped the agent is nothing to put right in the work. */
function brokenChecks(ledger: Ledger): Failure[] {
  return openFailures(ledger).filter(({ kind }) => kind !== 'error')
}

export function openFailures(ledger: Ledger): Failure[] {
  return ledger.failures.filter((failure) => failure.closed === undefined)
}

/** The end of a text, where people and agents say what is left, what they offer and what they want to know. */
function closingLine(text: string): string {
  return shorten(oneLine(closingParagraphs(text).join('\n').replaceAll(fenceLine, '')), closingLimit)
}

/** What stands before it; empty where nothing does. */
export function withoutClosingLine(text: string): string {
  const end = closingParagraphs(text)
  if (oneLine(end.join(' ')).length > closingLimit) return text
  const before = paragraphsOf(text).slice(0, -end.length).join('\n\n')
  return before === '' ? '' : before + endBelow
}

/** Whether a text goes on in the step that quotes its closing line. */
export function endsInStep(text: string): boolean {
  return text.endsWith(endBelow)
}

const endBelow = '\n[…]'

/** The last paragraph, and the one before it where that asks something or the last one says little without it. */
function closingParagraphs(text: string): string[] {
  const paragraphs = paragraphsOf(text)
  const [before = '', last = ''] = paragraphs.slice(-2)
  const belongs = lengthOf(oneLine(last)) < leastClosing || sentencesOf(before).some(asks) || opensFence(last)
  return paragraphs.slice(belongs ? -2 : -1)
}

/** Blank lines in code part nothing. */
function paragraphsOf(text: string): string[] {
  const paragraphs: string[] = []
  for (const part of text.trimEnd().split(/\n\s*\n/)) {
    const last = paragraphs.at(-1)
    if (last !== undefined && isFenceOpen(last)) paragraphs[paragraphs.length - 1] = `${last}\n\n${part}`
    else paragraphs.push(part)
  }
  return paragraphs
}

const fenceLine = /^[ \t]*(?:```|~~~).*$/gm

function isFenceOpen(text: string): boolean {
  return (text.match(fenceLine)?.length ?? 0) % 2 === 1
}

function opensFence(text: string): boolean {
  return /^\s*(?:```|~~~)/.test(text)
}

const leastClosing = 60
const closingLimit = 320

/** A command as it was meant: without where it ran, if that is the session's folder, and without what only trims its output. */
export function commandText(what: string, { git }: Ledger): string {
  const home = git?.cwd
  const here = /^\s*cd\s+("[^"]*"|'[^']*'|\S+)\s*&&\s*/.exec(what)
  const isHome = here !== null && home !== undefined && here[1]!.replaceAll(/^["']|["']$|\/$/g, '') === home
  const meant = isHome ? what.slice(here[0].length) : what
  return meant.replace(/(?:\s*(?:2>&1|\|\|\s*true|\|\s*(?:tail|head)(?:\s+-n?\s*\d+|\s+-\d+)?))+\s*$/, '') || what
}

export function brief(text: string, limit = wordLimit): string {
  return shorten(oneLine(text.slice(0, 20_000)), limit)
}

/** Words of a tool or an agent as code, for use within a sentence that Baton writes. */
export function code(text: string): string {
  return codeSpan(brief(text))
}
