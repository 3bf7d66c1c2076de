// The commands `baton task …` with their options. What they do is in task.ts.

import { type Command, InvalidArgumentError, Option } from 'commander'
import { wholeNumber, lazily, whenBare } from '../base/commands.ts'
import type { DecisionOption } from './task.ts'

export function addTask(program: Command): void {
  const task = program.command('task').description('pass work from agent to agent: typed, versioned, gated')
  whenBare(task, async (globals) => (await import('./task.ts')).ls(globals))
  const add = lazily(task, () => import('./task.ts'))
  add('new <id>', 'create a task', 'create')
    .option('--title <text>', 'what it is about')
    .option('--spec <file>', 'its specification as JSON: inputs, outputs, dependencies, success_criteria')
  addHandoff(add('handoff <id>', 'hand a task to the next agent', 'handoff'))
  add('receive <id>', 'take over a task: prints its summary and which files have changed', 'receive')
  add('show <id>', 'print the summary that the next agent gets', 'show')
    .option('--full', 'print the whole state')
    .option('--version <n>', 'as it was at this version', wholeNumber)
  for (const [verb, what] of [
    ['approve', 'approve what waits for a person; only possible on a terminal'],
    ['reject', 'reject what waits for a person; the agent may ask again with another proposal'],
    ['withdraw', 'drop a question that no longer matters'],
  ] as const) {
    add(`${verb} <id>`, what, verb)
      .option('--by <name>', 'who decides (default: your user name)')
      .option('--note <text>', 'why')
      .option('--question <id>', 'which one, if several wait; may be repeated', collect)
  }
  add('history <id>', 'list the versions of a task', 'history')
  add('diff <id> [from] [to]', 'show what changed between two versions (default: the last two)', 'diff')
  add('gate <id>', 'run the gates without handing over', 'gate').option('--phase <phase>', 'as if moving to this phase')
  add('ls', 'list the tasks of the workspace', 'ls')
  add('ready', 'list the tasks that can be worked on: everything they depend on is completed', 'ready')
  add('schema [name]', 'print the JSON Schema of state, handoff, command or spec', 'schema')
}

function addHandoff(handoff: Command): void {
  const decisions: DecisionOption[] = []
  const toLast = (change: (last: DecisionOption) => void) => {
    const last = decisions.at(-1)
    if (last === undefined) throw new InvalidArgumentError('It belongs to a --decision, which comes first.')
    change(last)
    return decisions
  }
  handoff
    .option('--from <agent>', 'who hands over')
    .option('--to <agent>', 'who takes over')
    .option('--phase <phase>', 'planning, implementing, testing, reviewing or completed')
    .option('--artifact <path[:type]>', 'a file that was made: source, test, config or doc', collect, [])
    .option('--remove <path>', 'an artifact that is gone for good', collect, [])
    .option('--decision <text>', 'what was decided; give its --rationale next', (decision: string) => {
      decisions.push({ decision })
      return decisions
    })
    .addOption(new Option('--rationale <text>', 'why').argParser((text) => toLast((last) => (last.rationale = text))))
    .addOption(
      new Option('--alternative <text>', 'what was ruled out').argParser((text) =>
        toLast((last) => (last.alternatives = [...(last.alternatives ?? []), text])),
      ),
    )
    .option('--blocker <issue>', 'JSON, or TEXT[:SEVERITY] with blocker, high, medium or low', collect, [])
    .option('--met <criterion=evidence>', 'a success criterion of the specification that is met', collect, [])
    .option(
      '--waive <path=reason>',
      'hand over although this artifact has changed; the reason is recorded',
      collect,
      [],
    )
    .option('--tokens <input,output>', 'how many tokens the agent used for it, for telemetry', tokens)
    .option('--expect <version>', 'only if the task is at this version', wholeNumber)
    .option('--file <file>', 'an edited copy of the state file: hand over what it adds')
    .option('--force [reason]', 'continue although a gate fails; the reason is recorded')
    .option('--reason <text>', 'the reason for --force')
}

function tokens(text: string): { input: number; output: number } {
  const [, input, output] = /^(\d{1,15}),(\d{1,15})$/.exec(text) ?? []
  if (input === undefined || output === undefined)
    throw new InvalidArgumentError('It is two numbers, such as 1200,300.')
  return { input: Number(input), output: Number(output) }
}

function collect(text: string, earlier: string[] = []): string[] {
  return [...earlier, text]
}
