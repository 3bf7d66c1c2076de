import { describe, expect, test } from 'vitest'
import { conversation, Session } from '../session.ts'

const vitestFails = ' FAIL  test/cart.test.ts > adds\n Tests  1 failed | 9 passed (10)'
const goPasses = 'ok  \tex.org/shop/cart\t0.2s\nok  \tex.org/shop/pay\t(cached)'

function open(session: Session): string[] {
  return session
    .ledger()
    .failures.filter(({ closed }) => closed === undefined)
    .map(({ what }) => what)
}

function reasons(session: Session): (string | undefined)[] {
  return session.ledger().failures.map(({ closed }) => closed?.reason)
}

describe('a failure stays open', () => {
  test.each<[string, (session: Session) => void, string[]]>([
    [
      'when tests fail because their port is taken',
      (s) =>
        s.bash(
          'npx vitest run',
          ' FAIL  test/port.test.ts > listens\nError: listen EADDRINUSE\n Tests  1 failed (1)',
          1,
        ),
      ['npx vitest run'],
    ],
    [
      'when a test fails and nothing runs it again',
      (s) => s.bash('npx vitest run', vitestFails, 1),
      ['npx vitest run'],
    ],
    [
      'when a task of the project fails',
      (s) => s.bash('mise run lint', 'cart.go:3:1: unused import', 1),
      ['mise run lint'],
    ],
    [
      'when a script of the project fails',
      (s) => s.bash('bash scripts/smoke.sh --all', 'smoke: connection refused', 3),
      ['bash scripts/smoke.sh --all'],
    ],
    [
      'when another part passes while nothing was changed',
      (s) => {
        s.bash('npx vitest run test/cart.test.ts', vitestFails, 1)
        s.bash('npx vitest run test/pay.test.ts', ' Tests  3 passed (3)')
      },
      ['npx vitest run test/cart.test.ts'],
    ],
    [
      'when the user named the command',
      (s) => {
        s.user('please run rsync -a build/ host:/srv until it works')
        s.bash('rsync -a build/ host:/srv', 'rsync: connection unexpectedly closed', 12)
      },
      ['rsync -a build/ host:/srv'],
    ],
    [
      'when a commit was made long after it, for something else',
      (s) => {
        s.bash('npx vitest run', vitestFails, 1)
        for (const text of ['and the header', 'and the footer', 'commit the footer']) s.user(text)
        s.bash('git commit -am footer', '[main abc1234] footer')
      },
      ['npx vitest run'],
    ],
    [
      'when a pattern does not match it',
      (s) => {
        s.bash('node --test test/cart-sum.test.mjs', '# pass 0\n# fail 1', 1)
        s.bash('node --test test/pay-*.test.mjs', '# pass 4\n# fail 0')
      },
      ['node --test test/cart-sum.test.mjs'],
    ],
    [
      'when only some of the files pass that failed',
      (s) => {
        s.bash('npx jest', 'FAIL test/cart.test.js\nFAIL test/pay.test.js\n\nTests: 2 failed, 7 passed, 9 total', 1)
        s.bash('npx jest test/pay.test.js', 'Tests: 3 passed, 3 total')
      },
      ['npx jest'],
    ],
    [
      'when a filter fits no test at all',
      (s) => {
        s.bash('cargo test', 'test cart::sum ... FAILED\ntest result: FAILED. 8 passed; 1 failed; 0 ignored', 101)
        s.bash('cargo test cart::sum', 'test result: ok. 0 passed; 0 failed; 0 ignored; 9 filtered out')
      },
      ['cargo test'],
    ],
    [
      'when other tests fail without the change, too',
      (s) => {
        s.bash('pytest -q', 'FAILED t/test_pay.py::test_refund - KeyError\n1 failed, 9 passed in 1.2s', 1)
        s.bash('git stash', 'Saved working directory and index state WIP on main: 1a2b3c4 x')
        s.bash('pytest -q', 'FAILED t/test_dns.py::test_lookup - OSError\n1 failed, 9 passed in 1.2s', 1)
        s.bash('git stash pop', 'Dropped refs/stash@{0}')
      },
      ['pytest -q'],
    ],
    [
      'when a server shows the log of what failed there',
      (s) => {
        s.bash('gh pr checks 12', 'unit\tfail\t1m2s', 1)
        s.bash('gh run view 77 --log-failed', 'unit\tError: no such table: orders')
      },
      ['gh pr checks 12'],
    ],
    [
      'when an app cannot be built, wherever the verb stands',
      (s) => s.bash('xcodebuild -scheme Till build', 'error: No signing certificate found\n** BUILD FAILED **', 65),
      ['xcodebuild -scheme Till build'],
    ],
  ])('%s [H13]', (_, play, expected) => {
    const session = new Session()
    play(session)
    expect(open(session)).toEqual(expected)
  })
})

describe('a failure is closed', () => {
  test.each<[string, (session: Session) => void, string]>([
    [
      'by a pattern that includes it',
      (s) => {
        s.bash('node --test test/cart-sum.test.mjs', '# pass 0\n# fail 1', 1)
        s.bash('node --test test/cart-*.test.mjs', '# pass 4\n# fail 0')
      },
      'passed',
    ],
    [
      'by tests that cannot run without the build',
      (s) => {
        s.bash('go build ./...', 'cart/sum.go:12:2: undefined: total', 1)
        s.bash('go test ./...', goPasses)
      },
      'passed',
    ],
    [
      'by a task of the project that runs the tests',
      (s) => {
        s.bash('go test -run TestSum ./cart/', '--- FAIL: TestSum (0.00s)\nFAIL\tex.org/shop/cart\t0.1s', 1)
        s.bash('mise run test:ci', `${goPasses}\n[test:ci] $ go test -race ./...`)
      },
      'passed',
    ],
    [
      'by the task that failed in a chain, run alone',
      (s) => {
        s.bash('mise run fmt && mise run lint', '[fmt] ok\n[lint] cart.go:3:1: unused import', 1)
        s.bash('mise run lint', '0 issues.')
      },
      'passed',
    ],
    [
      'by the same program with other arguments, while nothing was changed',
      (s) => {
        s.bash('go build -o shop ./cmd/...', 'go: cannot write multiple packages to non-directory shop', 1)
        s.bash('go build -o shop ./cmd/shop', '')
      },
      'replaced',
    ],
    [
      'by a push',
      (s) => {
        s.bash('npx tsc --noEmit', 'a.ts(1,1): error TS2304: no x', 2)
        for (const text of ['next', 'and now', 'push it']) s.user(text)
        s.bash('git push', 'main -> main')
      },
      'published',
    ],
    [
      'by a commit right after it',
      (s) => {
        s.bash('npx tsc --noEmit', 'a.ts(1,1): error TS2304: no x', 2)
        s.user('commit that')
        s.bash('git commit -am x', '[main abc1234] x')
      },
      'published',
    ],
    [
      'by the files that failed, once all of them pass',
      (s) => {
        s.bash('npm test', 'FAIL test/cart.test.js\n  ● adds up\n\nTests: 1 failed, 8 passed, 9 total', 1)
        s.bash('npx jest test/cart.test.js', 'Tests: 4 passed, 4 total')
      },
      'passed',
    ],
    [
      'by the package that failed, named without its module',
      (s) => {
        s.bash(
          'go test ./...',
          '--- FAIL: TestSum (0.00s)\nFAIL\tex.org/shop/cart\t0.1s\nok  \tex.org/shop/pay\t0.1s',
          1,
        )
        s.bash('go test ./cart', 'ok  \tex.org/shop/cart\t0.2s')
      },
      'passed',
    ],
    [
      'by the test that failed, named by a filter',
      (s) => {
        s.bash('cargo test', 'test cart::sum ... FAILED\ntest result: FAILED. 8 passed; 1 failed; 0 ignored', 101)
        s.bash('cargo test cart::sum', 'test cart::sum ... ok\ntest result: ok. 1 passed; 0 failed; 0 ignored')
      },
      'passed',
    ],
    [
      'by the same test that fails without the change, run alone',
      (s) => {
        s.bash('cargo test', 'test net::dns ... FAILED\ntest result: FAILED. 8 passed; 1 failed; 0 ignored', 101)
        s.bash(
          'git stash && cargo test net::dns; git stash pop',
          'Saved working directory\ntest net::dns ... FAILED\ntest result: FAILED. 0 passed; 1 failed; 0 ignored',
          101,
        )
      },
      'before',
    ],
    [
      'by a server that is asked in another way, and says that all passed',
      (s) => {
        s.bash('gh pr checks 12', 'unit\tfail\t1m2s', 1)
        s.bash('git push', 'fix -> fix')
        s.bash('gh pr checks 12 --watch', 'unit\tpass\t1m1s')
      },
      'passed',
    ],
    ['when it was a probe', (s) => s.bash('python3 -c "import yaml"', 'ModuleNotFoundError: yaml', 1), 'left'],
    [
      'when another server held the port',
      (s) => s.bash('npm run dev', '> vite\nError: listen EADDRINUSE: address already in use :::5173', 1),
      'left',
    ],
    ['when it was a wrong guess', (s) => s.bash('gh pr diff 7 --stat', 'unknown flag: --stat', 1), 'left'],
    [
      'when there was nothing to commit',
      (s) => s.bash('git commit -m x', 'nothing to commit, working tree clean', 1),
      'left',
    ],
  ])('%s [H13]', (_, play, reason) => {
    const session = new Session()
    play(session)
    expect(reasons(session)).toContain(reason)
    expect(open(session)).toEqual([])
  })

  test('when the call beside it failed, or a policy refused it: neither ran [H13]', () => {
    const session = new Session()
    session.tool('Bash', { command: 'npm test' }, '<tool_use_error>Sibling tool call errored</tool_use_error>', true)
    session.tool(
      'exec_command',
      { cmd: 'rm -rf old' },
      'exec_command failed: CreateProcess { message: "Rejected(\\"no\\")" }',
    )
    const { failures, files, commands } = session.ledger()
    expect({ failures, files, commands }).toEqual({ failures: [], files: [], commands: [] })
  })
})

describe('what the user pasted', () => {
  const log =
    'it stops here:\nRun git push origin main\nremote: Permission to org/shop.git denied to ci[bot].\nfatal: unable to access: 403'

  test('is open until something is changed [H13]', () => {
    const session = conversation(log, 'The token may not push.')
    expect(session.ledger().failures).toMatchObject([{ role: 'report', message: expect.stringContaining('denied') }])
    expect(open(session)).toHaveLength(1)
    session.tool('Write', { file_path: 'ci.yml', content: 'x' }, 'File created')
    expect(reasons(session)).toEqual(['changed'])
  })

  test.each([
    ['left behind when nobody speaks of it any more', 'It listens on port 3000.', []],
    [
      'open while somebody speaks of it',
      'The push to org/shop.git is still denied, ask the owner.',
      ['Reported by the user'],
    ],
  ])('is %s [H13]', (_, reply, expected) => {
    const session = conversation(log, 'Ask the owner for another token.', 'klappt', 'Schön.', 'und weiter', reply)
    expect(open(session)).toEqual(expected)
  })

  test('is no failure when it is a sentence about an error [H13]', () => {
    const session = conversation('why do I get "fatal: unable to access" here?')
    expect(session.ledger().failures).toEqual([])
  })
})

test('what failed is told by the names of the tests and the first assertion [H13]', () => {
  const session = new Session()
  const output =
    'test_sum.py F\nE   AssertionError: expected 3 but got 4\n  File "x.py", line 3\nFAILED test_sum.py::test_total - Assert\n1 failed in 0.1s'
  session.bash('pytest', output, 1)
  expect(session.ledger().failures[0]!.message).toBe(
    'test_sum.py::test_total: E   AssertionError: expected 3 but got 4',
  )
})
