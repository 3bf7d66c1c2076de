// The reference pages are made from the code, and are never older than it.
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { entryNames } from '../../scripts/reference/events.ts'
import { pages } from '../../scripts/reference/pages.ts'
import { table } from '../../src/operations/index.ts'
import { temporaryFolder } from '../support/workspace.ts'
import { baton } from '../cli/cli.ts'

const root = path.join(import.meta.dirname, '../..')
const made = pages()

test.for(Object.keys(made))('docs/reference/%s is what "npm run docs" writes', (name) => {
  expect(fs.readFileSync(path.join(root, 'docs/reference', name), 'utf8')).toBe(made[name])
})

test('the pages name every operation, and say what every setting means', () => {
  for (const { name, summary } of table) {
    expect(made['rest.md']).toContain(`### ${name}\n`)
    expect(made['rest.md']).toContain(summary)
  }
  const settings = made['configuration.md']!.split('\n').filter((line) => /^ *- `[\w.[\]]+` \(/.test(line))
  expect(settings.length).toBeGreaterThan(80)
  expect(settings.filter((line) => !/\): \S/.test(line))).toEqual([])
})

test('every event that the code writes on a tape is on the page of events', () => {
  const files = fs.readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' })
  const written = files
    .filter((file) => file.endsWith('.ts') && !file.startsWith('web'))
    .flatMap((file) => namesIn(fs.readFileSync(path.join(root, 'src', file), 'utf8')))
  expect(new Set(written).size).toBeGreaterThan(20)
  expect([...new Set(written)].filter((name) => !entryNames().has(name))).toEqual([])
})

/** Names of events that stand in the text of the code, in the forms in which it writes them. */
function namesIn(code: string): string[] {
  const forms = [/payload(?:: | = )\{ name: '([^']+)', data/g, /\bevent\('([^']+)', /g, /'event', \{ name: '([^']+)'/g]
  return forms.flatMap((form) => [...code.matchAll(form)].map(([, name]) => name!))
}

test('baton docs shows them', async ({ onTestFinished }) => {
  const cwd = temporaryFolder(onTestFinished)
  const listed = (await baton(cwd, ['docs'])).out
  for (const name of Object.keys(made)) expect(listed).toContain(`reference/${name.slice(0, -3)}`)
  expect((await baton(cwd, ['docs', 'rest'])).out).toBe(made['rest.md'])
  expect((await baton(cwd, ['docs', 'reference/events'])).out).toBe(made['events.md'])
  expect((await baton(cwd, ['docs', 'conf'])).out).toBe(made['configuration.md'])
})
