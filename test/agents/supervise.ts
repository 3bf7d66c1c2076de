// A real agent under the real supervisor, with the scripted model behind it: `supervise AGENT DRIVER FOLDER`. Started as
// its user starts it, `baton run AGENT --task … --until …`. Prints what happened as JSON.

import { spawnSync } from 'node:child_process'
import { realDoor } from './real-door.ts'

const [name = '', driver = '', folder = ''] = process.argv.slice(2)
const { door, server, run } = await realDoor(name, folder)
try {
  const start = performance.now()
  const started = door.start(...run('--driver', driver))
  const code = await started.ended
  const seconds = (performance.now() - start) / 1000
  const { NODE_TEST_CONTEXT: _test, ...env } = process.env
  const tests = spawnSync(process.execPath, ['--test'], { cwd: door.project, env, encoding: 'utf8' }).stdout
  const told = { code, err: started.err(), seconds, tests, events: started.events, tape: door.say('logs', 'job') }
  process.stdout.write(JSON.stringify({ ...told, problems: server.problems, requests: server.requests.length }))
} finally {
  door.close()
  await server.close()
}
process.exit(0)
