// The comma commands: what a person does to the tape by hand. They need no model, and none of them reaches one.

import * as z from 'zod'
import { checked } from '../../config/index.ts'
import { BatonError, InvalidError, NotFoundError } from '../../errors.ts'
import type { Entry } from '../../store/index.ts'
import { type ForkOptions, nearest, type Tape } from '../../tape/index.ts'
import { wholeCharacter } from '../../tape/index.ts'
import type { Arguments } from './router.ts'

interface CommandOutput {
  readonly text: string
  readonly data: unknown
}

interface Command {
  readonly usage: string
  readonly about: string
  /** It changes what the model sees, so it waits for the end of a turn. */
  readonly cuts?: true
  run(tape: Tape, args: Arguments): Promise<CommandOutput>
}

const commands: Readonly<Record<string, Command>> = {
  handoff: {
    usage: ',handoff name=phase-1 summary="Setup done" next_steps="…" state={goal: "…"}',
    about: 'start a new phase: the model sees this state and what comes after it',
    cuts: true,
    run: handoff,
  },
  anchors: { usage: ',anchors limit=20', about: 'list the phases of this tape', run: anchors },
  'tape.info': { usage: ',tape.info', about: 'how long the tape is and how full the context', run: info },
  'tape.search': {
    usage: ',tape.search TEXT kinds=message from=2026-03-01 to=2026-03-31 limit=20 archived=true',
    about: 'find text on the tape, newest first',
    run: search,
  },
  fork: {
    usage: ',fork name=CHILD from=ANCHOR next_steps="…" context_summary="…" trigger_on_complete=WORD',
    about: 'copy the phase that the tape is in, or all from an anchor on, for other work',
    run: fork,
  },
  'tape.complete': {
    usage: ',tape.complete',
    about: 'report to the parent tape that this fork is done, once, if the fork asked for it',
    run: complete,
  },
  'tape.reset': {
    usage: ',tape.reset archive=true',
    about: 'close the tape into the archive and start afresh',
    cuts: true,
    run: reset,
  },
  help: { usage: ',help COMMAND', about: 'this list', run: async (_tape, args) => help(args) },
}

/** Finds a command by its name, with or without `tape.` in front. */
export function findCommand(name: string): Command {
  const wanted = name.toLowerCase()
  const candidates = [wanted, `tape.${wanted}`, wanted.replace(/^tape\./, '')]
  const found = candidates.find((each) => Object.hasOwn(commands, each))
  if (found !== undefined) return commands[found]!
  const close = nearest(name, Object.keys(commands)).map((each) => `,${each}`)
  const hint = close.length > 0 ? `Did you mean ${close.join(', ')}? ` : ''
  throw new NotFoundError(`There is no command ,${name}`, {
    nearest: close,
    hint: `${hint},help lists all. To send this to the model, put a space in front.`,
  })
}

/** The text that is shown for a command that failed. */
export function failureText(error: unknown): string {
  if (!BatonError.is(error)) return error instanceof Error ? error.message : String(error)
  return error.hint === undefined ? error.message : `${error.message}\n${error.hint}`
}

async function handoff(tape: Tape, { named, words }: Arguments): Promise<CommandOutput> {
  const { name = words[0], state, ...rest } = named
  if (typeof name !== 'string' || name === '') {
    throw new InvalidError('A handoff needs a name', { hint: commands.handoff!.usage })
  }
  noWords('handoff', named.name === undefined ? words.slice(1) : words)
  const isObject = typeof state === 'object' && state !== null && !Array.isArray(state)
  if (state !== undefined && !isObject && Object.keys(rest).length > 0) {
    throw new InvalidError('state must be an object when other fields are given', { path: 'state' })
  }
  const whole = isObject ? { ...state, ...rest } : state === undefined ? rest : state
  const [anchor] = await tape.handoff(name, { state: whole })
  return { text: `Handed off: ${name} (${tape.name}#${anchor.id})`, data: { id: anchor.id, name, state: whole } }
}

const whole = z.coerce.number().int().positive()

async function anchors(tape: Tape, { named, words }: Arguments): Promise<CommandOutput> {
  noWords('anchors', words)
  const { limit = 20 } = checked(z.strictObject({ limit: whole.optional() }), named, ',anchors')
  const found = await tape.anchors({ limit })
  const lines = found.map(({ id, name, state }) => `#${id} ${name} ${brief(JSON.stringify(state))}`.trimEnd())
  return { text: lines.join('\n') || 'There are no anchors yet', data: found }
}

async function info(tape: Tape, { named, words }: Arguments): Promise<CommandOutput> {
  noWords('tape.info', [...words, ...Object.keys(named)])
  const found = await tape.info()
  const text = [
    `tape      ${found.tape}`,
    `entries   ${found.entries} (${found.bytes} bytes)`,
    `anchors   ${found.anchors}, the last one ${found.lastAnchor ?? 'missing'}`,
    `since it  ${found.entriesSinceAnchor} entries, about ${found.contextTokens} tokens`,
  ]
  return { text: text.join('\n'), data: found }
}

async function search(tape: Tape, { named, words }: Arguments): Promise<CommandOutput> {
  const shape = z.strictObject({
    kinds: z.union([z.string(), z.array(z.string())]).optional(),
    from: z.string().optional(),
    to: z.string().optional(),
    limit: whole.optional(),
    archived: z.enum(['true', 'false']).optional(),
  })
  const { kinds, from, to, limit, archived } = checked(shape, named, ',tape.search')
  const found = await tape.search(words.join(' '), {
    ...(kinds === undefined ? {} : { kinds: typeof kinds === 'string' ? kinds.split(',') : kinds }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(limit === undefined ? {} : { limit }),
    archived: archived === 'true',
  })
  return { text: found.map(entryLine).join('\n') || 'Nothing found', data: found }
}

async function fork(tape: Tape, { named, words }: Arguments): Promise<CommandOutput> {
  const shape = z.strictObject({
    name: z.string().optional(),
    from: z.string().optional(),
    next_steps: z.string().optional(),
    context_summary: z.string().optional(),
    trigger_on_complete: z.string().optional(),
  })
  const { name = words[0], from, ...intention } = checked(shape, named, ',fork')
  noWords('fork', named.name === undefined ? words.slice(1) : words)
  const child = name ?? (await freeFork(tape))
  const options: ForkOptions = { intention: { ...intention }, ...(from === undefined ? { phase: true } : { from }) }
  await tape.fork(child, options)
  return { text: `Forked ${tape.name} into ${child}`, data: { parent: tape.name, child, intention } }
}

/** A free name for a fork that was not given one. */
export async function freeFork(tape: Tape): Promise<string> {
  const base = tape.name.replace(/(?:-fork-\d+)+$/, '')
  for (let n = 1; ; n++) {
    const name = `${base}-fork-${n}`
    if ((await tape.store.info(name)) === undefined) return name
  }
}

async function complete(tape: Tape, { named, words }: Arguments): Promise<CommandOutput> {
  noWords('tape.complete', [...words, ...Object.keys(named)])
  const told = await tape.complete()
  const text = told ? `The parent of ${tape.name} was notified` : 'Nobody waits for this, or they were notified already'
  return { text, data: { told } }
}

async function reset(tape: Tape, { named, words }: Arguments): Promise<CommandOutput> {
  noWords('tape.reset', words)
  const { archive } = checked(z.strictObject({ archive: z.enum(['true', 'false']).optional() }), named, ',tape.reset')
  if (archive === 'false') {
    throw new InvalidError('A reset always archives', { hint: '`baton tape purge` deletes archives for good.' })
  }
  const ref = await tape.reset()
  return { text: `Archived entries ${ref.firstId} to ${ref.lastId}; ${tape.name} starts afresh`, data: ref }
}

export function help({ words }: Arguments): CommandOutput {
  const [name] = words
  const shown = name === undefined ? Object.values(commands) : [findCommand(name.replace(/^,/, ''))]
  return {
    text: shown.map(({ usage, about }) => `${usage}\n    ${about}`).join('\n'),
    data: shown.map(({ usage, about }) => ({ usage, about })),
  }
}

function noWords(name: string, words: readonly string[]): void {
  if (words.length === 0) return
  throw new InvalidError(`,${name} does not know what "${words[0]}" is`, { hint: commands[name]!.usage })
}

function entryLine(entry: Entry): string {
  return `#${entry.id} ${entry.kind} ${brief(JSON.stringify(entry.payload))}`
}

function brief(text: string): string {
  const flat = text.replaceAll(/\s+/g, ' ')
  return flat.length > 160 ? `${flat.slice(0, wholeCharacter(flat, 159))}…` : flat
}
