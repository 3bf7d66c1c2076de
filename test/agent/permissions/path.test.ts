import fs from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { absolutePath, isPathInside, realTarget } from '../../../src/agent/permissions/path.ts'
import { makeFolders } from './judge.ts'

describe('paths', () => {
  const name = fc.constantFrom('a', 'b', 'in', 'out', '..', '.', '', 'loop', 'ab', 'ｂ', '..a')

  it('what is judged to be inside is inside, for the system too', () => {
    const { cwd, outside } = makeFolders()
    fs.mkdirSync(path.join(cwd, 'a/b'), { recursive: true })
    fs.mkdirSync(path.join(outside, 'a/b'), { recursive: true })
    fs.symlinkSync('..', path.join(cwd, 'a/in'))
    fs.symlinkSync(outside, path.join(cwd, 'out'))
    fs.symlinkSync('../../outside/a', path.join(cwd, 'a/out'))
    fs.symlinkSync(cwd, path.join(outside, 'in'))
    fs.symlinkSync('../../work/a', path.join(outside, 'a/in'))
    fs.symlinkSync('loop', path.join(cwd, 'loop'))
    const given = fc.array(name, { maxLength: 8 }).map((names) => names.join('/') || '.')
    fc.assert(
      fc.property(given, fc.constantFrom('', `${cwd}/`, `${outside}/`), (file, prefix) => {
        const absolute = absolutePath(cwd, prefix + file)
        let real: string
        try {
          real = realTarget(absolute)
        } catch {
          expect(() => fs.realpathSync(absolute)).toThrow('ELOOP')
          return
        }
        // What is there is where the system finds it; a second look changes nothing.
        if (fs.existsSync(absolute)) expect(real).toBe(fs.realpathSync(absolute))
        expect(realTarget(real)).toBe(real)
        expect(isPathInside(cwd, real)).toBe(
          !path.relative(cwd, real).startsWith('../') && path.relative(cwd, real) !== '..',
        )
      }),
      { numRuns: 2_000 },
    )
  })
})
