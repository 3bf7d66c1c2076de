// What of a session's words binds and what was found out, in several languages and agents.

import { describe, expect, test } from 'vitest'
import { Claude, documentOf, folder, Gemini } from './transcripts.ts'

function germanFinished(): Claude {
  const s = new Claude()
  s.user(
    'Der Rechnungsexport braucht eine Spalte für die Umsatzsteuer-ID. Bitte keine neuen npm-Pakete installieren, die Freigabe dauert bei uns Wochen.',
  )
  s.says('Ich sehe mir zuerst den Export an.').read('src/export/rechnung.ts')
  s.says('Die Spalten stehen in einer Tabelle, dort kommt die Umsatzsteuer-ID dazu.')
  s.edit('src/export/rechnung.ts', "['nummer']", "['nummer', 'ustId']")
  s.run(
    'npm test -- rechnung',
    'FAIL  test/rechnung.test.ts > Export > schreibt die Kopfzeile\nAssertionError: expected 5 to be 6\n\n Tests  1 failed | 7 passed (8)',
    1,
  )
  s.says('Der Test zählt die Spalten noch nach altem Stand, ich passe ihn an.')
  s.edit('test/rechnung.test.ts', 'toBe(5)', 'toBe(6)')
  s.run('npm test', ' Test Files  14 passed (14)\n      Tests  96 passed (96)')
  s.ends('Die Umsatzsteuer-ID steht jetzt als letzte Spalte im Export, alle 96 Tests laufen durch.')
  s.user('Commits schreiben wir übrigens immer auf Englisch. Mach bitte einen.')
  s.run(
    'git add -A && git commit -m "Add the VAT id to the invoice export"',
    '[main 3f9c2ab] Add the VAT id to the invoice export\n 2 files changed, 2 insertions(+), 2 deletions(-)',
  )
  s.ends('Committet als 3f9c2ab auf main.')
  s.user(
    'Commits ab jetzt doch auf Deutsch schreiben, das Team hat sich umentschieden. Und gib die Spalte bitte auch im PDF aus.',
  )
  s.read('src/export/pdf.ts')
  s.edit('src/export/pdf.ts', 'nummer', 'nummer, ustId')
  s.run('npm test', ' Test Files  14 passed (14)\n      Tests  97 passed (97)')
  s.run(
    'git commit -am "Gib die Umsatzsteuer-ID auch im PDF aus"',
    '[main 81be77d] Gib die Umsatzsteuer-ID auch im PDF aus\n 1 file changed, 1 insertion(+), 1 deletion(-)',
  )
  return s.ends('Das PDF zeigt die Umsatzsteuer-ID unter der Rechnungsnummer. Tests sind grün, committet als 81be77d.')
}

function japaneseAnswered(): Gemini {
  const s = new Gemini()
  s.user('バッチ処理が毎晩遅くなっている原因を調べてください。本番の設定ファイルは変更しないでください。')
  s.run('まずログを確認します。', 'grep -c slow logs/batch.log', '1482')
  s.tool(
    '次にスケジューラの設定を読みます。',
    'read_file',
    { file_path: `${folder}/config/scheduler.yaml` },
    { output: 'workers: 1' },
  )
  s.ends(
    '原因はワーカーが1つしかないことです。夜間のジョブは8件あり、順番に実行されるため最後のジョブが朝まで待たされます。\n\nワーカーを4つに増やせば約2時間で終わる見込みです。',
  )
  s.user('ありがとう。検証環境のほうだけ4つに増やしておいて。')
  s.edit('検証環境の設定を変更します。', 'config/scheduler.staging.yaml', 'workers: 1', 'workers: 4')
  return s.ends('検証環境の workers を 4 に変更しました。本番の設定には触れていません。')
}

function pasteHeavy(): Claude {
  const s = new Claude()
  s.user(`getting this from the ingest service since this morning

2026-05-04 07:12:09,114 ERROR ingest.worker  batch 8812 failed
Traceback (most recent call last):
  File "/srv/ingest/worker.py", line 214, in run
    self.store.put(row)
  File "/srv/ingest/store.py", line 88, in put
    raise DuplicateKey(row.id)
ingest.store.DuplicateKey: 77120
2026-05-04 07:12:09,120 INFO  ingest.worker  retrying in 30s
2026-05-04 07:12:39,401 ERROR ingest.worker  batch 8812 failed

whatever you do keep the retry delay at thirty seconds, ops tuned it

please find out where the duplicates come from`)
  s.run('rg -n "class DuplicateKey" -A4 ingest', 'ingest/store.py:12:class DuplicateKey(Exception): pass')
  s.read('ingest/reader.py')
  s.says('The reader resumes one row too early after a checkpoint, so the last row of a batch is read twice.')
  s.edit('ingest/reader.py', 'offset', 'offset + 1')
  s.run('pytest tests/test_reader.py -q', '6 passed in 0.81s')
  s.ends(
    'The duplicates come from the reader: after a checkpoint it resumed at the last row instead of behind it. I changed the offset in `ingest/reader.py`; the reader tests pass.',
  )
  s.user(`deployed it to stage, looks better but now the dashboard shows

| batch | rows | dup |
|-------|------|-----|
| 8813  | 5000 | 0   |
| 8814  | 4999 | 0   |
| 8815  | 4999 | 0   |

why 4999?`)
  s.read('ingest/reader.py')
  return s.ends(
    'The first batch after the deployment was resumed from an old checkpoint that still pointed at the last row, so exactly one row was skipped there; the batches after it are read from new checkpoints but inherit that offset until the checkpoint file is rewritten.\n\nNothing is lost: row 77120 is already in the store. The count goes back to 5000 with the next checkpoint.',
  )
}

function dialogAndSubagents(): Claude {
  const s = new Claude()
  s.user('we need rate limiting on the public api')
  s.tool(
    'AskUserQuestion',
    {
      questions: [
        {
          question: 'Where should the counters live?',
          header: 'Counters',
          multiSelect: false,
          options: [
            { label: 'Redis', description: 'shared' },
            { label: 'In memory', description: 'per process' },
          ],
        },
      ],
    },
    'User has answered your questions: "Where should the counters live?"="Redis". You can now continue with the user\'s answers in mind.',
  )
  s.tool(
    'Task',
    {
      description: 'Find all public routes',
      prompt: 'List each public route of the api with its handler.',
      subagent_type: 'Explore',
    },
    [{ type: 'text', text: 'There are 14 public routes, all registered in src/api/public.ts.' }],
  )
  s.write('src/api/limit.ts', 'export const limit = 1')
  s.refuse('Bash', { command: 'docker compose up -d redis' }, 'no docker on this machine, use the redis on port 6390')
  s.run('redis-cli -p 6390 ping', 'PONG')
  const id = s.call('Bash', { command: 'npm run dev', run_in_background: true })
  s.result(
    id,
    'Command running in background with ID: bash_1. Output is being written to: /tmp/claude/tasks/bash_1.output',
  )
  s.run(
    'for i in $(seq 1 120); do curl -s -o /dev/null -w "%{http_code}\\n" localhost:3000/v1/items; done | sort | uniq -c',
    '    100 200\n     20 429',
  )
  s.edit('src/api/public.ts', 'router', 'limit(router)')
  s.run('npm test', 'Tests  58 passed (58)')
  return s.ends(
    'All 14 public routes are limited to 100 requests a minute per key, with counters in Redis. Tests pass; the dev server is still running in the background so you can try it.',
  )
}

function refuted(): Claude {
  const s = new Claude()
  s.user('Why does the nightly report double count orders with two coupons?')
  s.says('The join on coupons is the likely cause: an order with two coupons comes back twice.')
  s.run('psql -c "select count(*) from report_rows where order_id = 5512"', ' count\n-------\n     1\n(1 row)')
  s.says('That was wrong: the join returns each order once. The report itself must add the amounts twice.')
  s.read('src/report/sum.py')
  s.edit('src/report/sum.py', 'total += a', 'total = a')
  s.run('pytest tests/test_sum.py', '4 passed in 0.2s')
  s.ends(
    'It was not the join. `sum.py` added the discount once per coupon and the order amount with it. Fixed there, tests pass.',
  )
  s.user('great. please also backfill april')
  s.run(
    'python scripts/backfill.py --month 2026-04',
    'psycopg2.errors.InsufficientPrivilege: permission denied for table report_rows',
    1,
  )
  return s.ends(
    'The backfill for April could not run: my database user may not write to `report_rows` (permission denied). You or someone with the `report_writer` role has to run `python scripts/backfill.py --month 2026-04`.',
  )
}

function compactedWider(): Claude {
  const s = new Claude()
  s.user('Split the payments package into its own workspace. Each commit has to build on its own, we bisect a lot.')
  s.run(
    'pnpm --filter @atlas/payments test',
    ' FAIL  src/refund.test.ts > refunds > rounds half up\nAssertionError: expected 10.01 to be 10.02\n Tests  1 failed | 40 passed (41)',
    1,
  )
  s.run(
    'node -e "console.log(require(\'./packages/payments\').round(10.015))"',
    "Error: Cannot find module './packages/payments'",
    1,
  )
  s.says('Rounding has to happen on integers, I move it to cents.')
  s.edit('packages/payments/src/refund.ts', 'Math.round', 'roundCents')
  s.compacted(
    'This session is being continued from a previous conversation that ran out of context. The conversation is summarized below:\nSummary:\n1. Primary Request and Intent:\n   Split the payments package into its own workspace; each commit builds on its own.\n\n2. Key Technical Concepts:\n   - pnpm workspaces\n\n7. Pending Tasks:\n   - Run the whole test suite\n   - Move the webhook handlers\n\n8. Current Work:\n   Rounding in cents in refund.ts.\n\nPlease continue the conversation from where we left it off without asking the user any further questions.',
  )
  s.run('pnpm -r test', 'packages/core test:  Tests  120 passed (120)\npackages/payments test:  Tests  41 passed (41)')
  s.write('packages/payments/src/webhooks.ts', 'export {}')
  s.run(
    'git commit -am "Move the webhook handlers to payments"',
    '[main 77aa001] Move the webhook handlers to payments\n 3 files changed, 80 insertions(+), 78 deletions(-)',
  )
  return s.ends(
    'The payments package is its own workspace now. The rounding bug is fixed, `pnpm -r test` passes, and the webhook handlers moved in 77aa001.',
  )
}

function commitFromStdin(): Claude {
  const s = new Claude()
  s.user('Add a health endpoint to the gateway')
  s.run('cd /home/ines/projects/atlas/services/gateway && ls', 'main.go')
  s.movesTo(`${folder}/services/gateway`)
  s.write('services/gateway/health.go', 'package main')
  s.run('go vet ./... && go test ./...', 'ok  \tatlas/gateway\t0.41s')
  s.run(
    "git add health.go && git commit -q -F - <<'MSG'\nAdd a health endpoint\n\nThe load balancer asks every five seconds.\nMSG",
    '',
  )
  return s.ends('`GET /health` answers 200 with the build version. Committed.')
}

describe('what binds and what was found [H13]', () => {
  test('a finished session in German has nothing to do, and what binds is there', async () => {
    const { first, section, markdown } = await documentOf(germanFinished())
    expect(first).toMatch(/^Wait for the user: no request is waiting/)
    expect(markdown).toContain('keine neuen npm-Pakete installieren')
    expect(markdown.indexOf('ab jetzt doch auf Deutsch')).toBeLessThan(markdown.indexOf('immer auf Englisch'))
    expect(section('done')).toContain('81be77d')
    expect(section('done')).toContain('Fixed `npm test -- rechnung`')
    expect(section('failures')).toBe('None')
  })

  test('a commit and a check that passed are told once, as done', async () => {
    const { section } = await documentOf(germanFinished())
    expect(section('context')).not.toContain('git commit')
    expect(section('context')).not.toContain('npm test')
  })

  test('a session of Gemini CLI in Japanese ends answered', async () => {
    const { first, section, markdown } = await documentOf(japaneseAnswered())
    expect(first).toMatch(/^Wait for the user/)
    expect(markdown).toContain('本番の設定ファイルは変更しないでください')
    expect(section('files')).toContain('config/scheduler.staging.yaml')
    expect(section('done')).toContain('順番に実行される')
  })

  test('a rule between two pastes binds, and the pastes do not', async () => {
    const { section } = await documentOf(pasteHeavy())
    expect(section('constraints')).toBe('whatever you do keep the retry delay at thirty seconds, ops tuned it')
    expect(section('goal')).not.toContain('DuplicateKey: 77120')
    expect(section('failures')).toBe('None')
  })

  test('a comment on a refusal binds, and an answer in a dialog is a decision', async () => {
    const { section } = await documentOf(dialogAndSubagents())
    expect(section('constraints')).toContain('no docker on this machine, use the redis on port 6390')
    expect(section('decisions')).toContain('Where should the counters live? → Redis')
    expect(section('doing')).toContain('In the background: `npm run dev`')
    expect(section('done')).toContain('Subagent finished: Find all public routes')
  })

  test('a guess that a look refuted does not come back; what was left broken says who can mend it', async () => {
    const { first, section, markdown } = await documentOf(refuted())
    expect(markdown).not.toContain('likely cause')
    expect(section('done')).toContain('added the discount once per coupon')
    expect(first).toMatch(/^See whether to fix `python scripts\/backfill.py .*report_writer/)
    expect(section('next').split('fix `python scripts/backfill.py')).toHaveLength(2)
  })

  test('behind a compaction, a wider check closes the failure, and the summary of what was left is of the past', async () => {
    const { first, section, markdown } = await documentOf(compactedWider())
    expect(first).toMatch(/^Wait for the user/)
    expect(section('failures')).toBe('None')
    expect(section('pending')).toBe('None')
    expect(markdown).toContain('Each commit has to build on its own')
    expect(markdown).not.toContain('Cannot find module')
  })

  test('a commit whose message came from standard input, in a folder below', async () => {
    const { section } = await documentOf(commitFromStdin())
    expect(section('done')).toContain('Committed `Add a health endpoint`')
    expect(section('context')).toContain(`${folder} on branch main`)
    expect(section('files')).toBe('services/gateway/health.go')
  })
})
