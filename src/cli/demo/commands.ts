// The commands `baton demo` and `baton scripted-agent`.

import { type Command, Option } from 'commander'
import { wholeNumber, lazily } from '../base/commands.ts'

export function addDemo(program: Command): void {
  lazily(program, () => import('./demo.ts'))(
    'demo',
    'watch a full context being handed over with nothing lost, in a minute, without a key or a network',
    'demo',
  )
    .addOption(new Option('--driver <driver>', 'where the agent runs').choices(['tmux', 'headless']))
    .option('--here', 'use the workspace of this folder instead of a new one')
    .option('--fast', 'do not make the agent pause to think')
    .addOption(new Option('--owned', 'end, and remove everything, when standard input ends').hideHelp())
  lazily(program, () => import('./demo.ts'))(
    'scripted-agent',
    'a small coding agent whose model is a script: for the demo and for tests',
    'scriptedAgent',
    { hidden: true },
  )
    .argument('[prompt]')
    .option('--home <dir>', 'where it keeps its sessions')
    .option('--window <tokens>', 'the size of its context', wholeNumber)
    .option('--growth <tokens>', 'what each reply adds to it', wholeNumber)
    .option('--pace <ms>', 'how long it thinks before each reply', wholeNumber)
    .option('--per-turn <modules>', 'how much it does in a turn', wholeNumber)
    .option('--session <id>', 'continue this session')
    .option('--session-id <id>', 'what a new session is to be called')
    .option('--print', 'one turn without a screen')
}
