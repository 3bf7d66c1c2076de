import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fileEffects } from '../../../src/handoff/ledger/shell/file-effects.ts'
import { ledger, LedgerBuilder } from '../../../src/handoff/ledger/ledger.ts'
import { parseShell } from '../../../src/system/shell.ts'
import { readScript } from '../../../src/handoff/ledger/shell/steps.ts'
import { type Entry, entryFrom } from '../../../src/store/index.ts'
import { runs } from '../../support/full.ts'

const names = [
  'Read',
  'Write',
  'Edit',
  'MultiEdit',
  'Bash',
  'bash',
  'shell',
  'exec_command',
  'write_stdin',
  'apply_patch',
  'update_plan',
  'TodoWrite',
  'TaskUpdate',
  'Task',
  'AskUserQuestion',
  'ExitPlanMode',
  'BashOutput',
  'KillShell',
  'run_shell_command',
  'replace',
  'who_knows',
  '__proto__',
  'constructor',
  '',
]
const commands = [
  'npm test',
  'rm -rf a',
  'mv a b',
  'git checkout .',
  'sed -i s/a/b/ a.ts',
  'cat > a <<EOF\nx\nEOF',
  'npm run dev &',
  'git commit -m x',
  'vitest run a | tail',
  'cd x && touch y',
]
const outputs = [
  '',
  'Exit code 1\nboom',
  'Exit code: 1\nOutput:\nx',
  ' Tests  1 failed | 2 passed (3)',
  ' Tests  3 passed (3)',
  'Command running in background with ID: b1',
  '{"output":"x","metadata":{"exit_code":1}}',
  "The user doesn't want to proceed",
]
const texts = [
  "don't use a",
  'Use a',
  'actually use b instead of a',
  'Which one?',
  '<system-reminder>x</system-reminder>',
  'We decided to use b because c',
  '不要用 a',
  'never mind',
]

const args = fc.oneof(
  fc.record(
    {
      command: fc.constantFrom(...commands),
      file_path: fc.constantFrom('a.ts', '/p/b.ts'),
      content: fc.string(),
      old_string: fc.string(),
      new_string: fc.string(),
    },
    { requiredKeys: [] },
  ),
  fc.record(
    {
      todos: fc.anything(),
      plan: fc.anything(),
      questions: fc.anything(),
      edits: fc.anything(),
      session_id: fc.integer({ max: 3 }),
    },
    { requiredKeys: [] },
  ),
  fc.string(),
  fc.json(),
  fc.anything(),
)
const id = fc.constantFrom('1', '2', '3')
const payload = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .record({
        calls: fc.array(fc.record({ id, name: fc.constantFrom(...names), arguments: args }), { maxLength: 3 }),
      })
      .map((payload) => ({ kind: 'tool_call', payload })),
  },
  {
    weight: 3,
    arbitrary: fc
      .record({
        results: fc.array(
          fc.record({
            call_id: id,
            output: fc.oneof(fc.constantFrom(...outputs), fc.anything()),
            is_error: fc.boolean(),
          }),
          { maxLength: 3 },
        ),
      })
      .map((payload) => ({ kind: 'tool_result', payload })),
  },
  {
    weight: 2,
    arbitrary: fc
      .record({
        role: fc.constantFrom('user', 'assistant'),
        content: fc.oneof(fc.constantFrom(...texts), fc.string({ unit: 'binary' }), fc.anything()),
      })
      .map((payload) => ({ kind: 'message', payload })),
  },
  fc.record({
    kind: fc.constantFrom('anchor', 'event', 'error', 'system', 'odd', 'message', 'tool_call', 'tool_result'),
    payload: fc.anything(),
  }),
)
const session = fc
  .array(fc.tuple(payload, fc.dictionary(fc.constantFrom('cwd', 'isMeta', 'key'), fc.anything())), { maxLength: 30 })
  .map((list) =>
    list.map(([{ kind, payload }, meta], index): Entry => {
      const date = `2026-01-01T00:00:${String(index).padStart(2, '0')}.000Z`
      return entryFrom({ kind, payload, meta }, index + 1, date)
    }),
  )

describe('the ledger, whatever is on the tape', () => {
  it('[H13] never throws, and every fact names an entry of the phase', () => {
    fc.assert(
      fc.property(session, (entries) => {
        const facts = ledger(entries)
        const ids = [
          ...facts.files.map(({ lastId }) => lastId),
          ...facts.commands.map(({ lastId }) => lastId),
          ...facts.tests,
          ...facts.failures.map(({ lastId }) => lastId),
          ...facts.todos,
          ...facts.decisions,
          ...facts.questions,
          ...facts.instructions,
          ...facts.inFlight,
          ...facts.subagents,
        ].map((fact) => (typeof fact === 'object' ? fact.id : fact))
        for (const id of ids) expect(id).toSatisfy((id: number) => id >= 1 && id <= entries.length)
        expect(facts.counts.entries).toBe(entries.length)
      }),
      { numRuns: runs(1_000) },
    )
  })

  it('[H13] is the same for the same entries, read at once, one by one, or as a stream', async () => {
    await fc.assert(
      fc.asyncProperty(session, fc.nat(), async (entries, cut) => {
        const before = JSON.stringify(entries, skipBig)
        const whole = ledger(entries)
        const builder = new LedgerBuilder()
        for (const [index, entry] of entries.entries()) {
          // Looking at it in between changes nothing.
          if (index === cut % (entries.length + 1)) builder.finish()
          builder.add(entry)
        }
        expect(builder.finish()).toEqual(whole)
        const stream = (async function* () {
          yield* entries
        })()
        expect(await ledger(stream)).toEqual(whole)
        expect(JSON.stringify(entries, skipBig)).toBe(before)
      }),
      { numRuns: runs(300) },
    )
  })

  it('[H13] a user message that no agent wrote is never dropped', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc
            .string({ unit: 'grapheme', minLength: 1 })
            .filter((text) => text.trim() !== '' && !text.includes('<') && !text.startsWith('[')),
          { maxLength: 20 },
        ),
        (texts) => {
          const entries = texts.map((content, index): Entry => ({
            id: index + 1,
            kind: 'message',
            payload: { role: 'user', content },
            meta: {},
            date: '',
          }))
          expect(ledger(entries).instructions.map(({ text }) => text)).toEqual(texts.map((text) => text.trim()))
        },
      ),
    )
  })

  it('[H13] any shell script is read to its end, in time', () => {
    const pieces = fc.constantFrom(
      'a',
      ' ',
      '"',
      "'",
      '`',
      '$(',
      ')',
      '(',
      '{',
      '}',
      ';',
      '&&',
      '||',
      '|',
      '&',
      '>',
      '<<E',
      '\n',
      'E\n',
      'if',
      'then',
      'fi',
      'for x in',
      'do',
      'done',
      'case',
      'esac',
      '\\',
      '$x',
      '#',
      'rm',
      'cd',
      '=',
      '{a,b}',
      '*',
    )
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 60 }), (parts) => {
        const script = parts.join('')
        parseShell(script)
        for (const step of readScript(script, '').steps) fileEffects(step)
      }),
      { numRuns: runs(2_000) },
    )
    for (const hard of [
      '('.repeat(50_000),
      '$('.repeat(50_000),
      '{a,b}'.repeat(1_000),
      'if '.repeat(20_000),
      '"'.repeat(50_001),
      '<<A '.repeat(2_000),
      'a|'.repeat(20_000),
      '\\'.repeat(50_001),
    ]) {
      const start = performance.now()
      readScript(hard, '')
      expect(performance.now() - start).toBeLessThan(20_000)
    }
  })
})

function skipBig(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}
