// The tool that follows a reference: whatever a handoff document, a note in the context or a search result prints can be read with it, on
// this tape, on another of the workspace, in the archives, or in a blob.

import * as z from 'zod'
import { InvalidError } from '../../errors.ts'
import { ledger, lookUpText, redactValue } from '../../handoff/index.ts'
import { entriesAt, outputText, resolve, type Resolved, type Tape, wholeCharacter } from '../../tape/index.ts'
import { blobRead } from './tape.ts'
import { defineTool } from './tool.ts'

const factKinds = ['files', 'commands', 'failures', 'todos', 'instructions', 'decisions'] as const

/** What one call gives at most, in characters. */
const pageChars = 24_000

interface Asked {
  readonly ref: string
  readonly facts?: (typeof factKinds)[number] | undefined
  /** A section of the document that the range makes. */
  readonly section?: string
  /** The document of which only what it left out is wanted. */
  readonly leftOut?: string
  readonly profile?: 'session' | 'cycle'
  readonly offset?: number
  readonly length?: number
}

export const tapeRead = defineTool('tape.read', {
  description:
    'Read what a reference points at: an entry (main#12), a range (main#12..40), an anchor (main@phase-1), tape://…, stored content (blob:SHA256), or a whole ' +
    'command that a document prints (baton show main#1..81 --todos). #12 alone is an entry of this tape; in a handoff document it is one of the tape that its header names.',
  input: z.object({
    ref: z.string().min(1).describe('The reference, or the command as it is printed'),
    facts: z.enum(factKinds).optional().describe('Only the facts of this kind in a range, taken from it by code'),
    offset: z.int().min(0).optional().describe('Where to read on in one long entry or in stored content'),
  }),
  async run({ ref, facts, offset }, context) {
    const { tape } = context
    const asked = {
      ...parse(ref),
      ...(facts === undefined ? {} : { facts }),
      ...(offset === undefined ? {} : { offset }),
    }
    if (asked.ref.startsWith('blob:')) {
      const { offset: at = 0, length = 8_000 } = asked
      const sha256 = asked.ref.slice('blob:'.length)
      return blobRead.run(blobRead.input.parse({ sha256, offset: at, length: Math.min(length, pageChars) }), context)
    }
    const resolved = await resolve(
      tape.store,
      /^#?\d+(\.\.\d*)?$/.test(asked.ref) ? onTape(tape, asked.ref) : asked.ref,
    )
    if (asked.section !== undefined || asked.leftOut !== undefined) {
      const text = await lookUpText(tape.store, resolved, { ...asked, title: asked.section })
      return { output: page(text ?? '', asked.offset ?? 0) }
    }
    if (asked.facts !== undefined) {
      const { value } = await redactValue(await ledger(entriesAt(tape.store, resolved)))
      return { output: page(value[asked.facts].map((fact) => JSON.stringify(fact)).join('\n'), asked.offset ?? 0) }
    }
    return { output: await entries(tape, resolved, asked.offset ?? 0) }
  },
})

function onTape(tape: Tape, ref: string): string {
  return `${tape.name}#${ref.replace(/^#/, '')}`
}

/** Takes `baton show 'main#1..8' --todos` apart, as a shell would; anything else is a reference as it stands. */
function parse(text: string): Asked {
  const command = /^(?:\$\s*)?baton show\s+(.+)$/s.exec(text.trim())?.[1]
  if (command === undefined) return { ref: text.trim() }
  const words = [...command.matchAll(/((?:'[^']*'|\\.|[^\s'\\])+)/gs)].map(([word]) =>
    word.replaceAll(
      /'([^']*)'|\\(.)/gs,
      (_, quoted: string | undefined, escaped: string | undefined) => quoted ?? escaped!,
    ),
  )
  const [ref, ...flags] = words
  if (ref === undefined) throw new InvalidError(`"${text}" names nothing to read`, { path: 'ref' })
  const number = (flag: string) => {
    const at = flags.indexOf(flag)
    return at < 0 ? {} : { [flag.slice(2)]: Number(flags[at + 1]) || 0 }
  }
  const facts = factKinds.find((kind) => flags.includes(`--${kind}`))
  const word = (flag: string) => (flags.includes(flag) ? flags[flags.indexOf(flag) + 1] : undefined)
  const section = word('--section')
  const leftOut = word('--left-out')
  return {
    ref,
    facts,
    ...(section !== undefined && { section }),
    ...(leftOut !== undefined && { leftOut }),
    ...(flags.includes('cycle') && { profile: 'cycle' }),
    ...number('--offset'),
    ...number('--length'),
  }
}

/** As many whole entries as fit, and how to read on; one that does not fit comes in pages. */
async function entries(tape: Tape, resolved: Resolved, offset: number): Promise<string> {
  const shown: string[] = []
  let room = pageChars
  for await (const { id, kind, date, payload, meta } of entriesAt(tape.store, resolved)) {
    const about = Object.keys(meta).length === 0 ? '' : `\nmeta ${JSON.stringify(meta)}`
    const text = `${resolved.tape}#${id} ${kind} ${date}\n${outputText(payload)}${about}`
    if (shown.length === 0 && (text.length > room || resolved.place.type !== 'range')) {
      const goesOn = resolved.place.type === 'range' && text.length <= offset + pageChars
      return page(text, offset) + (goesOn ? `\n[The range continues: ${rangeFrom(resolved, id + 1)}]` : '')
    }
    if (text.length > room) return `${shown.join('\n\n')}\n[The range continues: ${rangeFrom(resolved, id)}]`
    room -= text.length
    shown.push(text)
  }
  return shown.join('\n\n') || 'There are no entries in this range.'
}

function rangeFrom({ tape, place }: Resolved, from: number): string {
  const to = place.type === 'range' && place.to !== undefined ? place.to : ''
  return `tape.read ref=${tape}#${from}..${to}`
}

function page(text: string, offset: number): string {
  if (text === '') return 'There are none.'
  const start = wholeCharacter(text, Math.min(offset, text.length))
  const end = wholeCharacter(text, start + pageChars)
  const rest = end < text.length ? `\n[${text.length - end} characters more: offset=${end}]` : ''
  return text.slice(start, end) + rest
}
