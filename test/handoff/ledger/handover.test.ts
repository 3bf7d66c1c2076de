import { describe, expect, test } from 'vitest'
import { askText } from '../../../src/handoff/index.ts'
import { goodDocument } from '../../supervisor/support/protocol.ts'
import { Session } from './session.ts'

const file = '/shop/.baton/handoffs/handoff-2026-01-01-00-00.md'
const ask = askText({ path: file, project: '/shop', percent: 86 })
const turnEnded = (session: Session) => session.add('event', { name: 'turn_ended', data: { status: 'done' } })
const edit = (session: Session, name: string) =>
  session.tool('Edit', { file_path: `/shop/${name}`, old_string: 'euros', new_string: 'cents' }, 'ok')
const write = (session: Session) => session.tool('Write', { file_path: file, content: goodDocument }, 'ok')

/** A turn in which one of many modules is done. */
function working(): Session {
  const session = new Session()
  session.user('Move the prices to cents, one module after the other.')
  edit(session, 'till.ts')
  return session
}

/** A turn that has come to its end. */
function answered(): Session {
  const session = working()
  session.assistant('All modules are moved.')
  turnEnded(session)
  return session
}

describe('a document that is asked for between two turns', () => {
  test.each([
    ['it is written', write],
    ['it is the reply', (session: Session) => session.assistant(goodDocument)],
    ['it is refused', (session: Session) => session.assistant('I will not.')],
    ['a command writes it', (session: Session) => session.bash(`mkdir -p /shop/.baton/handoffs/ && cat > ${file}`)],
    [
      'things are looked at before',
      (session: Session) => {
        session.assistant('Let me see where things stand.')
        session.bash('git status')
        session.assistant('Now I write it down.')
        write(session)
        session.assistant('It is written: shall I go on?')
      },
    ],
    [
      'a program reports in between',
      (session: Session) => {
        write(session)
        session.user('<task-notification>\n<task-id>b1</task-id>\n<status>completed</status>\n</task-notification>')
        session.assistant('It is written.')
      },
    ],
  ])('changes nothing about how the work stands: %s [C4]', (_, does) => {
    const session = answered()
    const { id } = session.ledger().lastWords!
    session.add('event', { name: 'codex/turn_started', data: { turn_id: '2' } })
    session.user(ask)
    does(session)
    turnEnded(session)
    const { ending, lastWords, questions } = session.ledger()
    expect(ending).toEqual({ state: 'answered', id })
    expect(lastWords).toEqual({ text: 'All modules are moved.', id })
    expect(questions).toEqual([])
  })
})

describe('a document that is asked for within a turn', () => {
  test('is no end of that turn [C4]', () => {
    const session = working()
    session.user(ask)
    session.assistant('I write down where things stand.')
    write(session)
    session.assistant('The handoff document is written.')
    turnEnded(session)
    const { ending, lastWords } = session.ledger()
    expect(ending).toMatchObject({ state: 'interrupted' })
    expect(lastWords).toBeUndefined()
  })

  test('drops nothing of a turn that simply goes on [C4]', () => {
    const session = working()
    session.user(ask)
    for (const name of ['basket.ts', 'invoice.ts', 'refund.ts']) {
      session.assistant(`Now ${name}.`)
      edit(session, name)
    }
    session.assistant('All four modules are moved.')
    expect(session.ledger().lastWords?.text).toBe('All four modules are moved.')
    turnEnded(session)
    expect(session.ledger().ending).toMatchObject({ state: 'answered' })
  })

  test('drops no findings of a turn that goes on to read only [C4]', () => {
    const session = working()
    session.user(ask)
    for (const name of ['basket.ts', 'invoice.ts']) session.tool('Read', { file_path: `/shop/${name}` }, 'text')
    session.assistant('The refunds are rounded twice. Shall I mend that?')
    turnEnded(session)
    const { ending, lastWords } = session.ledger()
    expect(ending).toMatchObject({ state: 'asks' })
    expect(lastWords?.text).toContain('rounded twice')
  })

  test('written at the end of an hour of work, leaves the work as it stood then [C4]', () => {
    const session = working()
    session.user(ask)
    session.bash('npm test', '3 failed', 1)
    session.assistant('Three tests fail, because of the rounding.')
    edit(session, 'rounding.ts')
    session.assistant('Now the document.')
    write(session)
    session.assistant('It is written.')
    turnEnded(session)
    const { ending, lastWords } = session.ledger()
    expect(ending).toMatchObject({ state: 'interrupted' })
    expect(lastWords?.text).toBe('Now the document.')
  })

  test('does not hide the work that follows it in the same turn [C4]', () => {
    const session = working()
    session.user(ask)
    write(session)
    session.assistant('It is written; I go on.')
    session.call('Bash', { command: 'npm run migrate' })
    expect(session.ledger().ending).toMatchObject({ state: 'interrupted', during: 'npm run migrate' })
    session.result('call_3', 'migrated')
    session.assistant('The migration is done.')
    turnEnded(session)
    const { ending, lastWords } = session.ledger()
    expect(ending).toMatchObject({ state: 'answered' })
    expect(lastWords?.text).toBe('The migration is done.')
  })

  test.each([{ queued: true }, {}])('leaves open what the user typed meanwhile: %o [C4]', (meta) => {
    const session = working()
    session.user(ask)
    session.assistant('I write down where things stand.')
    const id = session.user('The footer shows euros, too: mend it.', meta)
    session.assistant('I note that.')
    write(session)
    session.assistant('The handoff document is written.')
    turnEnded(session)
    expect(session.ledger().ending).toEqual({ state: 'requested', id })
  })

  test('is not in flight where nobody has allowed it [C4]', () => {
    const session = working()
    session.user(ask)
    session.call('Write', { file_path: file, content: goodDocument })
    const { ending, inFlight } = session.ledger()
    expect(ending).toMatchObject({ state: 'interrupted', during: undefined })
    expect(inFlight).toEqual([])
  })

  test('is forgotten when the agent is told something else by Baton [C4]', () => {
    const session = working()
    session.user(ask)
    session.user('Baton restarted you in the middle of your work: look at where it stands, and continue with it.')
    session.assistant('All modules are moved.')
    turnEnded(session)
    expect(session.ledger()).toMatchObject({
      ending: { state: 'answered' },
      lastWords: { text: 'All modules are moved.' },
    })
  })
})
