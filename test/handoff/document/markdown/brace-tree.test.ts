import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fromBraces, toBraces } from '../../../../src/handoff/document/markdown/brace-tree.ts'

test('paths share braces as a shell would write them [H13]', () => {
  expect(toBraces(['src/a/x.ts', 'src/a/y.ts', 'src/b/z.ts'])).toBe('src/{a/{x,y},b/z}.ts')
  expect(toBraces(['a.ts', 'b.md'])).toBe('{a.ts,b.md}')
  expect(toBraces(['src/a.ts'])).toBe('src/a.ts')
  expect(toBraces(['/etc/x.conf', '/etc/y.conf', '.env'])).toBe('{/etc/{x.conf,y.conf},.env}')
  expect(fromBraces('src/{a,b')).toBeUndefined()
  expect(fromBraces('a}')).toBeUndefined()
})

test('whatever the paths, reading the braces gives them back in order [H13]', () => {
  const name = fc.stringMatching(/^[a-z.]{1,4}$/)
  const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'))
  fc.assert(
    fc.property(fc.array(path, { minLength: 1, maxLength: 12 }), (paths) => {
      expect(fromBraces(toBraces(paths))).toEqual(paths)
    }),
  )
})
