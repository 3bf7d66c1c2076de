// The same messages for every contender: 300 bytes of JSON each, of 4,096 different texts, so that none gains by
// compressing repetition.

export interface Message {
  role: 'user' | 'assistant'
  content: string
}

const letters = 'abcdefghijklmnopqrstuvwxyz etaoin shrdlu etaoin 0123456789'
const jsonBytes = 300

let seed = 20_240_229
function random(): number {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
  return seed >>> 16
}

const texts = Array.from({ length: 4_096 }, () =>
  Buffer.from(Uint8Array.from({ length: jsonBytes }, () => letters.charCodeAt(random() % letters.length))).toString(),
)

export function message(i: number): Message {
  const role = i % 2 === 0 ? 'user' : 'assistant'
  const frame = '{"role":"","content":""}'.length + role.length
  return { role, content: texts[i % texts.length]!.slice(0, jsonBytes - frame) }
}
