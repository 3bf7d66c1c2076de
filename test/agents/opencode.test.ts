// opencode's database: large, written while it is read, and never read as a whole for one session.

import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import type { SqliteRow } from '../../src/agents/opencode/row.ts'
import { type SqliteDatabase, withDatabase } from '../../src/agents/opencode/sqlite.ts'
import { opencode } from '../../src/agents/opencode/agent.ts'
import { temporaryFolder } from '../support/workspace.ts'
import { homeWith, sessionsIn } from '../transcripts/home.ts'

/** The ids of the rows with that value: by its index, and by reading all of them. */
function bothWays(database: SqliteDatabase, table: string, column: string, value: string): [string[], string[]] {
  const found = [...database.where(table, column, new Set([value]))]
  const all = [...database.rows(table)].filter((row) => row[column] === value)
  const ids = (rows: SqliteRow[]) => rows.map((row) => `${String(row.id)} ${String(row.data).length}`).sort()
  return [ids(found), ids(all)]
}

test('an index leads to the same rows as the table [C2]', () => {
  const [session] = sessionsIn(homeWith('opencode'), 'opencode')
  withDatabase(session!.path, (database) => {
    const messages = [...database.rows('message')]
    expect(messages.length).toBeGreaterThan(5)
    for (const { id, session_id } of messages) {
      for (const [column, value] of [
        ['message_id', id],
        ['session_id', session_id],
      ] as const) {
        const [found, all] = bothWays(database, 'part', column, String(value))
        expect(found).toEqual(all)
        expect(found.length).toBeGreaterThan(0)
      }
    }
    expect([...database.where('part', 'message_id', new Set(['', 'msg', 'zzz']))]).toEqual([])
  })
})

test('what was read before is not read again: only what stands behind its place [C2]', () => {
  const [session] = sessionsIn(homeWith('opencode'), 'opencode')
  const all = [...opencode.records!(session!)]
  expect(all.length).toBeGreaterThan(3)
  for (const [i, { place }] of all.entries()) {
    const rest = i === 0 ? all : [all[0], ...all.slice(i + 1)]
    expect([...opencode.records!(session!, place)]).toEqual(rest)
  }
})

test('a call that has not ended is known before its reply is finished, and none afterwards [C19]', () => {
  const [session] = sessionsIn(homeWith('opencode'), 'opencode')
  expect(opencode.runningCalls!(session!)).toEqual([])
  const isCall = "json_extract(data, '$.type') = 'tool'"
  const reply = `(SELECT max(message_id) FROM part WHERE session_id = '${session!.id}' AND ${isCall})`
  const sql = `DELETE FROM message WHERE session_id = '${session!.id}' AND id > ${reply};
    UPDATE message SET data = json_remove(data, '$.time.completed') WHERE id = ${reply};
    UPDATE part SET data = json_set(data, '$.state.status', 'running') WHERE message_id = ${reply} AND ${isCall}`
  execFileSync('sqlite3', [session!.path, sql])
  const [call] = opencode.runningCalls!(session!)
  expect(call).toMatchObject({
    name: expect.stringMatching(/^\w+$/) as string,
    arguments: expect.anything() as unknown,
  })
  execFileSync('sqlite3', [
    session!.path,
    `UPDATE message SET data = json_set(data, '$.time.completed', 1) WHERE id = ${reply}`,
  ])
  expect(opencode.runningCalls!(session!)).toEqual([])
})

test('what follows a reply whose process was killed is read; the last reply only when it is finished [C2][C15]', () => {
  const [session] = sessionsIn(homeWith('opencode'), 'opencode')
  const all = [...opencode.records!(session!)]
  const replies = all.flatMap(({ value, place }) => {
    const { role } = (value.message ?? {}) as { role?: string }
    return role === 'assistant' ? [{ place }] : []
  })
  expect(replies.length).toBeGreaterThan(1)
  const unfinish = (place: string) => {
    const sql = `UPDATE message SET data = json_remove(data, '$.time.completed', '$.error') WHERE id = '${place}'`
    execFileSync('sqlite3', [session!.path, sql])
  }
  const places = () => [...opencode.records!(session!)].map(({ place }) => place)
  unfinish(replies[0]!.place)
  expect(places()).toEqual(all.map(({ place }) => place))
  const last = replies.at(-1)!.place
  unfinish(last)
  expect(places()).toEqual(all.map(({ place }) => place).filter((place) => place < last))
})

describe('a database of many sessions', () => {
  // Small pages make deep trees.
  const schema = `PRAGMA page_size = 1024; PRAGMA journal_mode = wal;
    CREATE TABLE \`session\` (\`id\` text PRIMARY KEY, \`directory\` text, \`time_updated\` integer);
    CREATE TABLE \`message\` (\`id\` text PRIMARY KEY, \`session_id\` text NOT NULL, \`data\` text NOT NULL);
    CREATE TABLE \`part\` (\`id\` text PRIMARY KEY, \`message_id\` text NOT NULL, \`session_id\` text NOT NULL, \`data\` text NOT NULL);
    CREATE INDEX \`message_session_idx\` ON \`message\` (\`session_id\`,\`id\`);
    CREATE INDEX \`part_message_idx\` ON \`part\` (\`message_id\`,\`id\`);
    CREATE INDEX \`part_session_idx\` ON \`part\` (\`session_id\`);`
  // Some keys and many texts are too long for a page.
  const fill = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8000)
    INSERT INTO part SELECT printf('prt_%06d', i * 7919 % 8009), printf('msg_%05d', i % 1000) || iif(i % 1000 = 77, hex(zeroblob(3000)), ''),
      printf('ses_%03d', i % 100), '{"text":"' || hex(zeroblob(i % 97 * 20)) || '"}' FROM n;`

  function made(): string {
    const file = path.join(temporaryFolder(), 'opencode.db')
    execFileSync('sqlite3', [file], { input: schema + fill, stdio: ['pipe', 'ignore', 'inherit'] })
    return file
  }

  test('every row is found by its index, at whatever depth, and few pages are read for it [C2]', () => {
    const file = made()
    withDatabase(file, (database) => {
      const long = `msg_00077${'00'.repeat(3000)}`
      for (const id of ['msg_00000', 'msg_00001', 'msg_00500', 'msg_00999', long, 'msg_00077', 'msg_9', '']) {
        const [found, all] = bothWays(database, 'part', 'message_id', id)
        expect(found).toEqual(all)
        expect(found).toHaveLength(['msg_00077', 'msg_9', ''].includes(id) ? 0 : 8)
      }
      const [found, all] = bothWays(database, 'part', 'session_id', 'ses_042')
      expect(found).toHaveLength(80)
      expect(found).toEqual(all)
    })
    const reads = vi.spyOn(fs, 'readSync')
    const rows = withDatabase(file, (database) => [...database.where('part', 'message_id', new Set(['msg_00500']))])
    expect(rows).toHaveLength(8)
    expect(reads.mock.calls.length).toBeLessThan(200)
    reads.mockRestore()
  })

  test('each commit to the log is seen, also when the log is begun anew [C2]', () => {
    const file = made()
    const count = () => withDatabase(file, (database) => [...database.rows('session')].length)
    const add = (n: number, more = '') =>
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${n}) INSERT INTO session SELECT hex(randomblob(8)), '/', i FROM n;${more}`
    const seen: number[] = [count()]
    for (const [n, more] of [
      [1, ''],
      [200, 'PRAGMA wal_checkpoint(FULL);'],
      [1, ''],
      [50, 'BEGIN; INSERT INTO session VALUES (1, 2, 3); ROLLBACK;'],
      [3, 'PRAGMA wal_checkpoint(RESTART);'],
      [2, 'INSERT INTO session VALUES (4, 5, 6);'],
    ] as const) {
      // Copied while the writer is at it: a database whose log is not merged.
      const copy = `${file}.copy`
      const script = `${add(n, more)}\n.shell cp '${file}' '${copy}' && cp '${file}-wal' '${copy}-wal'\n`
      execFileSync('sqlite3', [file], { input: script, stdio: ['pipe', 'ignore', 'inherit'] })
      seen.push(withDatabase(copy, (database) => [...database.rows('session')].length))
      expect(seen.at(-1)).toBe(count())
    }
    expect(seen).toEqual([0, 1, 201, 202, 252, 255, 258])
  })

  test('a log that grows is read on from where it was left, and only up to its last commit [C2]', () => {
    const file = made()
    const kept = `${file}.kept`
    const inserts = Array.from({ length: 6 }, (_, i) => `INSERT INTO session VALUES ('ses_${i}', '/', ${i});`)
    const script = `${inserts.join('\n')}\n.shell cp '${file}' '${kept}' && cp '${file}-wal' '${kept}-wal'\n`
    execFileSync('sqlite3', [file], { input: script, stdio: ['pipe', 'ignore', 'inherit'] })
    const log = fs.readFileSync(`${kept}-wal`)
    const counts: number[] = []
    for (let bytes = 32; bytes <= log.length; bytes += 524) {
      const fresh = path.join(temporaryFolder(), 'opencode.db')
      fs.copyFileSync(kept, fresh)
      for (const each of [kept, fresh]) fs.writeFileSync(`${each}-wal`, log.subarray(0, bytes))
      const [on, anew] = [kept, fresh].map((each) =>
        withDatabase(each, (database) => [...database.rows('session')].map(({ id }) => id)),
      )
      expect(on).toEqual(anew)
      counts.push(on!.length)
    }
    expect([...new Set(counts)]).toEqual([0, 1, 2, 3, 4, 5, 6])
  })
})
