import { expect, test } from 'vitest'
import { atRest, step } from '../../../src/supervisor/cycle/cycle.ts'
import type { Cycle, Effect, CycleEvent, Policy, StepResult } from '../../../src/supervisor/cycle/cycle-state.ts'
import { pending } from '../../../src/supervisor/cycle/prompt-delivery.ts'
import { policy, sight, stored } from '../support/sightings.ts'

/** Walks through what is seen, one after the other, a second apart unless it says otherwise. */
function walk(...seen: (CycleEvent | number)[]): Walk {
  return walkBy(policy, ...seen)
}

const twice = (...seen: (CycleEvent | number)[]) => [...seen, ...seen]

interface Walk {
  cycle: Cycle
  trail: string[]
  effects: Effect[]
  last: StepResult
}

function walkBy(rules: Policy, ...seen: (CycleEvent | number)[]): Walk {
  let cycle: Cycle = atRest
  let now = 1_000_000
  const trail: string[] = []
  const effects: Effect[] = []
  let last: StepResult = { cycle, effects: [] }
  for (const each of seen) {
    if (typeof each === 'number') {
      now += each
      continue
    }
    now += 1_000
    last = step(
      cycle,
      each.type === 'session'
        ? { ...each, observation: { ...each.observation, changed: each.observation.changed || now } }
        : each,
      rules,
      now,
    )
    cycle = last.cycle
    effects.push(...last.effects)
    trail.push([cycle.at, ...last.effects.map((effect) => effect.do)].join(' '))
  }
  return { cycle, trail, effects, last }
}

const begin: CycleEvent[] = [
  sight({ percent: 87 }),
  { type: 'done', what: 'ask' },
  sight({ percent: 87, turn: 'working', heard: true }),
]
const documented: CycleEvent[] = [
  ...begin,
  sight({ percent: 88, turns: 2, found: { is: 'valid' } }),
  { type: 'stored', document: stored },
  { type: 'snapshot' },
]
const cleared: CycleEvent[] = [
  ...documented,
  sight({ percent: 88, turns: 2 }),
  { type: 'done', what: 'clear' },
  sight({ session: 'new', turn: 'none', turns: 0 }),
]

test('the steps of a cycle, in order [C3][C5][C6]', () => {
  const { trail } = walk(
    ...cleared,
    { type: 'done', what: 'resume' },
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
    { type: 'say', text: 'Go on.' },
    { type: 'done', what: 'say' },
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

test('a turn of an agent that forgets what it did in an interrupted one is left to end, however long it takes [C5]', () => {
  const rules = { ...policy, cutsTurns: false }
  const full = sight({ percent: 96, turn: 'working' })
  const { effects, last } = walkBy(rules, full, 590_000, full, 20_000, full, 7_200_000, full)
  expect(effects).toEqual([])
  expect(last.waits).toEqual({ for: 'the end of its turn' })
})

test('an agent whose turn Baton has interrupted is told to continue when no cycle comes of it [C5]', () => {
  const full = sight({ percent: 96, turn: 'working' })
  const compacted = sight({ percent: 1, turn: 'idle' })
  const text =
    'Baton interrupted your last turn because your context was nearly full, which it no longer is: continue with the work.'
  const { effects } = walk(full, { type: 'done', what: 'interrupt' }, compacted, compacted)
  expect(effects).toEqual([{ do: 'interrupt' }, { do: 'say', text }])
  // The next turn may have begun before the keys arrived, and be the one that was cut off.
  const later = walk(
    full,
    { type: 'done', what: 'interrupt' },
    sight({ percent: 1, turn: 'working' }),
    compacted,
    compacted,
  )
  expect(later.effects).toEqual([{ do: 'interrupt' }, { do: 'say', text }])
  // A dialog was open: nothing was interrupted.
  const refused = walk(full, { type: 'refused', what: 'interrupt', reason: 'it asks' }, compacted, compacted)
  expect(refused.effects).toEqual([{ do: 'interrupt' }])
})

test('a command that runs on the brink is left to end, for a minute at most, since nobody would see what it prints [C1][C5]', () => {
  const running = { percent: 96, turn: 'working', doing: ['./step.sh 7'] } as const
  expect(walk(sight(running), 30_000, sight(running)).effects).toEqual([])
  expect(walk(sight(running), 30_000, sight({ ...running, doing: [] })).effects).toEqual([{ do: 'interrupt' }])
  expect(walk(sight(running), 60_000, sight(running)).effects).toEqual([{ do: 'interrupt' }])
  // Where a call is written down only when it has ended, something has to be written first.
  const rules = { ...policy, callsShow: false }
  const silent = { percent: 96, turn: 'working', changed: 1 } as const
  expect(walkBy(rules, sight(silent), 30_000, sight(silent)).effects).toEqual([])
  expect(walkBy(rules, sight(silent), 30_000, sight({ ...silent, changed: 1_020_000 })).effects).toEqual([
    { do: 'interrupt' },
  ])
})

test('an agent that compacts its context by itself is not interrupted in it, for a minute at most [C1][C5]', () => {
  const compacting = { percent: 97, turn: 'working', compacts: true } as const
  expect(walk(sight(compacting), 30_000, sight(compacting)).effects).toEqual([])
  expect(walk(sight(compacting), 10_000, sight({ turn: 'working' })).effects).toEqual([])
  expect(walk(sight(compacting), 60_000, sight(compacting)).effects).toEqual([{ do: 'interrupt' }])
})

test('an agent that takes words in mid-turn is asked there, at the threshold, and not interrupted [C5][C12]', () => {
  const rules = { ...policy, asksInTurn: true }
  const working = { percent: 86, turn: 'working' } as const
  const { trail, cycle } = walkBy(
    rules,
    sight({ percent: 80, turn: 'working' }),
    sight(working),
    { type: 'done', what: 'ask' },
    // A long command runs: the words wait for its end.
    300_000,
    sight(working),
    sight({ ...working, heard: true }),
    sight({ percent: 88, found: { is: 'valid' } }),
  )
  expect(trail).toEqual(['watching', 'asked ask', 'asked', 'asked', 'asked', 'asked store snapshot'])
  expect(cycle).toMatchObject({ at: 'asked', storing: 'agent' })
  // Nobody's draft is touched, and nothing is typed where it would be lost.
  for (const screen of [{ is: 'busy', draft: 'hm' }, { is: 'busy', draft: '', deaf: true }, { is: 'unknown' }] as const)
    expect(walkBy(rules, sight({ ...working, screen })).trail).toEqual(['watching'])
})

test('an agent at the brink is handed over with the ledger, not asked: the request would make it compact [C1][C4]', () => {
  for (const rules of [policy, { ...policy, asksInTurn: true }]) {
    const { trail, effects } = walkBy(rules, sight({ percent: 97, turn: 'working' }), sight({ percent: 97 }))
    expect(trail).toEqual(['watching interrupt', 'asked health store'])
    expect(effects.at(-1)).toMatchObject({ do: 'store', by: 'ledger' })
  }
  // It wrote none when it was asked.
  const { trail } = walk(...begin, sight({ percent: 96, turns: 2 }), 11_000, sight({ percent: 96, turns: 2 }))
  expect(trail.slice(3)).toEqual(['asked', 'asked health store'])
})

test('a question about the document itself has a deadline; then the request is withdrawn and the ledger writes [C4]', () => {
  const asks = (question: string) =>
    sight({ percent: 88, turn: 'working', screen: { is: 'dialog', question, about: 'permission' } })
  const ours = asks('Do you want to create handoff-2026-01-22-14-30.md?')
  const { effects, trail } = walk(
    ...begin,
    ours,
    299_000,
    ours,
    5_000,
    ours,
    sight({ percent: 88 }),
    11_000,
    sight({ percent: 88 }),
  )
  expect(effects).toContainEqual({ do: 'interrupt', about: 'handoff-2026-01-22-14-30.md' })
  expect(trail.at(-1)).toBe('asked health store')
  const others = asks('Do you want to run rm -rf?')
  expect(walk(...begin, others, 3_600_000, others).effects.map((effect) => effect.do)).toEqual(['ask'])
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
    { type: 'done', what: 'ask' },
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
    { type: 'done', what: 'ask' },
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
    { type: 'snapshot' },
    { type: 'refused', what: 'store', reason: 'No space left on the disk' },
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
  const { effects, cycle } = walk(...documented, same, ...twice({ type: 'done', what: 'clear' }, 16_000, same))
  expect(effects.filter((effect) => effect.do === 'clear')).toHaveLength(2)
  expect(cycle).toMatchObject({ at: 'failed', step: 'clearing', document: stored })
})

test('a turn that comes between the document and the clear is in the document before the clear is repeated [C5][C7]', () => {
  const worked = sight({ percent: 90, turns: 3 })
  const { trail, effects } = walk(
    ...documented,
    sight({ percent: 88, turns: 2 }),
    { type: 'done', what: 'clear' },
    sight({ percent: 89, turns: 2, turn: 'working' }),
    60_000,
    worked,
    worked,
    { type: 'stored', document: { ...stored, turns: 3 } },
    { type: 'snapshot' },
    worked,
  )
  expect(trail.slice(documented.length)).toEqual([
    'clearing clear',
    'clearing',
    'clearing',
    'documented snapshot',
    'documented store',
    'documented',
    'documented',
    'clearing clear',
  ])
  expect(effects.filter((effect) => effect.do === 'store')).toHaveLength(2)
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
  expect(last.waits?.for).toBe('a chance to clear (its input holds a line that was not sent)')
})

test('work that goes on behind the document makes it out of date: it is stored anew before the clear [C7]', () => {
  const later = sight({ percent: 90, turns: 3 })
  const { effects } = walk(...documented, later, { type: 'stored', document: { ...stored, turns: 3 } }, later)
  expect(effects.map((effect) => effect.do)).toEqual(['ask', 'store', 'snapshot', 'store', 'clear'])
})

test('a prompt that is not heard is typed once more, and then a person is asked [C6]', () => {
  const fresh = sight({ session: 'new', turn: 'none', turns: 0 })
  const { effects, cycle } = walk(...cleared, ...twice({ type: 'done', what: 'resume' }, 21_000, fresh))
  expect(effects.filter((effect) => effect.do === 'resume')).toHaveLength(2)
  expect(cycle).toMatchObject({ at: 'failed', step: 'resuming' })
})

test('a prompt that was never typed is not taken for heard, though the same words were said before [C6][C15]', () => {
  const cycle: Cycle = { at: 'watching', say: pending('Go on.', 1_000_000) }
  const starting = sight({ screen: { is: 'starting' }, heard: true })
  const waits = step(cycle, starting, policy, 1_000_001)
  expect(waits).toMatchObject({ cycle, effects: [] })
  const typed = step(waits.cycle, sight({ heard: true }), policy, 1_000_002)
  expect(typed.effects).toEqual([{ do: 'say', text: 'Go on.' }])
})

test('a prompt whose agent is at work is not typed again, however late it shows [C6]', () => {
  const busy = sight({ session: 'new', turn: 'none', turns: 0, screen: { is: 'busy', draft: '' } })
  const { effects } = walk(...cleared, { type: 'done', what: 'resume' }, 21_000, busy, 600_000, busy)
  expect(effects.filter((effect) => effect.do === 'resume')).toHaveLength(1)
})

test('a turn that was killed before its first reply, in a fresh context, is begun again soon [C6][C15]', () => {
  const killed = sight({ session: 'new', turns: 1, changed: 1, error: 'it ended with 137' })
  const told: CycleEvent[] = [{ type: 'done', what: 'resume' }, sight({ session: 'new', heard: true, turn: 'working' })]
  const { effects, cycle } = walk(...cleared, ...told, 11_000, killed)
  expect(effects.filter((effect) => effect.do === 'resume')).toHaveLength(2)
  expect(cycle).toMatchObject({ at: 'resuming' })
})

test('a fresh context that does not read its document is told once more, then a person is asked [C6]', () => {
  const idle = sight({ session: 'new', turns: 1, percent: 6, changed: 1 })
  const told: CycleEvent[] = [{ type: 'done', what: 'resume' }, sight({ session: 'new', heard: true, turn: 'working' })]
  const { effects, cycle } = walk(...cleared, ...told, 11_000, idle, ...told, 11_000, idle)
  const texts = effects.flatMap((effect) => (effect.do === 'resume' ? [effect.text] : []))
  expect(texts).toHaveLength(2)
  expect(texts[0]).toMatch(/^Read handoff from .+ and resume work/)
  expect(texts[1]).not.toBe(texts[0])
  expect(cycle).toMatchObject({ at: 'failed', step: 'verifying' })
})
