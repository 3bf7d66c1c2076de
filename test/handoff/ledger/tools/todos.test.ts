// Todo lists that were not kept: a list that could not be written, and plans that the user changed.

import { expect, test } from 'vitest'
import { conversation, Session } from '../session.ts'

function listed(session: Session): string[] {
  return session.ledger().todos.map(({ text, status }) => `${status} ${text}`)
}

const before = [
  { content: 'Index bauen', status: 'in_progress' },
  { content: 'Oberfläche anpassen', status: 'pending' },
]

test('of a list whose next version could not be written, only what both say is told', () => {
  const s = new Session()
  s.tool('TodoWrite', { todos: before })
  s.tool('TodoWrite', { todos: [{ content: 'Index bauen', status: 'completed' }, before[1]] }, 'invalid input', true)
  expect(listed(s)).toEqual(['pending Oberfläche anpassen'])
})

test('a list that is written anew after a failure counts whole', () => {
  const s = new Session()
  s.tool('TodoWrite', { todos: [] }, 'invalid input', true)
  s.tool('TodoWrite', { todos: before })
  expect(listed(s)).toEqual(['in_progress Index bauen', 'pending Oberfläche anpassen'])
})

test.each([
  ['删除旧的上传接口', '旧的上传接口先不要删，等移动端发版之后再说。'],
  ['Удалить старый обработчик загрузки', 'Старый обработчик загрузки пока не трогай.'],
  ['Drop the legacy upload endpoint', 'Keep the legacy upload endpoint until the next release.'],
])('what the user said later about `%s` is told with it', (content, words) => {
  const s = conversation('Go.')
  s.tool('TodoWrite', { todos: [{ content, status: 'pending' }] })
  s.assistant('.')
  s.user(`${words}\nHello.`)
  expect(s.ledger().todos[0]?.mentioned).toBe(words)
})

test('what the user said before the list was written, or about something else, is not', () => {
  const s = conversation('Keep the legacy upload endpoint until the next release.')
  s.tool('TodoWrite', { todos: [{ content: 'Drop the legacy upload endpoint', status: 'pending' }] })
  s.user('Translate the release notes into Polish.')
  expect(s.ledger().todos[0]?.mentioned).toBeUndefined()
})
