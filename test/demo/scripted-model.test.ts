import { expect, test } from 'vitest'
import { nextMove, type Spoken } from '../../src/demo/scripted-model.ts'

const habits = { perTurn: 4 }
const task = '- `src/vat.js` holds `vat`\n- `src/stamps.js` holds `stamps`\n- `vat` is `19`'
const user = (text: string): Spoken => ({ role: 'user', text, toolCalls: [], toolResults: [] })
const call = (given: unknown): Spoken => ({
  role: 'assistant',
  text: '',
  toolCalls: [{ arguments: given }],
  toolResults: [],
})
const result = (text: string): Spoken => ({ role: 'tool', text: '', toolCalls: [], toolResults: [{ text }] })

test('the model knows only what it was told', () => {
  expect(nextMove([user('Go on.')], habits)).toEqual({ do: 'say', say: 'What is there to do? Nobody has said.' })
  const told = nextMove([user(task)], habits)
  expect(told).toMatchObject({ do: 'write', path: 'src/vat.js', content: 'export const vat = "19"\n' })
  const untold = nextMove([user(task.replace('`vat` is `19`', ''))], habits)
  expect(untold).toMatchObject({ do: 'write', content: 'export const vat = "unknown"\n' })
})

test('a module is stamped once it is written, and the next one follows', () => {
  const written = [user(task), call({ path: 'src/vat.js', content: 'export const vat = "19"\n' }), result('ok')]
  expect(nextMove(written, habits)).toMatchObject({ do: 'run', command: 'node scripts/stamp.mjs vat' })
  const stamped = [...written, call({ command: 'node scripts/stamp.mjs vat' }), result('`stamp vat` is `abc`')]
  expect(nextMove(stamped, habits)).toMatchObject({
    path: 'src/stamps.js',
    content: 'export const stamps = "vat:abc"\n',
  })
  expect(nextMove(stamped, { perTurn: 1 })).toMatchObject({
    do: 'say',
    say: '1 of 2 modules are done. Next: src/stamps.js.',
  })
})

test('asked for a document, it writes down what it knows where it was told to; told of one, it reads that first', () => {
  const ask = 'Create handoff document now - context at 90%. Write it to /tmp/handoff.md in Markdown.'
  const move = nextMove([user(task), user(ask)], habits)
  expect(move).toMatchObject({ do: 'write', path: '/tmp/handoff.md' })
  expect(move.do === 'write' && move.content).toContain('- `vat` is `19`')
  const resume = user('Read handoff from /tmp/handoff.md and resume work.')
  expect(nextMove([resume], habits)).toMatchObject({ do: 'read', path: '/tmp/handoff.md' })
  const read = [resume, call({ path: '/tmp/handoff.md' }), result(move.do === 'write' ? move.content : '')]
  expect(nextMove(read, habits)).toMatchObject({
    do: 'write',
    path: 'src/vat.js',
    content: 'export const vat = "19"\n',
  })
})

test('what the user says in the middle of a turn is answered at the next step', () => {
  const ask = 'Create handoff document now - context at 90%. Write it to /tmp/handoff.md in Markdown.'
  const passedOn = `ok\n\n<system-reminder>\nThe user sent a new message while you were working:\n${ask}\n</system-reminder>`
  const asked = [user(task), call({ path: 'src/vat.js', content: 'export const vat = "19"\n' }), result(passedOn)]
  expect(nextMove(asked, habits)).toMatchObject({ do: 'write', path: '/tmp/handoff.md' })
  const other = result('ok\n\n<system-reminder>\nRemember to keep notes.\n</system-reminder>')
  expect(nextMove([...asked.slice(0, -1), other], habits)).toMatchObject({ do: 'run' })
})
