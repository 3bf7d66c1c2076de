// Agents set up to be driven on this machine, by `supervisor.agents` of baton.config.json: how a known agent is run here, or all
// that is needed to drive one that Baton does not know.

import * as z from 'zod'
import { InvalidError, NotFoundError, UnsupportedError } from '../errors.ts'
import type { Agent, LaunchOptions, ScreenState, Screen, Terminal, TurnOutcome, TurnOutput } from './agent.ts'
import type { AgentName } from './names.ts'
import { agentNamed, agents as known, isAgentName } from './registry.ts'
import { aboutOf } from './screen-parsing.ts'
import { turnFailure } from './turn-output.ts'

/** A program to run; never a string for a shell. */
export interface Command {
  readonly program: string
  readonly args: readonly string[]
  /** Added to the environment; undefined removes. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** What the point at which it compacts depends on; see `CompactionQuery`. */
interface CompactionPoint {
  readonly window?: number
  readonly model?: string | undefined
  readonly cwd?: string
}

/**
 * An agent set up to be driven on this machine: what is known of it, with the program and the environment that the
 * configuration gives it. What an agent cannot do it does not have: a capability is an optional method, and asking for a
 * missing one is a typed error (see `capability`).
 */
export interface Adapter extends Terminal {
  /** The name of a known agent, or of a custom one. */
  readonly name: string
  readonly label: string
  /** The agent whose form its transcripts have. */
  readonly transcript: AgentName
  /** Laid over the environment: for the agent, and for the reader of its transcripts. Undefined removes. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** In tokens, where it would compact by itself; undefined where it never does, or nobody knows. */
  compactsAt(query: CompactionPoint): number | undefined
  /** With a screen of its own. */
  launch?(options?: LaunchOptions): Command
  /** Reopens a session with a screen. */
  resume?(session: string, options?: LaunchOptions): Command
  /** One turn without a screen: continues `session`, or starts one (named `options.session`, if it takes a name). */
  turn?(prompt: string, session: string | undefined, options?: LaunchOptions): Command
  /** What such a turn printed. */
  outcome?(output: TurnOutput): TurnOutcome
  /** Documents longer than so many bytes are given to it word for word: its tools would not show all of them. */
  readonly inlineAbove?: number
}

/** A capability that the agent lacks. */
export function capability<K extends keyof Adapter>(adapter: Adapter, name: K): NonNullable<Adapter[K]> {
  const found = adapter[name]
  if (found !== undefined && found !== null) return found
  throw new UnsupportedError(`${adapter.label} cannot ${String(name)}`, {
    hint: 'Use another driver, or add what is missing to supervisor.agents in baton.config.json.',
  })
}

const pattern = z.string().refine(isPattern, 'must be a regular expression')

export const agentSettings = z.strictObject({
  command: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe('the program and the arguments that always come first'),
  env: z
    .record(z.string(), z.string())
    .optional()
    .describe('variables for the agent; some also say where its transcripts are, such as CLAUDE_CONFIG_DIR'),
  compactsAt: z
    .number()
    .positive()
    .optional()
    .describe('where it compacts by itself, in tokens; up to 1: a share of the window'),
  label: z.string().optional().describe('its name in messages to people'),
  transcript: z
    .string()
    .refine(isAgentName, { error: noAgent })
    .optional()
    .describe('the known agent whose transcript format it writes; needed for an agent of your own'),
  launch: z
    .array(z.string())
    .optional()
    .describe('arguments that start a session; {session} and {prompt} are replaced, here and in the next three'),
  resume: z.array(z.string()).optional().describe('arguments that continue a session'),
  turn: z.array(z.string()).optional().describe('arguments for one turn without a screen'),
  resumeTurn: z.array(z.string()).optional().describe('arguments for a further turn without a screen'),
  clear: z.string().min(1).optional().describe('what is typed to clear the context, such as /clear'),
  clearShows: z
    .boolean()
    .optional()
    .describe('clearing starts a new transcript at once, rather than with the next prompt'),
  interrupt: z
    .array(z.string().regex(/^(?!C-c$).+/, 'may not be C-c, which ends most agents'))
    .optional()
    .describe('keys, as tmux names them, that interrupt a turn'),
  settle: z.number().int().min(0).max(5_000).optional().describe('milliseconds between typing a prompt and Enter'),
  ready: pattern
    .optional()
    .describe('matches a line of its screen where it waits for a prompt; the first group is what is typed there'),
  busy: pattern.optional().describe('matches a line of its screen while it is working'),
  dialog: pattern.optional().describe('matches a line of its screen when it asks something'),
})

export type AgentSettings = z.output<typeof agentSettings>

function noAgent(): string {
  return `Invalid option: expected one of ${known.map(({ name }) => `"${name}"`).join('|')}`
}

function isPattern(source: string): boolean {
  try {
    return new RegExp(source, 'u') instanceof RegExp
  } catch {
    return false
  }
}

interface AdapterOptions {
  /** The environment that the agent will run with: it also says where the agent keeps its own settings. */
  readonly env?: NodeJS.ProcessEnv
  /** The agents of the configuration by name: `supervisor.agents` of baton.config.json. */
  readonly agents?: Readonly<Record<string, AgentSettings>>
}

/** An agent that can be supervised, by its name: one that Baton knows, or one that the configuration describes. */
export function adapterNamed(name: string, { env = process.env, agents = {} }: AdapterOptions = {}): Adapter {
  const settings = Object.hasOwn(agents, name) ? agents[name] : undefined
  if (isAgentName(name)) return adapterOf(agentNamed(name), settings, env)
  if (settings !== undefined) return customAdapter(name, settings)
  const names = [...known.map((agent) => agent.name), ...Object.keys(agents)]
  throw new NotFoundError(`There is no agent "${name}"`, {
    hint: `Agents are ${names.join(', ')}; describe another under supervisor.agents in baton.config.json.`,
  })
}

/** A known agent, with what the configuration says about it. */
function adapterOf(agent: Agent, settings: AgentSettings | undefined, outer: NodeJS.ProcessEnv): Adapter {
  const { name, program } = agent
  const [first, ...rest] = settings?.command ?? [program]
  const env = { ...agent.env, ...settings?.env }
  const command = (args: readonly string[]): Command => ({ program: first!, args: [...rest, ...args], env })
  const own = bound(agent, command, { ...outer, ...env })
  const custom =
    settings === undefined ? {} : customAdapter(name, { command: [program], ...settings, transcript: name }, own)
  return {
    compactsAt: () => undefined,
    ...own,
    ...custom,
    name,
    label: settings?.label ?? agent.label,
    transcript: name,
    env,
  }
}

/** What is known of an agent, as commands of the program that it is here. */
function bound(agent: Agent, command: (args: readonly string[]) => Command, env: NodeJS.ProcessEnv): Partial<Adapter> {
  const supervised = (options: LaunchOptions = {}): LaunchOptions => ({
    ...options,
    args: [...(agent.supervisedArgs ?? []), ...(options.args ?? [])],
  })
  return {
    compactsAt: ({ window, model, cwd }) => agent.compactsAt?.({ window, model, cwd, env }),
    takesWordsInTurn: agent.takesWordsInTurn,
    launch: (options) => command(agent.start(supervised(options))),
    resume: agent.resume && ((session, options) => command(agent.resume!(session, supervised(options)))),
    turn: agent.turn && ((prompt, session, options) => command(agent.turn!(prompt, session, options))),
    outcome: agent.outcome && ((output) => agent.outcome!(output)),
    readScreen: agent.readScreen && ((screen) => agent.readScreen!(screen)),
    clear: agent.clear,
    clearShows: agent.clearShows,
    clearRedraws: agent.clearRedraws,
    resumeShows: agent.resumeShows,
    interrupt: agent.interrupt,
    interruptForgets: agent.interruptForgets,
    settle: agent.settle,
    showsWork: agent.showsWork,
    endOnScreen: agent.endOnScreen,
    callsShowLate: agent.callsShowLate,
    inlineAbove: agent.inlineAbove,
  }
}

/** Everything that is configured becomes a capability; the agent lacks the rest. `base`: what is known of it anyway. */
function customAdapter(name: string, settings: AgentSettings, base: Partial<Adapter> = {}): Adapter {
  const { command: [program, ...first] = [], transcript, env = {}, compactsAt, label = name } = settings
  if (transcript === undefined || (program === undefined && base.launch === undefined)) {
    const missing = transcript === undefined ? 'transcript' : 'command'
    throw new InvalidError(`supervisor.agents.${name}: "${missing}" is missing`, {
      path: `supervisor.agents.${name}.${missing}`,
      hint:
        missing === 'transcript'
          ? `Name the agent whose transcript format it writes: ${alternatives(known.map((agent) => agent.name))}.`
          : 'Name the program, as a list: ["my-agent", "--flag"].',
    })
  }
  const run = (template: readonly string[], options: LaunchOptions = {}, prompt = options.prompt): Command => ({
    program: program!,
    args: [...first, ...filled(template, { session: options.session, prompt }), ...(options.args ?? [])],
    env,
  })
  const { launch, resume, turn, resumeTurn, clear, clearShows, interrupt, settle } = settings
  const looks = [settings.ready, settings.busy, settings.dialog].some((pattern) => pattern !== undefined)
  return {
    ...base,
    name,
    label,
    transcript,
    env,
    compactsAt: (meter) => {
      if (compactsAt === undefined) return base.compactsAt?.(meter)
      if (compactsAt > 1) return compactsAt
      return meter.window === undefined ? undefined : Math.floor(compactsAt * meter.window)
    },
    ...((launch !== undefined || base.launch === undefined) && {
      launch: (options?: LaunchOptions) => run(launch ?? ['{prompt}'], options),
    }),
    ...(resume !== undefined && {
      resume: (session: string, options?: LaunchOptions) => run(resume, { ...options, session }),
    }),
    ...(turn !== undefined && {
      turn: (prompt: string, session: string | undefined, options?: LaunchOptions) =>
        session === undefined ? run(turn, options, prompt) : run(resumeTurn ?? turn, { ...options, session }, prompt),
      outcome: base.outcome ?? ((output) => ({ session: undefined, error: turnFailure(output, true) })),
    }),
    ...(clear !== undefined && { clear }),
    clearShows: clearShows ?? base.clearShows ?? showsClear(transcript),
    ...(interrupt !== undefined && { interrupt }),
    ...(settle !== undefined && { settle }),
    ...(settings.busy !== undefined && { showsWork: true }),
    callsShowLate: agentNamed(transcript).callsShowLate,
    ...(looks && { readScreen: (screen: Screen) => readScreen(screen, settings) }),
  }
}

/** An agent with the transcripts of one whose clear shows at once is taken to be like it. */
function showsClear(transcript: AgentName): true | undefined {
  return agentNamed(transcript).clearShows === true ? true : undefined
}

/** An argument that stands for something which is not given is left out. */
function filled(
  template: readonly string[],
  values: { session?: string | undefined; prompt?: string | undefined },
): string[] {
  return template.flatMap((argument) => {
    if (argument === '{prompt}') return values.prompt === undefined ? [] : [values.prompt]
    if (argument.includes('{session}') && values.session === undefined) return []
    return [
      argument.replaceAll('{session}', () => values.session ?? '').replaceAll('{prompt}', () => values.prompt ?? ''),
    ]
  })
}

function readScreen({ lines, solid }: Screen, { ready, busy, dialog }: AgentSettings): ScreenState {
  const question = dialog === undefined ? undefined : lastMatch(lines, dialog)
  if (question !== undefined) return { is: 'dialog', question: question[0].trim(), about: aboutOf(question[0]) }
  const prompt = ready === undefined ? undefined : lastMatch(solid, ready)
  const draft = (prompt?.[1] ?? '').trim()
  if (busy !== undefined && lastMatch(lines, busy) !== undefined) return { is: 'busy', draft }
  if (ready !== undefined && prompt === undefined)
    return lines.some((line) => line.trim() !== '') ? { is: 'unknown' } : { is: 'starting' }
  return { is: 'prompt', draft }
}

function lastMatch(lines: readonly string[], pattern: string): RegExpExecArray | undefined {
  const expression = new RegExp(pattern, 'u')
  for (let i = lines.length - 1; i >= 0; i--) {
    // A blank at the end of a line is not drawn: `^> (.*)` is meant to find an empty place to type, too.
    const match = expression.exec(lines[i]!) ?? expression.exec(`${lines[i]!} `)
    if (match !== null) return match
  }
  return undefined
}

function alternatives(names: readonly string[]): string {
  return `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
}
