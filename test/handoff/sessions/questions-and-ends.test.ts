// Whether a turn ended with a question, what that question is, and what of a turn that ended broken is open.

import { describe, expect, test } from 'vitest'
import { Claude, Codex, documentOf, Pi } from './transcripts.ts'

const asked = (words: string) => {
  const s = new Claude()
  s.user('Räume die alten Berichte auf')
  s.run('rm -r reports/2019', '')
  return documentOf(s.ends(words))
}

describe('a question at the end of a turn [H10]', () => {
  test('a single question in front of a remark waits for its answer', async () => {
    const { first, section } = await asked(
      'Die Berichte von 2019 sind gelöscht.\n\nSoll ich auch die Ordner von 2020 entfernen?\n\nDort liegen noch 14 GB.',
    )
    expect(section('status')).toContain('Waiting for the user')
    expect(first).toMatch(/^Get the user's answer to: Soll ich auch die Ordner von 2020 entfernen\?/)
  })

  test.each([
    [
      'its words come back behind it',
      'Alles ist weg.\n\nWarum waren die Berichte so groß?\n\nDie Berichte enthielten große Bilder.',
    ],
    ['it is a heading', 'Alles ist weg.\n\n**Was bleibt?**\n\nNur die Vorlagen in `templates/`.'],
  ])('one that the text answers itself does not: %s', async (_, words) => {
    const { section } = await asked(words)
    expect(section('status')).toContain('Answered')
  })

  test('of a text without spaces between sentences, the question is its last one', async () => {
    const s = new Claude()
    s.user('申込みページを直して')
    s.edit('src/apply.tsx', 'a', 'b')
    s.ends('入力チェックを追加しました。SQLは変更していません。プルリクエストも作りますか？')
    s.user('はい、下書きで')
    s.run('gh pr create --draft --fill', 'https://git.example/apply/pull/7')
    const { section } = await documentOf(s.ends('下書きを作成しました。'))
    expect(section('goal')).toContain('That answers the assistant: `プルリクエストも作りますか？`')
  })
})

describe('a question that more than its own words follow [H10]', () => {
  test.each([
    ['Bevor ich anfange, zwei Fragen:\n\n1. Sollen die Archive mit weg?\n2. Wer prüft das Ergebnis?', 'Wer prüft'],
    ['先に二つ確認させてください。\n- 古い帳票も消しますか？\n- 結果は誰が確認しますか？', '結果は誰が'],
    [
      'Two points:\n1. Archives, keep or drop? I would drop them.\n2. Is Friday early enough? Else I start today.',
      'Is Friday',
    ],
  ])('every item of a list at the end asks: %s', async (words, last) => {
    const { section } = await asked(words)
    expect(section('status')).toContain('Waiting for the user')
    expect(section('next')).toContain(`Get the user's answer to: ${last}`)
    expect(section('next').match(/Get the user's answer to/g)).toHaveLength(2)
  })

  test('a list of results of which one asks is no list of questions', async () => {
    const { section } = await asked('Erledigt:\n- Die Berichte sind weg.\n- Warum so groß? Wegen der Bilder.')
    expect(section('status')).toContain('Answered')
  })

  test('a question within the last words may be one to the user, and the first step says so', async () => {
    const { section, first } = await asked(
      'Die Berichte sind weg. Soll der Rechnungsordner verschlüsselt oder gelöscht werden? Bis Montag braucht ihn noch die Buchhaltung.',
    )
    expect(section('status')).toContain('Answered')
    expect(first).toContain(
      'the assistant may have asked: `Soll der Rechnungsordner verschlüsselt oder gelöscht werden?`',
    )
    expect(first).not.toContain('nothing is known to be open')
  })

  test.each([
    [
      'that the words behind it answer',
      'Alles ist weg. Warum waren die Berichte so groß? Die Berichte enthielten Bilder.',
    ],
    ['in a word', 'Alles ist weg. Warum? Weil niemand sie las.'],
    [
      'on the way',
      'War es die Rechteverwaltung des Servers? Nein. Es war der Pfad. Er ist berichtigt. Der Lauf ist grün. Alles ist weg.',
    ],
  ])('one %s is none', async (_, words) => {
    expect((await asked(words)).first).toContain('nothing is known to be open')
  })

  test('where an earlier question may still be open, the step does not say that nothing is', async () => {
    const s = new Claude()
    s.user('Richte die Sicherung ein')
    s.write('jobs/backup.yaml', 'daily')
    s.ends('Der Auftrag steht. In welcher Region soll der Speicher liegen, Frankfurt oder Dublin?')
    s.user('wie war noch mal unsere Cron-Schreibweise?')
    s.read('jobs/cleanup.yaml', '0 3 * * *')
    const { first, markdown } = await documentOf(s.ends('Fünf Felder, zum Beispiel `0 3 * * *`.'))
    expect(markdown).toContain('Perhaps not answered: `In welcher Region')
    expect(first).toContain('No request is waiting, but a question may be (under Blockers)')
  })
})

describe('the end of a turn [H10]', () => {
  test('a test that is red when the assistant asks how to go on is not simply to be fixed', async () => {
    const s = new Claude()
    s.user('Schreib nur den Test für die Dauer, noch keinen Code')
    s.write('duration_test.go', 'func TestDuration')
    s.run('go test ./...', '--- FAIL: TestDuration (0.00s)\nFAIL\tatlas/duration\t0.004s', 1)
    const { section } = await documentOf(
      s.ends('Der Test schlägt wie gewünscht fehl. Soll ich den Code jetzt schreiben?'),
    )
    expect(section('next')).toContain('See whether to fix `go test ./...`')
    expect(section('next')).not.toMatch(/^Fix/m)
  })

  test('a check that passes on a second run was not fixed; one that passes after a change was', async () => {
    const told = async (change: boolean) => {
      const s = new Pi()
      s.user('check the shop in the browser')
      s.run('npx playwright test', '  1 failed\n    shop.spec.ts:4:1 › pays\n  8 passed (9s)', 1)
      if (change) s.edit('src/shop.ts', 'a', 'b')
      s.run('npx playwright test', '  9 passed (8s)')
      return (await documentOf(s.ends('All nine pass.'))).section('done')
    }
    expect(await told(false)).toContain('Passes on a later run: `npx playwright test`')
    expect(await told(false)).not.toContain('Fixed')
    expect(await told(true)).toContain('Fixed `npx playwright test`')
  })

  test('the error that ended the work is told as its status, not once more as a failure of the work', async () => {
    const s = new Codex()
    s.user('traduis les messages')
    s.patch('src/fr.json', '+{}', 'Add')
    const { section } = await documentOf(s.fails('You have hit your usage limit.', 'usage_limit_exceeded'))
    expect(section('status')).toContain('Stopped by an error: `You have hit your usage limit.`')
    expect(section('failures')).toBe('None')
  })

  test('closing words that end with code are quoted with the line in front of it', async () => {
    const s = new Claude()
    s.user('Where is the log of the last run, and how many rows did it read?')
    s.run('ls logs', 'run-31.log')
    const { first } = await documentOf(
      s.ends('It read 8,112 rows.\n\nThe log is here:\n\n```\nlogs/run-31.log\n\ntail -f it\n```'),
    )
    expect(first).toContain('The log is here: logs/run-31.log')
    expect(first).not.toContain('```')
  })

  test('where it stopped between two calls, the status names the last one', async () => {
    const s = new Claude()
    s.user('把导出脚本改成流式写入')
    s.edit('src/export.ts', 'a', 'b')
    s.run('npm run export', '120000 rows')
    const { section } = await documentOf(s)
    expect(section('status')).toBe('Interrupted after `npm run export`')
  })

  test('where it stands still at a command that failed, the status names it, whatever was read since', async () => {
    const stopped = async (change: boolean) => {
      const s = new Claude()
      s.user('Setz den Zweig auf main auf')
      s.run('git rebase origin/main', 'CONFLICT (content): Merge conflict in src/app.ts', 1)
      s.read('src/app.ts', '<<<<<<< HEAD')
      if (change) s.edit('src/app.ts', '<<<<<<< HEAD', '').read('src/app.ts')
      return (await documentOf(s)).section('status')
    }
    expect(await stopped(false)).toBe('Interrupted after `git rebase origin/main`, which failed')
    expect(await stopped(true)).toBe('Interrupted')
  })

  test('steps of a summary come behind the request once work went on, and say which of them was begun', async () => {
    const compacted = (...work: string[]) => {
      const s = new Pi()
      s.user('Move the tests to node:test')
      s.edit('test/a.test.js', 'mocha', 'node:test')
      s.compacted('## Goal\nMove the tests to node:test.\n## Next Steps\n1. Convert b.test.js\n2. Convert c.test.js')
      for (const file of work) s.edit(file, 'mocha', 'node:test')
      return documentOf(s)
    }
    const { first, section } = await compacted('test/b.test.js')
    expect(first).toContain("Continue with the user's request")
    expect(section('next')).toContain('Convert b.test.js (worked on since; may be done)')
    expect(section('next')).toMatch(/Convert c\.test\.js$/m)
    expect((await compacted()).first).toBe('Convert b.test.js')
  })

  test('a server that was not stopped in time has not failed, a build that was not has', async () => {
    const s = new Claude()
    s.user('Add the health endpoint')
    s.run('./gradlew clean build', 'Command timed out after 2m 0.0s\nTask :compileKotlin', 1)
    s.run('./server --port 8080', 'Command timed out after 2m 0.0s\nlistening on 8080', 1)
    s.edit('src/Health.kt', 'a', 'b')
    const { section } = await documentOf(s.ends('`/health` answers with the version.'))
    expect(section('failures')).toContain('./gradlew clean build')
    expect(section('failures')).not.toContain('./server')
  })

  test('a test of one class does not speak for all of them, whatever wraps Maven', async () => {
    const s = new Pi()
    s.user('Add the retry to the queue client')
    s.edit('src/main/java/Queue.java', 'a', 'b')
    s.run('./mvnw clean test', '[ERROR] Tests run: 9, Failures: 1\n[ERROR] StartTests.starts » IllegalState', 1)
    s.run('./mvnw test -Dtest=QueueTest', '[INFO] Tests run: 4, Failures: 0, Errors: 0, Skipped: 0')
    const { first, section } = await documentOf(s.ends('The retry works, as `QueueTest` shows.'))
    expect(section('failures')).toContain('./mvnw clean test')
    expect(first).toContain('./mvnw clean test')
  })

  test('an edit that missed its text is not told as something that was fixed', async () => {
    const s = new Claude()
    s.user('Set the page size to 50')
    const input = { file_path: '/home/ines/projects/atlas/src/page.ts', old_string: 'size: 20', new_string: 'size: 50' }
    s.tool('Edit', input, '<tool_use_error>String to replace not found in file.</tool_use_error>', true)
    s.edit('src/page.ts', 'size = 20', 'size = 50')
    const { markdown } = await documentOf(s.ends('The page size is 50.'))
    expect(markdown).not.toContain('String to replace')
    expect(markdown).not.toContain('Fixed')
  })
})

test('several questions are told once each, in front of what was said around them [H10]', async () => {
  const { markdown, section } = await asked(
    'Die Berichte von 2019 sind gelöscht, 31 GB sind frei.\n\n- Sollen die von 2020 auch weg?\n- Wer bekommt die Liste der gelöschten Dateien?\n\nDann mache ich mit dem Rest weiter.',
  )
  expect(section('next')).toMatch(/Sollen die von 2020 auch weg\?\n.*Wer bekommt die Liste der gelöschten Dateien\?/)
  for (const words of ['Sollen die von 2020', 'Wer bekommt die Liste', '31 GB sind frei'])
    expect(markdown.split(words)).toHaveLength(2)
})
