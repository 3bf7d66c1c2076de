// One thing that can be done to a workspace from outside. REST, OpenAPI, MCP, the client and the tests are projections of these
// objects, so an operation says everything about itself: what it is called, who may call it, what it takes and what it answers.

import * as z from 'zod'
import { BatonError } from '../errors.ts'
import type { Person } from '../system/index.ts'
import type { Workspace } from './workspace.ts'

/** From the weakest to the strongest; each includes those before it. */
export const scopes = ['read', 'write', 'operate', 'admin'] as const

export type Scope = (typeof scopes)[number]

/** Whether a caller with the scope `held` may do what needs `needed`. */
export function allows(held: Scope, needed: Scope): boolean {
  return scopes.indexOf(held) >= scopes.indexOf(needed)
}

/** Who calls, as recognised by the door that the call came through. */
export interface Caller {
  /** The name of the token, of the user or of the agent: it appears in the audit and where a name is needed and none was given. */
  readonly name: string
  readonly scope: Scope
  /** How the door knows that a person calls. Undefined for agents and programs: they approve nothing in a person's name. */
  readonly person?: Person
  /** The caller works on this machine as the owner of the workspace: it may name files, and is given names of files. */
  readonly local?: boolean
}

export interface Call {
  /** Aborted when the caller is gone or has cancelled. */
  readonly signal: AbortSignal
  /** Reports to the caller how far the work has come. */
  readonly progress: (text: string) => void
  readonly caller: Caller
  /** Lets a person change a document before it is kept, where the door has a screen for that. */
  readonly edit?: (markdown: string) => Promise<string>
}

/** What only people decide: a terminal, a signed-in page or a token that was not made for an agent. */
export function demandPerson({ caller }: Call): NonNullable<Call['caller']['person']> {
  if (caller.person !== undefined) return caller.person
  throw new BatonError('refused', 'Only a person can decide this', {
    hint: 'Answer it on a terminal, in the dashboard, or with a token with operate that was not made for an agent.',
  })
}

/** `GET /tapes/{tape}/entries`: fields of the input in braces are taken from the path, the others from the query or the body. */
type Route = `${'GET' | 'POST' | 'PUT' | 'DELETE'} /${string}`

type Fields = z.ZodObject

interface Description<I extends Fields> {
  /** A noun and a verb, `tape.append`. */
  readonly name: string
  /** One sentence for people and models. */
  readonly summary: string
  readonly scope: Scope
  readonly route: Route
  readonly input: I
}

/** Answers once. */
export interface Operation<
  I extends Fields = Fields,
  O extends z.ZodType = z.ZodType,
  /** What it returns in code, which may be more exact than its schema. */
  R extends ReadonlyAnswer<z.output<O>> = ReadonlyAnswer<z.output<O>>,
> extends Description<I> {
  readonly output: O
  run(workspace: Workspace, input: z.output<I>, call: Call): Promise<R>
  /** For what can be repeated safely by itself: the store knows the key, and answers as it did the first time. */
  readonly once?: {
    /** Puts the key into the input, and a fingerprint of the request beside it. */
    carry(input: z.output<I>, key: string, request: string): z.output<I>
    /** The fingerprint of the request that was answered. */
    requestOf(answer: R): string | undefined
  }
}

/** Answers with records, one after another; some never end by themselves. */
export interface LiveOperation<
  I extends Fields = Fields,
  O extends z.ZodType = z.ZodType,
  R extends ReadonlyAnswer<z.output<O>> = ReadonlyAnswer<z.output<O>>,
> extends Description<I> {
  /** The schema of one record. */
  readonly each: O
  run(workspace: Workspace, input: z.output<I>, call: Call): AsyncIterable<R>
}

export type AnyOperation = Operation | LiveOperation

/** What a schema describes, as code may return it: read-only is fine, and so is a field that is undefined instead of missing. */
export type ReadonlyAnswer<T> = T extends readonly (infer Item)[]
  ? readonly ReadonlyAnswer<Item>[]
  : T extends object
    ? { readonly [Field in keyof T]: ReadonlyAnswer<T[Field]> }
    : T

export function operation<I extends Fields, O extends z.ZodType, R extends ReadonlyAnswer<z.output<O>>>(
  described: Operation<I, O, R>,
): Operation<I, O, R> {
  return described
}

export function liveOperation<I extends Fields, O extends z.ZodType, R extends ReadonlyAnswer<z.output<O>>>(
  described: LiveOperation<I, O, R>,
): LiveOperation<I, O, R> {
  return described
}

export function isLive(operation: AnyOperation): operation is LiveOperation {
  return 'each' in operation
}
