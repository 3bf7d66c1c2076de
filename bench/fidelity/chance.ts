// The same numbers for the same seed, so that a session can be made again.

export class Chance {
  private state: number

  constructor(seed: number) {
    this.state = seed >>> 0
  }

  /** From 0 up to, but not including, `limit`. */
  below(limit: number): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!
  }

  shuffled<T>(list: readonly T[]): T[] {
    const rest = [...list]
    return Array.from({ length: rest.length }, () => rest.splice(this.below(rest.length), 1)[0]!)
  }

  /** So many words that no two texts are alike. */
  words(count: number): string {
    return Array.from({ length: count }, () => this.pick(syllables) + this.pick(syllables) + this.pick(endings)).join(
      ' ',
    )
  }
}

const syllables = 'ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo zy'.split(' ')
const endings = 'n r s l m t rk nd st x'.split(' ')
