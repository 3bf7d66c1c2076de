// Claude Code asks for a permission while its context is full: `dialog FOLDER`. A person answers after a while. Prints what
// happened as JSON.

import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { call } from '../support/model-server/index.ts'
import { realDoor } from './real-door.ts'

const [folder = ''] = process.argv.slice(2)
const told = path.join(folder, 'told.jsonl')
let asked = false
const { door, server, run } = await realDoor('claude', folder, {
  modules: 3,
  sections: { notify: { channels: [{ type: 'command', command: ['tee', '-a', told] }] } },
  before: ({ tools, messages }) => {
    if (asked || tools.length === 0 || messages.at(-1)?.role !== 'tool') return undefined
    asked = true
    return call(
      'WebFetch',
      { url: 'http://localhost/none', prompt: 'what is there?' },
      { usage: { input: 188_000, output: 20 } },
    )
  },
})
const limit = setTimeout(() => void door.close(), 220_000)
try {
  const started = door.start(...run('--driver', 'tmux'))
  await started.event(
    ({ type, check }) => type === 'health' && (check as { check_type: string }).check_type === 'dialog',
  )
  const screen = () => door.tmux('capture-pane', '-p')
  const before = screen()
  // Whoever would type into it has had every reason to by then.
  await sleep(4_000)
  const after = screen()
  const steps = started.events.filter(({ type }) => type === 'step').length
  const row = door.say('health', 'job').find(({ type }) => type === 'session')
  door.tmux('send-keys', 'Enter')
  const code = await started.ended
  const { NODE_TEST_CONTEXT: _test, ...env } = process.env
  const tests = spawnSync(process.execPath, ['--test'], { cwd: door.project, env, encoding: 'utf8' }).stdout
  const person = fs.existsSync(told) ? fs.readFileSync(told, 'utf8') : ''
  const cycles = started.events.filter(({ type, step }) => type === 'step' && step === 'done').length
  process.stdout.write(
    JSON.stringify({ before, after, steps, state: row?.state, code, err: started.err(), tests, person, cycles }),
  )
} finally {
  clearTimeout(limit)
  await door.close()
  await server.close()
}
process.exit(0)
