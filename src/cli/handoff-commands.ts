// The options of `baton handoff` and `baton continue`.

import { type Command, Option } from 'commander'
import { wholeNumber } from './arguments.ts'

const agents = ['claude', 'codex', 'pi', 'gemini', 'opencode']
const load = () => import('./handoff.ts')
const profile = () => new Option('--profile <profile>', 'which sections').choices(['session', 'cycle'])
const format = () => new Option('--format <format>', 'md, or json').choices(['md', 'json'])

export function addHandoff(program: Command): void {
  const handoff = program
    .command('handoff')
    .description('write the document that whoever takes over starts from')
    .argument('[session]', 'of that session of an agent, or of that tape')
    .option('--tape <tape>', 'of that tape (else the one that changed last)')
    .option('--from <anchor>', 'from that anchor on (else the last one)')
    .option('--goal <text>', 'what the next session is for; steers what is kept')
    .option('--budget <tokens>', 'how long it may be (2,000 tokens)', wholeNumber)
    .addOption(new Option('--writer <writer>', 'who writes the narrative').choices(['ledger', 'model']))
    .option('--model <model>', 'provider/name (else BATON_MODEL); implies --writer model')
    .option('--base-url <url>', 'a server that speaks OpenAI: Ollama, vLLM, LM Studio')
    .addOption(profile())
    .addOption(format())
    .option('--out <file>', 'write it to a file')
    .option('--edit', 'change it in your editor before it is used')
    .option('--new [tape]', 'go on in a new session that starts with it')
    .action(async (session: string | undefined, _options, command: Command) =>
      (await load()).handoff(command.optsWithGlobals(), session),
    )
  handoff
    .command('ls')
    .description('the documents that were written')
    .option('--tape <tape>', 'of that tape only')
    .action(async (_options, command: Command) => (await load()).ls(command.optsWithGlobals()))
  handoff
    .command('show <document>')
    .description('print one: a file, main#12, or main for its newest')
    .addOption(format())
    .action(async (document: string, _options, command: Command) =>
      (await load()).show(command.optsWithGlobals(), document),
    )
  handoff
    .command('diff <before> <after>')
    .description('what changed between two')
    .action(async (before: string, after: string, _options, command: Command) =>
      (await load()).diff(command.optsWithGlobals(), before, after),
    )
  handoff
    .command('check <file>')
    .description('whether a document is complete, and with --tape whether the tape bears it out')
    .option('--tape <tape>', 'check its facts against that tape')
    .addOption(profile())
    .action(async (file: string, _options, command: Command) => (await load()).check(command.optsWithGlobals(), file))
  program
    .command('continue')
    .description("go on with a session's work in another agent")
    .argument('[session]', 'its id, the beginning of it, or the path of a transcript (else the newest of this folder)')
    .addOption(new Option('--in <agent>', 'the agent to go on in').choices(agents).makeOptionMandatory())
    .addOption(new Option('--agent <agent>', 'only sessions of this agent').choices(agents))
    .option('--goal <text>', 'what it is to do; steers what is kept')
    .option('--edit', 'change the document in your editor first')
    .option('--print', 'print the command instead of running it')
    .action(async (session: string | undefined, _options, command: Command) =>
      (await import('./continue.ts')).continueIn(session, command.optsWithGlobals()),
    )
}
