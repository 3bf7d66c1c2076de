// The options of `baton handoff` and `baton continue`.

import { type Command, Option } from 'commander'
import { agentNames } from '../../agents/index.ts'
import { InvalidError } from '../../errors.ts'
import { wholeNumber, lazily } from '../base/commands.ts'

const profile = () => new Option('--profile <profile>', 'which sections it has').choices(['session', 'cycle'])
const format = () => new Option('--format <format>', 'Markdown or JSON').choices(['md', 'json'])

export function addHandoff(program: Command): void {
  const load = () => import('./handoff.ts')
  const handoff = lazily(program, load)(
    'handoff',
    'write the document that the next agent or person starts from',
    'handoff',
  )
    .hook('preAction', refuseIgnoredOptions)
    .argument(
      '[session]',
      "an agent's session or transcript, or a tape (default: what was last worked on in this folder)",
    )
    .option('--tape <tape>', 'write about this tape')
    .addOption(new Option('--agent <agent>', 'only sessions of this agent').choices(agentNames))
    .option('--from <anchor>', 'begin at this anchor (default: the last one)')
    .option('--goal <text>', 'what the next session is for; decides what is kept')
    .option('--budget <tokens>', 'how long it may be (default: 2,000 tokens)', wholeNumber)
    .addOption(new Option('--writer <writer>', 'who writes the narrative').choices(['ledger', 'model']))
    .option('--model <model>', 'provider/name (default: BATON_MODEL); implies --writer model')
    .option('--base-url <url>', 'the URL of an OpenAI-compatible server: Ollama, vLLM, LM Studio')
    .addOption(profile())
    .addOption(format())
    .option('--out <file>', 'write it to a file')
    .option('--next', 'start the next session of a connected agent in this project with it')
    .option('--edit', 'edit it before it is used')
    .option('--new [tape]', 'continue in a new session that starts with it')
  const add = lazily(handoff, load)
  add('ls', 'list the documents that were written', 'ls').option('--tape <tape>', 'only documents about this tape')
  add('show <document>', 'print a document: a file, main#12, or main for its newest', 'show').addOption(format())
  add('next', 'show the document that waits for the next session in this project', 'next').option(
    '--drop',
    'do not start a session with it; it stays on its tape',
  )
  add('diff <before> <after>', 'show what changed between two documents', 'diff')
  add('check <file>', 'check that a document is complete, and with --tape that the tape confirms it', 'check')
    .option('--tape <tape>', 'check its facts against this tape')
    .addOption(profile())
  lazily(program, () => import('./continue.ts'))('continue', "continue a session's work in another agent", 'continueIn')
    .argument(
      '[session]',
      'its id or the beginning of the id, or the path of a transcript (default: the newest of this folder)',
    )
    .addOption(new Option('--in <agent>', 'the agent to continue in (default: Baton asks)').choices(agentNames))
    .addOption(new Option('--agent <agent>', 'only sessions of this agent').choices(agentNames))
    .option('--goal <text>', 'what it should do; decides what is kept')
    .option('--edit', 'edit the document first')
    .option('--print', 'print the command instead of running it')
  lazily(program, () => import('./eval.ts'))(
    'eval',
    'measure how much of your own sessions a document keeps and what it gets wrong',
    'evaluate',
  )
    .argument('[session...]', 'ids or transcripts (default: the newest 20)')
    .addOption(new Option('--agent <agent>', 'only sessions of this agent').choices(agentNames))
    .option('--here', 'only sessions in this folder and below')
    .option('--budget <tokens>', 'how long a document may be (default: 2,000 tokens)', wholeNumber)
}

/** The parser gives a command the options of those above it, too: what `baton handoff ls` would ignore is refused. */
function refuseIgnoredOptions(above: Command, running: Command): void {
  const own = new Set(running.options.map((option) => option.attributeName()))
  const ignored = above.options.find((option) => {
    const name = option.attributeName()
    return above.getOptionValueSource(name) === 'cli' && !own.has(name)
  })
  if (ignored === undefined || running === above) return
  throw new InvalidError(`Unknown option '${ignored.long}'`, {
    hint: `See "baton ${above.name()} ${running.name()} --help".`,
  })
}
