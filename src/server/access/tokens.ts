// Who may call: tokens with a name and a scope, kept as hashes in a file that only the user can read. The server and the command
// `baton token` share the file, so that what one writes counts for the other at once.

import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import * as z from 'zod'
import { ConflictError, NotFoundError, StorageError } from '../../errors.ts'
import { type Scope, scopes } from '../../operations/index.ts'
import { Lock, makeFolder, replaceFile } from '../../system/index.ts'

/** `owner` is printed by `baton up`; `browser` stands behind a cookie; an agent's token approves nothing in a person's name. */
const kinds = ['owner', 'program', 'agent', 'browser'] as const

export type TokenKind = (typeof kinds)[number]

const tokenSchema = z.object({
  id: z.string(),
  name: z.string(),
  scope: z.enum(scopes),
  kind: z.enum(kinds),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  created: z.string(),
  expires: z.string().optional(),
})

export type Token = z.output<typeof tokenSchema>

const fileSchema = z.object({ version: z.literal(1), tokens: z.array(tokenSchema) })

/** The folder of the server's own files in a workspace. */
export function serverFolder(folder: string): string {
  return path.join(folder, 'server')
}

export interface NewToken {
  readonly name: string
  readonly scope: Scope
  readonly kind: TokenKind
  readonly lifeMs?: number
}

export class Tokens {
  readonly #file: string
  readonly #lock: string
  #seen = ''
  #tokens: readonly Token[] = []
  #hashes = new Map<Token, Buffer>()
  #isFresh = false

  constructor(folder: string) {
    const own = serverFolder(folder)
    this.#file = path.join(own, 'tokens.json')
    this.#lock = path.join(own, 'tokens.lock')
  }

  /** Those that count now. */
  all(): readonly Token[] {
    this.#refresh()
    return this.#tokens.filter(isCurrent)
  }

  /** The token with that value; every one is compared, and in constant time. */
  find(value: string): Token | undefined {
    const wanted = hash('sha256', value, 'buffer')
    let found: Token | undefined
    for (const token of this.all()) if (timingSafeEqual(this.#hashes.get(token)!, wanted)) found = token
    return found
  }

  /** Whether a token that was found before still counts, and nothing of it was changed. */
  has(token: Token): boolean {
    this.#refresh()
    return this.#tokens.includes(token) && isCurrent(token)
  }

  isValid(id: string): boolean {
    return this.all().some((token) => token.id === id)
  }

  /** The value is told once, here: the file holds its hash only. */
  async create({ name, scope, kind, lifeMs }: NewToken): Promise<{ token: string; id: string }> {
    const token = `baton_${randomBytes(32).toString('base64url')}`
    const id = randomBytes(4).toString('hex')
    const expires = lifeMs === undefined ? {} : { expires: new Date(Date.now() + lifeMs).toISOString() }
    await this.#change((tokens) => {
      if (kind !== 'browser' && tokens.some((each) => each.name === name)) {
        throw new ConflictError(`There is a token named "${name}" already`, {
          actual: 0,
          hint: `Choose another name, or revoke it: baton token revoke ${name}`,
        })
      }
      return [
        ...tokens,
        { id, name, scope, kind, hash: hash('sha256', token), created: new Date().toISOString(), ...expires },
      ]
    })
    return { token, id }
  }

  /** By name or id. Returns what was revoked. */
  async revoke(ref: string): Promise<readonly Token[]> {
    let gone: readonly Token[] = []
    await this.#change((tokens) => {
      gone = tokens.filter(({ name, id }) => name === ref || id === ref)
      return tokens.filter((token) => !gone.includes(token))
    })
    if (gone.length === 0) throw new NotFoundError(`There is no token "${ref}"`, { hint: 'See "baton token ls".' })
    return gone
  }

  /** The owner's own token, whose value lies beside the others, readable by the user alone. Made when first asked for. */
  async owner(): Promise<string> {
    const file = path.join(path.dirname(this.#file), 'token')
    const kept = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim() : undefined
    if (kept !== undefined && this.find(kept) !== undefined) return kept
    await this.#change((tokens) => tokens.filter(({ kind }) => kind !== 'owner'))
    const { token } = await this.create({ name: 'owner', scope: 'admin', kind: 'owner' })
    replaceFile(file, `${token}\n`)
    return token
  }

  async #change(change: (tokens: readonly Token[]) => readonly Token[]): Promise<void> {
    makeFolder(path.dirname(this.#file))
    const lock = new Lock(this.#lock, 10_000)
    await lock.take()
    try {
      this.#isFresh = false
      const tokens = change(this.all())
      replaceFile(this.#file, JSON.stringify({ version: 1, tokens }, null, 2))
      this.#isFresh = false
    } finally {
      lock.release()
      lock.close()
    }
  }

  /**
   * Reads the file again if it is another one than before: it is always replaced, never written in place. Requests that arrive
   * together share one look.
   */
  #refresh(): void {
    if (this.#isFresh) return
    this.#isFresh = true
    setImmediate(() => (this.#isFresh = false))
    const stat = fs.statSync(this.#file, { throwIfNoEntry: false })
    const state = stat === undefined ? '' : `${stat.ino}:${stat.mtimeMs}:${stat.size}`
    if (state === this.#seen) return
    this.#tokens = stat === undefined ? [] : read(this.#file)
    this.#hashes = new Map(this.#tokens.map((token) => [token, Buffer.from(token.hash, 'hex')]))
    this.#seen = state
  }
}

function isCurrent({ expires }: Token): boolean {
  return expires === undefined || Date.parse(expires) > Date.now()
}

function read(file: string): readonly Token[] {
  try {
    return fileSchema.parse(JSON.parse(fs.readFileSync(file, 'utf8'))).tokens
  } catch (cause) {
    throw new StorageError('The file of the tokens cannot be read', {
      hint: `Delete ${file}: the tokens in it no longer work, and "baton up" makes a new one.`,
      cause,
    })
  }
}
