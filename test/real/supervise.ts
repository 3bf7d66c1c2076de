// A real agent under the real supervisor, with the scripted model behind it: `supervise AGENT DRIVER FOLDER SECONDS`. Started as
// its user starts it, `baton run AGENT --task … --until …`. Prints what happened as JSON; ends it after so many SECONDS.

import { spawnSync } from 'node:child_process'
import { realDoor } from './real-door.ts'

const [name = '', driver = '', folder = '', limit = '120'] = process.argv.slice(2)
const { door, server, run } = await realDoor(name, folder)
try {
  const start = performance.now()
  const started = door.start(...run('--driver', driver))
  const timer = setTimeout(() => started.child.kill('SIGKILL'), Number(limit) * 1000)
  const code = await started.ended
  clearTimeout(timer)
  const seconds = (performance.now() - start) / 1000
  const { NODE_TEST_CONTEXT: _test, ...env } = process.env
  const tests = spawnSync(process.execPath, ['--test'], { cwd: door.project, env, encoding: 'utf8' }).stdout
  const told = { code, err: started.err(), seconds, tests, events: started.events, tape: door.say('logs', 'job') }
  // How often each thing was asked within one context, as its model was told.
  const most = (words: string) =>
    Math.max(...server.requests.map(({ messages }) => messages.filter(({ text }) => text.includes(words)).length))
  const asked = { document: most('Create handoff document now'), resume: most('Read handoff from') }
  // To its end: what a pipe has not taken by the time of the exit is lost.
  const text = JSON.stringify({ ...told, asked, problems: server.problems })
  await new Promise((resolve) => process.stdout.write(text, resolve))
} finally {
  await door.close()
  await server.close()
}
process.exit(0)
