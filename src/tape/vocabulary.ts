// The tokens of an encoding as a table that is used exactly as it is on disk: a program that counts a few words would take longer
// to build any other. Behind two numbers (of tokens and of slots) come the slots of a hash table, then where each token begins,
// then the bytes of all tokens, in the order of their ranks. A slot holds a rank plus one, and 0 if it is free.

/** `text`: a line for each token, in base64, with a space and its rank behind it, in the order of the ranks. */
export function makeTable(text: string): Buffer {
  const tokens = text.split('\n').flatMap((line) => (line === '' ? [] : [Buffer.from(line.split(' ')[0]!, 'base64')]))
  const slots = new Int32Array(1 << Math.ceil(Math.log2(tokens.length * 1.2)))
  const starts = new Int32Array(tokens.length + 1)
  tokens.forEach((token, rank) => {
    starts[rank + 1] = starts[rank]! + token.length
    let slot = hashOf(token, 0, token.length) & (slots.length - 1)
    while (slots[slot] !== 0) slot = (slot + 1) & (slots.length - 1)
    slots[slot] = rank + 1
  })
  const sizes = Int32Array.of(tokens.length, slots.length)
  return Buffer.concat([...[sizes, slots, starts].map((each) => Buffer.from(each.buffer)), ...tokens])
}

export class Vocabulary {
  readonly #slots: Int32Array
  readonly #starts: Int32Array
  readonly #bytes: Buffer

  constructor(table: Buffer) {
    const aligned = table.byteOffset % 4 === 0 ? table : Buffer.from(new Uint8Array(table).buffer)
    const numbers = new Int32Array(aligned.buffer, aligned.byteOffset, aligned.length >> 2)
    const [tokens = 0, slots = 0] = numbers
    this.#slots = numbers.subarray(2, 2 + slots)
    this.#starts = numbers.subarray(2 + slots, 2 + slots + tokens + 1)
    this.#bytes = aligned.subarray((2 + slots + tokens + 1) * 4)
  }

  /** How many tokens a word becomes: neighbours are joined, those with the lowest rank first, as long as they make a token. */
  count(word: Buffer): number {
    if (this.#rank(word, 0, word.length) !== none) return 1
    const starts = Array.from({ length: word.length + 1 }, (_, i) => i)
    const joined = (i: number) => (i + 2 < starts.length ? this.#rank(word, starts[i]!, starts[i + 2]!) : none)
    const ranks = starts.map((_, i) => joined(i))
    for (;;) {
      let lowest = 0
      for (let i = 1; i < ranks.length; i++) if (ranks[i]! < ranks[lowest]!) lowest = i
      if (ranks[lowest] === none) return starts.length - 1
      starts.splice(lowest + 1, 1)
      ranks.splice(lowest, 1)
      ranks[lowest] = joined(lowest)
      if (lowest > 0) ranks[lowest - 1] = joined(lowest - 1)
    }
  }

  #rank(word: Buffer, from: number, to: number): number {
    const slots = this.#slots
    for (let slot = hashOf(word, from, to) & (slots.length - 1); ; slot = (slot + 1) & (slots.length - 1)) {
      const rank = slots[slot]! - 1
      if (rank < 0) return none
      if (this.#holds(rank, word, from, to)) return rank
    }
  }

  #holds(rank: number, word: Buffer, from: number, to: number): boolean {
    const start = this.#starts[rank]!
    if (this.#starts[rank + 1]! - start !== to - from) return false
    for (let i = from; i < to; i++) if (this.#bytes[start + i - from] !== word[i]) return false
    return true
  }
}

function hashOf(bytes: Buffer, from: number, to: number): number {
  let hash = 0x811c9dc5 | 0
  for (let i = from; i < to; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193)
  return hash ^ (hash >>> 15)
}

const none = Number.POSITIVE_INFINITY
