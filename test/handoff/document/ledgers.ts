// Ledgers made by hand.

import type { FileFact, Ledger } from '../../../src/handoff/ledger/facts.ts'

export function ledgerOf(facts: Partial<Ledger> = {}): Ledger {
  return {
    range: { from: 1, to: 900 },
    span: { from: '2026-01-22T12:00:00Z', to: '2026-01-22T14:30:00Z' },
    counts: {
      entries: 900,
      userMessages: 3,
      assistantMessages: 300,
      toolCalls: 298,
      toolErrors: 4,
      filesRead: 3,
      filesChanged: 2,
      failuresUnresolved: 1,
      failuresResolved: 0,
    },
    ending: { state: 'interrupted', id: 900 },
    goal: undefined,
    lastRequest: undefined,
    instructions: [],
    lastWords: undefined,
    replies: [],
    deeds: [],
    files: [],
    commands: [],
    tests: [],
    failures: [],
    todos: [],
    decisions: [],
    questions: [],
    background: [],
    subagents: [],
    inFlight: [],
    unknownTools: [],
    inherited: undefined,
    noted: undefined,
    git: undefined,
    ...facts,
  }
}

export function changed(path: string, facts: Partial<FileFact> = {}): FileFact {
  return {
    path,
    action: 'edited',
    state: 'changed',
    reads: 1,
    edits: 1,
    firstId: 10,
    lastId: 20,
    source: 'tape',
    ...facts,
  }
}

/** A session in the middle of its work, with something of everything. */
export const busy: Ledger = ledgerOf({
  ending: { state: 'interrupted', during: 'npm run migrate', id: 899 },
  goal: { text: 'Add refresh tokens to the login API.', id: 2 },
  lastRequest: { text: 'Now write the tests for token rotation.', id: 700 },
  instructions: [
    { text: 'Add refresh tokens to the login API.', id: 2, standing: [] },
    { text: 'Never touch the files under legacy/.', id: 40, standing: ['Never touch the files under legacy/.'] },
    { text: 'Use bcrypt for the hashes.', id: 50, standing: [], supersededBy: 60 },
    { text: 'Use argon2 instead of bcrypt.', id: 60, standing: ['Use argon2 instead of bcrypt.'] },
    { text: 'Now write the tests for token rotation.', id: 700, standing: [] },
  ],
  lastWords: { text: 'All tests pass now.', id: 890 },
  files: [
    changed('src/auth/token.ts', { added: 120, removed: 3, lastId: 640 }),
    changed('src/auth/rotate.ts', { action: 'created', added: 60, lastId: 700 }),
    changed('src/auth/index.ts', { added: 2, removed: 1, lastId: 710 }),
    changed('db/005_refresh.sql', { action: 'created', lastId: 100 }),
    changed('src/auth/old.ts', { action: 'deleted', lastId: 120 }),
    changed('docs/api.md', { action: 'renamed', from: 'docs/readme.md', lastId: 130 }),
    changed('src/auth/session.ts', { action: 'read', state: 'read', edits: 0 }),
    changed('tmp/x.ts', { state: 'scratch', action: 'deleted' }),
  ],
  commands: [{ command: 'npm run build', ok: true, times: 4, failed: 0, firstId: 90, lastId: 800, exit: 0 }],
  tests: [{ runner: 'vitest', command: 'npx vitest run', ok: false, passed: 12, failed: 1, times: 3, id: 880 }],
  failures: [
    {
      what: 'npx vitest run',
      kind: 'test',
      role: 'check',
      message: 'AssertionError: expected 401 to be 200',
      tail: ' FAIL  test/rotate.test.ts\nAssertionError: expected 401 to be 200\n  at rotate.test.ts:14',
      exit: 1,
      times: 3,
      firstId: 800,
      lastId: 880,
    },
    {
      what: 'npm run lint',
      kind: 'command',
      role: 'check',
      message: 'unused',
      times: 1,
      firstId: 300,
      lastId: 300,
      resolvedBy: 310,
      closed: { reason: 'passed', id: 310 },
    },
  ],
  todos: [
    { text: 'Create the migration', status: 'completed', id: 750 },
    { text: 'Write tests for rotation', status: 'in_progress', id: 750 },
    { text: 'Update the API documentation', status: 'pending', id: 750 },
    { text: 'Remove the old endpoint', status: 'pending', id: 750 },
  ],
  decisions: [
    {
      text: 'Rotate on every use',
      why: 'a stolen token is noticed',
      ruledOut: 'sliding expiry',
      by: 'user',
      source: 'answer',
      id: 200,
    },
    { text: 'Keep one table', by: 'assistant', source: 'said', id: 210 },
  ],
  questions: [{ text: 'Should old tokens be revoked?', options: ['yes', 'no'], source: 'tool', id: 860 }],
  background: [{ command: 'npm run dev', handle: 'bash_1', startedId: 500, lastId: 820 }],
  inFlight: [{ callId: 'c9', tool: 'Bash', what: 'npm run migrate', id: 899, interrupted: true }],
  git: {
    cwd: '/repo',
    branch: 'refresh',
    commit: '0123456789abcdef',
    dirty: [{ path: 'a', status: ' M' }],
    checked: true,
  },
})
