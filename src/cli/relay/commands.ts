// The commands `baton relay …`, `baton escalations …` and `baton notify …` with their options. What they do is in the files
// beside this one.

import { type Command, Option } from 'commander'
import { wholeNumber, lazily, whenBare } from '../base/commands.ts'

export function addRelay(program: Command): void {
  const relay = program
    .command('relay')
    .description('send and answer requests between agents, within routes and limits')
  whenBare(relay, async (globals) => (await import('./views.ts')).status(globals))
  addAsk(relay)
  addRequest(relay)
  addWork(relay)
  addDuties(relay)
  addViews(relay)
  addTraces(relay)
  addEscalations(program)
}

function addAsk(relay: Command): void {
  const add = lazily(relay, () => import('./request.ts'))
  add('ask <from> <to> <summary>', 'ask another agent, or human, and print the answer; Ctrl-C cancels', 'ask')
    .option('--missing <key[:type[:text]]>', 'what is needed, such as budget:number', collect)
    .option('--item <name>', 'what is being worked on; limits count per item')
    .option('--trace <uuid>', 'the pipeline run that this belongs to (default: a new one)')
    .addOption(new Option('--priority <priority>', 'how urgent it is').choices(['critical', 'high', 'medium', 'low']))
    .option('--timeout <ms>', 'when to give up; people have as long as they need', wholeNumber)
    .option('--request-id <id>', 'use an id of your own')
  add('cancel <request>', 'cancel a request whose answer is no longer wanted; its worker is notified', 'cancel')
    .option('--reason <text>', 'why')
    .option('--by <name>', 'who cancels (default: you)')
  add('progress <request>', 'as a worker, report progress to whoever asked', 'progress')
    .option('--text <text>', 'in words')
    .option('--percent <n>', 'from 0 to 100', wholeNumber)
    .option('--by <name>', 'who works on it (default: you)')
  add('reply <request>', 'answer a question that the worker of a request asked', 'reply')
    .requiredOption('--answer <json>', 'JSON, or text')
    .option('--by <name>', 'who replies (default: you)')
}

function addTraces(relay: Command): void {
  const add = lazily(relay, () => import('./traces.ts'))
  add('owner <trace>', 'show which agent a trace belongs to now', 'owner')
  add('return <trace>', 'give a trace back to the agent that handed it over', 'giveBack')
    .requiredOption('--from <agent>', 'who has it now')
    .requiredOption('--reason <text>', 'why')
  add('history [trace]', 'show what happened, newest first', 'history')
    .option('--limit <n>', 'at most this many', wholeNumber, 50)
    .option('--since <date>', 'only what is newer')
  add('archive', 'archive closed traces; they can still be looked up, and open ones stay', 'archive')
    .option('--older-than <days>', 'only traces in which nothing has happened for this many days', wholeNumber)
    .option('--keep <n>', 'keep the newest N', wholeNumber)
  add('dead', 'list requests that killed the workers that took them', 'dead')
    .option('--retry <request>', 'put one back into its inbox')
    .option('--drop <request>', 'take one off the list')
    .option('--by <name>', 'who does it (default: you)')
}

function addRequest(relay: Command): void {
  lazily(relay, () => import('./request.ts'))(
    'request',
    'ask another agent, or a person; prints the request id',
    'request',
  )
    .option('--file <file>', 'the request as JSON; other options override it (- reads stdin)')
    .option('--from <agent>', 'who asks')
    .option('--to <agent>', 'who is asked: an agent of baton.config.json, or human')
    .option(
      '--reason <reason>',
      'missing_required_input, validation_failure, expertise_mismatch, resource_exhausted or requires_human_decision',
    )
    .option('--detail <text>', 'the reason in words')
    .option('--summary <text>', 'what the other agent has to know')
    .option('--priority <priority>', 'critical, high, medium or low (default: medium)')
    .option('--missing <key:type[:text]>', 'an input that is missing, such as budget:number:"for Q3"', collect)
    .option('--output <key=json>', 'something made so far that the other agent may need', collect)
    .option('--trace <uuid>', 'the pipeline run that this belongs to (default: a new one)')
    .option('--document <type>', 'the item of the pipeline; limits count per item')
    .option('--step <n>', 'the step of the pipeline', wholeNumber)
    .option('--attempt <n>', 'which attempt this is', wholeNumber)
    .option('--timeout <ms>', 'when to give up; people have as long as they need', wholeNumber)
    .option('--request-id <id>', 'use an id of your own; asking again with it asks once')
    .addOption(
      new Option('--mode <mode>', 'who holds the trace after the answer').choices(['return_to_caller', 'pass_control']),
    )
    .option('--wait', 'wait for the answer and print it')
}

function addWork(relay: Command): void {
  const add = lazily(relay, () => import('./work.ts'))
  add('inbox <agent>', 'list what waits for an agent, in the order in which to take it', 'inbox').option(
    '--watch',
    'keep printing new requests',
  )
  add('claim <agent>', 'take the next request for an agent; nobody else gets it while the lease lasts', 'claim')
    .option('--lease <ms>', 'how long to hold it (default: as in baton.config.json)', wholeNumber)
    .option('--worker <name>', 'who takes it (default: you)')
    .option('--request <id>', 'take this request and no other')
    .option('--wait', 'wait for one if there is none')
  add('heartbeat <request>', 'renew the lease of a claimed request', 'heartbeat').requiredOption(
    '--token <token>',
    'the token of the claim',
  )
  add('answer <request>', 'answer a request', 'answer')
    .addOption(new Option('--status <status>', 'how it ended').choices(['resolved', 'partial', 'failed', 'escalated']))
    .option('--input <key=json>', 'an input that was missing', collect)
    .option('--file <file>', 'the answer as JSON; other options override it (- reads stdin)')
    .option('--unresolved <key>', 'an input that is still missing', collect)
    .option('--failure <text>', 'why it failed')
    .option('--recommend <text>', 'what the asker should do next', collect)
    .option('--tokens <n>', 'how many tokens it took', wholeNumber)
    .option('--token <token>', 'the token of the claim; refused if somebody else holds it by now')
    .option('--by <name>', 'who answers')
  add('release <request>', 'put a claimed request back into the inbox', 'release').option(
    '--token <token>',
    'the token of the claim; refused if somebody else holds it by now',
  )
}

function addDuties(relay: Command): void {
  lazily(relay, () => import('./watch.ts'))(
    'watch',
    'maintain the relay until stopped, and print what happens: timeouts, notifications, alerts',
    'watch',
  ).option('--every <seconds>', 'how often to check', wholeNumber, 5)
  lazily(relay, () => import('./serve.ts'))(
    'serve <agent> <command...>',
    'serve requests as an agent: run a command for each one, until stopped',
    'serve',
  )
    .option('--concurrency <n>', 'how many requests to work on at the same time', wholeNumber, 1)
    .option(
      '--lease <ms>',
      'how long a request stays claimed if this process dies (default: as in baton.config.json)',
      wholeNumber,
    )
    .option('--worker <name>', 'who serves (default: you)')
    .addHelpText('after', serveHelp)
}

const serveHelp = `
The command is given the request as JSON on its standard input, in its envelope, and BATON_REQUEST_ID and BATON_TRACE_ID in
its environment. It prints its answer as JSON, such as {"status": "resolved", "providedInputs": {"budget": 1000}}. When it ends
with another code than 0, the request has failed. While it runs, nobody else gets the request.`

function addViews(relay: Command): void {
  const add = lazily(relay, () => import('./views.ts'))
  add('status [request]', 'show what is open, or the state of one request', 'status').option(
    '--wait',
    'for one request: wait for its answer',
  )
  add('check', 'check the relay section of baton.config.json as a whole', 'check')
  add(
    'alerts',
    'list what is wrong with the relay itself; the configured channels are notified once, when a problem begins',
    'alerts',
  )
  add('routes', 'show who may hand over to whom', 'routes').addOption(
    new Option('--format <format>', 'the format to draw it in').choices(['table', 'mermaid']).default('table'),
  )
  add('schema [name]', 'print the JSON Schema of request, response, answer, decision or envelope', 'schema')
}

function addEscalations(program: Command): void {
  const escalations = program.command('escalations').description('show and answer the questions that wait for a person')
  whenBare(escalations, async (globals) => (await import('./escalations.ts')).ls(globals))
  const add = lazily(escalations, () => import('./escalations.ts'))
  add('ls', 'list the questions, most urgent and oldest first', 'ls').option(
    '--answered',
    'list answered questions instead, newest first',
  )
  add('show <id>', 'show a question: its context, what is missing, and how to answer', 'show')
  add('answer <id>', 'answer a question; the agent that asked continues with the answer', 'answer')
    .option('--input <key=json>', 'a missing input; text needs no JSON quotes', collect)
    .addOption(new Option('--status <status>', 'how it ends').choices(['resolved', 'partial', 'failed']))
    .option('--reason <text>', 'why it failed, or a remark')
    .option('--by <name>', 'who answers (default: your user name)')
}

export function addNotify(program: Command): void {
  const notify = program.command('notify').description('test how Baton notifies you')
  whenBare(notify)
  const add = lazily(notify, () => import('./escalations.ts'))
  add('test', 'send a test notification to every channel in baton.config.json and report the result', 'test')
}

function collect(text: string, earlier: string[] = []): string[] {
  return [...earlier, text]
}
