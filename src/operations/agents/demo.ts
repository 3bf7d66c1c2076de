// The demo, started from outside: an agent with a scripted model that hands over to itself, in this workspace.

import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import * as z from 'zod'
import { BatonError } from '../../errors.ts'
import { sessionRows } from '../../supervisor/index.ts'
import { makeFolder } from '../../system/index.ts'
import { operation } from '../operation.ts'

const firstName = /^demo(-\d+)?$/

export const demoStart = operation('demo.start', 'operate', 'POST /demo', {
  summary: 'Start the demo in this workspace: an agent with a scripted model, without a key or a network.',
  input: z.object({}),
  output: z.object({ pid: z.int() }),
  async run({ store, address, folder, project, env, self, own }) {
    for await (const { name, state } of sessionRows(store)) {
      if (firstName.test(name) && state !== 'ended')
        throw new BatonError('refused', 'The demo is running already', { hint: `See the session "${name}".` })
    }
    const log = path.join(folder, 'logs', 'demo.log')
    makeFolder(path.dirname(log))
    const fd = fs.openSync(log, 'w', 0o600)
    // An address may hold a password, and everybody sees the arguments of a process.
    const child = spawn(self[0], [self[1], 'demo', '--here', '--owned'], {
      cwd: project,
      env: { ...env, BATON_STORE: address },
      stdio: ['pipe', fd, fd],
      // A group of its own: Ctrl-C reaches this process, which ends the demo in order.
      detached: true,
    })
    fs.closeSync(fd)
    await new Promise<void>((resolve, reject) => child.once('spawn', resolve).once('error', reject))
    own(child)
    return { pid: child.pid! }
  },
})
