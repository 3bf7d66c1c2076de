// Real agents, touched and seen as the supervisor does it, against the scripted model: `drivers AGENT FOLDER [headless]`. Prints
// what was seen, as JSON. Run alone, without a network.

import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { adapterNamed } from '../../src/agents/index.ts'
import { type Driver, RefusedError } from '../../src/supervisor/drivers/driver.ts'
import { HeadlessDriver } from '../../src/supervisor/drivers/headless.ts'
import { startInTmux } from '../../src/supervisor/drivers/tmux-start.ts'
import { type Observation, type Observer, openObserver } from '../../src/supervisor/observe/observation.ts'
import { isRunning } from '../../src/system/processes.ts'
import { call, fail, type ModelRequest, type Reply, say, startModelServer } from '../support/model-server/index.ts'
import { claude } from './claude.ts'
import { codex } from './codex.ts'
import { pi } from './pi.ts'
import { environment, makeStage } from './stage.ts'

const [name = '', folder = '', how = 'screen'] = process.argv.slice(2)
const real = { claude, codex, pi }[name]
if (real === undefined) throw new Error(`there is no agent ${name}`)
const agent = real

let replies = 0
function script(request: ModelRequest): Reply {
  if (request.tools.length === 0) return say('A title')
  const last = request.messages.at(-1)
  const words = (last?.text ?? '').split('\n').at(-1) ?? ''
  const usage = { input: 4_000, output: 20 }
  if (last?.role === 'tool') return say('I have read it.', { usage })
  if (words.includes('slowly')) return say('word '.repeat(600), { delayMs: 30, usage })
  if (words.includes('permission')) return call('Bash', { command: 'touch forbidden', description: 'x' }, { usage })
  if (words.includes('read the document')) {
    const file = path.join(stage.project, 'document.md')
    if (name === 'claude') return call('Read', { file_path: file }, { usage })
    return name === 'pi'
      ? call('read', { path: 'document.md' }, { usage })
      : call('exec_command', { cmd: 'cat document.md' }, { usage })
  }
  if (words.includes('break')) return fail.server()
  return say(`Answer ${++replies}, to these words.`, { usage })
}

const server = await startModelServer({ script })
const stage = makeStage(fs.realpathSync(folder), server.url)
agent.prepare(stage)
fs.writeFileSync(path.join(stage.project, 'document.md'), '# A document\n')
const env = environment(agent, stage)
const [program = '', ...rest] = agent.turn(stage, 'PROMPT')
const before = rest.slice(
  0,
  rest.findIndex((word) => word === '-p' || word === 'exec'),
)
const flags = name === 'claude' ? ['--model', 'claude-sonnet-4-5'] : []
const adapter = adapterNamed(name, { env, agents: { [name]: { command: [program, ...before, ...flags] } } })
const { signal } = new AbortController()
const seen: Record<string, unknown> = {}

if (how === 'headless') await withoutScreen()
else await withScreen()
process.stdout.write(JSON.stringify({ ...seen, problems: server.problems }))
await server.close()
process.exit(0)

async function withScreen(): Promise<void> {
  const socket = path.join(stage.home, 's')
  const tmux = (...args: string[]) => execFileSync('tmux', ['-S', socket, ...args], { encoding: 'utf8' })
  if (name === 'claude') {
    // Whatever is not allowed is asked for.
    const settings = path.join(stage.home, '.claude/settings.json')
    fs.writeFileSync(settings, JSON.stringify({ permissions: { allow: ['Read'] } }))
  }
  const begin = async () => {
    const since = Date.now()
    const driver = await startInTmux({ adapter, command: adapter.launch!(), cwd: stage.project, env, name, socket })
    const observer = openObserver({ adapter, driver, cwd: stage.project, env, since })
    return { driver, observer }
  }
  try {
    const { driver, observer } = await begin()
    const pane = driver.place.pane
    const start = performance.now()
    seen.ready = await driver.ready(signal)
    seen.readyMs = performance.now() - start

    const words = 'look at @no/such/file and /nothing "quoted" $HOME `x` ; then #tell me @document'
    seen.delivered = await timed(driver, observer, words)

    tmux('send-keys', '-t', pane, '-l', 'half a thought')
    await screenShows(driver, (screen) => 'draft' in screen && screen.draft === 'half a thought')
    seen.draft = await refusal(driver.submit('not now', signal))
    seen.draftKept = await driver.screenState()
    tmux('send-keys', '-t', pane, 'C-u')
    await screenShows(driver, (screen) => 'draft' in screen && screen.draft === '')

    tmux('copy-mode', '-t', pane)
    seen.inCopyMode = await timed(driver, observer, 'now out of copy mode')

    await driver.submit('please read the document', signal)
    const read = await until(observer, (now) => now.turn === 'idle' && now.prompt?.text === 'please read the document')
    seen.read = read.read
    seen.meter = read.meter.tokens

    if (name === 'claude') await permission(driver, observer, (...keys) => tmux('send-keys', '-t', pane, ...keys))

    const session = (await observer.observe()).session
    await driver.submit('answer slowly', signal)
    await until(observer, (now) => now.prompt?.text === 'answer slowly' || name === 'pi')
    await screenShows(driver, (screen) => screen.is === 'busy')
    const cut = performance.now()
    await driver.interrupt(signal)
    const over = await until(observer, (now) => now.turn === 'idle' && now.prompt?.text === 'answer slowly')
    seen.interrupted = { ms: performance.now() - cut, turn: over.turn }
    await driver.interrupt(signal)
    seen.afterSecond = await driver.screenState()

    const clearing = performance.now()
    await driver.clear(signal)
    seen.clearMs = performance.now() - clearing
    seen.fresh = await timed(driver, observer, 'words in a fresh context')
    const now = await observer.observe()
    seen.moved = now.session !== session && now.turns === 1

    if (name === 'pi') {
      const second = await begin()
      await second.driver.ready(signal)
      seen.company = await company({ driver, observer }, second)
      await second.driver.stop()
      await second.observer.close()
    }

    process.kill(driver.place.pid!, 'SIGKILL')
    const gone = await until(observer, (now) => !now.alive)
    seen.gone = {
      state: gone.state.state,
      ended: await driver.ended(),
      refused: await refusal(driver.submit('x', signal)),
    }
    await driver.stop()
    await observer.close()
  } catch (error) {
    throw new Error(`${String(error)}\n${tmux('capture-pane', '-p', '-t', '%0')}`, { cause: error })
  } finally {
    try {
      tmux('kill-server')
    } catch {
      // It ended with its last pane.
    }
  }
}

async function permission(driver: Driver, observer: Observer, press: (...keys: string[]) => void): Promise<void> {
  await driver.submit('do what needs permission', signal)
  // It may say that it waits for a permission before its screen asks for it.
  await screenShows(driver, (screen) => screen.is === 'dialog')
  const asked = await until(observer, (now) => now.dialog?.question.includes('?') === true)
  seen.dialog = { question: asked.dialog!.question, look: await driver.screenState() }
  seen.dialogRefused = [await refusal(driver.submit('yes', signal)), await refusal(driver.interrupt(signal))]
  press('Escape')
  const answered = await until(observer, (now) => now.dialog === undefined && now.turn === 'idle')
  seen.answered = { turn: answered.turn, ran: fs.existsSync(path.join(stage.project, 'forbidden')) }
}

/** Two agents of a kind in one folder: each is seen in its own transcript, also when both are told the same at once. */
async function company(
  one: { driver: Driver; observer: Observer },
  two: { driver: Driver; observer: Observer },
): Promise<unknown> {
  const told = []
  for (const [a, b] of [
    ['a question to the first', 'a question to the second'],
    ['the same words', 'the same words'],
  ] as const) {
    await Promise.all([one.driver.submit(a, signal), two.driver.submit(b, signal)])
    const [first, second] = await Promise.all([answer(one.observer, a), answer(two.observer, b)])
    told.push({
      distinct: first.file?.path !== second.file?.path,
      own: [await ownReply(one.driver, first), await ownReply(two.driver, second)],
    })
    await Promise.all([one.driver.clear(signal), two.driver.clear(signal)])
  }
  return told
}

function answer(observer: Observer, words: string): Promise<Observation> {
  return until(observer, (now) => now.turn === 'idle' && now.prompt?.text === words)
}

/** Whether the last reply of the transcript stands on the screen of that agent: at once, or when it is drawn. */
async function ownReply(driver: Driver, { file }: Observation): Promise<boolean> {
  const reply = fs
    .readFileSync(file!.path, 'utf8')
    .match(/Answer \d+,/g)!
    .at(-1)!
  const deadline = Date.now() + 30_000
  while (!(await driver.screenText()).includes(reply)) {
    if (Date.now() > deadline) return false
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return true
}

async function withoutScreen(): Promise<void> {
  const options = { adapter, cwd: stage.project, env, folder: path.join(stage.home, 'turns') }
  const driver = new HeadlessDriver(options)
  const observer = openObserver({ adapter, driver, cwd: stage.project, env, since: Date.now() })
  seen.delivered = await timed(driver, observer, 'first words; "quoted" $HOME')
  const first = await observer.observe()
  await driver.submit('please read the document', signal)
  seen.busy = await driver.screenState()
  // Another supervisor takes over in the middle of the turn.
  await driver.close()
  await observer.close()
  const heir = new HeadlessDriver(options)
  const heirObserver = openObserver({ adapter, driver: heir, cwd: stage.project, env, since: Date.now() })
  const second = await until(
    heirObserver,
    (now) => now.turn === 'idle' && now.prompt?.text === 'please read the document',
  )
  seen.resumed = { same: second.session === first.session, turns: second.turns, read: second.read }
  await Promise.all([heir.submit('one of two', signal), heir.submit('two of two', signal)])
  const both = await until(heirObserver, (now) => now.turn === 'idle' && now.turns === 4)
  seen.queued = both.prompt?.text
  await heir.submit('please break', signal)
  const broken = await until(heirObserver, (now) => now.turn === 'idle' && now.turns === 5)
  seen.broken = { error: broken.error, ended: await heir.ended() }
  await heir.submit('answer slowly', signal)
  await until(heirObserver, (now) => now.turns === 6)
  const { pid } = heir.place
  const cut = performance.now()
  await heir.interrupt()
  const stopped = await until(heirObserver, (now) => now.turn === 'idle')
  seen.interrupted = { ms: performance.now() - cut, turn: stopped.turn, gone: !isRunning(pid!) }
  await heir.clear()
  seen.cleared = (await heirObserver.observe()).session
  seen.fresh = await timed(heir, heirObserver, 'words in a fresh context')
  const now = await heirObserver.observe()
  seen.moved = now.session !== first.session && now.turns === 1
  await heir.stop()
  seen.gone = { alive: await heir.alive(), refused: await refusal(heir.submit('x', signal)) }
  await heirObserver.close()
}

/** Sends words, and tells how long they took to be sent, to be seen in the transcript, and their end to be noticed. */
async function timed(driver: Driver, observer: Observer, words: string): Promise<unknown> {
  const start = performance.now()
  const since = () => performance.now() - start
  const [submitMs, heardMs, idle] = await Promise.all([
    driver.submit(words, signal).then(since),
    until(observer, (now) => now.prompt?.text.trim() === words && now.turn !== 'none').then(since),
    until(observer, (now) => now.turn === 'idle' && now.prompt?.text.trim() === words),
  ])
  const idleLagMs = Date.now() - Date.parse(idle.turnSince ?? '')
  return { words: idle.prompt?.text.trim() === words, submitMs, heardMs, idleLagMs }
}

async function until(observer: Observer, done: (now: Observation) => boolean): Promise<Observation> {
  const stop = AbortSignal.timeout(40_000)
  let last: Observation | undefined
  for await (const now of observer.watch(stop)) {
    last = now
    if (done(now)) return now
  }
  throw new Error(`it never came: ${done.toString()} ${JSON.stringify(last)}`)
}

async function screenShows(
  driver: Driver,
  done: (screen: Awaited<ReturnType<Driver['screenState']>>) => boolean,
): Promise<void> {
  const deadline = Date.now() + 30_000
  while (!done(await driver.screenState())) {
    if (Date.now() > deadline) throw new Error(`it never showed: ${done.toString()}\n${await driver.screenText()}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

async function refusal(act: Promise<unknown>): Promise<string> {
  try {
    await act
    return 'not refused'
  } catch (error) {
    return error instanceof RefusedError ? error.reason : String(error)
  }
}
