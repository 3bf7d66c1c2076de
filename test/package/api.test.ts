// The names that programs rely on. A name that comes or goes changes api.txt, and whoever reviews the change sees it.

import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }

const root = path.join(import.meta.dirname, '../..')

test('every entry point exports what api.txt lists', async () => {
  const entries = Object.entries(manifest.exports).flatMap(([entry, target]) =>
    typeof target === 'string'
      ? []
      : [[entry, target.default.replace('./dist/', 'src/').replace('.js', '.ts')] as const],
  )
  const report = entries.map(([entry, source]) => {
    const names = namesIn(path.join(root, source)).toSorted((a, b) => a.localeCompare(b, 'en'))
    return `@baton/baton${entry.slice(1)}\n${names.map((name) => `  ${name}\n`).join('')}`
  })
  await expect(report.join('\n')).toMatchFileSnapshot('api.txt')
})

/** Entry points list their names one by one; errors.ts declares its own. */
function namesIn(file: string): string[] {
  const code = fs.readFileSync(file, 'utf8')
  const listed = [...code.matchAll(/^export \{([^}]*)\}/gm)].flatMap(([, list]) => list!.split(','))
  const declared = [...code.matchAll(/^export (?:abstract )?(class|type|interface|const|function) (\w+)/gm)]
  const whole = [...code.matchAll(/^export \* from '(\.[^']+)'/gm)]
  return [
    ...listed.map((name) => name.trim()).filter((name) => name !== ''),
    ...declared.map(([, kind, name]) => (kind === 'type' || kind === 'interface' ? `type ${name}` : name!)),
    ...whole.flatMap(([, from]) => namesIn(path.join(path.dirname(file), from!))),
  ]
}

test('every export of the root has a doc comment', () => {
  const sources = fs
    .readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !/^(?:cli|web|demo)\b/.test(file))
    .map((file) => fs.readFileSync(path.join(root, 'src', file), 'utf8'))
  const isDescribed = (name: string) => {
    const declaration = new RegExp(
      `\\*/\\nexport (?:async |abstract )?(?:class|interface|type|const|function\\*?) ${name}\\b`,
    )
    return sources.some((code) => declaration.test(code))
  }
  const names = namesIn(path.join(root, 'src/index.ts')).map((name) => name.replace('type ', ''))
  expect(names.filter((name) => !isDescribed(name))).toEqual([])
})
