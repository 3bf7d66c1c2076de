// The options of `baton handoff` and `baton continue`.

import { type Command, Option } from 'commander'
import { agentNames } from '../../agents/index.ts'
import { wholeNumber, lazily } from '../base/commands.ts'

const profile = () => new Option('--profile <profile>', 'which sections').choices(['session', 'cycle'])
const format = () => new Option('--format <format>', 'md, or json').choices(['md', 'json'])

export function addHandoff(program: Command): void {
  const load = () => import('./handoff.ts')
  const handoff = lazily(program, load)(
    'handoff',
    'write the document that the next agent or person starts from',
    'handoff',
  )
    .argument('[session]', "an agent's session or transcript, or a tape (else what this folder worked on last)")
    .option('--tape <tape>', 'of that tape')
    .addOption(new Option('--agent <agent>', 'only sessions of this agent').choices(agentNames))
    .option('--from <anchor>', 'from that anchor on (else the last one)')
    .option('--goal <text>', 'what the next session is for; steers what is kept')
    .option('--budget <tokens>', 'how long it may be (2,000 tokens)', wholeNumber)
    .addOption(new Option('--writer <writer>', 'who writes the narrative').choices(['ledger', 'model']))
    .option('--model <model>', 'provider/name (else BATON_MODEL); implies --writer model')
    .option('--base-url <url>', 'a server that speaks OpenAI: Ollama, vLLM, LM Studio')
    .addOption(profile())
    .addOption(format())
    .option('--out <file>', 'write it to a file')
    .option('--next', 'open the next session of a connected agent in this project with it')
    .option('--edit', 'change it in your editor before it is used')
    .option('--new [tape]', 'continue in a new session that starts with it')
  const add = lazily(handoff, load)
  add('ls', 'the documents that were written', 'ls').option('--tape <tape>', 'of that tape only')
  add('show <document>', 'print one: a file, main#12, or main for its newest', 'show').addOption(format())
  add('next', 'the document that waits for the next session in this project', 'next').option(
    '--drop',
    'no longer open a session with it; it stays on its tape',
  )
  add('diff <before> <after>', 'what changed between two', 'diff')
  add('check <file>', 'whether a document is complete, and with --tape whether the tape confirms it', 'check')
    .option('--tape <tape>', 'check its facts against that tape')
    .addOption(profile())
  lazily(program, () => import('./continue.ts'))('continue', "continue a session's work in another agent", 'continueIn')
    .argument('[session]', 'its id, the beginning of it, or the path of a transcript (else the newest of this folder)')
    .addOption(new Option('--in <agent>', 'the agent to continue in (else you are asked)').choices(agentNames))
    .addOption(new Option('--agent <agent>', 'only sessions of this agent').choices(agentNames))
    .option('--goal <text>', 'what it should do; steers what is kept')
    .option('--edit', 'change the document in your editor first')
    .option('--print', 'print the command instead of running it')
  lazily(program, () => import('./eval.ts'))(
    'eval',
    'measure how much of your own sessions a document keeps, and what it gets wrong',
    'evaluate',
  )
    .argument('[session...]', 'ids or transcripts (else the newest 20)')
    .addOption(new Option('--agent <agent>', 'only sessions of this agent').choices(agentNames))
    .option('--here', 'only those of this folder and below')
    .option('--budget <tokens>', 'how long a document may be (2,000 tokens)', wholeNumber)
}
