import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { listen, status } from '../../notify/listener.ts'
import { temporaryFolder } from '../../support/workspace.ts'
import { baton, records } from '../cli.ts'

function configure(cwd: string, notify: object): void {
  fs.writeFileSync(path.join(cwd, 'baton.config.json'), JSON.stringify({ notify }))
}

test('notify test tries every channel and says what happened [C16]', async () => {
  const cwd = temporaryFolder()
  const web = await listen(status(404, {}, 'no such topic'))
  const { host } = new URL(web.url)
  const empty = await baton(cwd, ['notify', 'test'])
  expect(empty).toMatchObject({ code: 2, out: '' })
  expect(empty.err).toContain('names no channel to notify')
  configure(cwd, {
    channels: [
      { type: 'webhook', preset: 'ntfy', url: `${web.url}/topic`, levels: ['critical'] },
      { type: 'command', command: [process.execPath, '-e', ''] },
    ],
  })
  const failed = await baton(cwd, ['notify', 'test'])
  expect(failed.code).toBe(1)
  expect(failed.out).toContain(`ntfy ${host}: FAILED: it answered 404: no such topic\n`)
  expect(failed.out).toMatch(/^command .+: sent in \d+ ms$/m)
  const worked = await baton(cwd, ['notify', 'test', '--json'])
  expect(worked.code).toBe(0)
  expect(records(worked)).toMatchObject([{ channel: `ntfy ${host}`, status: 'sent' }, { status: 'sent' }])
  expect(web.received[1]!.headers).toMatchObject({ priority: '5', title: 'Baton can reach you' })
})
