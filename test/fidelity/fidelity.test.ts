import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { changesByGit, score, truthOf } from '../../src/fidelity/index.ts'
import { temporaryFolder } from '../support/workspace.ts'
import { Session } from '../handoff/ledger/session.ts'

function session(): Session {
  const session = new Session()
  session.add('event', { name: 'session', data: { cwd: '/home/ida/shop' } })
  session.user('Add a basket to the shop, please, and keep the prices in cents')
  session.tool('Write', { file_path: '/home/ida/shop/src/basket.ts', content: 'x' }, 'written')
  session.tool('Write', { file_path: '/home/ida/shop/src/denied.ts', content: 'x' }, 'no', true)
  session.tool('Read', { file_path: '/home/ida/shop/src/prices.ts' }, 'text')
  session.user('yes')
  session.user('The basket must survive a reload of the page in every browser')
  session.bash('npm test', '1 failed', 1)
  session.bash('npm test')
  session.tool('Bash', { command: 'npm run lint' }, 'Exit code 2\nbad', true)
  session.tool('TodoWrite', {
    todos: [
      { content: 'Translate labels', status: 'pending' },
      { content: 'Start', status: 'completed' },
    ],
  })
  session.talk(
    '<system-reminder>nothing</system-reminder>',
    'The basket is stored and restored.',
    'Now show the basket in the page header',
  )
  return session
}

test('the truth of a session is what was typed, what calls changed and how checks ended [H13]', () => {
  expect(truthOf(session().entries)).toMatchObject({
    requests: [
      'Add a basket to the shop, please, and keep the prices in cents',
      'Now show the basket in the page header',
    ],
    words: ['The basket must survive a reload of the page in every browser'],
    result: ['The basket is stored and restored.'],
    todos: ['Translate labels'],
    failing: ['npm run lint'],
    files: ['/home/ida/shop/src/basket.ts'],
    folder: '/home/ida/shop',
  })
})

test('a document is measured by what it keeps, and by what nothing bears out [H13]', () => {
  const truth = truthOf(session().entries)
  const markdown = [
    'Goal: add a basket to the shop, keep the prices in cents. Now show the basket in the page header.',
    'Files: created src/basket.ts, edited src/ghost.ts',
    'Fails: npm run lint',
  ].join('\n')
  const found = score(truth, {
    markdown,
    files: ['src/basket.ts', 'src/ghost.ts', 'src/prices.ts'],
    failures: ['`npm run lint` exit 2'],
  })
  expect(found.kept).toMatchObject({
    requests: { found: 2, of: 2 },
    words: { found: 0, of: 1 },
    todos: { found: 0, of: 1, missed: ['Translate labels'] },
    failing: { found: 1, of: 1 },
    files: { found: 1, of: 1 },
  })
  expect(found.wrong).toEqual(['lists src/ghost.ts as changed'])
})

test('where the project is a repository, git decides which files changed [H13]', async () => {
  const folder = fs.realpathSync(temporaryFolder())
  const git = (...args: string[]) => {
    const identity = ['-c', 'user.name=Ida', '-c', 'user.email=ida@example.test']
    execFileSync('git', [...identity, ...args], {
      cwd: folder,
      env: { ...process.env, GIT_COMMITTER_DATE: date, GIT_AUTHOR_DATE: date },
    })
  }
  let date = '2026-01-01T00:00:00Z'
  const write = (file: string, words: string) => fs.writeFileSync(path.join(folder, file), words)
  git('init', '-q')
  write('old.txt', 'old')
  write('kept.txt', 'kept')
  git('add', '-A')
  git('commit', '-qm', 'Begin')
  date = '2026-01-02T10:30:00Z'
  write('new.txt', 'new')
  git('add', '-A')
  git('commit', '-qm', 'Work')
  write('open.txt', 'not committed')
  const then = new Date('2026-01-02T10:40:00Z')
  fs.utimesSync(path.join(folder, 'open.txt'), then, then)
  write('later.txt', 'of somebody else')
  const changed = await changesByGit(folder, '2026-01-02T10:00:00Z', '2026-01-02T11:00:00Z')
  expect(changed?.sort()).toEqual(['new.txt', 'open.txt'])
  expect(await changesByGit('/nowhere/at/all', '2026-01-02T10:00:00Z', '2026-01-02T11:00:00Z')).toBeUndefined()
})
