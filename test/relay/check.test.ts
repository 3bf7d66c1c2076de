import { expect, test } from 'vitest'
import { checked } from '../../src/config/validate.ts'
import { checkRelay, isFailed } from '../../src/relay/check.ts'
import { relaySection } from '../../src/relay/settings.ts'
import { fullTeam } from './team.ts'

const sound = {
  ...fullTeam,
  leaseMs: 10_000,
  latencyBudgetMs: 300_000,
}

function check(change: object = {}) {
  return checkRelay(checked(relaySection, { ...sound, ...change }, 'relay'))
}

/** `rule: problem` of what failed. */
function failures(change: object): string[] {
  return check(change)
    .filter(isFailed)
    .flatMap(({ rule, problems }) => problems.map((problem) => `${rule}: ${problem}`))
}

test('a sound configuration passes every rule [P13]', () => {
  expect(failures({})).toEqual([])
  expect(check().map(({ rule }) => rule)).toEqual([
    'version',
    'routes',
    'forbidden',
    'recovery',
    'coverage',
    'topology',
    'human',
    'limits',
    'latency',
  ])
  expect(check().find(({ rule }) => rule === 'coverage')?.notes).toEqual([
    'neither allowed nor forbidden, and so refused: validator → orchestrator, researcher → validator, researcher → orchestrator, orchestrator → generator, orchestrator → validator, orchestrator → researcher (6 of 12 pairs)',
  ])
})

test('the version is a semantic one, and the one that is spoken [P13]', () => {
  expect(failures({ schemaVersion: 'one' })).toEqual([
    'version: schemaVersion "one" is not a semantic version such as 1.0.0',
  ])
  expect(failures({ schemaVersion: '2.0.0' })).toEqual(['version: schemaVersion is 2.0.0, but this Baton speaks 1.0.0'])
})

test('there are four routes, two forbidden ones and three strategies at least, or a reason why not [P13]', () => {
  const few = {
    routes: [...sound.routes.slice(0, 3), sound.routes[0]],
    forbidden: sound.forbidden.slice(0, 1),
    recovery: [{ strategy: 'escalate' }, { strategy: 'escalate' }, { strategy: 'proceed_partial' }],
    waive: { coverage: 'not of interest here' },
  }
  expect(failures(few)).toEqual([
    'routes: 3 allowed routes, where at least 4 are expected',
    'forbidden: 1 forbidden routes, where at least 2 are expected',
    'recovery: 2 recovery strategies, where at least 3 are expected',
  ])
  const reasons = { coverage: 'c', routes: 'a small team', forbidden: 'nothing to forbid', recovery: 'people decide' }
  expect(failures({ ...few, waive: reasons })).toEqual([])
  const waived = check({ ...few, waive: reasons }).find(({ rule }) => rule === 'routes')
  expect(waived).toMatchObject({ waived: 'a small team', problems: [expect.any(String)] })
})

test('a waiver that is not needed is said [P13]', () => {
  const [routes] = check({ waive: { routes: 'a small team' } }).filter(({ rule }) => rule === 'routes')
  expect(routes!.notes).toEqual(['it is waived, though nothing is wrong'])
})

test('routes cover the agents [P13]', () => {
  expect(failures({ agents: { ...sound.agents, writer: {} } })).toEqual(['coverage: no route leads from or to writer'])
  const none = {
    agents: {},
    routes: [],
    forbidden: [],
    recovery: [],
    waive: { routes: 'x', forbidden: 'x', recovery: 'x' },
  }
  expect(failures(none)).toEqual(['coverage: agents names none'])
})

test('every name is one of the topology [P13]', () => {
  const typos = {
    routes: [...sound.routes, { from: 'generater', to: 'human', reason: 'typo' }],
    forbidden: [...sound.forbidden, { from: 'validator', to: 'reviewer', reason: 'gone' }],
    recovery: [...sound.recovery, { strategy: 'retry_different_target', target: 'boss', from: ['nobody'] }],
    roles: { research: 'library' },
  }
  expect(failures(typos)).toEqual([
    'topology: routes[4].from is "generater", which is not an agent',
    'topology: forbidden[2].to is "reviewer", which is not an agent',
    'topology: recovery[3].target is "boss", which is not an agent',
    'topology: recovery[3].from[0] is "nobody", which is not an agent',
    'topology: roles.research is "library", which is not an agent',
  ])
  const toItself = [...sound.routes, { from: 'validator', to: 'validator', reason: 'again' }]
  expect(failures({ routes: toItself })).toEqual(['topology: validator is to hand over to itself'])
})

test('a handoff that fails can come to a person [P13]', () => {
  const skipping = [{ strategy: 'proceed_partial' }, { strategy: 'skip_and_continue' }, { strategy: 'escalate' }]
  expect(failures({ recovery: skipping })).toEqual([
    'human: skip_and_continue comes before anything that asks a person, so that a failed handoff never reaches one',
  ])
  const asking = [{ strategy: 'proceed_partial' }, { strategy: 'escalate' }, { strategy: 'skip_and_continue' }]
  expect(failures({ recovery: asking })).toEqual([])
  // What is critical is never skipped.
  expect(failures({ recovery: skipping, criticalInputs: ['budget'] })).toEqual([])
})

test('limits agree with each other and with the latency budget [P13]', () => {
  expect(failures({ limits: { maxHandoffsPerItem: 11 } })).toEqual([
    'limits: maxHandoffsPerItem (11) is more than maxHandoffsPerPipeline (10), so it is never reached',
  ])
  expect(failures({ latencyBudgetMs: 299_999 })).toEqual([
    'latency: 10 handoffs of 30000 ms take up to 300000 ms, more than latencyBudgetMs (299999 ms)',
  ])
  expect(failures({ latencyBudgetMs: undefined })).toEqual([
    'latency: latencyBudgetMs is not set, so nothing says whether this is too long: 10 handoffs of 30000 ms take up to 300000 ms',
  ])
  expect(failures({ latencyBudgetMs: undefined, waive: { latency: 'it runs at night' } })).toEqual([])
  const long = check({ leaseMs: 30_000 }).find(({ rule }) => rule === 'limits')
  expect(long?.notes[0]).toContain('leases as long as handoffTimeoutMs (30000 ms)')
})

test('what each field may be is checked first, by its path [P13]', () => {
  expect(() => check({ forbidden: [{ from: 'generator', to: 'human', reason: 'no' }] })).toThrow(
    /the way to a person cannot be closed/,
  )
  expect(() => check({ routes: [...sound.routes, sound.forbidden[0]] })).toThrow(/routes\[4\].*forbidden/)
  expect(() => check({ waive: { human: 'no people' } })).toThrow(/has no field "human"/)
})
