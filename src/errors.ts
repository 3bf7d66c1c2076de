// The family of errors a caller can act on. Each says what happened, where, and what to do next; the code is stable
// and is what doors (CLI exit codes, HTTP problems) map from. A marker rather than `instanceof` decides membership,
// so that two copies of the package in one process still recognise each other.

const marker = Symbol.for('baton.error')

/** The `code` of each kind of error, the same in the library, over REST and with `--json`. */
export type ErrorCode =
  | 'invalid'
  | 'limit'
  | 'conflict'
  | 'not_found'
  | 'cancelled'
  | 'refused'
  | 'locked'
  | 'damaged'
  | 'unknown_outcome'
  | 'storage'
  | 'unsupported'

/** Every error of Baton has a stable `code`, a sentence that says what happened, and mostly a `hint` that says what to do. */
export class BatonError extends Error {
  readonly [marker] = true
  readonly code: ErrorCode
  /** What the reader can do about it, as one sentence. */
  readonly hint: string | undefined

  constructor(code: ErrorCode, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = new.target.name
    this.code = code
    this.hint = options.hint
  }

  static is(error: unknown): error is BatonError {
    return typeof error === 'object' && error !== null && marker in error
  }
}

/** The input is wrong; nothing was written. `path` names the field, as in `payload.name`. */
export class InvalidError extends BatonError {
  readonly path: string | undefined

  constructor(message: string, options: { path?: string; hint?: string; cause?: unknown } = {}) {
    super('invalid', message, options)
    this.path = options.path
  }
}

/** The input is well-formed but larger than allowed; nothing was written. */
export class LimitError extends BatonError {
  constructor(message: string, options: { hint?: string } = {}) {
    super('limit', message, options)
  }
}

/** The tape has moved on: `actual` is the id that was found where `expected` was promised. */
export class ConflictError extends BatonError {
  readonly expected: number | undefined
  readonly actual: number

  constructor(message: string, options: { expected?: number; actual: number; hint?: string }) {
    super('conflict', message, options)
    this.expected = options.expected
    this.actual = options.actual
  }
}

/** What was named does not exist. */
export class NotFoundError extends BatonError {
  /** Names close to what was asked for, best first. */
  readonly nearest: readonly string[]

  constructor(message: string, options: { nearest?: readonly string[]; hint?: string } = {}) {
    const nearest = options.nearest ?? []
    const hint = options.hint ?? (nearest.length > 0 ? `Did you mean ${nearest.join(', ')}?` : undefined)
    super('not_found', message, hint === undefined ? {} : { hint })
    this.nearest = nearest
  }
}

/** The caller aborted it, or the user declined. */
export class CancelledError extends BatonError {
  constructor(message: string) {
    super('cancelled', message)
  }
}

/** Another process holds the tape and did not let go in time. Nothing was written. */
export class LockedError extends BatonError {
  constructor(message: string, options: { hint?: string } = {}) {
    super('locked', message, options)
  }
}

/** Bytes on disk are not what was written. `file` and `offset` say where. */
export class DamagedError extends BatonError {
  readonly file: string
  readonly offset: number

  constructor(message: string, options: { file: string; offset: number; hint?: string }) {
    super('damaged', message, options)
    this.file = options.file
    this.offset = options.offset
  }
}

/** The disk did not confirm the write: it may or may not survive. Retrying with the same `meta.idempotency` is safe. */
export class UnknownOutcomeError extends BatonError {
  constructor(message: string, options: { hint?: string; cause?: unknown } = {}) {
    super('unknown_outcome', message, options)
  }
}

/** The place where tapes live cannot be used: full, read-only, not ours, or of a newer version. */
export class StorageError extends BatonError {
  constructor(message: string, options: { hint?: string; cause?: unknown } = {}) {
    super('storage', message, options)
  }
}

/** The engine, agent or runtime at hand lacks this capability. */
export class UnsupportedError extends BatonError {
  constructor(message: string, options: { hint?: string } = {}) {
    super('unsupported', message, options)
  }
}
