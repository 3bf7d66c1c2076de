// The command `baton chat` and its options. The chat itself is loaded only when it runs.

import type { Command } from 'commander'
import { InvalidError } from '../../errors.ts'
import type { ChatOptions } from './create-agent.ts'

export function addChat(program: Command): void {
  program
    .command('chat')
    .description(
      'work with an agent whose memory is a tape: it survives crashes, and hands off before its context is full',
    )
    .option('-p, --print [text]', 'answer this (and what is piped in) on stdout, then exit; with --json, print events')
    .option('--model <model>', 'provider/name (default: BATON_MODEL)')
    .option('--base-url <url>', 'the URL of an OpenAI-compatible server: Ollama, vLLM, LM Studio')
    .option('--tape <tape>', 'the session on this tape (default: the last one in this folder)')
    .option('--as <agent>', 'the agent to act as, on tapes that belong to an agent')
    .option('--new', 'start a new session')
    .option('--yes', 'allow what Baton would ask about; what is denied stays denied')
    .addHelpText(
      'after',
      `
Without --new or --tape, it continues where the last chat in this folder ended; with -p, in a session of its own. Tools that
would ask are denied with -p unless you add --yes. In the chat, /help lists commands and keys, ,help lists what can be done
to the tape, and Escape cancels.`,
    )
    .action(async (_options, command: Command) => {
      const options = command.optsWithGlobals<ChatOptions>()
      if (options.new === true && options.tape !== undefined) {
        throw new InvalidError('--new and --tape exclude each other')
      }
      const { demandTrustedProject } = await import('../base/chosen-workspace.ts')
      demandTrustedProject('No chat was opened', options)
      if (options.print !== undefined) return (await import('./print.ts')).print(options)
      if (options.json === true) throw new InvalidError('--json goes with -p', { hint: 'baton chat -p "…" --json' })
      await (await import('./chat.ts')).chat(options)
    })
}
