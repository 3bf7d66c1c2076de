// How tests speak with the scripted agent: by files in its home. Any process can write them, so that the agent outlives
// whoever supervises it.

import path from 'node:path'

export interface Script {
  /** Of the model, in tokens. */
  readonly window: number
  /** Tokens of a fresh context, and what a turn adds. */
  readonly base: number
  readonly growth: number
  /** Milliseconds before it replies. */
  readonly pace: number
  /** Milliseconds that a turn goes on after its work. */
  readonly ending?: number
  /** Milliseconds by which its screen is drawn behind its transcript at the end of a turn. */
  readonly drawing?: number
  /** What it writes when a document is asked for; null: nothing. */
  readonly document: string | null
  /** The same for the first time, the second time… */
  readonly documents?: readonly (string | null)[]
  /** What it replies then. */
  readonly reply?: string
  /** How old the file pretends to be. */
  readonly age?: number
  /** Milliseconds that the command takes which it runs in a turn; an interrupt ends it before. */
  readonly command?: number
  /** Only talks: no tool is used but for documents. */
  readonly idle?: boolean
  /** Does not read what it is told to. */
  readonly illiterate?: boolean
  /** Prompts that it never answers. */
  readonly mute?: string
  readonly ignoreClears: number
  readonly dialog?: string | null
  readonly draft?: string
  /** Of a reply, in dollars. */
  readonly usd: number
}

/** What a reply of pi says that it cost: a context of so many tokens, and dollars. */
export function piUsage(tokens: number, usd: number) {
  return { input: tokens, output: 10, cacheRead: 0, cacheWrite: 0, totalTokens: tokens + 10, cost: { total: usd } }
}

/** A document as a good agent writes it. */
export const goodDocument = `# Handoff Document

**Created**: 2026-01-22 14:30:00
**Project**: {project}

## Current Work
Implementing the token refresh of the session service; the secret word is heliotrope.

## Completed Since Last Handoff
- [x] Added the refresh endpoint

## Next Steps
1. Write the tests of the refresh endpoint
2. Document it

## Critical State
- The access token lives one hour

## Blockers / Issues
- None

## Notes
- The user wants no new dependencies
`

export const defaultScript: Script = {
  window: 100_000,
  base: 5_000,
  growth: 1_000,
  pace: 20,
  document: goodDocument,
  ignoreClears: 0,
  usd: 0.01,
}

export type Order = { readonly do: 'prompt'; readonly text: string } | { readonly do: 'clear' | 'interrupt' | 'exit' }

export type Heard =
  | { readonly prompt: string; readonly session: string }
  | { readonly cleared: boolean; readonly session: string }
  | { readonly interrupted: true }

export function protocolFiles(home: string) {
  const at = (name: string) => path.join(home, name)
  return {
    inbox: at('inbox.jsonl'),
    script: at('script.json'),
    screen: at('screen.json'),
    heard: at('heard.jsonl'),
    exit: at('exit'),
    pid: at('pid'),
    limit: at('limit'),
  }
}
