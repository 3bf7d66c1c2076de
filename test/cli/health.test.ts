import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { openFileStore } from '../../src/store/index.ts'
import { temporaryFolder } from '../support/workspace.ts'
import { baton } from './cli.ts'

test('what a check says is never cut, however long it is [C8]', async () => {
  const folder = fs.realpathSync(temporaryFolder())
  await baton(folder, ['init'])
  const store = await openFileStore(path.join(folder, '.baton'))
  const date = new Date().toISOString()
  const about = { name: 'night', project: folder }
  const what = `The model server refuses the request: ${'quota exceeded, '.repeat(20)}try again later`
  const event = (name: string, data: object, key: string) => ({ kind: 'event', payload: { name, data }, meta: { key } })
  await store.append('session/night', [
    event('row', { ...about, agent: 'pi', state: 'ended', cycles: 0, started: date, last_check: date }, 'row'),
    event(
      'health',
      { project: folder, check_type: 'model', status: 'warning', details: { what }, action_taken: 'Asks again' },
      'health:model',
    ),
  ])
  await store.close()
  const { code, out } = await baton(folder, ['health', '--all'])
  expect(code).toBe(0)
  expect(out).toContain(`${what}. Asks again`)
})
