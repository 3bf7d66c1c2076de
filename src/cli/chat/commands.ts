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
    .option('-p, --print [text]', 'answer this (and what is piped in) on stdout, then exit; with --json, events')
    .option('--model <model>', 'provider/name (else BATON_MODEL)')
    .option('--base-url <url>', 'a server that speaks OpenAI: Ollama, vLLM, LM Studio')
    .option('--tape <tape>', 'the session on that tape (else the last one of this folder)')
    .option('--as <agent>', 'who this is, on tapes that belong to an agent')
    .option('--new', 'a new session')
    .option('--yes', 'allow what would be asked about; what is denied stays denied')
    .addHelpText(
      'after',
      `
In the chat: /help lists commands and keys, ,help what can be done to the tape, Escape cancels.

  baton chat                              continues where this folder's last chat ended
  baton chat --new --model ollama/qwen3
  git diff | baton chat -p "Review this"  in a session of its own, unless --tape names one
  baton chat -p "Fix the tests" --yes     tools that would ask are denied without --yes`,
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
