import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Change } from '../../src/agents/index.ts'
import { applied, hasComments, removed, valueAt } from '../../src/connect/edit.ts'

const value = { type: 'value', path: 'a.json', at: ['mcp', 'baton'], value: { type: 'local', command: ['x'] } } as const
const item = { type: 'item', path: 'a.json', at: ['hooks', 'Stop'], value: { hooks: [{ command: 'x' }] } } as const
const table = { type: 'table', path: 'a.toml', table: '[mcp_servers.baton]', lines: 'command = "x"\n' } as const

const texts = [
  '{}',
  '{ }\n',
  '{"a":1}',
  '{\n  // mine\n  "a": 1, /* two */\n  "hooks": {"Stop": [{"hooks": []}, ],},\n}\n',
  '{\r\n\t"mcp": {"other": {"command": ["y"]}},\r\n\t"z": [1,\r\n2]\r\n}\r\n',
  '{"hooks":{"Stop":[{"hooks":[{"command":"mine"}]}]},"mcp":{}}',
  '\u{feff}{"a":1}\n',
]

describe('an edit of a file that belongs to the user', () => {
  it.each(texts)('is there afterwards, and its removal leaves every byte as it was: %j [D6]', (text) => {
    for (const edit of [value, item] as const) {
      const after = applied(text, edit)
      const found = valueAt(after, edit.at)
      expect(edit.type === 'item' ? (found as unknown[]).at(-1) : found).toEqual(edit.value)
      expect(applied(after, item)).toBe(edit.type === 'item' ? after : applied(after, item))
      const emptied = text.includes('"mcp":{}') && edit.type === 'value'
      // A parent that the user had left empty goes with the entry; everything else stays.
      if (!emptied) expect(removed(after, edit)).toBe(text)
    }
  })

  it('puts a value that was there before back, and leaves one that somebody has changed since [D6]', () => {
    const statusLine = { type: 'value', path: 'a', at: ['statusLine'], value: { command: 'ours' } } as const
    const text = '{"a":1,"statusLine":{"command":"mine"}}'
    expect(removed(applied(text, statusLine), statusLine, { command: 'mine' })).toBe(text)
    const changed = '{"a":1,"statusLine":{"command":"newer"}}'
    expect(removed(changed, statusLine, { command: 'mine' })).toBe(changed)
  })

  it('never loses a byte of a TOML file around its table [D6]', () => {
    const words = fc.array(fc.constantFrom('a = 1\n', '\n', '# note\n', '[x]\n', '[[y]]\nb = "c"\n', 'd = 2'), {
      maxLength: 8,
    })
    fc.assert(
      fc.property(words, words, (before, behind) => {
        const text = before.join('')
        const after = applied(text, table)
        // A file that lacked its last newline keeps the one that the table needed.
        const whole = text === '' || text.endsWith('\n') ? text : `${text}\n`
        expect(removed(after, table)).toBe(whole)
        const more = behind.join('')
        expect(removed(after + more, table)).toBe(whole + more)
      }),
    )
  })

  it('refuses what it cannot edit safely, and says what to do [D6]', () => {
    expect(() => applied('{"a":', value)).toThrow(/cannot be read as JSON/)
    expect(() => applied('[]', value)).toThrow(/cannot be read as JSON/)
    const below = { ...value, at: ['mcp', 'baton'] }
    for (const other of ['5', '"x"', '[]', 'null']) {
      expect(() => applied(`{"mcp":${other}}`, below)).toThrow(/mcp is no object, so nothing was changed/)
    }
    expect(() => applied('mcp_servers = { a = 1 }\n', table)).toThrow(/inline table/)
    expect(() => applied('[mcp_servers.baton]\n', table)).toThrow(/already/)
    expect(removed('{"a":', value)).toBe('{"a":')
  })

  it('tells comments from strict JSON', () => {
    expect(hasComments('\u{feff}{"a":1}')).toBe(false)
    expect(hasComments('{"a":1}')).toBe(false)
    expect(hasComments('{"a":1 /* b */}')).toBe(true)
    expect(hasComments('{"a":')).toBe(false)
  })
})

// A change that the compiler no longer knows would leave these samples untested.
;[value, item, table] satisfies Exclude<Change, { type: 'file' }>[]
