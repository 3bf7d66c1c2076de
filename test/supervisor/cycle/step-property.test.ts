import fc from 'fast-check'
import { expect, test } from 'vitest'
import { atRest, restAfter, step } from '../../../src/supervisor/cycle/cycle.ts'
import type {
  Cycle,
  Effect,
  DocumentState,
  Policy,
  Prompt,
  CycleEvent,
  Sighting,
  StepResult,
} from '../../../src/supervisor/cycle/cycle-state.ts'
import { isWorking } from '../../../src/supervisor/cycle/prompt-delivery.ts'
import { resumeCycle } from '../../../src/supervisor/cycle/resume-cycle.ts'
import { policy, sight, stored } from '../support/sightings.ts'
import { runs } from '../../support/full.ts'

const screens = fc.constantFrom<Sighting['screen']>(
  { is: 'prompt', draft: '' },
  { is: 'prompt', draft: 'hm' },
  { is: 'busy', draft: '' },
  { is: 'dialog', question: 'May I?', about: 'permission' },
  { is: 'starting' },
  { is: 'unknown' },
)
const anySight = fc
  .record({
    turn: fc.constantFrom<Sighting['observation']['turn']>('none', 'asked', 'working', 'idle', 'idle', 'idle'),
    percent: fc.constantFrom(undefined, 5, 70, 86, 92, 97),
    session: fc.constantFrom('old', 'old', 'new'),
    turns: fc.nat(4),
    screen: fc.option(screens, { nil: undefined, freq: 2 }),
    heard: fc.boolean(),
    read: fc.boolean(),
    found: fc.constantFrom<DocumentState>(
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
function answers(effects: readonly Effect[]): CycleEvent[] {
  return effects.flatMap((effect): CycleEvent[] => {
    if (effect.do === 'health') return []
    if (effect.do === 'snapshot') return [{ type: 'snapshot' }]
    if (effect.do === 'store')
      return [
        { type: 'stored', document: { ...stored, by: effect.by === 'ledger' ? 'ledger' : 'agent', turns: 4 } },
        { type: 'refused', what: 'store', reason: 'the disk is full' },
      ]
    return [
      { type: 'done', what: effect.do },
      { type: 'refused', what: effect.do, reason: 'its input holds a line that was not sent' },
    ]
  })
}

function promptOf(cycle: Cycle): Prompt | undefined {
  return 'prompt' in cycle ? cycle.prompt : cycle.at === 'watching' ? cycle.say : undefined
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
      let open: CycleEvent[] = []
      const touches: string[] = []
      let durable = false
      /** Prompts that may have arrived: text to whether it has been looked for since. */
      const typed = new Map<string, boolean>()
      const take = ({ cycle: next, effects, waits }: StepResult) => {
        if (next.at !== 'watching' && cycle.at === 'watching') durable = false
        const said = promptOf(cycle)
        // A word that was delivered, or given up, may be needed once more in another turn.
        if (cycle.at === 'watching' && said !== undefined && promptOf(next) === undefined) typed.delete(said.text)
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
          take(resumeCycle(cycle, now))
        }
        const reply = open.length > 0 && answer > 0 ? open[answer % open.length]! : undefined
        if (reply !== undefined) {
          open = []
          if (reply.type === 'stored') durable = true
          const refused = reply.type === 'refused' ? promptOf(cycle) : undefined
          if (refused !== undefined) typed.delete(refused.text)
          take(step(cycle, reply, rules, now))
        }
        const pending = promptOf(cycle)
        if (pending !== undefined && pending.state !== 'typing') typed.set(pending.text, true)
        const moment = { ...seen, observation: { ...seen.observation, at: now, changed: now } }
        // The turn that was interrupted is over.
        if (cycle.at === 'watching' && !isWorking(moment)) touches.push('rest')
        take(step(cycle, moment, rules, now))
        if (cycle.at === 'done' || cycle.at === 'failed') {
          typed.clear()
          cycle = restAfter(cycle)
        }
      }
    }),
    { numRuns: runs(1_000) },
  )
})
