import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { requirements } from './requirements.ts'

const titles = fs
  .readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.startsWith('requirements'))
  .flatMap((file) => [
    ...fs.readFileSync(path.join(import.meta.dirname, file), 'utf8').matchAll(/\[([A-Z]\d+(?:, [A-Z]\d+)*)\]/g),
  ])
  .flatMap(([, ids]) => ids!.split(', '))

test('every requirement of a delivered area has a test that cites it', () => {
  const cited = new Set(titles)
  const missing = requirements
    .filter(({ id, delivered }) => delivered && !cited.has(id))
    .map(({ id, text }) => `${id} ${text}`)
  expect(missing).toEqual([])
})

test('no test cites a requirement that does not exist', () => {
  const known = new Set(requirements.map(({ id }) => id))
  const later = /^[CSP]\d+$|^H\d+$/
  expect([...new Set(titles)].filter((id) => !known.has(id) && !later.test(id))).toEqual([])
})
