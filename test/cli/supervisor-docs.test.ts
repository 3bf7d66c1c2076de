import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { supervisorSection } from '../../src/supervisor/index.ts'

test('every setting is on the page about the supervisor, with its default', () => {
  const page = fs.readFileSync(path.join(import.meta.dirname, '../../docs/supervisor.md'), 'utf8')
  const rows = new Map(
    [...page.matchAll(/^\| `(\w+)` +\| ([^|]+) \|/gm)].map(([, name, value]) => [name!, value!.trim()]),
  )
  const defaults = supervisorSection.parse({})
  expect([...rows.keys()].sort()).toEqual(Object.keys(supervisorSection.shape).sort())
  for (const [name, value] of Object.entries(defaults)) {
    expect(`${name} ${rows.get(name)!.replaceAll('`', '')}`).toBe(`${name} ${JSON.stringify(value)}`)
  }
})
