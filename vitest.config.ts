import { randomInt } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

// The sample of this run (test/support/full.ts); the workers inherit it.
process.env['BATON_TEST_SEED'] ??= String(randomInt(2 ** 31))

/** Agents from npm, in front of a scripted model. */
const real = ['test/real/**/*.test.ts']

/** The dashboard in a browser, in front of a real server. */
const web = ['test/web/**/*.test.ts']

/** Files that start programs, panes and servers, and kill them. */
const processes = [
  'test/{faults,supervisor}/**/*.test.ts',
  'test/cli/**/{build,chat*,demo,run*,watch}.test.ts',
  'test/**/{bash,crowd,processes,recovery,terminal,up-faults}.test.ts',
  'test/{house,package/package}.test.ts',
]

/** What takes long and seldom breaks. */
const onlyFull = process.env['BATON_TEST_FULL'] ? [] : ['test/faults/{copy,tls}.test.ts']

const everywhere = {
  // The projects of tests are the tests' own; those about trust take it away again.
  env: { BATON_TRUST: '1' },
  pool: 'forks',
  testTimeout: 120_000,
  hookTimeout: 120_000,
  // A busy machine may need many seconds for what takes milliseconds.
  expect: { poll: { timeout: 30_000 } },
} as const

/** Suites that run on each engine: those that look only at what a store promises, not at its files. */
const onEngines = process.env['BATON_TEST_FULL']
  ? [
      'test/tape/{blob,context,entry,example,fork,reset,step,tape,user-words}.test.ts',
      'test/task/{gates,graphs,questions,tasks}.test.ts',
      'test/relay/{ask,manager,journal/overtaken,work/inbox,request/*,people/*}.test.ts',
      'test/supervisor/{alerts,cycle/{clock,cycle,faults,killed,policy,slots},documents/document-store}.test.ts',
      'test/supervisor/session/{launched,runs}.test.ts',
      'test/operations/{agents,tape}.test.ts',
      'test/handoff/{phase,session}.test.ts',
    ]
  : [
      'test/tape/fork.test.ts',
      'test/task/gates.test.ts',
      'test/relay/{journal/overtaken,request/circles}.test.ts',
      'test/supervisor/{alerts,cycle/slots}.test.ts',
      'test/operations/tape.test.ts',
    ]

export default defineConfig({
  test: {
    // Tests wait more than they compute: one worker more than there are cores keeps the cores busy.
    maxWorkers: availableParallelism() + 1,
    watch: false,
    allowOnly: false,
    passWithNoTests: false,
    globalSetup: './test/support/global-setup.ts',
    coverage: { include: ['src/**/*.ts'], reporter: ['text', 'html'], reportOnFailure: true },
    reporters: ['default', './scripts/plain-summary.ts'],
    // Vitest starts them by group, then by name, then the longest file first: `unit` fills what `process` leaves idle.
    projects: [
      {
        test: {
          ...everywhere,
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [...processes, ...real, ...web],
          // A worker loads each module once for all of its files: loading takes longer than most of these tests.
          isolate: false,
        },
      },
      { test: { ...everywhere, name: 'process', include: processes, exclude: onlyFull } },
      ...['postgres', 'nats'].map((name) => ({
        test: { ...everywhere, name, include: onEngines, globalSetup: './test/support/engine-setup.ts' },
      })),
      // These measure Baton's own part of a cycle and take both cores for seconds: they run when all others are done.
      { test: { ...everywhere, name: 'real', include: real, maxWorkers: 2, sequence: { groupOrder: 1 } } },
      // A browser and a server for each file: two at a time, at the end.
      { test: { ...everywhere, name: 'web', include: web, maxWorkers: 2, sequence: { groupOrder: 2 } } },
    ],
  },
})
