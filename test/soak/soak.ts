// Thirty cycles while things go wrong: the scripted agent through most of them, Claude Code through those that only a real
// agent has, both at the same time. The report goes into docs/soak.md.

import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { realDoor } from '../real/real-door.ts'
import { scriptedDoor } from '../support/door.ts'
import { call, fail, type Reply } from '../support/model-server/index.ts'
import { Course } from './course.ts'
import { slowStamps } from './stamps.ts'
import { claude, scripted } from './plan.ts'
import { report } from './report.ts'

const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'baton-soak-')))
const start = performance.now()
const say = (line: string) => console.log(`${((performance.now() - start) / 1000).toFixed(0).padStart(4)} s  ${line}`)
const place = (name: string) => {
  fs.mkdirSync(path.join(folder, name))
  return path.join(folder, name)
}

// So many crashes in minutes would be given up on, and waited longer for each time.
const settings = { restarts: 50 }
const timings = { restartSeconds: 0 }
const first = scriptedDoor(place('scripted'), { modules: 34, perTurn: 1, growth: 17_000, pace: 500, settings, timings })

// What Claude Code's model says once, in place of the job.
let instead: Reply | undefined
const second = await realDoor('claude', place('claude'), {
  modules: 9,
  perTurn: 1,
  pace: 500,
  tokens: [20_000, 52_000, 188_000],
  settings,
  timings,
  before: (request) => {
    if (request.tools.length === 0 || request.messages.at(-1)?.role !== 'tool') return undefined
    const reply = instead
    instead = undefined
    return reply
  },
})
const pane = () => second.door.tmux('capture-pane', '-p')
for (const { project } of [first, second.door]) slowStamps(project)
const courses = [
  new Course({
    agent: 'scripted',
    door: first,
    run: first.job('scripted', '--driver', 'tmux', '--max-cycles', '60'),
    plan: scripted,
    say,
  }),
  new Course({
    agent: 'claude',
    door: second.door,
    run: second.run('--driver', 'tmux', '--max-cycles', '20'),
    plan: claude,
    say,
    own: {
      'permission dialog': async () => {
        instead = call('WebFetch', { url: 'http://localhost/none', prompt: 'what is there?' })
        while (!/Do you want/.test(pane())) await sleep(100)
        // A person is away for a while, and then allows it.
        await sleep(10_000)
        if (!/Do you want/.test(pane())) say('claude: somebody answered the dialog!')
        second.door.tmux('send-keys', 'Enter')
      },
      'quota stop': async () => {
        const minute = new Date(Math.ceil((Date.now() + 20_000) / 60_000) * 60_000)
        const hour = minute.getUTCHours()
        const clock = `${hour % 12 === 0 ? 12 : hour % 12}:${String(minute.getUTCMinutes()).padStart(2, '0')}${hour < 12 ? 'am' : 'pm'}`
        instead = fail.status(429, `You've hit your limit · resets ${clock} (UTC)`)
        const isComing = () => instead !== undefined
        while (isComing()) await sleep(20)
      },
    },
  }),
]
const limit = setTimeout(() => {
  say('it takes too long: ended')
  for (const door of [first, second.door]) void door.close()
}, 16 * 60_000)
const ends = await Promise.all(courses.map((course) => course.go()))
clearTimeout(limit)
const tests = [first, second.door].map(({ project }) => {
  const { NODE_TEST_CONTEXT: _test, ...env } = process.env
  const { stdout } = spawnSync(process.execPath, ['--test'], { cwd: project, env, encoding: 'utf8' })
  return { passed: Number(/^# pass (\d+)/m.exec(stdout)?.[1]), failed: Number(/^# fail (\d+)/m.exec(stdout)?.[1]) }
})
const text = report(courses, ends, tests, (performance.now() - start) / 60_000)
for (const door of [first, second.door]) await door.close()
await second.server.close()
const page = path.join(import.meta.dirname, '../../docs/soak.md')
// The nights of real agents are measured one by one, with `npm run soak AGENT`.
const nights = /\n## Nights of real agents\n[\s\S]*$/.exec(fs.readFileSync(page, 'utf8'))?.[0] ?? ''
fs.writeFileSync(page, text + nights)
console.log(text)
fs.rmSync(folder, { recursive: true, force: true })
process.exit(ends.every((why) => why === 'finished') ? 0 : 1)
