// What every operation promises about itself, by walking the table.
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { checkedInput } from '../../src/config/index.ts'
import { allows, isLive, scopes, table } from '../../src/operations/index.ts'

describe('one table of operations [D2]', () => {
  it('names and routes are told apart', () => {
    expect(new Set(table.map(({ name }) => name)).size).toBe(table.length)
    expect(new Set(table.map(({ route }) => route.replaceAll(/\{\w+\}/g, '{}'))).size).toBe(table.length)
  })

  it.each(table.map((operation) => [operation.name, operation] as const))('%s describes itself', (_, operation) => {
    expect(operation.name).toMatch(/^[a-z]+(-[a-z]+)*\.[a-z]+(-[a-z]+)*$/)
    expect(operation.summary).toMatch(/^[A-Z].*[.…]$/)
    expect(scopes).toContain(operation.scope)
    const fields = Object.keys(operation.input.shape)
    for (const [, field] of operation.route.matchAll(/\{(\w+)\}/g)) expect(fields).toContain(field)
    // Both ends can be described to programs.
    z.toJSONSchema(operation.input, { io: 'input' })
    z.toJSONSchema(isLive(operation) ? operation.each : operation.output)
  })

  it.each(table.map((operation) => [operation.name, operation] as const))(
    '%s names the field that is wrong, and says what to send, in plain words [D3]',
    (_, { input }) => {
      const wrong = [undefined, null, 5, -1, 1.5, '', 'x'.repeat(40_000), true, [], [5], {}, [{}]]
      for (const field of Object.keys(input.shape)) {
        for (const value of wrong) {
          // Fields that are missing besides are another problem, which may be named first.
          const only = z.object({ [field]: input.shape[field]! })
          try {
            checkedInput(only, { [field]: value })
          } catch (error) {
            const { message, path, hint } = error as { message: string; path: string; hint: string }
            expect(path, message).toMatch(new RegExp(`^${field}(?:[.[]|$)`))
            expect(message).toContain(field)
            expect(message).not.toMatch(/Invalid|expected|received|undefined|pattern/)
            expect(hint).toMatch(/^Send \S/)
          }
        }
      }
    },
  )

  it('what GET reaches needs the scope read, and nothing more', () => {
    const reading = table.filter(({ route }) => route.startsWith('GET '))
    expect(reading.filter(({ scope }) => scope !== 'read').map(({ name }) => name)).toEqual([])
  })

  it('a scope includes those below it', () => {
    expect(allows('admin', 'read')).toBe(true)
    expect(allows('write', 'write')).toBe(true)
    expect(allows('write', 'operate')).toBe(false)
    expect(allows('read', 'write')).toBe(false)
  })
})
