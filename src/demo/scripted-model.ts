// What a coding agent does next in the sample job, decided by nothing but the conversation it is given: what it was not
// told, or what a handoff lost, it does not know, and then the tests of the sample repository fail. It plays the model
// of the scripted agent, and of real agents in tests.

/** A piece of a conversation, as models are given it. */
export interface Spoken {
  readonly role: 'user' | 'assistant' | 'tool'
  readonly text: string
  readonly toolCalls: readonly { readonly arguments: unknown }[]
  readonly toolResults: readonly { readonly text: string }[]
}

export type Move =
  | { readonly do: 'write'; readonly path: string; readonly content: string; readonly say: string }
  | { readonly do: 'read'; readonly path: string; readonly say: string }
  | { readonly do: 'run'; readonly command: string; readonly say: string }
  /** Ends the turn. */
  | { readonly do: 'say'; readonly say: string }

export interface Habits {
  /** Modules that it finishes before it ends a turn. */
  readonly perTurn: number
}

interface Knowledge {
  readonly facts: ReadonlyMap<string, string>
  /** In the order in which they are to be made. */
  readonly modules: readonly { readonly file: string; readonly holds: string }[]
}

export function nextMove(conversation: readonly Spoken[], habits: Habits): Move {
  const asked = conversation.findLastIndex((each) => promptIn(each) !== '')
  const prompt = lastPrompt(conversation)
  const turn = conversation.slice(asked + 1)
  const known = knowledge(conversation)
  if (/create handoff document now/i.test(prompt)) return document(prompt, turn, known)
  const handoff = /read (?:handoff from )?(\/.+?\.md) (?:and resume work|too)/i.exec(prompt)?.[1]
  if (handoff !== undefined && !did(turn, handoff)) {
    return { do: 'read', path: handoff, say: 'I read the handoff first.' }
  }
  return work(conversation, turn, known, habits)
}

function work(all: readonly Spoken[], turn: readonly Spoken[], known: Knowledge, { perTurn }: Habits): Move {
  const { facts, modules } = known
  if (modules.length === 0) return { do: 'say', say: 'What is there to do? Nobody has said.' }
  const open = modules.filter(({ holds }) => !isDone(holds, known))
  const next = open.find(({ holds }) => holds !== 'stamps') ?? open[0]
  const last = turn.at(-1)?.toolResults.at(-1)?.text ?? ''
  if (next === undefined) {
    if (!did(turn, 'node --test')) return { do: 'run', command: 'node --test', say: 'All modules are there: I test.' }
    return { do: 'say', say: /^# fail 0$/m.test(last) ? 'The till is finished, its tests pass.' : 'The tests fail.' }
  }
  const calls = turn.flatMap(({ toolCalls }) => toolCalls.map((call) => JSON.stringify(call.arguments)))
  const finished = calls.filter((call) => call.includes(stampCommand)).length
  if (finished >= perTurn) {
    const done = modules.length - open.length
    return { do: 'say', say: `${done} of ${modules.length} modules are done. Next: ${next.file}.` }
  }
  // Some agents refuse to write over a file that they have not looked at.
  if (/not been read/i.test(last)) return { do: 'read', path: next.file, say: 'It is there already: I look at it.' }
  if (!did(all, moduleHead(next.holds)) || isReading(turn, next.file)) {
    const value = next.holds === 'stamps' ? stampsOf(known) : facts.get(next.holds)
    return { do: 'write', path: next.file, content: moduleText(next.holds, value), say: `I write ${next.file}.` }
  }
  return { do: 'run', command: `${stampCommand} ${next.holds}`, say: `I stamp ${next.file}.` }
}

/** Whether the last thing it did was to look at that file. */
function isReading(turn: readonly Spoken[], file: string): boolean {
  const call = turn.findLast(({ toolCalls }) => toolCalls.length > 0)?.toolCalls.at(-1)
  const given = JSON.stringify(call?.arguments ?? '')
  return given.includes(file) && !given.includes('export const')
}

function document(prompt: string, turn: readonly Spoken[], { facts, modules }: Knowledge): Move {
  const file = /\bto [`'"]?(\/.+?\.md)\b/.exec(prompt)?.[1]
  if (file === undefined) return { do: 'say', say: 'Where should I write it?' }
  if (did(turn, file)) return { do: 'say', say: 'The handoff document is written.' }
  const known = { facts, modules }
  const done = modules.filter(({ holds }) => isDone(holds, known))
  const open = modules.filter(({ holds }) => !isDone(holds, known))
  const project = /"Project: ([^"]+)"/.exec(prompt)?.[1]
  const percent = /context at (\d+)\s*%/i.exec(prompt)?.[1] ?? '?'
  const content = `# Handoff Document

**Created**: ${new Date().toISOString()}
**Context Usage**: ${percent}%${project === undefined ? '' : `\n**Project**: ${project}`}

## Current Work

Finishing the till: ${modules.length} modules, one constant each, in this order, each stamped with
\`${stampCommand} NAME\` once it is written. ${done.length} of ${modules.length} are done.

## Completed Since Last Handoff

${done.map(({ file, holds }) => `- \`${file}\` holds \`${holds}\`: written and stamped`).join('\n') || '- nothing yet'}

## Next Steps

${open.map(({ file, holds }, i) => `${i + 1}. \`${file}\` holds \`${holds}\`: write and stamp it`).join('\n') || '1. run `node --test`'}

## Critical State

${[...facts].map(([name, value]) => `- \`${name}\` is \`${value}\``).join('\n')}

## Blockers / Issues

- None

## Notes

- The values are the user's own; they are written nowhere else. A stamp is shown only once.
`
  return { do: 'write', path: file, content, say: 'I write down where things stand.' }
}

const stampCommand = 'node scripts/stamp.mjs'
const told = /`([\w -]+)` is `([^`\n]*)`/g
const listed = /`(src\/[\w-]+\.js)` holds `([\w-]+)`/g
const lost = /^([\w-]+) was stamped before$/gm

function knowledge(conversation: readonly Spoken[]): Knowledge {
  const facts = new Map<string, string>()
  const modules = new Map<string, string>()
  for (const { role, text, toolResults } of conversation) {
    const heard = [role === 'assistant' ? '' : text, ...toolResults.map((result) => result.text)].join('\n')
    for (const [, name, value] of heard.matchAll(told)) facts.set(name!, value!)
    for (const [, name] of heard.matchAll(lost)) if (!facts.has(`stamp ${name}`)) facts.set(`stamp ${name}`, 'lost')
    for (const [, file, holds] of heard.matchAll(listed)) if (!modules.has(file!)) modules.set(file!, holds!)
  }
  return { facts, modules: [...modules].map(([file, holds]) => ({ file, holds })) }
}

function isDone(holds: string, { facts }: Knowledge): boolean {
  return facts.has(`stamp ${holds}`)
}

function stampsOf({ facts, modules }: Knowledge): string {
  return modules
    .filter(({ holds }) => holds !== 'stamps')
    .map(({ holds }) => `${holds}:${facts.get(`stamp ${holds}`) ?? 'unknown'}`)
    .join(' ')
}

function moduleHead(holds: string): string {
  return `export const ${holds} = `
}

function moduleText(holds: string, value: string | undefined): string {
  return `${moduleHead(holds)}${JSON.stringify(value ?? 'unknown')}\n`
}

/** Whether a tool was called with these words and has answered. */
function did(conversation: readonly Spoken[], words: string): boolean {
  const answered = conversation.findLastIndex(({ role }) => role === 'tool')
  const quoted = JSON.stringify(words).slice(1, -1)
  return conversation
    .slice(0, answered + 1)
    .some(({ toolCalls }) => toolCalls.some((call) => JSON.stringify(call.arguments).includes(quoted)))
}

/** What the user said last, whether it began a turn or was passed on in the middle of one. */
export function lastPrompt(conversation: readonly Spoken[]): string {
  return conversation.map(promptIn).findLast((prompt) => prompt !== '') ?? ''
}

/**
 * The user's words in a message, without what the agent's program adds for the model's eyes. Claude Code passes on what was
 * typed while it worked as an addition to the outcome of a tool.
 */
function promptIn({ role, text, toolResults }: Spoken): string {
  if (role === 'assistant') return ''
  const given = [text, ...toolResults.map((result) => result.text)].join('\n')
  const passedOn = [...given.matchAll(additions)].map(([, , added]) => added!).filter((added) => isFromUser.test(added))
  const own = role === 'user' ? text.replaceAll(additions, '') : ''
  return [own, ...passedOn].join('\n').trim()
}

const additions = /<(system-reminder|environment_context)>([\s\S]*?)<\/\1>/g
const isFromUser = /^\s*The user sent /
