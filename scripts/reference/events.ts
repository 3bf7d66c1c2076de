// The page of events. A meaning is missing from these lists as soon as the code has an event that they do not name: the compiler says
// so where the code has a type for it, and test/docs/reference.test.ts for the names of events on tapes.

import type { AgentEvent } from '../../src/agent/index.ts'
import type { RelayEvent } from '../../src/relay/journal/events.ts'
import type { SupervisorEvent } from '../../src/supervisor/index.ts'
import type { Name as SessionRecord } from '../../src/supervisor/session/records/journal.ts'

type Meanings<Name extends string> = Readonly<Record<Name, string>>

/** Events that any tape may hold, or the tape that is named. */
const tapeEvents: Readonly<Record<string, string>> = {
  anchor: 'an anchor of a fork, kept as an event when the fork was merged',
  auto_handoff: 'the agent handed over because its context was full',
  'baton/interrupt': 'Baton, not the person, interrupted the agent',
  child_completed: 'a fork was merged into this tape or discarded',
  clear: 'the person cleared the context of the agent, or its next session replaced this one',
  damaged: 'a part of the transcript could not be read',
  delivered: 'queued messages have reached the model',
  handoff: 'an anchor was set by a handoff; its name and state',
  handoff_document: 'a handoff document was stored; where, and for which entries',
  import: 'how far the transcript has been copied',
  merge: 'a fork was merged; its name, and up to which of its entries',
  'opencode/compaction': 'opencode compacted its context',
  owner: 'who owns the tape',
  'pi/session': 'how pi describes its session',
  queued: 'a message arrived while a turn was running',
  session: 'where the session runs: folder, branch, version of the agent',
  session_handoff: 'a handoff to a new tape has begun, or is complete',
  set: 'a named value of the tape, such as its todo list',
  speaking: 'what the model had said when a turn was cut off',
  'transcript/replaced': 'the transcript was rewritten by its agent, so it is read from its beginning again',
  turn: 'a turn has begun or ended',
  turn_ended: 'a turn of the session ended, and how',
  usage: 'tokens and cost of a call to the model',
}

const workspaceEvents: Readonly<Record<string, string>> = {
  alert: 'on `relay/alerts` and `supervisor/alerts`: an alert was raised or has ended',
  answer: 'on `server/answers`: the answer to a request with an Idempotency-Key',
  audit: 'on `server/audit`: a call that needed operate or admin, who made it and how it ended',
  closed: 'on the register of chats: a chat has left its tape',
  context_handoff: 'on the inbox of an agent: a tape was given to it',
  'handoff.closed': 'on `relay/handoffs`: a trace is over and may be archived',
  given:
    'on `lineage`: a command was printed that starts an agent with this document; `lineage` follows when somebody has run it',
  lineage: 'on `lineage`: one tape came from another, and how',
  notice: 'on `relay/notices`: a person was notified',
  notify_failed: 'on `relay/notices`: a notification could not be sent',
  opened: 'on the register of chats: a chat has opened a tape',
  received: 'on the inbox of an agent: how far it has been read',
  version: 'on `task/NAME`: a version of the task',
  workspace: 'on `lineage`: the id of the workspace',
}

const sessionRecords = {
  run: 'what is run, where and within which bounds; again when it is reopened',
  launching: 'the agent is about to be started',
  whereabouts: 'where the agent runs, and the id of its own session',
  cycle: 'the step of the current cycle',
  cycled: 'a cycle is over: outcome, document, how full the context was, how long each step took',
  promised: 'a document was asked for and has not arrived in time; it may still come',
  late: 'such a document has arrived',
  overruled: 'another supervisor has taken over the session',
  snapshot: 'uncommitted work was saved under `refs/baton/` before the context was cleared',
  restarts: 'when the agent was restarted after crashes',
  bounds: 'bounds that replace those of the start',
  spending: 'what the session has cost so far',
  row: 'the state of the session, as `baton ls` shows it',
  ended: 'the session is over, and why',
} satisfies Meanings<SessionRecord>

const sessionWrites = {
  control: 'a person wants a pause, a cycle or a stop',
  health: 'a check that was not ok, or that is ok again',
  lease: 'which process supervises the session',
}

const relayEvents = {
  requested: 'an agent asks another agent, or a person',
  taken: 'a worker takes one or more requests that nobody holds',
  claimed: 'a worker takes over a request whose worker has gone silent',
  extended: 'a heartbeat: the lease starts again',
  released: 'a worker gives a request back',
  escalated: 'an agent hands a request on to a person',
  answered: 'the answer; also when the request was refused, cancelled or ran out of time',
  late: 'an answer that came after the request was over',
  progress: 'how far a worker is',
  question: 'a worker asks the requester something',
  reply: 'the answer to that question, or why there is none',
  resuming: 'the requester is working with the answer',
  resumed: 'the requester is done with the answer',
  recovered: 'an open request was dealt with after its process died',
  retried: 'a dead letter is open again',
  dropped: 'a dead letter is no longer listed',
  owner: 'control of a trace was passed on without a request',
} satisfies Meanings<RelayEvent['type']>

const supervisorEvents = {
  row: 'the state of a session has changed: `row` is its line in `baton ls`',
  step: 'a step of a cycle begins: `name`, `cycle`, `step`, `details`',
  health: 'a check: `check` with `status` (ok, warning, critical), `details` and `action_taken`',
  ended: 'the session is over: `ended.why` is finished, bound, stopped, exited, crashed or released',
} satisfies Meanings<SupervisorEvent['type']>

const agentEvents = {
  recovered: 'the last process died in a turn; where the work stands',
  'turn-start': 'a turn begins: `runId`',
  text: 'more of the answer: `delta`',
  reasoning: 'more of the reasoning: `delta`',
  'tool-start': 'a tool is called: `id`, `name`, `input`',
  'tool-output': 'output of a tool that is still running: `id`, `chunk`',
  'tool-end': 'a tool has answered: `id`, `name`, `output`, `isError`',
  permission: 'a person or the policy decided about a call: `answer`, and `reason` where the policy denied it',
  usage:
    'tokens of one call to the model, and how full the context is: `input`, `output`, `cached`, `contextTokens`, `percent`',
  retry: 'a call to the model failed and is repeated; what it had said is void: `attempt`, `of`, `seconds`, `reason`',
  handoff: 'a handoff: `phase` is start, progress, done or failed; `trigger` is automatic, command or overflow',
  warning: 'something that is worth knowing: `message`',
  queued: 'a message arrived during a turn and reaches the model before its next call: `message`',
  'turn-end': 'a turn is over: `status` is done, aborted or failed',
} satisfies Meanings<AgentEvent['type']>

const liveEvents = {
  entry: 'a new entry: `{tape, entry}`; its id holds the position on every tape that is followed',
  activity: 'which tapes have changed: `{complete, tapes}`; the first one lists all',
  waiting: 'everything that waits for a person, complete each time',
  progress: 'of an operation called with `Accept: text/event-stream`: how far it is',
  result: 'of such an operation: its answer',
  problem: 'of such an operation: why it failed',
}

export function eventsPage(): string {
  return [
    '# Reference: events',
    '',
    'What Baton reports while it works, and what it records. An entry of the kind `event` has the payload `{name, data}` and is never part of a',
    'context. Names that are not listed here are your own, and are kept as they are.',
    '',
    ...section(
      'On the live stream',
      'Server-sent events of `GET /v1/live` and of operations; see [the server](../server.md).',
      liveEvents,
    ),
    ...section(
      'Of the supervisor',
      'Lines of `baton run --json` and `baton watch --json`, each with a `date` and its `type`.',
      supervisorEvents,
    ),
    ...section(
      'Of the agent',
      'What `agent.on` of `createAgent` receives, and the lines of `baton chat -p --json`, by `type`; see [the agent](../agent.md).',
      agentEvents,
    ),
    ...section('On the tapes of work', 'Names of events on tapes of your own and of imported sessions.', tapeEvents),
    ...section(
      'On the tape of a supervised session',
      'Names on `session/NAME`; `baton log NAME` shows them in words.',
      {
        ...sessionRecords,
        ...sessionWrites,
      },
    ),
    ...section(
      'On the tape of the relay',
      'Names on `relay/handoffs`, in the order of what happens to a request.',
      prefixed(relayEvents),
    ),
    ...section('On other tapes of Baton', 'Names on tapes that `baton tape ls` leaves out.', workspaceEvents),
  ].join('\n')
}

/** Every name that an entry of the kind `event` may have, as Baton writes it. */
export function entryNames(): ReadonlySet<string> {
  const lists = [tapeEvents, workspaceEvents, sessionRecords, sessionWrites, prefixed(relayEvents)]
  return new Set(lists.flatMap((list) => Object.keys(list)))
}

function prefixed(events: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(events).map(([name, meaning]) => [`handoff.${name}`, meaning]))
}

function section(title: string, about: string, events: Readonly<Record<string, string>>): string[] {
  return [
    `## ${title}`,
    '',
    about,
    '',
    ...Object.entries(events).map(([name, meaning]) => `- \`${name}\`: ${meaning}`),
    '',
  ]
}
