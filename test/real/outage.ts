// The model's service fails in the middle of a job: `outage AGENT DRIVER FOLDER KIND COUNT SECONDS`. Prints what happened as
// JSON: the run, what people were told, and what the agent was told.

import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { fail, type Reply, say } from '../support/model-server/index.ts'
import { realDoor } from './real-door.ts'

const [name = '', driver = '', folder = '', kind = '', count = '1', seconds = '100'] = process.argv.slice(2)
const kinds: Record<string, () => Reply> = {
  invalid: () => fail.status(400, 'the request is broken'),
  server: () => fail.server(),
  overloaded: () => fail.overloaded(),
  'rate limit': () => fail.rateLimit(1),
  auth: () => fail.auth(),
  network: () => ({ ...say('The connection breaks.'), cut: 0 }),
}
const told = path.join(folder, 'told.jsonl')
let left = Number(count)
let replies = 0
const { door, server, run } = await realDoor(name, folder, {
  modules: 2,
  perTurn: 4,
  timings: { errorSeconds: 1 },
  sections: { notify: { channels: [{ type: 'command', command: ['tee', '-a', told] }] } },
  before: ({ tools }) => {
    if (tools.length === 0 || ++replies < 4 || left-- <= 0) return undefined
    return kinds[kind]!()
  },
})
const limit = setTimeout(() => void door.close(), Number(seconds) * 1000)
try {
  const started = door.start(...run('--driver', driver))
  const code = await started.ended
  const { NODE_TEST_CONTEXT: _test, ...env } = process.env
  const tests = spawnSync(process.execPath, ['--test'], { cwd: door.project, env, encoding: 'utf8' }).stdout
  const person = fs.existsSync(told) ? fs.readFileSync(told, 'utf8') : ''
  const last = server.requests.filter(({ tools }) => tools.length > 0).at(-1)
  const nudges = (last?.messages ?? []).filter(
    ({ role, text }) => role === 'user' && /^Baton (saw|restarted|waited)/.test(text.trim()),
  ).length
  const health = started.events.filter(({ type }) => type === 'health').map(({ check }) => check)
  process.stdout.write(
    JSON.stringify({
      code,
      err: started.err(),
      tests,
      person,
      nudges,
      health,
      failed: Number(count) - Math.max(left, 0),
    }),
  )
} finally {
  clearTimeout(limit)
  await door.close()
  await server.close()
}
process.exit(0)
