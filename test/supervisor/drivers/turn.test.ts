import path from 'node:path'
import { expect, test } from 'vitest'
import { Turn } from '../../../src/supervisor/drivers/turn.ts'
import { temporaryFolder } from '../../support/workspace.ts'

test('a turn of an agent named by its path runs and reports how it ended with nothing on PATH', async () => {
  const folder = temporaryFolder()
  const turn = new Turn(path.join(folder, 'turns'), 1)
  const script = 'console.log("said"); console.error("warned"); process.exit(3)'
  await turn.start({ program: process.execPath, args: ['-e', script] }, folder, { PATH: '' })
  await expect.poll(() => turn.code, { timeout: 30_000 }).toBe(3)
  expect(turn.output).toEqual({ out: 'said\n', err: 'warned\n', code: 3 })
  expect(turn.running).toBe(false)
})
