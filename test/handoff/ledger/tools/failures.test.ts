import { describe, expect, it } from 'vitest'
import { Session, unresolved } from '../session.ts'

/** Whether a command with that output, exit status unknown to the reader of its pipe, counts as failed. */
function fails(command: string, output: string, exit = 0): boolean {
  const session = new Session()
  session.bash(command, output, exit)
  return session.ledger().failures.length > 0
}

describe('what is a failure', () => {
  it.each([
    ['a pipe hides the status', 'npx vitest run 2>&1 | tail -5', ' Tests  2 failed | 8 passed (10)'],
    ['a list hides the status', 'npm run build; echo done', 'src/a.ts(3,1): error TS2345: Argument\ndone'],
    ['|| true hides the status', 'pytest || true', '2 failed, 3 passed in 0.10s'],
    [
      'a traceback behind a pipe',
      'python run.py | head',
      'Traceback (most recent call last):\n  File "run.py"\nValueError: no',
    ],
    ['npm errors behind a pipe', 'npm run lint 2>&1 | tail', 'npm ERR! code ELIFECYCLE'],
    ['a panic behind a pipe', 'cargo run 2>&1 | tail', "thread 'main' panicked at src/main.rs:1"],
    ['eslint behind a pipe', 'npx eslint . | tail -3', '✖ 3 problems (2 errors, 1 warning)'],
    ['go behind a pipe', 'go test ./... | tail', '--- FAIL: TestA (0.00s)\nFAIL\tex/a\t0.1s'],
    ['failures that only grep shows', 'npm test | grep FAIL', ' FAIL  src/a.test.ts'],
    ['a summary with a status of 0', 'node run-tests.js', 'Tests:       1 failed, 2 passed, 3 total'],
  ])('[H13] %s', (_, command, output) => {
    expect(fails(command, output)).toBe(true)
  })

  it.each([
    ['a log that is only read', 'cat test.log', 'FAILED tests/a.py::test_x\n2 failed, 3 passed in 0.1s'],
    ['a file that is only searched', 'grep -rn "error TS2345" src | head', 'src/a.ts: error TS2345: x'],
    ['a log read with tail', 'tail -50 /var/log/x | grep ERROR', 'ERROR: failed'],
    ['history', 'git log --oneline | head', 'abc fix: 2 failed tests'],
    ['nothing failed', 'npx vitest run | tail', ' Tests  10 passed (10)'],
    ['zero failed', 'pytest | tail -1', '5 passed, 0 failed in 0.1s'],
    ['an unmasked success that talks of errors', 'npm run build', 'Found 2 errors in old log, ignoring'],
    ['a file shown behind a success', 'npm run build && cat FAILED.log', 'FAILED: yesterday'],
    ['words about errors', 'node talk.js | head', 'No errors found. 0 failed.'],
  ])('[H13] not %s', (_, command, output) => {
    expect(fails(command, output)).toBe(false)
  })

  it('[H13] grep that finds nothing is an answer, grep that cannot read is a failed command', () => {
    const session = new Session()
    session.bash('grep -rn foo src', '', 1)
    session.bash('npm test 2>&1 | grep -i fail', '', 1)
    session.bash('diff a b', '1c1', 1)
    session.bash('grep foo missing.txt', 'grep: missing.txt: No such file or directory', 2)
    const facts = session.ledger()
    expect(facts.commands.map(({ ok }) => ok)).toEqual([true, true, true, false])
    expect(facts.failures).toEqual([])
  })

  it('[H13] looking for what is not there is no failure of the work', () => {
    const session = new Session()
    session.bash('ls nowhere', 'ls: cannot access', 2)
    session.tool('Read', { file_path: 'nope.ts' }, 'File does not exist.', true)
    const facts = session.ledger()
    expect(facts.failures).toEqual([])
    expect(facts.commands).toMatchObject([{ ok: false, exit: 2 }])
    expect(facts.files).toEqual([])
  })

  it('[H13] keeps the tail of the last failure and the line that says most', () => {
    const session = new Session()
    const output = `${'x\n'.repeat(5000)}src/a.ts:3 - error TS1005: ';' expected.\n${'y\n'.repeat(3)}`
    session.bash('npx tsc --noEmit', output, 2)
    const [command] = session.ledger().commands
    expect(command?.failureTail).toContain('error TS1005')
    expect(command?.failureTail?.split('\n').length).toBeLessThanOrEqual(15)
    expect(session.ledger().failures[0]?.message).toBe("src/a.ts:3 - error TS1005: ';' expected.")
  })
})

describe('what resolves a failure', () => {
  const failed = ' FAIL  test/a.test.ts > x\n Tests  1 failed | 9 passed (10)'
  const passed = ' Tests  10 passed (10)'

  it.each([
    ['the same command', 'npx vitest run test/a.test.ts', 'npx vitest run test/a.test.ts', true],
    ['the same through a pipe', 'npx vitest run test/a.test.ts', 'npx vitest run test/a.test.ts 2>&1 | tail -5', true],
    ['with another reporter', 'npx vitest run test/a.test.ts', 'npx vitest run test/a.test.ts --reporter=dot', true],
    ['everything', 'npx vitest run test/a.test.ts', 'npx vitest run', true],
    ['the folder', 'npx vitest run test/a.test.ts', 'npx vitest run test', true],
    ['without the name filter', 'npx vitest run -t name', 'npx vitest run', true],
    ['a project script of the same runner', 'npx vitest run test/a.test.ts', 'npm test', true],
    ['together with others', 'npx vitest run', 'npm run build && npx vitest run', true],
    ['a part', 'npx vitest run', 'npx vitest run test/b.test.ts', false],
    ['the part that failed', 'npx vitest run', 'npx vitest run test/a.test.ts', true],
    ['the part that failed, filtered', 'npx vitest run', 'npx vitest run test/a.test.ts -t y', false],
    ['another file', 'npx vitest run test/a.test.ts', 'npx vitest run test/b.test.ts', false],
    ['a name filter', 'npx vitest run', 'npx vitest run -t name', false],
    ['the last failures only', 'npx vitest run', 'npx vitest run --changed', false],
    ['another folder', 'cd a && npx vitest run', 'cd b && npx vitest run', false],
    ['a success nobody vouches for', 'npx vitest run', 'test -d x || npx vitest run', false],
  ])('[H13] by %s: %s, %s', (_, failing, later, resolved) => {
    const session = new Session()
    session.bash(failing, failed, 1)
    const by = session.bash(later, passed)
    const [failure] = session.ledger().failures
    expect(failure?.resolvedBy).toBe(resolved ? by : undefined)
  })

  it('[H13] not by something else that succeeds', () => {
    const session = new Session()
    session.bash('npm run build', 'boom', 1)
    session.bash('echo ok', 'ok')
    session.bash('npm run lint', 'fine')
    session.bash('npm run build | grep nothing', '')
    expect(unresolved(session.ledger())).toEqual(['npm run build'])
    session.bash('npm run build && git push', '')
    expect(session.ledger().counts).toMatchObject({ failuresUnresolved: 0, failuresResolved: 1 })
  })

  it('[H13] a list that failed is resolved when each of its parts has succeeded', () => {
    const session = new Session()
    session.bash('./gen.sh && ./deploy.sh', 'no', 1)
    session.bash('./gen.sh', '')
    expect(unresolved(session.ledger())).toHaveLength(1)
    session.bash('./deploy.sh', '')
    expect(unresolved(session.ledger())).toEqual([])
  })

  it('[H13] failing again is the same failure, and failing after a success opens it again', () => {
    const session = new Session()
    const first = session.bash('make test', 'x', 2)
    const last = session.bash('make test', 'x', 2)
    expect(session.ledger().failures).toMatchObject([{ times: 2, firstId: first, lastId: last }])
    session.bash('make test', 'ok')
    session.bash('make test', 'y', 2)
    expect(unresolved(session.ledger())).toEqual(['make test'])
    expect(session.ledger().commands).toMatchObject([{ times: 4, failed: 3, ok: false }])
  })

  it('[H13] an error of the provider is resolved when the session goes on', () => {
    const session = new Session()
    session.add('error', { kind: 'rate_limit', message: '429' })
    expect(unresolved(session.ledger())).toEqual(['rate_limit'])
    session.assistant('Going on.')
    expect(unresolved(session.ledger())).toEqual([])
  })

  it('[H13] an unknown tool that failed is resolved by the same call only', () => {
    const session = new Session()
    session.tool('deploy', { env: 'prod' }, 'no route', true)
    session.tool('deploy', { env: 'staging' }, 'ok')
    expect(unresolved(session.ledger())).toEqual(['deploy'])
    session.tool('deploy', { env: 'prod' }, 'ok')
    const facts = session.ledger()
    expect(unresolved(facts)).toEqual([])
    expect(facts.unknownTools).toMatchObject([{ name: 'deploy', times: 3, errors: 1 }])
  })
})

describe('test results', () => {
  it.each<[string, string, string, number, number, number?]>([
    ['npx jest', 'Tests:       1 failed, 2 skipped, 3 passed, 6 total', 'jest', 3, 1, 2],
    ['npx mocha', '\n  7 passing (20ms)\n  1 pending\n  2 failing\n', 'mocha', 7, 2, 1],
    ['node --test', '# tests 4\n# pass 3\n# fail 1\n# skipped 0', 'node --test', 3, 1, 0],
    ['pytest -x', '=== 1 failed, 2 passed, 1 skipped in 0.30s ===', 'pytest', 2, 1, 1],
    ['python -m unittest', 'Ran 5 tests in 0.001s\n\nFAILED (failures=2)', 'unittest', 3, 2],
    [
      'cargo test',
      'test result: ok. 3 passed; 0 failed; 1 ignored;\ntest result: ok. 2 passed; 0 failed; 0 ignored;',
      'cargo test',
      5,
      0,
      1,
    ],
    ['bundle exec rspec', '10 examples, 2 failures, 1 pending', 'rspec', 7, 2, 1],
    ['mvn test', '[INFO] Tests run: 5, Failures: 1, Errors: 0, Skipped: 0', 'mvn test', 4, 1],
    ['dotnet test', 'Failed!  - Failed:     1, Passed:     5, Skipped:     0, Total:     6', 'dotnet test', 5, 1],
    ['deno test', 'FAILED | 4 passed | 1 failed (10ms)', 'deno test', 4, 1],
    ['bun test', ' 10 pass\n 2 fail', 'bun test', 10, 2],
    [
      'npx vitest run',
      '\u001B[2m      Tests \u001B[22m \u001B[1m\u001B[32m8 passed\u001B[39m\u001B[22m\u001B[90m (8)\u001B[39m',
      'vitest',
      8,
      0,
    ],
  ])('[H13] %s', (command, output, runner, passed, failed, skipped) => {
    const session = new Session()
    session.bash(`${command} 2>&1 | tail`, output)
    const expected = { runner, passed, failed, ...(skipped === undefined ? {} : { skipped }) }
    expect(session.ledger().tests).toMatchObject([{ ...expected, ok: failed === 0 }])
  })

  it('[H13] the last result of each selection is kept, with how often it ran', () => {
    const session = new Session()
    session.bash('npx vitest run', ' Tests  1 failed (1)', 1)
    session.bash('npx vitest run a', ' Tests  1 passed (1)')
    const id = session.bash('npx vitest run', ' Tests  3 passed (3)')
    expect(session.ledger().tests).toMatchObject([
      { command: 'npx vitest run', passed: 3, ok: true, times: 2, id },
      { command: 'npx vitest run a', times: 1 },
    ])
  })
})

describe('what a script of the project runs', () => {
  it('[H13] is known from an earlier run, so that its success settles what failed by itself', () => {
    const session = new Session()
    const banner = '> shop@1.0.0 build\n> tsgo -p tsconfig.build.json && chmod +x dist/cli.js\n'
    session.bash('cd web && npm run build', banner)
    session.bash('npx tsgo -p tsconfig.build.json 2>&1 | grep error', "a.ts(1,1): error TS2353: no 'x'")
    expect(unresolved(session.ledger())).toHaveLength(1)
    session.bash('npm run build 2>&1 | tail -3', 'done')
    expect(unresolved(session.ledger())).toEqual([])
  })
})

describe('a file that could not be put somewhere', () => {
  it('[H13] is no failure any more when it got there by other means', () => {
    const session = new Session()
    session.bash('cp $(npm root -g)/x/dark.json themes/mine.json', 'cp: dark.json: No such file or directory', 1)
    session.bash('cp src/other.json themes/other.json')
    expect(unresolved(session.ledger())).toHaveLength(1)
    session.bash('cp src/dark.json themes/mine.json')
    expect(unresolved(session.ledger())).toEqual([])
  })
})
