// From a ledger to a document, without a model. Every section is filled, in the order in which it matters; nothing is left
// out here, that is the budget's. A narrative adds what a model says, as claims; on facts the ledger has the last word.

import { questionIn } from '../ledger/speech.ts'
import { clip } from '../ledger/vocabulary.ts'
import type { Failure, FileFact, Instruction, Ledger, Quote } from '../ledger/facts.ts'
import { isDenied } from './claims.ts'
import type { HandoffDocument, Header, Item, Profile, SectionKey } from './document.ts'
import { inheritedText, withInherited } from './inherited.ts'
import { contains } from './likeness.ts'
import { mergeNarrative } from './merge.ts'
import { brief, code, commandText, isBlank, nextSteps, unresolved } from './next-step.ts'
import { codeSpan } from '../safety/fence.ts'
import { namesFile } from './names-file.ts'
import { normalDocument, oneLine } from './normal.ts'
import { binds, bindsAll, excerpt, typedPart, wholeQuote } from './quotes.ts'
import { ruleOf } from './sections.ts'
import { longAgoText } from './long-ago.ts'
import { shorten, shortenStart } from './shorten.ts'
import { isIdle, type Thread, threadOf } from './thread.ts'

export interface ComposeOptions extends Omit<Header, 'range'> {
  /** `session` unless said otherwise. */
  readonly profile?: Profile
  /** A document that a model wrote, read with `parseClaims`. */
  readonly narrative?: HandoffDocument
}

type Sections = Partial<Record<SectionKey, Item[]>>

export function compose(ledger: Ledger, options: ComposeOptions = {}): HandoffDocument {
  const { profile = 'session', narrative, ...header } = options
  const facts = new Facts(ledger, header.tape, header.goal)
  const sections = withInherited(
    profile === 'cycle' ? cycleSections(facts) : sessionSections(facts),
    ledger,
    binds,
    header.tape,
  )
  const document: HandoffDocument = {
    profile,
    header: { ...header, ...(ledger.range !== undefined && { range: ledger.range }) },
    sections: (Object.keys(sections) as SectionKey[]).map((key) => ({ key, items: sections[key]! })),
  }
  return withNone(normalDocument(narrative === undefined ? document : mergeNarrative(document, narrative, ledger)))
}

function sessionSections(facts: Facts): Sections {
  return {
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

/** An empty section says so. */
function withNone(document: HandoffDocument): HandoffDocument {
  const sections = document.sections.map((section) => {
    if (section.items.length > 0 || !ruleOf(document.profile, section.key).mayBeNone) return section
    return { ...section, items: [{ text: 'None', status: 'verified' as const, refs: [] }] }
  })
  return { ...document, sections }
}

/** The facts of a ledger as items. */
class Facts {
  private readonly ledger: Ledger
  private readonly tape: string | undefined
  private readonly goal: string | undefined
  private readonly thread: Thread

  constructor(ledger: Ledger, tape: string | undefined, goal: string | undefined) {
    this.ledger = ledger
    this.thread = threadOf(ledger)
    this.tape = tape
    this.goal = goal
  }

  requests(): Item[] {
    const { goal, inherited } = this.ledger
    const { quotes, answered } = this.thread
    const items = [...(goal === undefined ? [] : [goal]), ...quotes.filter(({ id }) => id !== goal?.id)]
      .filter((quote) => !isBlank(quote))
      .map((quote) => this.quote(quote))
    if (items.length > 0 && answered !== undefined) items.push(this.answered(answered))
    if (items.length > 0) return items
    if (this.goal !== undefined) return [this.item(`The next session is for: ${this.goal}`)]
    if (inherited !== undefined) return [this.item(`Go on from ${inherited.name}`, [inherited.id])]
    return [this.item('The tape holds no request by the user')]
  }

  /** What the user's last words answer: without it they say nothing. */
  private answered({ text, id }: Quote): Item {
    const asked = questionIn(text) ?? lastLine(text)
    return {
      ...this.item(`That answers the assistant: ${code(asked)}`, [id]),
      status: 'claimed',
      ...(brief(text) !== brief(asked) && { data: text }),
    }
  }

  /** Rules for all that follows first; what only put something right at the time, the newest first. */
  constraints(): Item[] {
    const { goal } = this.ledger
    const binding = this.ledger.instructions.filter((one) => one.kind !== 'instruct' && one.supersededBy === undefined)
    const shown = [...(goal === undefined ? [] : [goal]), ...this.thread.quotes]
    const quoted = new Set(shown.flatMap((one) => (one.text.length <= wholeQuote ? [one.id] : [])))
    const isRule = (one: Instruction) => one.kind === 'constraint' || bindsAll(one.text)
    const rules = binding.filter(isRule)
    const items = [
      ...rules.filter((one) => !namesFile(one.text)),
      ...rules.filter((one) => namesFile(one.text)).reverse(),
      ...binding.filter((one) => !isRule(one)).reverse(),
    ]
      .filter((one) => !quoted.has(one.id))
      .map((one) => this.quote({ id: one.id, text: excerpt(one) }))
    if (items.length > 0 || binding.length === 0) return items
    return [
      this.item(
        "As in the user's words above",
        binding.map((one) => one.id),
      ),
    ]
  }

  otherRequests(): Item[] {
    const { instructions, goal } = this.ledger
    const shown = new Set([goal?.id, ...this.thread.quotes.map(({ id }) => id)])
    const others = instructions.filter((one) => one.kind === 'instruct' && one.supersededBy === undefined)
    return others
      .filter((one) => !shown.has(one.id) && !isIdle(one.text))
      .map((one) => this.quote(one))
      .reverse()
  }

  done(): Item[] {
    const { tests, subagents, deeds } = this.ledger
    return [
      ...deeds.map(({ text, id }) => this.item(deedText(text), [id])).reverse(),
      ...this.todos('completed'),
      ...tests
        .filter((test) => test.ok)
        .map((test) => this.item(`${code(test.command)} passes${tally(test)}`, [test.id])),
      ...subagents
        .filter((agent) => agent.status === 'done')
        .map((agent) => this.item(`Subagent finished: ${brief(agent.task)}`, [agent.resultId ?? agent.id])),
      ...this.ledger.failures
        .filter((failure) => failure.resolvedBy !== undefined && failure.kind !== 'error')
        .map((failure) =>
          this.item(`Fixed ${code(commandText(failure.what, this.ledger))}: ${code(failure.message)}`, [
            failure.resolvedBy!,
          ]),
        )
        .reverse(),
      ...this.replies(),
    ]
  }

  /** What the assistant said at the end of each turn: the story of the session, in its own words. */
  private replies(): Item[] {
    const { replies } = this.ledger
    return replies
      .filter(({ text }, at) => !replies.slice(at + 1).some((later) => later.text === text))
      .filter(({ text }) => text.length >= leastReply && !/[:：]\s*$/.test(text))
      .filter(({ text, id }) => id !== this.thread.answered?.id && !isDenied(text, this.ledger))
      .map(({ text, id }): Item => ({ ...this.item(`Said: ${code(text)}`, [id]), status: 'claimed' }))
      .reverse()
  }

  doing(): Item[] {
    const { inFlight, background, subagents } = this.ledger
    return [
      ...this.todos('in_progress'),
      ...inFlight.map(({ tool, what, interrupted, id }) =>
        this.item(`${interrupted ? 'Interrupted' : 'No result yet'}: ${tool} ${code(what === '' ? tool : what)}`, [id]),
      ),
      ...background.map(({ command, handle, startedId }) =>
        this.item(`In the background: ${code(command)}${handle === undefined ? '' : ` (${brief(handle)})`}`, [
          startedId,
        ]),
      ),
      ...subagents
        .filter((agent) => agent.status === 'running')
        .map((agent) => this.item(`Subagent at work: ${brief(agent.task)}`, [agent.id])),
    ]
  }

  todos(status: Ledger['todos'][number]['status']): Item[] {
    return this.ledger.todos.filter((todo) => todo.status === status).map((todo) => this.item(todo.text, [todo.id]))
  }

  /** What a person confirmed comes first; what the assistant only said is its claim. */
  decisions(): Item[] {
    const told = this.thread.answered === undefined ? undefined : this.thread.quotes.at(-1)?.id
    const others = this.ledger.decisions.filter(({ id }) => id !== told)
    const items = others.reverse().map(({ text, why, ruledOut, by, source, id }) => ({
      ...this.item(text, [id]),
      status: source === 'said' && by === 'assistant' ? ('claimed' as const) : ('verified' as const),
      ...(why !== undefined && { why }),
      ...(ruledOut !== undefined && { ruledOut }),
    }))
    return [...items.filter((item) => item.status === 'verified'), ...items.filter((item) => item.status === 'claimed')]
  }

  state(): Item[] {
    const { git, inherited, unknownTools, subagents } = this.ledger
    const items: Item[] = []
    if (git !== undefined) {
      const where = git.branch === undefined ? git.cwd : `${git.cwd} on branch ${git.branch}`
      const commit = git.commit === undefined ? '' : ` at ${git.commit.slice(0, 10)}`
      const dirty = git.dirty === undefined ? '' : `, ${git.dirty.length} uncommitted`
      items.push(this.item(where + commit + dirty, git.id === undefined ? [] : [git.id]))
    }
    if (inherited !== undefined) {
      const said = inheritedText(this.ledger)
      items.push({
        ...this.item(`Handed over before: ${brief(inherited.name)}`, [inherited.id]),
        ...(said !== undefined && { data: shorten(said, longest) }),
      })
    }
    for (const { task, id, resultId, status } of subagents) {
      if (status === 'failed') items.push(this.item(`Subagent failed: ${brief(task)}`, [resultId ?? id]))
    }
    for (const { name, times, lastId } of unknownTools) {
      items.push(this.item(`Tool that Baton cannot read: ${brief(name)}, ${times}×`, [lastId]))
    }
    return items
  }

  lastWords(): Item[] {
    const { lastWords } = this.ledger
    if (lastWords === undefined) return []
    const denied = isDenied(lastWords.text, this.ledger) ? ' (the open failures deny it)' : ''
    return [
      {
        ...this.item(`The assistant said last${denied}: ${code(lastWords.text)}`, [lastWords.id]),
        status: 'claimed',
        ...(code(lastWords.text) !== codeSpan(lastWords.text.trim()) && { data: shorten(lastWords.text, longest) }),
      },
    ]
  }

  commands(): Item[] {
    const worked = this.ledger.commands.filter((command) => command.ok === true && command.looks !== true)
    return worked
      .sort((a, b) => b.times - a.times || b.lastId - a.lastId)
      .map(({ command, times, lastId }) => this.item(`Ran ${code(command)}${times > 1 ? ` ${times}×` : ''}`, [lastId]))
  }

  next(): Item[] {
    return nextSteps(this.ledger, this.goal).map(({ text, ids }) => this.item(text, ids))
  }

  questions(): Item[] {
    return this.ledger.questions.map(({ text, options = [], id }) => {
      const choice = options.length === 0 ? '' : ` (${options.join(' / ')})`
      return this.item(`The user has not answered: ${code(text + choice)}`, [id])
    })
  }

  failures(): Item[] {
    const seen = new Set<string>()
    return unresolved(this.ledger)
      .reverse()
      .map((failure) => {
        const again = seen.has(failure.message)
        seen.add(failure.message)
        return this.failure(failure, again)
      })
  }

  /** The call that failed and what it said in a line; how it ended, below. */
  private failure({ what, message, tail, exit, times, lastId }: Failure, again: boolean): Item {
    const command = code(commandText(what, this.ledger))
    const since = this.ledger.instructions.filter(({ id }) => id > lastId).length
    const status = [
      ...(exit === undefined || exit === 0 ? [] : [`exit ${exit}`]),
      ...(times > 1 ? [`${times}×`] : []),
      ...(since >= longAgo ? [longAgoText] : []),
    ].join(', ')
    if (again) return this.item(`${command}${status === '' ? '' : ` ${status}`}: the same`, [lastId])
    const end = tail === undefined || brief(tail) === brief(message) ? {} : { data: shortenStart(tail, longest) }
    return {
      ...this.item(
        `${command}${status === '' ? '' : ` ${status}`}: ${codeSpan(clip(oneLine(message), messageLimit))}`,
        [lastId],
      ),
      ...end,
    }
  }

  files(): Item[] {
    const known = this.ledger.files.filter((file) => file.state === 'changed' || file.state === 'read')
    return known.sort(byActionAndPath).map((file) => ({
      ...this.item(
        file.folder ? `${file.path.replace(/\/$/, '')}/` : file.path,
        file.lastId === undefined ? [] : [file.lastId],
      ),
      file: {
        action: file.state === 'read' ? ('read' as const) : file.action,
        ...(file.from !== undefined && { from: file.from }),
        ...(file.state === 'changed' && file.added !== undefined && { added: file.added }),
        ...(file.state === 'changed' && file.removed !== undefined && { removed: file.removed }),
        ...(file.source === 'git' && { git: true as const }),
        ...(file.uncertain && { uncertain: true as const }),
      },
    }))
  }

  private quote({ text, id }: Quote): Item {
    return { ...this.item(typedPart(text), [id]), by: 'user' }
  }

  private item(text: string, ids: readonly number[] = []): Item {
    const { tape } = this
    return {
      text: shorten(text, longest),
      status: 'verified',
      refs: tape === undefined ? [] : ids.map((id) => `${tape}#${id}`),
    }
  }
}

/** Messages of the user after which a failure that nobody came back to is not what the work is about. */
const longAgo = 10

/** What went wrong stands at the beginning of a message. */
const messageLimit = 160

/** Shorter ones say "Done!"; those that end in a colon tell what was going to be done. */
const leastReply = 40

/** No detail of a document comes near this, so what is longer need not be carried along. */
const longest = 20_000

const order = ['edited', 'created', 'renamed', 'deleted', 'read']

function byActionAndPath(a: FileFact, b: FileFact): number {
  const action = (file: FileFact) => (file.state === 'read' ? order.length : order.indexOf(file.action))
  if (action(a) !== action(b)) return action(a) - action(b)
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0
}

/** Commit messages and arguments are words of the agent. */
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
