// How Baton is put beside an agent: the files and entries that make the agent call Baton, one description for each agent.

/** Where to put it. */
export interface ConnectionPlace {
  /** For everything the user does with the agent, or for one project. */
  readonly scope: 'user' | 'project'
  /** The top folder of the project. */
  readonly project: string
  readonly env: NodeJS.ProcessEnv
  /** The program and the script that start Baton. */
  readonly self: readonly [string, string]
}

/** One change on disk. Each can be taken back without touching what else is in the file. */
export type Change =
  /** A file that is Baton's own. */
  | { readonly type: 'file'; readonly path: string; readonly content: string }
  /** A value in a JSON file that belongs to the user, in place of the one that was there. */
  | { readonly type: 'value'; readonly path: string; readonly at: readonly string[]; readonly value: unknown }
  /** One more element of a list in such a file. */
  | { readonly type: 'item'; readonly path: string; readonly at: readonly string[]; readonly value: unknown }
  /** Lines at the end of a TOML file; `table` is the header that they begin with. */
  | { readonly type: 'table'; readonly path: string; readonly table: string; readonly lines: string }

export interface AgentConnection {
  /** Where the agent keeps the settings of the user. */
  home(env: NodeJS.ProcessEnv): string
  changes(place: ConnectionPlace): Change[]
  /** The status line that the person has in this file of settings, which Baton's replaces and calls. */
  ownStatusLine?(settings: unknown): string | undefined
  /** A file of settings with comments is ignored as a whole. */
  readonly strictJson?: boolean
  /** What the person has to know or do after connecting. */
  notes?(place: ConnectionPlace): string[]
  /** Whether what was connected works, where more than the files decides it. */
  check?(place: ConnectionPlace): string[]
}

/** The words that start Baton, for a shell. */
export function shellCommand({ self: [node, script] }: ConnectionPlace, ...words: string[]): string {
  return [quoted(node), quoted(script), ...words].join(' ')
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}

export function mcpCommand({ self: [node, script] }: ConnectionPlace): { command: string; args: string[] } {
  return { command: node, args: [script, 'mcp'] }
}

/** What the agent's own form of `/baton:handoff` tells the model. */
export function handoffPrompt(place: ConnectionPlace, goal: string): string {
  return [
    'Hand this session over to a fresh one. Run this command in the shell, and nothing else:',
    '',
    `    ${shellCommand(place, 'handoff', '--next', '--quiet', '--goal')} '<goal>'`,
    '',
    `In place of <goal> put what the next session is for, in one sentence; the user says: ${goal}`,
    '(if that is empty, the next step of the present work).',
    '',
    'The command prints the handoff document. Check it: if something that the next session must know is missing, say so in one or two',
    'sentences. Then tell the user that the document is ready and that the next session in this folder opens with it.',
  ].join('\n')
}

/**
 * The part that Baton's plugins for opencode and pi share, a call of `baton hook` that never throws and never takes long:
 * JavaScript that defines `call(event, input)`, which resolves with the text for the model, or with undefined.
 */
export function forwarding({ self: [node, script] }: ConnectionPlace, agent: string): string {
  return `// Written by "baton connect ${agent}"; "baton disconnect ${agent}" removes it.
import { spawn } from 'node:child_process'

const patienceMs = 10000

let last = Promise.resolve()

/** One call after the other: an agent may send its first prompt before it was answered that the session has begun. */
function call(event, input) {
  return (last = last.then(() => callNow(event, input)))
}

/** The agent goes on whatever happens here. */
function callNow(event, input) {
  return new Promise((resolve) => {
    let out = ''
    let child
    const done = (text) => (clearTimeout(enough), resolve(text))
    const enough = setTimeout(() => {
      // What is no longer waited for must not take a handoff along that nobody would read.
      child?.kill()
      done(undefined)
    }, patienceMs)
    try {
      child = spawn(${JSON.stringify(node)}, [${JSON.stringify(script)}, 'hook', '${agent}', event], { stdio: ['pipe', 'pipe', 'ignore'] })
      child.on('error', () => done(undefined))
      child.stdin.on('error', () => {})
      child.stdout.on('data', (chunk) => (out += chunk))
      child.on('close', () => {
        try {
          done(out.trim() === '' ? undefined : JSON.parse(out).hookSpecificOutput.additionalContext)
        } catch {
          done(undefined)
        }
      })
      child.stdin.end(JSON.stringify(input))
    } catch {
      done(undefined)
    }
  })
}
`
}
