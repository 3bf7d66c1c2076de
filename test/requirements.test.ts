import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { requirements } from './requirements.ts'

const cited = new Set(
  fs
    .readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.startsWith('requirements'))
    .flatMap((file) => [
      ...fs
        .readFileSync(path.join(import.meta.dirname, file), 'utf8')
        .replaceAll("'", '')
        .matchAll(/\[([A-Z]\d+(?:, [A-Z]\d+)*)\]/g),
    ])
    .flatMap(([, ids = '']) => ids.split(', ')),
)

test('every requirement has a test that cites it', () => {
  const missing = Object.entries(requirements).filter(([id]) => !cited.has(id))
  expect(missing.map(([id, text]) => `${id} ${text}`)).toEqual([])
})

test('no test cites a requirement that does not exist', () => {
  expect([...cited].filter((id) => !(id in requirements))).toEqual([])
})
