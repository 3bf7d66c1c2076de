import { describe, expect, test } from 'vitest'
import type { Ending } from '../../../src/handoff/ledger/facts.ts'
import { interruptEvent } from '../../../src/handoff/index.ts'
import { conversation, Session } from './session.ts'

function overloaded(session: Session): void {
  session.user('add a cart')
  session.add('error', { kind: 'overloaded', message: '529 overloaded' })
}

describe('how the work stands', () => {
  test.each<[string, (session: Session) => void, Partial<Ending>]>([
    ['empty: nothing was said', () => {}, { state: 'empty' }],
    ['requested: the user spoke last', (s) => s.user('add a cart'), { state: 'requested' }],
    [
      'answered: the assistant spoke last',
      (s) => {
        s.user('add a cart')
        s.tool('Write', { file_path: 'cart.ts', content: 'x' }, 'File created')
        s.assistant('The cart is there.')
      },
      { state: 'answered' },
    ],
    [
      'answered: a structured result was handed over',
      (s) => {
        s.user('review this')
        s.tool('StructuredOutput', { findings: [] }, 'Structured output provided successfully')
      },
      { state: 'answered' },
    ],
    [
      'asks: the last words are a question',
      (s) => s.talk('add a cart', 'It is there.\n\nShall I commit it?'),
      { state: 'asks' },
    ],
    [
      'interrupted: a call has no result',
      (s) => {
        s.talk('add a cart', 'I run the tests.')
        s.call('Bash', { command: 'npm test' })
      },
      { state: 'interrupted', during: 'npm test' },
    ],
    [
      'interrupted: the words announce what never came',
      (s) => s.talk('add a cart', 'Ich sehe mir jetzt die Tests an:'),
      { state: 'interrupted' },
    ],
    [
      'interrupted: the words announce what never came, though the agent takes the turn for finished',
      (s) => {
        s.user('add a cart')
        s.assistant('Primero corrijo las pruebas:')
        s.add('event', { name: 'turn_ended', data: { status: 'done' } })
      },
      { state: 'interrupted' },
    ],
    [
      'interrupted: the agent recorded how the turn began, and not that it ended',
      (s) => {
        s.add('event', { name: 'codex/turn_started', data: {} })
        s.user('add a cart')
        s.assistant('I look at the cart first.')
      },
      { state: 'interrupted' },
    ],
    [
      'answered: the agent records no ends, only beginnings',
      (s) => {
        for (const words of ['add a cart', 'and a checkout']) {
          s.add('event', { name: 'codex/turn_started', data: {} })
          s.user(words)
          s.assistant('It is there.')
        }
      },
      { state: 'answered' },
    ],
    [
      'answered: an earlier turn was cut off, the last one ended',
      (s) => {
        s.add('event', { name: 'codex/turn_started', data: {} })
        s.user('add a cart')
        s.call('Bash', { command: 'npm test' })
        s.add('event', { name: 'codex/turn_started', data: {} })
        s.user('go on')
        s.assistant('It is there.')
        s.add('event', { name: 'turn_ended', data: { status: 'done' } })
      },
      { state: 'answered' },
    ],
    [
      'interrupted by the user',
      (s) => {
        s.talk('add a cart', 'I begin with')
        s.add('event', { name: 'turn_ended', data: { status: 'aborted' } })
      },
      { state: 'interrupted', by: 'user' },
    ],
    [
      'error: an error came last',
      (s) => {
        overloaded(s)
        s.add('event', { name: 'turn_ended', data: { status: 'failed' } })
      },
      { state: 'error', message: '529 overloaded' },
    ],
    [
      'interrupted, not error: the agent went on after the error',
      (s) => {
        overloaded(s)
        s.call('Bash', { command: 'npm test' })
      },
      { state: 'interrupted' },
    ],
    [
      'answered although a subagent spoke later',
      (s) => {
        s.talk('add a cart', 'The cart is there.')
        s.add('message', { role: 'assistant', content: 'I look into it:' }, { isSidechain: true })
      },
      { state: 'answered' },
    ],
  ])('%s [H13]', (_, play, ending) => {
    const session = new Session()
    play(session)
    expect(session.ledger().ending).toMatchObject(ending)
  })
})

describe('a todo list that the agent prints', () => {
  test('is the list: what is not on it is gone [H13]', () => {
    const session = new Session()
    session.tool('TaskCreate', { subject: 'Draw the cart' }, 'Task #1 created successfully')
    session.tool('TaskCreate', { subject: 'Pay' }, 'Task #2 created successfully')
    session.tool('TaskList', {}, '#1 [completed] Draw the cart\n#2 [pending] Pay')
    expect(session.ledger().todos.map(({ status }) => status)).toEqual(['completed', 'pending'])
    session.tool('TaskList', {}, 'No tasks found')
    expect(session.ledger().todos).toEqual([])
  })

  test('stays as it is where the result cannot be read [H13]', () => {
    const session = new Session()
    session.tool('TodoWrite', { todos: [{ content: 'Pay', status: 'pending' }] }, 'ok')
    session.tool('TaskList', {}, 'something else')
    expect(session.ledger().todos).toHaveLength(1)
  })
})

test('a command that a supervisor has cut off was interrupted by Baton, whatever its agent says of the user', () => {
  const session = conversation('deploy it')
  const call = session.call('Bash', { command: './deploy.sh' })
  session.add('event', { name: interruptEvent, data: { by: 'baton' } })
  session.result(call, "The user doesn't want to proceed with this tool use. The tool use was rejected.", true)
  session.user('[Request interrupted by user for tool use]')
  const cut = session.ledger()
  expect(cut.decisions).toEqual([])
  expect(cut.failures).toEqual([])
  expect(cut.inFlight).toMatchObject([{ what: './deploy.sh', interrupted: true, by: 'baton' }])
  expect(cut.ending).toMatchObject({ state: 'interrupted', by: 'baton' })
  // What the user refuses later is the user's word again.
  session.assistant('I try another way.')
  session.tool('Bash', { command: './other.sh' }, "The user doesn't want to proceed with this tool use.", true)
  session.user('[Request interrupted by user for tool use]')
  const later = session.ledger()
  expect(later.decisions).toMatchObject([{ text: 'Rejected: ./other.sh', by: 'user' }])
  expect(later.ending).toMatchObject({ state: 'interrupted', by: 'user' })
})
