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

/** What an operation is called, who may call it, and where it stands. */
interface Head {
  /** A noun and a verb, `tape.append`. */
  readonly name: string
  readonly scope: Scope
  readonly route: Route
}

interface Description<I extends Fields> {
  /** One sentence for people and models. */
  readonly summary: string
  readonly input: I
}

interface Answering<
  I extends Fields,
  O extends z.ZodType,
  R extends ReadonlyAnswer<z.output<O>>,
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

interface Streaming<
  I extends Fields,
  O extends z.ZodType,
  R extends ReadonlyAnswer<z.output<O>>,
> extends Description<I> {
  /** The schema of one record. */
  readonly each: O
  run(workspace: Workspace, input: z.output<I>, call: Call): AsyncIterable<R>
}

/** Answers once. `R` is what it returns in code, which may be more exact than its schema. */
export type Operation<
  I extends Fields = Fields,
  O extends z.ZodType = z.ZodType,
  R extends ReadonlyAnswer<z.output<O>> = ReadonlyAnswer<z.output<O>>,
> = Head & Answering<I, O, R>

/** Answers with records, one after another; some never end by themselves. */
export type LiveOperation<
  I extends Fields = Fields,
  O extends z.ZodType = z.ZodType,
  R extends ReadonlyAnswer<z.output<O>> = ReadonlyAnswer<z.output<O>>,
> = Head & Streaming<I, O, R>

export type AnyOperation = Operation | LiveOperation

/** What a schema describes, as code may return it: read-only is fine, and so is a field that is undefined instead of missing. */
export type ReadonlyAnswer<T> = T extends readonly (infer Item)[]
  ? readonly ReadonlyAnswer<Item>[]
  : T extends object
    ? { readonly [Field in keyof T]: ReadonlyAnswer<T[Field]> }
    : T

type Described<D> = [name: string, scope: Scope, route: Route, described: D]

export function operation<I extends Fields, O extends z.ZodType, R extends ReadonlyAnswer<z.output<O>>>(
  ...[name, scope, route, described]: Described<Answering<I, O, R>>
): Operation<I, O, R> {
  return { name, scope, route, ...described }
}

export function liveOperation<I extends Fields, O extends z.ZodType, R extends ReadonlyAnswer<z.output<O>>>(
  ...[name, scope, route, described]: Described<Streaming<I, O, R>>
): LiveOperation<I, O, R> {
  return { name, scope, route, ...described }
}

export function isLive(operation: AnyOperation): operation is LiveOperation {
  return 'each' in operation
}
