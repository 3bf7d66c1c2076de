// An agent from a configuration alone: everything that is told about it becomes a capability, the rest it lacks.

import { InvalidError } from '../../errors.ts'
import type { Adapter, Command, LaunchOptions, Look, Screen } from '../adapter.ts'
import { failureOf } from './known.ts'
import { aboutOf } from './picture.ts'
import type { AgentSettings } from './settings.ts'

/** `base`: what is known of the agent anyway. */
export function customAdapter(name: string, settings: AgentSettings, base: Partial<Adapter> = {}): Adapter {
  const { command: [program, ...first] = [], transcript, env = {}, compactsAt, label = name } = settings
  if (transcript === undefined || (program === undefined && base.launch === undefined)) {
    const missing = transcript === undefined ? 'transcript' : 'command'
    throw new InvalidError(`supervisor.agents.${name}: "${missing}" is missing`, {
      path: `supervisor.agents.${name}.${missing}`,
      hint:
        missing === 'transcript'
          ? 'Say whose form its transcripts have: claude, codex, pi, gemini or opencode.'
          : 'Say which program it is, as a list: ["my-agent", "--flag"].',
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
      outcome: base.outcome ?? ((output) => ({ session: undefined, error: failureOf(output, true) })),
    }),
    ...(clear !== undefined && { clear }),
    ...(clearShows !== undefined && { clearShows }),
    ...(interrupt !== undefined && { interrupt }),
    ...(settle !== undefined && { settle }),
    ...(settings.busy !== undefined && { showsWork: true }),
    ...(looks && { look: (screen: Screen) => look(screen, settings) }),
  }
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

function look({ lines, solid }: Screen, { ready, busy, dialog }: AgentSettings): Look {
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
