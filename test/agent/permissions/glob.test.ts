import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { literalGlob, parseGlob } from '../../../src/agent/permissions/glob.ts'

describe('globs', () => {
  it('a glob that was made from a path matches it and no other', () => {
    const odd = fc.string({
      unit: fc.constantFrom('a', '/', '*', '?', '[', ']', '{', '}', ',', '\\', '.', '!', '^', 'é', '🎉'),
      maxLength: 8,
    })
    fc.assert(
      fc.property(odd, odd, (one, other) => {
        const glob = parseGlob(literalGlob(`/${one}`))
        expect(glob(`/${one}`)).toBe(true)
        if (one !== other) expect(glob(`/${other}`)).toBe(false)
      }),
    )
  })

  it.each([
    ['/a/*', '/a/b', true],
    ['/a/*', '/a/b/c', false],
    ['/a/**', '/a', true],
    ['/a/**', '/a/b/c', true],
    ['/a/**', '/ab', false],
    ['/a/**/c', '/a/c', true],
    ['/a/**/c', '/a/b/b/c', true],
    ['/a/**/c', '/a/b/cc', false],
    ['**/*.ts', 'x.ts', true],
    ['**/*.ts', 'a/b/x.ts', true],
    ['*.ts', 'a/x.ts', false],
    ['a?c', 'a🎉c', true],
    ['[a-c]x', 'bx', true],
    ['[!a-c]x', 'bx', false],
    ['[!a-c]x', 'dx', true],
    ['*.{ts,{js,mjs}}', 'a.mjs', true],
    ['*.{ts,js}', 'a.md', false],
    ['src/{a,b/c}/x', 'src/b/c/x', true],
    ['{a', '{a', true],
    ['[a', '[a', true],
    ['*a*b*', 'xxaxxbxx', true],
    ['*a*b*', 'xxbxxaxx', false],
    ['', '', true],
  ])('%s and %s: %s', (glob, file, fits) => expect(parseGlob(glob)(file)).toBe(fits))

  it('no glob takes forever', () => {
    const folders = `/${'a/'.repeat(200)}b`
    expect(parseGlob(`/${'**/'.repeat(50)}c`)(folders)).toBe(false)
    expect(parseGlob(`${'*a'.repeat(60)}*c`)('a'.repeat(250))).toBe(false)
    expect(parseGlob(`${'{a,b}'.repeat(40)}c`)('c')).toBe(false)
  })
})
