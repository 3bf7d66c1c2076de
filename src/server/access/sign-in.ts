// How a browser becomes a caller: a code that counts once and for a minute is exchanged for a cookie. The code travels in the
// fragment of the address, which no browser sends to a server and no log keeps.

import { randomBytes, timingSafeEqual } from 'node:crypto'
import { HttpError } from '../http/problem.ts'

const codeLifeMs = 60_000
const waitMs = { first: 250, most: 8_000 }

export class SignIn {
  readonly #codes: { code: string; until: number }[] = []
  readonly #now: () => number
  #failures = 0
  #openAt = 0

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  newCode(): string {
    const now = this.#now()
    this.#codes.splice(0, this.#codes.length, ...this.#codes.filter(({ until }) => until > now).slice(-9))
    const code = randomBytes(18).toString('base64url')
    this.#codes.push({ code, until: now + codeLifeMs })
    return code
  }

  /** Uses the code up, or throws. After a failure the next attempt has to wait, twice as long each time. */
  redeem(given: string): void {
    const now = this.#now()
    if (now < this.#openAt) {
      const seconds = Math.ceil((this.#openAt - now) / 1000)
      throw new HttpError('slow_down', 'Too many sign-ins have failed', {
        hint: `Try again in ${seconds} s.`,
        headers: { 'retry-after': String(seconds) },
      })
    }
    const found = this.#codes.findIndex(({ code, until }) => until > now && isSame(code, given))
    if (found < 0) {
      this.#failures += 1
      if (this.#failures >= 3) this.#openAt = now + Math.min(waitMs.most, waitMs.first * 2 ** (this.#failures - 3))
      throw new HttpError('unauthenticated', 'This sign-in code is not valid', {
        hint: 'A code works once and for a minute. "baton up" prints a new one, also while the server is running.',
        field: 'code',
      })
    }
    this.#codes.splice(found, 1)
    this.#failures = 0
  }
}

function isSame(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
