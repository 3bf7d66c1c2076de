// What was true when it was said and is not any more: results that a later run refutes, plans that the user took back, numbers
// that were exchanged, changes that are undone, branches that are gone.

import { describe, expect, test } from 'vitest'
import { Claude, Codex, documentOf, Gemini, Pi } from './transcripts.ts'

const failedTwice =
  'FAILED tests/test_cart.py::test_discount - AssertionError: assert 9 == 10\n' +
  'FAILED tests/test_mail.py::test_subject - KeyError: "lang"\n2 failed, 80 passed in 4.1s'

function twoFailures(): Codex {
  const s = new Codex()
  s.user('pydantic auf Version 2 heben')
  s.patch('app/cart.py', '@@\n-old\n+new')
  s.run('uv run pytest -q', failedTwice, 1)
  return s.patch('app/cart.py', '@@\n-new\n+newer')
}

function bookings(): Codex {
  const s = new Codex()
  s.user('予約が満席のときのエラーを決めて実装して')
  s.plan([
    ['満席の予約を断る', 'in_progress'],
    ['SwaggerDoc の記述を直す', 'pending'],
    ['画面の文言を直す', 'pending'],
  ])
  s.says('満席の予約には `BookingFull` を作り、状態コード 422 を返すことにします。\n\n在庫は `Seats` が数えます。')
  s.patch('app/booking.py', '@@\n-pass\n+raise BookingFull(422)')
  s.plan([
    ['満席の予約を断る', 'completed'],
    ['SwaggerDoc の記述を直す', 'pending'],
    ['画面の文言を直す', 'pending'],
  ])
  return s.ends('満席の予約を断るようにしました。')
}

function exported(): Claude {
  const s = new Claude()
  s.user('Die Exportseite soll ohne Neuladen aktualisieren')
  s.edit('web/export.ts', 'reload()', 'refresh()')
  s.ends('Die Seite ruft jetzt `refresh()` auf und lädt nur noch die Tabelle nach.')
  return s
}

function merged(how: string): Claude {
  const s = new Claude()
  s.user('merge the pull request')
  s.run('git checkout -b totals && git commit -am "Sum in cents"', '[totals 1c9e0aa] Sum in cents\n 1 file changed')
  s.run(how, '✓ Squashed and merged pull request #9')
  return s.ends('Merged.')
}

describe('what later events refute [H13]', () => {
  test('a failed run names what still fails, once the rest has passed', async () => {
    const s = twoFailures().run('uv run pytest -q tests/test_cart.py', '11 passed in 0.4s')
    const { first, section } = await documentOf(s.ends('Der Warenkorb läuft wieder.'))
    expect(first).toContain('test_subject')
    expect(section('failures')).toContain('test_subject')
    expect(first + section('failures')).not.toContain('test_discount')
  })

  test('a failed run names all that failed while only other tests have passed', async () => {
    const s = twoFailures().run('uv run pytest -q tests/test_login.py', '6 passed in 0.2s')
    const { section } = await documentOf(s.ends('Die Anmeldung ist nicht betroffen.'))
    expect(section('failures')).toContain('test_discount')
    expect(section('failures')).toContain('test_subject')
  })

  function russian(lastly: string, output: string): Gemini {
    const s = new Gemini()
    s.user('Переведи отчёт на новые валюты')
    s.run('Проверяю.', 'go test ./report/...', '--- FAIL: TestRates (0.00s)\nFAIL\tshop/report\t0.02s', 1)
    s.edit('Исправляю курс.', 'report/rates.go', '90', '100')
    s.run('Ещё раз.', 'go build ./... && go test ./report/...', 'ok  \tshop/report\t0.02s')
    s.edit('Добавляю дирхам.', 'report/rates.go', '100', '101')
    return s.run('И ещё раз.', lastly, output, 1)
  }

  test('what failed, passed and fails again is told as failing alone', async () => {
    const s = russian('go test ./report/...', '--- FAIL: TestRates (0.00s)\nFAIL\tshop/report\t0.02s')
    const { section } = await documentOf(s)
    expect(section('failures')).toContain('TestRates')
    expect(section('done') + section('context')).not.toMatch(/Fixed|passes|go build/)
  })

  test('what failed and passed is told as done while something else fails', async () => {
    const { section } = await documentOf(russian('golangci-lint run', 'report/rates.go:3:1: unused (unused)'))
    expect(section('done')).toContain('TestRates')
  })
})

describe('what the user said later [H13]', () => {
  test('a plan item that the user spoke about by its name is told with their words, and not as a step to start', async () => {
    const s = bookings().user('SwaggerDoc はまだ触らないで、別の担当が書き直している')
    const { section } = await documentOf(s.ends('わかりました。'))
    expect(section('next')).not.toMatch(/Start: SwaggerDoc/)
    expect(section('pending')).toMatch(/SwaggerDoc.*The user said since: `SwaggerDoc はまだ触らないで/)
  })

  test('a plan item that nobody spoke about stays as it is', async () => {
    const s = bookings().user('ありがとう、あとで確認する')
    const { section } = await documentOf(s.ends('はい。'))
    expect(section('pending')).not.toContain('The user said since')
  })

  test('a sentence whose number the user exchanges for another is no decision any more', async () => {
    const s = bookings().user('422 はやめて 409 にして')
    const { section } = await documentOf(s.patch('app/booking.py', '@@\n-422\n+409').ends('409 にしました。'))
    expect(section('decisions')).not.toContain('422')
  })

  test('a sentence whose number the user only repeats stays one', async () => {
    const s = bookings().user('422 のままでいい。文言は「満席です」にして')
    const { section } = await documentOf(s.patch('app/booking.py', '@@\n-x\n+満席です').ends('文言を入れました。'))
    expect(section('decisions')).toContain('422')
  })
})

describe('where the work stands [H13]', () => {
  test('a reply is told with a remark when its changes are undone', async () => {
    const s = exported().user('nein, mach das rückgängig, die Filter gehen dabei verloren')
    s.run('git checkout web/export.ts', 'Updated 1 path from the index')
    s.edit('web/filter.ts', 'let', 'const')
    const { section } = await documentOf(s.ends('Zurückgenommen; die Filter merkt sich jetzt die Adresse.'))
    expect(section('done')).toMatch(/Said \(its changes were undone\): .*refresh/)
  })

  test('a reply is told without one when only a part is undone', async () => {
    const s = exported()
    s.user('und die Sortierung?')
    s.edit('web/export.ts', 'a', 'b').edit('web/sort.ts', 'a', 'b')
    s.ends('Die Sortierung bleibt beim Nachladen nun auch erhalten, in `sort.ts`.')
    s.user('nimm web/export.ts zurück')
    s.run('git checkout web/export.ts', 'Updated 1 path from the index')
    const { section } = await documentOf(s.ends('Zurückgenommen.'))
    expect(section('done')).toMatch(/Said: .*Sortierung/)
  })

  test('a branch that was deleted on merging is not where the work stands', async () => {
    const { section } = await documentOf(merged('gh pr merge 9 --squash --delete-branch'))
    expect(section('context')).not.toContain('totals')
  })

  test('a branch that was merged and kept is', async () => {
    const { section } = await documentOf(merged('gh pr merge 9 --squash'))
    expect(section('context')).toContain('on branch totals at 1c9e0aa')
  })

  test.each([
    ['git commit -qam two && git push', 'To example.org:a.git\n   1c9e0aa..77d01b2  totals -> totals', 'at 77d01b2'],
    ['git commit -qam two', '', 'on branch totals'],
    ['git commit -am two', '[totals 9d00e1f] two\n 1 file changed', 'at 9d00e1f'],
  ])('after `%s` the commit is the one that it told, or none', async (command, output, told) => {
    const s = new Claude()
    s.user('push both fixes')
    s.run('git checkout -b totals && git commit -am one', '[totals 1c9e0aa] one\n 1 file changed')
    const { section } = await documentOf(s.run(command, output).ends('Pushed.'))
    expect(section('context')).toContain(told)
    expect(section('context')).not.toContain('at 1c9e0aa')
  })
})

describe('what a line tells [H13]', () => {
  const log = Array.from({ length: 6 }, (_, at) => `2026-05-04 10:00:0${at} ERROR pool exhausted size=20 wait=30s`)

  test('the step that goes on with a request quotes what was typed, and not the log around it', async () => {
    const s = new Pi()
    s.user(`esto sale en producción\n\n${log.join('\n')}\n\nsube el pool a 40, pero solo en los workers\n\n${log[0]}`)
    const { first } = await documentOf(s.run('grep -rn pool config', 'config/db.yml:3: pool: 20'))
    expect(first).toContain('sube el pool a 40')
    expect(first).not.toContain('exhausted')
  })

  test('a short request is quoted whole', async () => {
    const s = new Pi()
    s.user('sube el pool a 40\nERROR pool exhausted')
    const { first } = await documentOf(s.run('grep -rn pool config', 'config/db.yml:3: pool: 20'))
    expect(first).toContain('sube el pool a 40 ERROR pool exhausted')
  })

  test.each([
    ['1. Lire le CSV\n2. Écrire le rapport', 'Approved plan: 1. Lire le CSV; 2. Écrire le rapport'],
    ['# Rapport mensuel\n\n1. Lire le CSV', 'Approved plan: Rapport mensuel'],
  ])('of the plan %j it tells the title, or the steps where it has none', async (plan, told) => {
    const s = new Claude()
    s.user('Prépare le rapport mensuel')
    s.tool('ExitPlanMode', { plan }, 'User has approved your plan. You can now start coding.')
    const { section } = await documentOf(s.write('report.py', 'pass').ends('Le rapport est écrit.'))
    expect(section('decisions').split('\n')).toContain(told)
  })

  test.each([
    ['✕ keeps the order (12 ms)\n\nTests: 1 failed, 3 passed, 4 total', 'keeps the order'],
    ['✕ keeps the order\n  ● list › keeps the order\n\nTests: 1 failed, 3 passed, 4 total', 'list › keeps the order'],
    ['  1) Cart adds up\n     Failure/Error: x\n\n4 examples, 1 failure', 'Cart adds up'],
    ['  1) Cart adds up\n\n4 examples, 1 failure\n\nrspec ./spec/cart_spec.rb:3', './spec/cart_spec.rb:3'],
  ])('of the failed run %j it tells %s', async (output, name) => {
    const s = new Claude()
    s.user('run the tests')
    const command = output.includes('examples') ? 'bundle exec rspec' : 'npx jest'
    const { section } = await documentOf(s.run(command, output, 1).ends('One fails.'))
    expect(section('failures').split('\n')[0]).toMatch(new RegExp(`: \`${name}\`$`))
  })

  test('an interrupted call is named once', async () => {
    const s = new Claude()
    s.user('rename the column')
    s.call('Edit', { file_path: '/home/ines/projects/atlas/db.sql', old_string: 'a', new_string: 'b' })
    const { section } = await documentOf(s.interrupted('tool'))
    expect(section('doing')).toMatch(/^Interrupted: `Edit \S*db\.sql`$/)
  })
})
