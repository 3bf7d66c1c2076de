import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'

const source = path.resolve(import.meta.dirname, '../../src')

test('nothing above the store knows which engine it works on [E3]', () => {
  const files = fs.readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  const above = files.filter((file) => !file.startsWith('store/'))
  expect(above.length).toBeGreaterThan(200)
  const found: string[] = []
  for (const file of above) {
    for (const [at, line] of fs.readFileSync(path.join(source, file), 'utf8').split('\n').entries()) {
      const isImport = /from '.*store\/(file|postgres|nats)\//.test(line)
      // Texts for people may name an engine; a decision may not.
      const isBranch = /(===|!==|startsWith|includes|instanceof|\.test\(|case) ?\(?.*\b(postgres|nats)\b/i.test(line)
      if (isImport || isBranch) found.push(`${file}:${at + 1}: ${line.trim()}`)
    }
  }
  expect(found).toEqual([])
})
