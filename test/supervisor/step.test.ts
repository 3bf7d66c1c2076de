import fc from 'fast-check'
import { expect, test } from 'vitest'
import { atRest, restAfter, step } from '../../src/supervisor/cycle.ts'
import type { Cycle, Effect, Found, Policy, Seen, Sight, Stepped } from '../../src/supervisor/cycle-state.ts'
import { isWorking } from '../../src/supervisor/pursuit.ts'
import { revive } from '../../src/supervisor/revive.ts'

const policy: Policy = {
  threshold: 0.85,
  brink: 0.95,
  predict: true,
  wanted: false,
  path: '/shop/handoffs/handoff-2026-01-22-14-30.md',
  project: 'shop',
  n: 1,
  clearShows: true,
  onSilence: 'ledger',
  turnMs: 600_000,
  backgroundMs: 60_000,
  documentMs: 300_000,
  graceMs: 10_000,
  clearMs: 15_000,
  submitMs: 20_000,
  verifyMs: 120_000,
}

interface Facts {
  readonly turn?: Sight['look']['turn']
  readonly percent?: number
  readonly session?: string
  readonly turns?: number
  readonly screen?: Sight['screen']
  readonly heard?: boolean
  readonly read?: boolean
  readonly found?: Found
  readonly dialog?: boolean
  readonly limited?: boolean
  readonly background?: boolean
  readonly growth?: number
  readonly changed?: number
}

function sight(facts: Facts, now = 0): Sight {
  const { turn = 'idle', percent, session = 'old', turns = 1, growth } = facts
  return {
    seen: 'session',
    look: {
      at: now,
      file: undefined,
      session,
      turn,
      turnSince: undefined,
      turns,
      state: facts.limited === true ? { state: 'limited' } : { state: turn === 'idle' ? 'waiting' : 'working' },
      meter: {
        quotas: [],
        window: 100_000,
        ...(percent === undefined ? {} : { percent, tokens: percent * 1000 }),
        ...(growth === undefined ? {} : { growth }),
      },
      compactions: 0,
      prompt: undefined,
      read: [],
      dialog: facts.dialog === true ? { question: 'May I?' } : undefined,
      background: facts.background === true ? ['npm run dev'] : [],
      error: undefined,
      changed: facts.changed ?? now,
      alive: true,
    },
    screen:
      facts.screen ?? (turn === 'idle' || turn === 'none' ? { is: 'prompt', draft: '' } : { is: 'busy', draft: '' }),
    heard: facts.heard ?? false,
    read: facts.read ?? false,
    found: facts.found ?? { is: 'nothing' },
  }
}

const stored = { id: 7, path: policy.path, sha256: 'abc', by: 'agent', turns: 2, tokens: 400, progress: true } as const

/** Walks through what is seen, one after the other, a second apart unless it says otherwise. */
function walk(...seen: (Seen | number)[]): { cycle: Cycle; trail: string[]; effects: Effect[]; last: Stepped } {
  let cycle: Cycle = atRest
  let now = 1_000_000
  const trail: string[] = []
  const effects: Effect[] = []
  let last: Stepped = { cycle, effects: [] }
  for (const each of seen) {
    if (typeof each === 'number') {
      now += each
      continue
    }
    now += 1_000
    last = step(
      cycle,
      each.seen === 'session' ? { ...each, look: { ...each.look, changed: each.look.changed || now } } : each,
      policy,
      now,
    )
    cycle = last.cycle
    effects.push(...last.effects)
    trail.push([cycle.at, ...last.effects.map((effect) => effect.do)].join(' '))
  }
  return { cycle, trail, effects, last }
}

const begin: Seen[] = [
  sight({ percent: 87 }),
  { seen: 'done', what: 'ask' },
  sight({ percent: 87, turn: 'working', heard: true }),
]
const documented: Seen[] = [
  ...begin,
  sight({ percent: 88, turns: 2, found: { is: 'valid' } }),
  { seen: 'stored', document: stored },
  { seen: 'snapshot' },
]
const cleared: Seen[] = [
  ...documented,
  sight({ percent: 88, turns: 2 }),
  { seen: 'done', what: 'clear' },
  sight({ session: 'new', turn: 'none', turns: 0 }),
]

test('the steps of a cycle, in order [C3][C5][C6]', () => {
  const { trail } = walk(
    ...cleared,
    { seen: 'done', what: 'resume' },
    sight({ session: 'new', turn: 'working', heard: true }),
    sight({ session: 'new', turn: 'working', read: true, percent: 6, changed: 5 }),
    sight({ session: 'new', turn: 'idle', read: true, percent: 7 }),
  )
  expect(trail.filter((line, i) => line !== trail[i - 1])).toEqual([
    'asked ask',
    'asked',
    'asked store snapshot',
    'documented',
    'clearing clear',
    'clearing',
    'resuming resume',
    'resuming',
    'verifying',
    'done health',
  ])
})

test('the prompt says how full the context is and where the document goes [C3]', () => {
  const [ask] = walk(sight({ percent: 87.4 })).effects
  expect(ask).toMatchObject({ do: 'ask', text: expect.stringMatching(/^Create handoff document now - context at 87%/) })
  expect(ask).toMatchObject({ text: expect.stringContaining(policy.path) })
  expect(ask).not.toMatchObject({ text: expect.stringContaining('\n') })
})

test('a turn is left to end by itself; only past the deadline it is interrupted, and once [C5][C12]', () => {
  const working = sight({ percent: 87, turn: 'working' })
  const { effects, last } = walk(working, 590_000, working, 20_000, working, 60_000, working, 600_000, working)
  expect(effects).toEqual([{ do: 'interrupt' }])
  expect(last.waits).toEqual({ for: 'the end of its turn' })
})

test('what is said to try whether a limit still holds comes to an end while it does [C17]', () => {
  const limited = sight({ limited: true, turn: 'idle' })
  const { cycle, effects } = walk(
    { seen: 'say', text: 'Go on.' },
    { seen: 'done', what: 'say' },
    {
      ...limited,
      heard: true,
    },
  )
  expect(effects).toEqual([{ do: 'say', text: 'Go on.' }])
  expect(cycle).toEqual({ at: 'watching' })
})

test('a turn on the brink of the agent’s own compaction is interrupted at once [C1]', () => {
  expect(walk(sight({ percent: 96, turn: 'working' })).effects).toEqual([{ do: 'interrupt' }])
})

test('a turn that the next would carry past the threshold is the last one [C12]', () => {
  expect(walk(sight({ percent: 75, growth: 15_000 })).trail).toEqual(['asked ask'])
  expect(walk(sight({ percent: 75, growth: 5_000 })).trail).toEqual(['watching'])
  expect(walk(sight({ percent: 75, growth: 15_000, turn: 'working' })).trail).toEqual(['watching'])
  // A jump once does not cost a context that is half empty.
  expect(walk(sight({ percent: 45, growth: 60_000 })).trail).toEqual(['watching'])
})

test('unknown usage triggers nothing [C2]', () => {
  expect(walk(sight({})).trail).toEqual(['watching'])
})

test('an open question holds everything, for as long as it takes [C5]', () => {
  const { effects, last } = walk(
    ...begin,
    sight({ percent: 88, dialog: true, heard: true }),
    3_600_000,
    sight({ percent: 88, dialog: true }),
  )
  expect(effects.map((effect) => effect.do)).toEqual(['ask'])
  expect(last.waits?.for).toBe('an answer to its question')
})

test('a silent agent is asked once more, then the ledger writes [C4]', () => {
  const silent = sight({ percent: 88, turns: 2 })
  const { effects } = walk(
    ...begin,
    silent,
    11_000,
    silent,
    { seen: 'done', what: 'ask' },
    sight({ percent: 88, turns: 3, heard: true, turn: 'working' }),
    silent,
    11_000,
    silent,
  )
  expect(effects.map((effect) => effect.do)).toEqual(['ask', 'health', 'ask', 'health', 'store'])
  expect(effects.at(-1)).toMatchObject({ by: 'ledger' })
})

test('with onSilence "ask" a session without a document is left alone, and a person told [C4]', () => {
  let cycle: Cycle = {
    at: 'asked',
    n: 1,
    trigger: { why: 'threshold', at: 0 },
    since: 0,
    path: '/p',
    asks: 2,
    prompt: { text: 't', state: 'heard', at: 0, began: 0, typings: 1 },
    without: 0,
  }
  const { cycle: next, effects } = step(cycle, sight({ percent: 88 }), { ...policy, onSilence: 'ask' }, 20_000)
  cycle = next
  expect(cycle).toMatchObject({ at: 'failed', step: 'asked' })
  expect(effects).toMatchObject([{ do: 'health', status: 'critical' }])
})

test('an incomplete document is sent back with what it lacks, then repaired from the ledger [C4][H10]', () => {
  const lacking = sight({
    percent: 88,
    turns: 2,
    found: { is: 'incomplete', problems: ['The section "Notes" is missing'] },
  })
  const { effects } = walk(
    ...begin,
    lacking,
    11_000,
    lacking,
    { seen: 'done', what: 'ask' },
    sight({ heard: true, turn: 'working', percent: 88 }),
    lacking,
    11_000,
    lacking,
  )
  expect(effects.filter((effect) => effect.do === 'ask')[1]).toMatchObject({
    text: expect.stringContaining('The section "Notes" is missing'),
  })
  expect(effects.find((effect) => effect.do === 'store')).toMatchObject({ by: 'repaired' })
})

test('a document that cannot be stored is stored later; nothing is cleared until then [C7]', () => {
  const ready = sight({ percent: 88, turns: 2, found: { is: 'valid' } })
  const { effects, cycle } = walk(
    ...begin,
    ready,
    { seen: 'snapshot' },
    { seen: 'refused', what: 'store', reason: 'No space left on the disk' },
    ready,
    31_000,
    ready,
  )
  expect(effects.map((effect) => effect.do)).toEqual(['ask', 'store', 'snapshot', 'health', 'store'])
  expect(effects[3]).toMatchObject({ status: 'critical', what: expect.stringContaining('No space left') })
  expect(cycle.at).toBe('asked')
})

test('a clear that is ignored is tried once more, then a person is asked [C5]', () => {
  const same = sight({ percent: 88, turns: 2 })
  const { effects, cycle } = walk(
    ...documented,
    same,
    { seen: 'done', what: 'clear' },
    16_000,
    same,
    { seen: 'done', what: 'clear' },
    16_000,
    same,
  )
  expect(effects.filter((effect) => effect.do === 'clear')).toHaveLength(2)
  expect(cycle).toMatchObject({ at: 'failed', step: 'clearing', document: stored })
})

test('commands in the background are waited for, but not for ever [C5]', () => {
  const busy = sight({ percent: 88, turns: 2, background: true })
  const { trail } = walk(...documented, busy, 30_000, busy, 61_000, busy)
  expect(trail.slice(-3)).toEqual(['documented', 'documented', 'clearing clear'])
})

test('a draft of the person is waited for, and nothing typed into it [C5]', () => {
  const drafted = sight({ percent: 88, turns: 2, screen: { is: 'prompt', draft: 'what about' } })
  const { trail, last } = walk(...documented, drafted, 600_000, drafted)
  expect(trail.at(-1)).toBe('documented')
  expect(last.waits?.for).toBe('a chance to clear (somebody is typing)')
})

test('work that goes on behind the document makes it out of date: it is stored anew before the clear [C7]', () => {
  const later = sight({ percent: 90, turns: 3 })
  const { effects } = walk(...documented, later, { seen: 'stored', document: { ...stored, turns: 3 } }, later)
  expect(effects.map((effect) => effect.do)).toEqual(['ask', 'store', 'snapshot', 'store', 'clear'])
})

test('a prompt that is not heard is typed once more, and then a person is asked [C6]', () => {
  const fresh = sight({ session: 'new', turn: 'none', turns: 0 })
  const { effects, cycle } = walk(
    ...cleared,
    { seen: 'done', what: 'resume' },
    21_000,
    fresh,
    { seen: 'done', what: 'resume' },
    21_000,
    fresh,
  )
  expect(effects.filter((effect) => effect.do === 'resume')).toHaveLength(2)
  expect(cycle).toMatchObject({ at: 'failed', step: 'resuming' })
})

test('a prompt whose agent is at work is not typed again, however late it shows [C6]', () => {
  const busy = sight({ session: 'new', turn: 'none', turns: 0, screen: { is: 'busy', draft: '' } })
  const { effects } = walk(...cleared, { seen: 'done', what: 'resume' }, 21_000, busy, 600_000, busy)
  expect(effects.filter((effect) => effect.do === 'resume')).toHaveLength(1)
})

test('a fresh context that does not read its document is told once more, then a person is asked [C6]', () => {
  const idle = sight({ session: 'new', turns: 1, percent: 6, changed: 1 })
  const told: Seen[] = [{ seen: 'done', what: 'resume' }, sight({ session: 'new', heard: true, turn: 'working' })]
  const { effects, cycle } = walk(...cleared, ...told, 11_000, idle, ...told, 11_000, idle)
  const texts = effects.flatMap((effect) => (effect.do === 'resume' ? [effect.text] : []))
  expect(texts).toHaveLength(2)
  expect(texts[0]).toMatch(/^Read handoff from .+ and resume work/)
  expect(texts[1]).not.toBe(texts[0])
  expect(cycle).toMatchObject({ at: 'failed', step: 'verifying' })
})

const screens = fc.constantFrom<Sight['screen']>(
  { is: 'prompt', draft: '' },
  { is: 'prompt', draft: 'hm' },
  { is: 'busy', draft: '' },
  { is: 'dialog', question: 'May I?', about: 'permission' },
  { is: 'starting' },
  { is: 'unknown' },
)
const anySight = fc
  .record({
    turn: fc.constantFrom<Sight['look']['turn']>('none', 'asked', 'working', 'idle', 'idle', 'idle'),
    percent: fc.constantFrom(undefined, 5, 70, 86, 92, 97),
    session: fc.constantFrom('old', 'old', 'new'),
    turns: fc.nat(4),
    screen: fc.option(screens, { nil: undefined, freq: 2 }),
    heard: fc.boolean(),
    read: fc.boolean(),
    found: fc.constantFrom<Found>(
      { is: 'nothing' },
      { is: 'valid' },
      { is: 'refused', reason: 'it is empty' },
      { is: 'incomplete', problems: ['no notes'] },
    ),
    dialog: fc.constantFrom(false, false, false, true),
    limited: fc.constantFrom(false, false, false, false, true),
    background: fc.boolean(),
  })
  .map(({ percent, screen, ...rest }) =>
    sight({ ...rest, ...(percent === undefined ? {} : { percent }), ...(screen === undefined ? {} : { screen }) }),
  )

/** What may be answered to what was done last. */
function answers(effects: readonly Effect[]): Seen[] {
  return effects.flatMap((effect): Seen[] => {
    if (effect.do === 'health') return []
    if (effect.do === 'snapshot') return [{ seen: 'snapshot' }]
    if (effect.do === 'store')
      return [
        { seen: 'stored', document: { ...stored, by: effect.by === 'ledger' ? 'ledger' : 'agent', turns: 4 } },
        { seen: 'refused', what: 'store', reason: 'the disk is full' },
      ]
    return [
      { seen: 'done', what: effect.do },
      { seen: 'refused', what: effect.do, reason: 'somebody is typing' },
    ]
  })
}

test('whatever is seen: never cleared without a document, nothing typed twice unseen, always something named to wait for [C5][C7]', () => {
  const moves = fc.array(
    fc.record({
      sight: anySight,
      answer: fc.nat(3),
      wait: fc.constantFrom(10, 1_000, 5_000, 30_000, 400_000),
      dies: fc.constantFrom(false, false, false, false, true),
    }),
    { minLength: 20, maxLength: 120 },
  )
  const policies = fc.record({
    clearShows: fc.boolean(),
    onSilence: fc.constantFrom<Policy['onSilence']>('ledger', 'ask'),
  })
  fc.assert(
    fc.property(moves, policies, (list, choices) => {
      const rules = { ...policy, ...choices }
      let cycle: Cycle = atRest
      let now = 1_000_000
      let open: Seen[] = []
      const touches: string[] = []
      let durable = false
      /** Prompts that may have arrived: text to whether it has been looked for since. */
      const typed = new Map<string, boolean>()
      const take = ({ cycle: next, effects, waits }: Stepped) => {
        if (next.at !== 'watching' && cycle.at === 'watching') durable = false
        cycle = next
        for (const effect of effects) {
          if (effect.do === 'health' || effect.do === 'snapshot' || effect.do === 'store') continue
          if (effect.do === 'clear') expect(durable, 'a clear without a document').toBe(true)
          if (effect.do === 'interrupt') expect(touches.at(-1), 'two interrupts in a row').not.toBe('interrupt')
          if ('text' in effect) {
            expect(typed.get(effect.text), `typed again without looking: ${effect.text.slice(0, 40)}`).not.toBe(false)
            typed.set(effect.text, false)
          }
          touches.push(effect.do)
        }
        // Bounded: each prompt and the clear at most twice, refusals aside, and as many interrupts between them.
        const acting = effects.some((effect) => effect.do !== 'health')
        if (!acting && next.at !== 'done' && next.at !== 'failed') expect(waits?.for, next.at).toBeTruthy()
        if (acting) open = answers(effects)
      }
      for (const { sight: seen, answer, wait, dies } of list) {
        now += wait
        if (dies) {
          open = []
          take(revive(cycle, now))
        }
        const reply = open.length > 0 && answer > 0 ? open[answer % open.length]! : undefined
        if (reply !== undefined) {
          open = []
          if (reply.seen === 'stored') durable = true
          if (reply.seen === 'refused' && 'prompt' in cycle) typed.delete(cycle.prompt.text)
          take(step(cycle, reply, rules, now))
        }
        const pending: Cycle = cycle
        if ('prompt' in pending && pending.prompt.state !== 'typing') typed.set(pending.prompt.text, true)
        const moment = { ...seen, look: { ...seen.look, at: now, changed: now } }
        // The turn that was interrupted is over.
        if (cycle.at === 'watching' && !isWorking(moment)) touches.push('rest')
        take(step(cycle, moment, rules, now))
        if (cycle.at === 'done' || cycle.at === 'failed') {
          typed.clear()
          cycle = restAfter(cycle)
        }
      }
    }),
    { numRuns: 1_000 },
  )
})
