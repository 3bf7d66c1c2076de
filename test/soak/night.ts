// A night of one real agent: `night AGENT[:tmux] [FOLDER] [MODULES] [FROM] [odd]`. Twenty cycles, each disturbance that the agent can
// meet at least once, and a job whose commands print each fact only once. `:tmux` puts opencode and Gemini CLI on a screen, as the
// others always are. Fewer modules make a shorter night, and FROM leaves out what goes wrong before that cycle: a night can be run
// in parts. `odd` is another night, of what goes wrong less often. The workspace is on a small disk of its own, so that it can be full.
// Prints what happened; the folder is kept if it is given.

import { execFileSync, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { lastPrompt, nextMove } from '../../src/demo/scripted-model.ts'
import { allProcesses, folderOf } from '../../src/system/processes.ts'
import { startNamespaceProxy } from '../real/namespace-proxy.ts'
import { realDoor } from '../real/real-door.ts'
import { call, fail, type ModelRequest, type Reply, say } from '../support/model-server/index.ts'
import { Course } from './course.ts'
import { night, odd } from './plan.ts'

const [who = 'claude', kept, modules, from = '2', which] = process.argv.slice(2)
const [agent = '', driver] = who.split(':')
const folder = kept ?? fs.mkdtempSync(path.join(os.tmpdir(), 'baton-night-'))
fs.mkdirSync(folder, { recursive: true })
const start = performance.now()
const told = (line: string) => console.log(`${((performance.now() - start) / 1000).toFixed(0).padStart(4)} s  ${line}`)
const first = Number(from)
/** These three are asked for a document in the middle of a turn, so that their turns may run past the threshold. */
const hasLongTurns = ['claude', 'codex', 'pi'].includes(agent)
const onScreen = hasLongTurns || driver === 'tmux'
const rule = 'Never touch main.c, whatever happens.'
const later = 'From now on write every commit message in Portuguese.'
const words = [rule]

/** Said once, in place of the job. */
let instead: Reply | undefined
/** How full the next context says that it is, once. */
let leap = false
/** While it is set, no document is written. */
let mute = false
let thinker: (() => void) | undefined
/** Whether the model takes no login. */
let refusing = () => false

const full: Record<string, number> = {
  claude: 197_500,
  codex: 188_000,
  pi: 197_500,
  gemini: 1_040_000,
  opencode: 97_000,
}
/** From an empty context to past the threshold: six replies in long turns, for two modules and something; otherwise one module must be enough. */
const tokens: Record<string, readonly [number, number, number]> = {
  claude: [20_000, 26_000, 188_000],
  codex: [20_000, 24_000, 164_000],
  pi: [20_000, 26_000, 180_000],
  gemini: [60_000, 105_000, 500_000],
  opencode: [10_000, 20_000, 93_000],
}
/** Tells a subagent something to do. */
const delegate: Record<string, () => Reply> = {
  claude: () => call('Agent', { description: 'greet', prompt: 'greet', subagent_type: 'general-purpose' }),
  codex: () => call('spawn_agent', { message: 'greet' }),
  opencode: () => call('task', { description: 'greet', prompt: 'greet', subagent_type: 'general' }),
}

const isSummary = ({ messages, system }: ModelRequest): boolean => {
  const last = messages.at(-1)
  if (last?.role !== 'user') return false
  const words =
    /detailed summary of (the|our) conversation|checkpoint compaction|state_snapshot|context summarization|summarize the prefix|prompt for continuing/i
  return words.test(last.text.slice(-6_000)) || words.test(system)
}

/**
 * As a decent model sums up: the work and its values, and none of the person's other words. Where the agent has cut the values out of
 * what is to be summed up (pi shortens long outputs), it says where they are.
 */
function summary({ messages }: ModelRequest): Reply {
  const prompt = {
    role: 'user' as const,
    text: 'Create handoff document now to /tmp/x.md',
    toolCalls: [],
    toolResults: [],
  }
  const move = nextMove([...messages, prompt], { perTurn: 3 })
  const text = move.do === 'write' ? move.content : 'Nothing was done.'
  const [document] = messages.flatMap((each) => [...each.text.matchAll(/\/\S+\/handoff-[\d-]+\.md/g)]).at(-1) ?? []
  const where =
    document === undefined || text.includes('` is `') ? '' : `\nRead handoff from ${document} and resume work.`
  return say(text + where, { usage: { input: 900, output: 400 } })
}

const alerts = path.join(folder, 'alerts.jsonl')
const isJob = ({ tools, messages }: ModelRequest) =>
  tools.length > 0 &&
  messages.some(({ text }) => /Finish the till|Read handoff from|one module after the other/.test(text))
const real = await realDoor(agent, folder, {
  modules: Number(modules ?? (hasLongTurns ? 62 : 26)),
  perTurn: hasLongTurns ? 3 : 1,
  pace: 250,
  tokens: tokens[agent]!,
  settings: { restarts: 50, documentSeconds: 25 },
  timings: { restartSeconds: 0, errorSeconds: 3 },
  sections: {
    notify: { channels: [{ type: 'command', command: ['sh', '-c', `cat >> ${alerts}; echo >> ${alerts}`] }] },
  },
  before: (request) => {
    if (isSummary(request)) return summary(request)
    const last = request.messages.at(-1)
    if (mute && /Create handoff document now/.test(lastPrompt(request.messages)))
      return say('I will not.', { usage: { input: 5_000, output: 5 } })
    if (isJob(request) && refusing()) return fail.status(401, 'OAuth token has expired. Please log in again.')
    if (!isJob(request) || last?.role !== 'tool') return undefined
    const reply = instead
    instead = undefined
    if (reply !== undefined) told(`${agent}: instead ${JSON.stringify(reply).slice(0, 100)}`)
    return reply
  },
  after: (request, reply) => {
    if (!isJob(request) || request.messages.at(-1)?.role !== 'tool') return reply
    if (leap) {
      leap = false
      return { ...reply, usage: { input: full[agent]!, output: 20 } }
    }
    if (thinker === undefined) return reply
    thinker()
    thinker = undefined
    return { ...reply, delayMs: 2_500 }
  },
})
const { door } = real
fs.appendFileSync(door.task, `\n${rule}\n`)
const proxy = agent === 'codex' ? await startNamespaceProxy(real.server.url) : undefined
const rewrite = (name: string, ...changes: readonly [from: string | RegExp, to: string][]) => {
  const file = path.join(folder, 'home', name)
  const text = changes.reduce((all, [from, to]) => all.replace(from, to), fs.readFileSync(file, 'utf8'))
  fs.writeFileSync(file, text)
}
// Windows of the usual size: a document takes a third of those that the tests use.
if (agent === 'claude') rewrite('.claude.json', ['"hasTrustDialogAccepted": true', '"hasTrustDialogAccepted": false'])
if (agent === 'pi') rewrite('.pi/agent/models.json', [/"contextWindow": \d+/, '"contextWindow": 200000'])
if (proxy !== undefined)
  rewrite(
    '.codex/config.toml',
    [real.server.url, proxy.url],
    [/model_context_window = \d+/, 'model_context_window = 200000'],
  )
const workspace = path.join(door.project, '.baton')
execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=96m', 'tmpfs', workspace])

const pane = () => {
  try {
    return door.tmux('capture-pane', '-p')
  } catch {
    return ''
  }
}
const type = async (text: string) => {
  door.tmux('send-keys', '-l', text)
  await sleep(500)
  door.tmux('send-keys', 'Enter')
}
const taken = async (reply: Reply) => {
  instead = reply
  const isComing = () => instead !== undefined
  while (isComing()) await sleep(20)
}
/** The processes of the agent itself. */
const agents = () =>
  allProcesses().filter(
    ({ pid, args }) =>
      folderOf(pid) === door.project &&
      args.join(' ').includes(agent) &&
      !args.some((word) => word.endsWith('main.js')),
  )
const minute = (ahead: number) => new Date(Math.ceil((Date.now() + ahead) / 60_000) * 60_000)

const course = new Course({
  agent,
  door,
  run: real.run('--driver', onScreen ? 'tmux' : 'headless', '--max-cycles', '40'),
  plan: (which === 'odd' ? odd : night(agent, onScreen)).flatMap((each) =>
    each.cycle < first ? [] : [{ ...each, cycle: each.cycle - first + 2 }],
  ),
  say: told,
  words: () => words,
  thinking: () => new Promise((resolve) => (thinker = resolve)),
  own: {
    'permission dialog': async () => {
      instead = call('WebFetch', { url: 'http://localhost/none', prompt: 'what is there?' })
      while (!/Do you want/.test(pane())) await sleep(100)
      await sleep(10_000)
      if (!/Do you want/.test(pane())) told(`${agent}: SOMEBODY ANSWERED THE DIALOG`)
      door.tmux('send-keys', 'Enter')
    },
    'quota stop': async () => {
      const reset = minute(20_000)
      const hour = reset.getUTCHours()
      const clock = `${hour % 12 === 0 ? 12 : hour % 12}:${String(reset.getUTCMinutes()).padStart(2, '0')}${hour < 12 ? 'am' : 'pm'}`
      await taken(fail.planLimit(`You've hit your limit · resets ${clock} (UTC)`, reset))
    },
    'person says more': async () => {
      await type(later)
      words.push(later)
    },
    'disk full': async () => {
      const filler = path.join(workspace, 'filler')
      spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=64k'], { stdio: 'ignore' })
      await sleep(20_000)
      fs.rmSync(filler)
    },
    'own compaction': async () => {
      if (agent === 'claude' || agent === 'pi') return taken(fail.contextLength())
      if (agent !== 'codex') {
        leap = true
        return
      }
      // Only between two turns.
      while (!/^› /m.test(pane()) || /esc to interrupt/i.test(pane())) await sleep(50)
      await type('/compact')
      while (!/compacted/i.test(pane())) await sleep(100)
      await type('Please continue.')
    },
    subagent: () => taken(delegate[agent]!()),
    'context at 99%': async () => {
      leap = true
      const isComing = () => leap
      while (isComing()) await sleep(20)
    },
    'no document': async () => {
      mute = true
      await sleep(1_000)
      const { length } = course.cycles
      while (course.cycles.length === length) await sleep(50)
      mute = false
    },
    'agent frozen': async () => {
      const all = agents()
      for (const { pid } of all) process.kill(pid, 'SIGSTOP')
      await sleep(30_000)
      for (const { pid } of all) process.kill(pid, 'SIGCONT')
    },
    'documents removed': async () => {
      fs.rmSync(path.join(workspace, 'handoffs'), { recursive: true })
    },
    'git busy': async () => {
      const lock = path.join(door.project, '.git/index.lock')
      fs.writeFileSync(lock, '')
      await sleep(15_000)
      fs.rmSync(lock)
    },
    'settings broken': async () => {
      const file = path.join(folder, 'baton.config.json')
      const before = fs.readFileSync(file)
      fs.writeFileSync(file, '{ "supervisor": { "threshold": "high", }')
      await sleep(15_000)
      fs.writeFileSync(file, before)
    },
    'login expired': async () => {
      const until = Date.now() + 40_000
      refusing = () => Date.now() < until
      while (refusing()) await sleep(100)
    },
    paused: async () => {
      door.say('pause', 'job')
      await sleep(15_000)
      door.say('resume', 'job')
    },
    'asked for cycles': async () => {
      for (const _ of [1, 2]) door.say('cycle', 'job')
    },
    'disk full, supervisor killed': async () => {
      const filler = path.join(workspace, 'filler')
      spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=64k'], { stdio: 'ignore' })
      await sleep(5_000)
      // Somebody makes room before the next one comes.
      await course.replaceSupervisor(async () => fs.rmSync(filler))
    },
    'terminal closed': async () => {
      course.supervisor.child.kill('SIGHUP')
    },
    ...(hasLongTurns
      ? {}
      : {
          'agent killed': async () => {
            const own = agents()
            told(`${agent}: kills ${own.map(({ pid }) => pid).join(' ')}`)
            for (const { pid } of own) process.kill(pid, 'SIGKILL')
          },
        }),
  },
})
/** Claude Code asks at its first start whether the folder is trusted; somebody answers when the alert has come. */
async function trust(): Promise<void> {
  while (!/trust/i.test(pane())) await sleep(100)
  while (!fs.existsSync(alerts) || !/trust/i.test(fs.readFileSync(alerts, 'utf8'))) await sleep(100)
  told(`${agent}: the trust dialog was announced, and is answered now`)
  // Newer versions offer to leave first.
  if (/❯\s*No/.test(pane())) door.tmux('send-keys', 'Down')
  await sleep(500)
  door.tmux('send-keys', 'Enter')
}
if (agent === 'claude') void trust()
const limit = setTimeout(() => {
  told('it takes too long: ended')
  fs.writeFileSync(path.join(folder, 'screen.txt'), pane())
  void door.close()
}, 35 * 60_000)
const end = await course.go()
clearTimeout(limit)
const { NODE_TEST_CONTEXT: _test, ...env } = process.env
const tests = spawnSync(process.execPath, ['--test'], { cwd: door.project, env, encoding: 'utf8' }).stdout
const own = course.cycles.map(({ ownMs }) => ownMs / 1000).sort((a, b) => a - b)
const events = course.supervisors.flatMap((each) => each.events)
fs.writeFileSync(path.join(folder, 'events.jsonl'), events.map((each) => JSON.stringify(each)).join('\n'))
fs.writeFileSync(
  path.join(folder, 'logs.jsonl'),
  door
    .say('logs', 'job')
    .map((each) => JSON.stringify(each))
    .join('\n'),
)
fs.writeFileSync(
  path.join(folder, 'requests.jsonl'),
  real.server.requests.map(({ messages, when }) => JSON.stringify({ when, last: messages.at(-1) })).join('\n'),
)
const facts = (word: string) => Number(new RegExp(`^# ${word} (\\d+)`, 'm').exec(tests)?.[1])
console.log(
  JSON.stringify(
    {
      agent,
      end,
      minutes: (performance.now() - start) / 60_000,
      load: os.loadavg(),
      cycles: course.cycles.length,
      failed: course.cycles.filter(({ outcome }) => outcome !== 'done').length,
      ledger: course.cycles.filter(({ by }) => by === 'ledger').length,
      facts: { kept: facts('pass'), lost: facts('fail') },
      own: { median: own[Math.floor(own.length / 2)], most: own.at(-1) },
      incidents: course.incidents,
    },
    undefined,
    1,
  ),
)
console.log(fs.existsSync(alerts) ? fs.readFileSync(alerts, 'utf8') : 'no alerts')
await door.close()
proxy?.close()
await real.server.close()
if (kept === undefined) fs.rmSync(folder, { recursive: true, force: true })
process.exit(0)
