// The commands `baton relay …`, `baton escalations …` and `baton notify …` with their options. What they do is in the files
// beside this one.

import { type Command, Option } from 'commander'
import { wholeNumber, lazily, whenBare } from '../base/commands.ts'

export function addRelay(program: Command): void {
  const relay = program
    .command('relay')
    .description('requests between agents: who asks whom for what, within limits, until it is answered')
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
    .option('--item <name>', 'what is worked on: limits count for each item')
    .option('--trace <uuid>', 'the run of the pipeline that this belongs to (else a new one)')
    .addOption(new Option('--priority <priority>', 'how urgent it is').choices(['critical', 'high', 'medium', 'low']))
    .option('--timeout <ms>', 'after which it has failed; people have as long as they need', wholeNumber)
    .option('--request-id <id>', 'an id of your own')
  add('cancel <request>', 'end a request whose answer nobody wants any more; its worker is notified', 'cancel')
    .option('--reason <text>', 'why')
    .option('--by <name>', 'who cancels (else you)')
  add('progress <request>', 'for a worker: report to the asker how far it is', 'progress')
    .option('--text <text>', 'in words')
    .option('--percent <n>', 'from 0 to 100', wholeNumber)
    .option('--by <name>', 'who works on it (else you)')
  add('reply <request>', 'answer what the worker of a request asks back', 'reply')
    .requiredOption('--answer <json>', 'JSON, or text')
    .option('--by <name>', 'who replies (else you)')
}

function addTraces(relay: Command): void {
  const add = lazily(relay, () => import('./traces.ts'))
  add('owner <trace>', 'which agent a trace belongs to now', 'owner')
  add('return <trace>', 'give a trace back to the agent that handed it over', 'giveBack')
    .requiredOption('--from <agent>', 'who has it now')
    .requiredOption('--reason <text>', 'why')
  add('history [trace]', 'what happened, the newest first', 'history')
    .option('--limit <n>', 'at most this many', wholeNumber, 50)
    .option('--since <date>', 'only newer ones')
  add('archive', 'move closed traces out of the way; they can still be looked up, and open ones stay', 'archive')
    .option('--older-than <days>', 'those in which nothing has happened for this many days', wholeNumber)
    .option('--keep <n>', 'all but the newest N', wholeNumber)
  add('dead', 'requests that killed the workers that took them', 'dead')
    .option('--retry <request>', 'put it back into its inbox')
    .option('--drop <request>', 'take it off the list')
    .option('--by <name>', 'who does it (else you)')
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
    .option('--summary <text>', 'what the other has to know')
    .option('--priority <priority>', 'critical, high, medium or low (else medium)')
    .option('--missing <key:type[:text]>', 'an input that is missing, such as budget:number:"for Q3"', collect)
    .option('--output <key=json>', 'something made so far that the other may need', collect)
    .option('--trace <uuid>', 'the run of the pipeline that this belongs to (else a new one)')
    .option('--document <type>', 'the item of the pipeline: limits count per item')
    .option('--step <n>', 'the step of the pipeline', wholeNumber)
    .option('--attempt <n>', 'which attempt this is', wholeNumber)
    .option('--timeout <ms>', 'after which it has failed; people have as long as they need', wholeNumber)
    .option('--request-id <id>', 'an id of your own: asking again with it is asking once')
    .addOption(
      new Option('--mode <mode>', 'who has the trace when it is answered').choices([
        'return_to_caller',
        'pass_control',
      ]),
    )
    .option('--wait', 'wait for the answer and print it')
}

function addWork(relay: Command): void {
  const add = lazily(relay, () => import('./work.ts'))
  add('inbox <agent>', 'what waits for an agent, in the order in which it should be taken', 'inbox').option(
    '--watch',
    'keep printing what comes in',
  )
  add('claim <agent>', 'take the next request of an agent; nobody else gets it while the lease lasts', 'claim')
    .option('--lease <ms>', 'how long it is held (else as in baton.config.json)', wholeNumber)
    .option('--worker <name>', 'who takes it (else you)')
    .option('--request <id>', 'this one and no other')
    .option('--wait', 'wait for one, if there is none')
  add('heartbeat <request>', 'keep a claimed request: the lease starts again', 'heartbeat').requiredOption(
    '--token <token>',
    'of the claim',
  )
  add('answer <request>', 'answer a request', 'answer')
    .addOption(new Option('--status <status>', 'how it went').choices(['resolved', 'partial', 'failed', 'escalated']))
    .option('--input <key=json>', 'an input that was missing', collect)
    .option('--file <file>', 'the answer as JSON; other options override it (- reads stdin)')
    .option('--unresolved <key>', 'an input that stays missing', collect)
    .option('--failure <text>', 'why it failed')
    .option('--recommend <text>', 'what the asker should do next', collect)
    .option('--tokens <n>', 'what it took', wholeNumber)
    .option('--token <token>', 'of the claim: refused, if it is somebody else’s by now')
    .option('--by <name>', 'who answers')
  add('release <request>', 'put a claimed request back into the inbox', 'release').option(
    '--token <token>',
    'of the claim: refused, if it is somebody else’s by now',
  )
}

function addDuties(relay: Command): void {
  lazily(relay, () => import('./watch.ts'))(
    'watch',
    'look after the relay until ended, and print what happens: timeouts, people to notify, alerts',
    'watch',
  ).option('--every <seconds>', 'how often to look after it', wholeNumber, 5)
  lazily(relay, () => import('./serve.ts'))(
    'serve <agent> <command...>',
    'be an agent: run a command for each request, until ended',
    'serve',
  )
    .option('--concurrency <n>', 'how many requests at the same time', wholeNumber, 1)
    .option(
      '--lease <ms>',
      'how long a request is held should this process die (else as in baton.config.json)',
      wholeNumber,
    )
    .option('--worker <name>', 'who serves (else you)')
    .addHelpText('after', serveHelp)
}

const serveHelp = `
The command is given the request as JSON on its standard input, in its envelope, and BATON_REQUEST_ID and BATON_TRACE_ID in
its environment. It prints its answer as JSON, such as {"status": "resolved", "providedInputs": {"budget": 1000}}. When it ends
with another code than 0, the request has failed. While it runs, nobody else gets the request.`

function addViews(relay: Command): void {
  const add = lazily(relay, () => import('./views.ts'))
  add('status [request]', 'what is open, or where one request is', 'status').option(
    '--wait',
    'of one request: wait for its answer',
  )
  add('check', 'check the relay section of baton.config.json as a whole', 'check')
  add(
    'alerts',
    'when the relay itself needs attention; the configured channels are notified once, when it begins',
    'alerts',
  )
  add('routes', 'who may hand over to whom', 'routes').addOption(
    new Option('--format <format>', 'how to draw it').choices(['table', 'mermaid']).default('table'),
  )
  add('schema [name]', 'the JSON Schema of request, response, decision or envelope', 'schema')
}

function addEscalations(program: Command): void {
  const escalations = program.command('escalations').description('what waits for a person')
  whenBare(escalations, async (globals) => (await import('./escalations.ts')).ls(globals))
  const add = lazily(escalations, () => import('./escalations.ts'))
  add('ls', 'what people are asked, the most urgent and oldest first', 'ls').option(
    '--answered',
    'what was answered instead, the newest first',
  )
  add('show <id>', 'one of them: its context, what is missing, and how to answer', 'show')
  add('answer <id>', 'answer it; the agent that asked continues with it', 'answer')
    .option('--input <key=json>', 'an input that is missing; text needs no quotes of its own', collect)
    .addOption(new Option('--status <status>', 'how you leave it').choices(['resolved', 'partial', 'failed']))
    .option('--reason <text>', 'why it failed, or a remark')
    .option('--by <name>', 'who answers (else your user name)')
}

export function addNotify(program: Command): void {
  const notify = program.command('notify').description('how Baton notifies people who are needed')
  const add = lazily(notify, () => import('./escalations.ts'))
  add('test', 'send a test notification to every channel of baton.config.json, and say what happened', 'test')
}

function collect(text: string, earlier: string[] = []): string[] {
  return [...earlier, text]
}
