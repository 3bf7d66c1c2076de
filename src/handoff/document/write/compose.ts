// Composes a document from a ledger, without a model. Every section is filled, the most important item first; budget.ts
// decides what is left out. A narrative adds what a model says, as claims; on facts the ledger has the last word.

import { questionIn } from '../../ledger/words/message-text.ts'
import { asks, lengthOf, sentencesOf } from '../../ledger/words/sentences.ts'
import { clip } from '../../ledger/tools/tool-calls.ts'
import type { Failure, FileFact, Instruction, Ledger, Quote } from '../../ledger/facts.ts'
import { isDenied } from '../check/claims.ts'
import type { HandoffDocument, Header, Item, Profile, SectionKey } from '../document.ts'
import { answeredLast, asUserSaid, printedBy, saidByAssistant } from '../phrases.ts'
import { inheritedRequest, inheritedText, withInherited } from './inherited.ts'
import { contains } from '../check/similarity.ts'
import { mergeNarrative } from './merge.ts'
import {
  brief,
  code,
  commandText,
  isBlank,
  nextSteps,
  openFailures,
  todoText,
  type Step,
  withoutClosingLine,
  withoutEnd,
} from './next-step.ts'
import { codeSpan } from '../../safety/fence.ts'
import { normaliseDocument, oneLine } from '../markdown/normalise.ts'
import { besidesStanding, namesFile, standingPart, typedPart, wholeQuote } from './quotes.ts'
import { ruleOf } from '../sections.ts'
import { LaterWords } from './later-words.ts'
import { shorten, shortenStart } from './shorten.ts'
import { isIdle, type LastRequest, lastRequestOf } from './last-request.ts'

export interface ComposeOptions extends Omit<Header, 'range'> {
  /** `session` unless said otherwise. */
  readonly profile?: Profile
  /** A document that a model wrote, read with `parseClaims`. */
  readonly narrative?: HandoffDocument
}

type Sections = Partial<Record<SectionKey, Item[]>>

export function compose(ledger: Ledger, options: ComposeOptions = {}): HandoffDocument {
  const { profile = 'session', narrative, ...header } = options
  const laterWords = new LaterWords(ledger.instructions)
  const facts = new Facts(ledger, header.tape, header.goal, laterWords)
  const sections = withInherited(
    profile === 'cycle' ? cycleSections(facts) : sessionSections(facts),
    ledger,
    header.tape,
    laterWords,
  )
  const document: HandoffDocument = {
    profile,
    header: { ...header, ...(ledger.range !== undefined && { range: ledger.range }) },
    sections: (Object.keys(sections) as SectionKey[]).map((key) => ({ key, items: sections[key]! })),
  }
  const merged = narrative === undefined ? document : mergeNarrative(document, narrative, ledger)
  // Blank items go first: a filler stands where nothing else is left.
  return withNone(withoutFillers(normaliseDocument(merged)))
}

function withoutFillers(document: HandoffDocument): HandoffDocument {
  const sections = document.sections.map((section) => {
    const items = section.items.filter(({ tag }) => tag !== 'filler')
    return items.length === 0 ? section : { ...section, items }
  })
  return { ...document, sections }
}

function sessionSections(facts: Facts): Sections {
  return {
    status: facts.status(),
    goal: facts.requests(),
    constraints: facts.constraints(),
    done: facts.done(),
    doing: facts.doing(),
    pending: facts.todos('pending'),
    decisions: facts.decisions(),
    context: [...facts.state(), ...facts.lastWords(), ...facts.otherRequests(), ...facts.commands()],
    next: facts.next(),
    ...withItems('blockers', facts.questions()),
    failures: facts.failures(),
    files: facts.files(),
  }
}

function cycleSections(facts: Facts): Sections {
  const [first] = facts.next()
  const pending = facts.todos('pending').filter((todo) => first === undefined || !contains(first.text, todo.text))
  return {
    status: facts.status(),
    doing: [...facts.requests(), ...facts.doing()],
    done: facts.done(),
    next: [...(first === undefined ? [] : [first]), ...pending],
    context: [...facts.constraints(), ...facts.state()],
    blockers: facts.questions(),
    failures: facts.failures(),
    files: facts.files(),
    notes: [...facts.decisions(), ...facts.lastWords(), ...facts.otherRequests(), ...facts.commands()],
  }
}

function withItems(key: SectionKey, items: Item[]): Sections {
  return items.length === 0 ? {} : { [key]: items }
}

/** An empty section gets the item "None", where the profile allows it. */
function withNone(document: HandoffDocument): HandoffDocument {
  const sections = document.sections.map((section) => {
    if (section.items.length > 0 || !ruleOf(document.profile, section.key).mayBeNone) return section
    return { ...section, items: [{ text: 'None', status: 'verified' as const, refs: [] }] }
  })
  return { ...document, sections }
}

/** The facts of a ledger as items. */
class Facts {
  readonly #ledger: Ledger
  readonly #tape: string | undefined
  readonly #goal: string | undefined
  readonly #lastRequest: LastRequest
  readonly #steps: readonly Step[]
  readonly #laterWords: LaterWords

  constructor(ledger: Ledger, tape: string | undefined, goal: string | undefined, laterWords: LaterWords) {
    this.#ledger = ledger
    this.#lastRequest = lastRequestOf(ledger)
    this.#laterWords = laterWords
    this.#tape = tape
    this.#goal = goal
    this.#steps = nextSteps(ledger, goal)
  }

  /** How the work stands, in a sentence. */
  status(): Item[] {
    const { ending } = this.#ledger
    const ids = ending.id === undefined ? [] : [ending.id]
    const during = ending.during === undefined ? '' : ` in the middle of ${code(ending.during)} (result unknown)`
    switch (ending.state) {
      case 'answered':
        return [this.#item('Answered: the last turn ended with the reply of the assistant', ids)]
      case 'asks':
        return [this.#item("Waiting for the user's answer to the question under Next Steps", ids)]
      case 'interrupted':
        return [this.#item(`Interrupted${stoppers[ending.by ?? '']}${during}`, ids)]
      case 'error':
        return [
          this.#item(`Stopped by an error${ending.message === undefined ? '' : `: ${code(ending.message)}`}`, ids),
        ]
      case 'requested':
        return [this.#item("The user's last request is not answered yet", ids)]
      case 'silent':
        return [this.#item(`The last turn has no closing words; ${code(ending.during ?? '')} succeeded`, ids)]
      case 'empty':
        return [this.#item('Nothing was said or done yet')]
    }
  }

  /** The reply that ended the work, at length: it often is the whole result. */
  closing(): Item[] {
    const { ending, lastWords } = this.#ledger
    if (ending.state !== 'answered' || lastWords === undefined) return []
    const told = this.#steps.some(({ saysEnd }) => saysEnd) ? withoutClosingLine(lastWords.text) : lastWords.text
    return [
      {
        ...this.#item(answeredLast, [lastWords.id]),
        status: 'claimed',
        ...(told !== '' && { data: shorten(told, longest) }),
        tag: 'closing',
      },
    ]
  }

  requests(): Item[] {
    const { goal, inherited } = this.#ledger
    const { quotes, answered } = this.#lastRequest
    // What was said on refusing a call stands under what binds, with what was refused.
    const others = quotes.filter((one) => one.id !== goal?.id && !isRefusalTold(one))
    const items = [...(goal === undefined ? [] : [goal]), ...others]
      .filter((quote) => !isBlank(quote))
      .map((quote): Item => ({ ...this.#quote(quote), ...(this.#isRule(quote.id) && { tag: 'rule' }) }))
    if (items.length > 0 && answered !== undefined) items.push(this.#answered(answered))
    if (items.length > 0) return items
    if (this.#goal !== undefined) return [this.#item(`The next session is for: ${this.#goal}`)]
    if (inheritedRequest(this.#ledger) !== undefined) return []
    if (inherited !== undefined)
      return [{ ...this.#item(`Go on from ${inherited.name}`, [inherited.id]), tag: 'filler' }]
    return [{ ...this.#item('The tape holds no request by the user'), tag: 'filler' }]
  }

  /** Whether all of a message binds; it need not be told twice. */
  #isRule(id: number): boolean {
    return this.#ledger.instructions.some((one) => one.id === id && isWholly(one))
  }

  /** What the user's last words answer: a bare "yes" means nothing without the question. */
  #answered({ text, id }: Quote): Item {
    const asked = questionIn(text) ?? lastLine(text)
    const besides = withoutEnd(text, asked)
    return {
      ...this.#item(saidByAssistant.before(code(asked)), [id]),
      status: 'claimed',
      ...(besides !== '' && { data: besides }),
    }
  }

  /** What the user said that binds whatever follows, in the order in which it was said: later words win. */
  constraints(): Item[] {
    const { goal } = this.#ledger
    const standing = this.#ledger.instructions.filter(isStanding)
    const shown = [...(goal === undefined ? [] : [goal]), ...this.#lastRequest.quotes]
    const quoted = new Set(shown.flatMap((one) => (one.text.length <= wholeQuote ? [one.id] : [])))
    const items = standing
      .filter((one) => one.refused !== undefined || !quoted.has(one.id))
      .map((one): Item => {
        const said = one.refused === undefined ? standingPart(one) : one.standing.join(' ')
        const refusing = one.refused === undefined ? '' : ` [refusing ${clip(oneLine(one.refused), refusedLimit)}]`
        const marked = (text: string) => this.#laterWords.mark(text, one.standing, one.id)
        return {
          ...this.#quote({ id: one.id, text: marked(said + refusing) }),
          ...(one.refused === undefined && { short: marked(one.standing.join(' […] ')) }),
          ...(namesFile(said) && { tag: 'ruleForFile' }),
        }
      })
    if (items.length > 0) return items
    // Words that were carried out, or whose turn is not over, may still bind: only their reader can tell.
    if (standing.length === 0) return shown.length === 0 ? [] : [{ ...this.#item(noneBesides), tag: 'filler' }]
    return [
      this.#item(
        asUserSaid,
        standing.map((one) => one.id),
      ),
    ]
  }

  otherRequests(): Item[] {
    const { instructions, goal } = this.#ledger
    const shown = new Set([goal?.id, ...this.#lastRequest.quotes.map(({ id }) => id)])
    const others = instructions.filter((one) => one.supersededBy === undefined && !isWholly(one))
    const told = new Set<string>()
    return others
      .filter((one) => !shown.has(one.id) && !isIdle(one.text))
      .map((one) => ({ ...one, text: this.#besidesRules(one) }))
      .reverse()
      .filter(({ text }) => !told.has(text) && told.add(text))
      .map((one) => this.#quote(one))
  }

  /** What is not shown under what binds. Nobody worked on what was only taken notice of: it may bind as well. */
  #besidesRules(one: Instruction): string {
    const text = besidesStanding(one)
    return one.noted === true && text !== '' ? this.#laterWords.mark(text, sentencesOf(text), one.id) : text
  }

  done(): Item[] {
    const { tests, subagents, deeds } = this.#ledger
    return [
      ...this.closing(),
      ...deeds.map(({ text, id }): Item => ({ ...this.#item(deedText(text), [id]), tag: 'deed' })).reverse(),
      ...this.todos('completed'),
      ...tests
        .filter((test) => test.ok)
        .map((test) => this.#item(`${code(test.command)} passes${tally(test)}`, [test.id])),
      ...subagents
        .filter((agent) => agent.status === 'done')
        .map((agent) => this.#item(`Subagent finished: ${brief(agent.task)}`, [agent.resultId ?? agent.id])),
      ...this.#ledger.failures
        .filter((failure) => failure.closed?.reason === 'passed' && failure.kind !== 'error')
        .map((failure) =>
          this.#item(`Fixed ${code(commandText(failure.what, this.#ledger))}: ${code(failure.message)}`, [
            failure.resolvedBy!,
          ]),
        )
        .reverse(),
      ...this.#replies(),
    ]
  }

  /** What the assistant said at the end of each turn: the story of the session, in its own words. */
  #replies(): Item[] {
    const { replies } = this.#ledger
    return (
      replies
        .filter(({ text }, at) => !replies.slice(at + 1).some((later) => later.text === text))
        .filter(({ text }) => lengthOf(text) >= leastReply && !/[:：]\s*$/.test(text))
        // What was said in the middle of a turn announces what followed, and that was stopped.
        .filter(({ cut }) => cut !== true)
        // What was said last is told as such, and what the user's last words answer stands beside them.
        .filter(({ id }) => id !== this.#lastRequest.answered?.id && id !== this.#ledger.lastWords?.id)
        .filter(({ text }) => !isDenied(text, this.#ledger))
        // What was asked and answered is told with the answer.
        .filter(({ text }) => !sentencesOf(text).every(asks))
        // A question that is still open is told as one.
        .filter(({ id }) => !this.#ledger.questions.some((question) => question.id === id))
        .map(({ text, id }): Item => ({
          ...this.#item(saidByAssistant.earlier(code(text)), [id]),
          status: 'claimed',
          tag: 'reply',
        }))
        .reverse()
    )
  }

  doing(): Item[] {
    const { inFlight, background, subagents } = this.#ledger
    return [
      ...this.todos('in_progress'),
      ...inFlight.map(({ tool, what, interrupted, by, id }) => {
        const stands =
          by === 'baton' ? 'Interrupted by Baton, to hand over' : interrupted ? 'Interrupted' : 'No result yet'
        return this.#item(`${stands}: ${tool} ${code(what === '' ? tool : what)}`, [id])
      }),
      ...background.map(({ command, handle, startedId }) =>
        this.#item(`In the background: ${code(command)}${handle === undefined ? '' : ` (${brief(handle)})`}`, [
          startedId,
        ]),
      ),
      ...subagents
        .filter((agent) => agent.status === 'running')
        .map((agent) => this.#item(`Subagent at work: ${brief(agent.task)}`, [agent.id])),
    ]
  }

  todos(status: Ledger['todos'][number]['status']): Item[] {
    return this.#ledger.todos
      .filter((todo) => todo.status === status)
      .map((todo) => ({
        ...this.#item(todoText(todo, this.#ledger), [todo.id]),
        ...(status !== 'completed' && { tag: 'todo' as const }),
      }))
  }

  /** What a person confirmed comes first; what the assistant only said is its claim. */
  decisions(): Item[] {
    const told = this.#lastRequest.answered === undefined ? undefined : this.#lastRequest.quotes.at(-1)?.id
    // What was refused with a comment is told with that comment, under what binds.
    const bound = new Set(this.#ledger.instructions.filter(isStanding).map(({ id }) => id))
    // What the last words say is told with them.
    const { lastWords } = this.#ledger
    const last = (lastWords?.text.length ?? 0) <= wholeClosing ? lastWords?.id : undefined
    const others = this.#ledger.decisions.filter(
      ({ id, why, rank }) =>
        id !== told && (why === undefined || !bound.has(id)) && !(rank !== undefined && id === last),
    )
    const said = others.filter(({ rank }) => rank !== undefined).sort((a, b) => a.rank! - b.rank!)
    const items = [...others.filter(({ rank }) => rank === undefined).reverse(), ...said].map((decision) => {
      const { text, answered, why, ruledOut, by, source, id } = decision
      return {
        ...this.#item(text, [id]),
        // The answer binds; of the question it is enough to know which one it was.
        ...(answered !== undefined && { short: `${clip(answered.question, questionLimit)} → ${answered.answer}` }),
        status: source === 'said' && by === 'assistant' ? ('claimed' as const) : ('verified' as const),
        ...(why !== undefined && { why }),
        ...(ruledOut !== undefined && { ruledOut }),
      }
    })
    return [...items.filter((item) => item.status === 'verified'), ...items.filter((item) => item.status === 'claimed')]
  }

  state(): Item[] {
    const { git, inherited, noted, unknownTools, subagents } = this.#ledger
    const items: Item[] = []
    if (git !== undefined) {
      const where = git.branch === undefined ? git.cwd : `${git.cwd} on branch ${git.branch}`
      const commit = git.commit === undefined ? '' : ` at ${git.commit.slice(0, 10)}`
      const dirty = git.dirty === undefined ? '' : `, ${git.dirty.length} uncommitted`
      items.push({ ...this.#item(where + commit + dirty, git.id === undefined ? [] : [git.id]), tag: 'place' })
    }
    if (noted !== undefined) {
      const state = JSON.stringify(noted.state ?? null)
      items.push({
        ...this.#item(`Noted at the anchor ${code(noted.name)}`, [noted.id]),
        ...(!['{}', 'null', '""'].includes(state) && { data: shorten(state, longest) }),
      })
    }
    const said = inheritedText(this.#ledger)
    if (inherited !== undefined && said !== undefined)
      items.push({
        ...this.#item(`Handed over before: ${brief(inherited.name)}`, [inherited.id]),
        data: shorten(said, longest),
      })
    for (const { task, id, resultId, status } of subagents) {
      if (status === 'failed') items.push(this.#item(`Subagent failed: ${brief(task)}`, [resultId ?? id]))
    }
    for (const { name, times, lastId } of unknownTools) {
      items.push(this.#item(`Tool that Baton cannot read: ${brief(name)}, ${times}×`, [lastId]))
    }
    return items
  }

  lastWords(): Item[] {
    const { lastWords, ending } = this.#ledger
    if (lastWords === undefined || ending.state === 'answered' || ending.state === 'asks') return []
    const denied = isDenied(lastWords.text, this.#ledger) ? ' (the open failures deny it)' : ''
    const isTold = lastWords.id === this.#lastRequest.answered?.id || this.#steps.some(({ saysLast }) => saysLast)
    if (denied === '' && isTold) return []
    return [
      {
        ...this.#item(saidByAssistant.last(code(lastWords.text), denied), [lastWords.id]),
        status: 'claimed',
        tag: 'words',
        ...(code(lastWords.text) !== codeSpan(lastWords.text.trim()) && { data: shorten(lastWords.text, longest) }),
      },
    ]
  }

  commands(): Item[] {
    const { deeds, tests } = this.#ledger
    // What was committed or passed is told as done.
    const told = new Set([...deeds, ...tests.filter(({ ok }) => ok)].map(({ id }) => id))
    const worked = this.#ledger.commands.filter(
      ({ ok, looks, printed, endId = 0 }) =>
        ok === true && (looks !== true || printed !== undefined) && !told.has(endId),
    )
    return [
      ...worked.filter(({ printed }) => printed !== undefined).sort((a, b) => b.lastId - a.lastId),
      ...worked.filter(({ printed }) => printed === undefined).sort((a, b) => b.times - a.times || b.lastId - a.lastId),
    ].map(({ command, times, lastId, printed }): Item => ({
      ...this.#item(
        printed === undefined
          ? `Ran ${code(firstLine(command))}${often(times)}`
          : printedBy(brief(firstLine(command), printingLimit), often(times)),
        [lastId],
      ),
      ...(printed !== undefined && { data: printed }),
      tag: 'command',
    }))
  }

  next(): Item[] {
    return this.#steps.map(({ text, ids, data, short, tag }) => ({
      ...this.#item(text, ids),
      ...(short !== undefined && { short }),
      ...(tag !== undefined && { tag }),
      ...(data !== undefined && { data: shorten(data, longest) }),
    }))
  }

  /**
   * Questions that nobody waits for any more; the others are the next steps. What the user said instead may be an answer in
   * other words: whoever reads both can tell.
   */
  questions(): Item[] {
    return this.#ledger.questions.flatMap(({ text, options = [], passedOver, id }) => {
      if (passedOver === undefined) return []
      const choice = options.length === 0 ? '' : ` (${options.join(' / ')})`
      const found = `No answer found to ${code(text + choice)}`
      if (passedOver === '') return [this.#item(found, [id])]
      const instead = codeSpan(clip(oneLine(passedOver), insteadLimit))
      return [{ ...this.#item(`${found}; the user went on: ${instead}`, [id]), short: found }]
    })
  }

  failures(): Item[] {
    const seen = new Set<string>()
    return openFailures(this.#ledger)
      .reverse()
      .map((failure) => {
        const again = seen.has(failure.message)
        seen.add(failure.message)
        return this.#failure(failure, again)
      })
  }

  /** The call that failed and what it said in a line; how it ended, below. */
  #failure({ what, message, tail, exit, times, lastId, role }: Failure, again: boolean): Item {
    const command = role === 'report' ? what : code(commandText(what, this.#ledger))
    const since = this.#ledger.instructions.filter(({ id }) => id > lastId).length
    const status = [
      ...(exit === undefined || exit === 0 ? [] : [`exit ${exit}`]),
      ...(times > 1 ? [`${times}×`] : []),
      ...(since >= longAgo ? [longAgoText] : []),
    ].join(', ')
    const stale = since >= longAgo ? { tag: 'stale' as const } : {}
    if (again) return { ...this.#item(`${command}${status === '' ? '' : ` ${status}`}: the same`, [lastId]), ...stale }
    const end = tail === undefined || brief(tail) === brief(message) ? {} : { data: shortenStart(tail, longest) }
    return {
      ...this.#item(
        `${command}${status === '' ? '' : ` ${status}`}: ${codeSpan(clip(oneLine(message), messageLimit))}`,
        [lastId],
      ),
      // What the user reported has no other name than what it says.
      ...(role !== 'report' && { short: `${command}${exit === undefined || exit === 0 ? '' : ` exit ${exit}`}` }),
      ...stale,
      ...end,
    }
  }

  files(): Item[] {
    const known = this.#ledger.files.filter((file) => file.state === 'changed' || file.state === 'read')
    return known.sort(byActionAndPath).map((file) => ({
      ...this.#item(
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

  #quote({ text, id }: Quote): Item {
    return { ...this.#item(typedPart(text), [id]), by: 'user' }
  }

  #item(text: string, ids: readonly number[] = []): Item {
    const tape = this.#tape
    return {
      text: shorten(text, longest),
      status: 'verified',
      refs: tape === undefined ? [] : [...new Set(ids)].map((id) => `${tape}#${id}`),
    }
  }
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

function isStanding({ standing, supersededBy }: Instruction): boolean {
  return standing.length > 0 && supersededBy === undefined
}

/** Whether what was said on refusing a call is shown there with all its sentences; a question is not. */
function isRefusalTold(one: Instruction): boolean {
  return one.refused !== undefined && isStanding(one) && one.standing.join(' ') === oneLine(one.text)
}

/** Whether all of a message is shown under what binds. */
function isWholly(one: Instruction): boolean {
  return isStanding(one) && (one.refused !== undefined || standingPart(one) === one.text.trim())
}

const noneBesides = "None besides the user's own words"

/** Closing words up to this length are told whole in all but the smallest documents. */
const wholeClosing = 1_000

/** Who interrupted the work. */
const stoppers: Readonly<Record<string, string>> = { user: ' by the user', baton: ' by Baton, to hand over', '': '' }

/** Said of a failure that was neither put right nor tried again while the work went on to other things. */
const longAgoText = 'not run again since'

/** Messages of the user after which a failure that nobody came back to is not what the work is about. */
const longAgo = 10

/** Of a question that was answered, its beginning tells what it was about. */
const questionLimit = 70

/** Of what the user said instead of answering, its beginning tells whether it is an answer. */
const insteadLimit = 80

/** Of a command that the user refused, its beginning tells which one it was. */
const refusedLimit = 60

/** An error message is cut to this length; its beginning says what went wrong. */
const messageLimit = 160

/** Replies shorter than this, such as "Done!", tell nothing about the work. */
const leastReply = 40

/** No detail of a document comes near this, so what is longer need not be carried along. */
const longest = 20_000

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

function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1) ?? ''
}

function tally({ passed, skipped }: { passed?: number; skipped?: number }): string {
  if (passed === undefined) return ''
  return skipped === undefined || skipped === 0 ? ` (${passed})` : ` (${passed}, ${skipped} skipped)`
}
