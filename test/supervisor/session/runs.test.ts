import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { NotFoundError } from '../../../src/errors.ts'
import { readEdges } from '../../../src/tape/index.ts'
import type { Whereabouts } from '../../../src/supervisor/session/records/journal.ts'
import type { OpenAgent } from '../../../src/supervisor/run.ts'
import { openSupervisor, type SessionRow, sessionRows, healthChecks, control } from '../../../src/supervisor/index.ts'
import { openScriptedAgent } from '../support/open-scripted-agent.ts'
import { Health } from '../../../src/supervisor/session/records/health.ts'
import { protocolFiles } from '../support/protocol.ts'
import { dataOf, expectOrder, Harness } from '../support/harness.ts'
import { collect } from '../../support/workspace.ts'

async function atWork(settings = {}, more = {}) {
  const harness = await Harness.open(settings)
  const { ended, close } = harness.supervise({ run: { ...harness.run, ...more } })
  await harness.until(() => harness.prompts('Build').length === 1, 'the first prompt')
  await harness.until(() => rows(harness).at(-1)?.state === 'waiting', 'the first turn')
  return { harness, ended, close }
}

function rows(harness: Harness) {
  return harness.events.flatMap((event) => (event.type === 'row' ? [event.row] : []))
}

test('an agent that is killed is reopened where it was, and told to go on if it was at work [C15]', async () => {
  const { harness } = await atWork()
  const before = rows(harness).at(-1)!.session
  harness.script({ mute: 'Think' })
  harness.say('Think about the shop.')
  await harness.until(() => rows(harness).at(-1)?.state === 'working', 'work')
  harness.script({ mute: '^$' })
  harness.killAgent()
  await harness.until(() => harness.prompts('Baton restarted you').length === 1, 'the word to go on')
  expect(harness.heard().at(-1)).toMatchObject({ session: before })
  expect(await harness.health('agent')).toMatchObject([
    { status: 'warning', details: { what: 'The agent ended because it got SIGKILL; Baton is restarting it' } },
  ])
  expect(harness.told.at(-1)).toMatchObject({ level: 'warning', action: 'See what happened: baton log shop' })
})

test('one that is killed with a full context starts afresh, with the ledger’s document [C15]', async () => {
  const { harness } = await atWork({ turnSeconds: 60 })
  harness.script({ mute: 'Think' })
  harness.fill(60)
  await harness.until(() => {
    const { context_usage = 0, state } = rows(harness).at(-1) ?? {}
    return context_usage > 0.5 && state === 'waiting'
  }, 'the fill')
  harness.say('Think about the shop.')
  await harness.until(() => rows(harness).at(-1)?.state === 'working', 'work')
  harness.settings = { ...harness.settings, threshold: 0.5 }
  harness.killAgent()
  const cycled = await harness.cycled()
  expect(cycled).toMatchObject({ outcome: 'done', why: 'crash', document: { by: 'ledger' } })
  expect(fs.readFileSync(cycled.document!.path, 'utf8')).toContain('never use jQuery')
  expect(harness.prompts('Read handoff')).toHaveLength(1)
  expect(harness.clears()).toBe(0)
})

test('an agent that is killed in the middle of a cycle goes on with the document of that cycle [C7][C15]', async () => {
  const { harness } = await atWork()
  harness.script({ mute: '^Read handoff' })
  harness.fill(90)
  await harness.until(() => harness.prompts('Read handoff').length === 1, 'the resumption')
  harness.script({ mute: '^$' })
  harness.killAgent()
  const cycled = await harness.cycled()
  expect(cycled).toMatchObject({ outcome: 'done', document: { by: 'agent' } })
  expect(await harness.entries('handoff_document')).toHaveLength(1)
})

test('what was seen of a process that is gone is not taken for the one that was started after it [C7][C15]', async () => {
  const harness = await Harness.open()
  const pids: number[] = []
  const open: OpenAgent = async (run, start) => {
    const opened = await harness.openAgent(run, start)
    pids.push(opened.driver.place.pid!)
    if (pids.length > 1) return opened
    // The last sight of the first process is delivered when it is known to be lost, and its successor is about to start.
    let lose = () => {}
    let see = () => {}
    const isLost = new Promise<void>((resolve) => (lose = resolve))
    const isSeen = new Promise<void>((resolve) => (see = resolve))
    const ended = opened.driver.ended.bind(opened.driver)
    opened.driver.ended = async () => {
      lose()
      await isSeen
      return ended()
    }
    const { observer } = opened
    const watch = async function* (signal: AbortSignal) {
      for await (const observation of observer.watch(signal)) {
        yield observation
        if (!observation.alive) break
      }
      await isLost
      yield observer.observe()
      see()
    }
    return { ...opened, observer: { observe: () => observer.observe(), watch, close: () => observer.close() } }
  }
  harness.supervise({ openAgent: open })
  await harness.until(() => rows(harness).at(-1)?.state === 'waiting', 'the first turn')
  harness.script({ mute: '^Read handoff' })
  harness.fill(90)
  await harness.until(() => harness.prompts('Read handoff').length === 1, 'the resumption')
  const lost = await harness.until(() => {
    const { session, step } = rows(harness).at(-1) ?? {}
    return step?.startsWith('verifying') === true ? session : undefined
  }, 'the fresh context')
  harness.script({ mute: '^$' })
  harness.killAgent()
  expect(await harness.cycled()).toMatchObject({ outcome: 'done', from: lost })
  const places = (await harness.entries('whereabouts')).map((entry) => dataOf(entry) as Whereabouts)
  const sessions = places.flatMap(({ place, session }) => (place.pid === pids[1] ? [session] : []))
  expect(sessions).not.toContain(lost)
})

test('an agent that ends by itself, or by a person, stays ended [C15]', async () => {
  const { harness, ended } = await atWork()
  fs.appendFileSync(protocolFiles(harness.home).inbox, '{"do":"exit"}\n')
  expect(await ended).toEqual({ why: 'exited' })
  expect(await collect(sessionRows(harness.store))).toMatchObject([{ name: 'shop', state: 'ended', ended: 'exited' }])
  expect(harness.told.at(-1)).toMatchObject({
    level: 'info',
    title: 'shop in shop: The agent has quit',
    body: expect.stringContaining('Baton does not start it again.'),
    action: 'Start it again: baton resume shop',
  })
  const supervisor = openSupervisor({
    store: harness.store,
    openAgent: harness.openAgent,
    settings: () => harness.settings,
    timings: harness.timings,
  })
  expect(await supervisor.recover()).toEqual([])
})

test('an agent that crashes again and again is given up, and a person told [C15]', async () => {
  const { harness, ended } = await atWork({ restarts: 2 })
  const pids = new Set<number>()
  const killer = setInterval(() => {
    if (harness.pid !== undefined && !pids.has(harness.pid)) {
      pids.add(harness.pid)
      harness.killAgent()
    }
  }, 100)
  expect(await ended).toMatchObject({
    why: 'crashed',
    details: 'It ended 3 times within an hour, because it got SIGKILL',
  })
  clearInterval(killer)
  expect(harness.told.at(-1)).toMatchObject({ level: 'critical', action: 'Start it again: baton resume shop' })
})

test('after a reboot every session that had not ended is taken up again [C15]', async () => {
  const { harness, close } = await atWork()
  const { session } = rows(harness).at(-1)!
  await close()
  harness.killAgent()
  const supervisor = openSupervisor({
    store: harness.store,
    openAgent: harness.openAgent,
    settings: () => harness.settings,
    timings: harness.timings,
  })
  const taken = await supervisor.recover()
  expect(taken.map(({ name }) => name)).toEqual(['shop'])
  const back = await harness.until(async () => {
    const [row] = await collect(supervisor.list())
    return row?.supervisor?.pid === process.pid && row.state === 'waiting' ? row : undefined
  }, 'its return')
  expect(back).toMatchObject({ session })
  expect(harness.prompts('Build')).toHaveLength(1)
  await supervisor.close()
  expect(await taken[0]!.ended).toEqual({ why: 'released' })
})

test('a limit is waited for, and the agent told to go on at the reset, once [C17]', async () => {
  const { harness } = await atWork({ limitSeconds: 0.5 })
  const written = Date.now()
  fs.writeFileSync(protocolFiles(harness.home).limit, '2000')
  harness.fill(30)
  const row = await harness.until(() => rows(harness).find(({ state }) => state === 'limited'), 'the limit')
  const asked = row.until!
  expect(Date.parse(asked)).toBeGreaterThanOrEqual(written + 2_500)
  expect(harness.told.at(-1)).toMatchObject({ level: 'warning', title: expect.stringContaining('Usage limit reached') })
  expect(harness.prompts('Create handoff')).toEqual([])
  await harness.until(() => harness.prompts('Baton waited for the limit').length === 1, 'the word to go on')
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(asked))
  harness.fill(90)
  expect(await harness.cycled()).toMatchObject({ outcome: 'done' })
  expect(harness.prompts('Baton waited')).toHaveLength(1)
})

test('by policy another agent goes on when a limit is reached, with the ledger’s document [C17]', async () => {
  const harness = await Harness.open({ quota: { continueIn: 'second', args: ['--its-own'] } })
  const home = `${harness.root}/second`
  fs.mkdirSync(home)
  fs.writeFileSync(protocolFiles(home).script, '{}')
  const program = harness.programs.agent
  const first = harness.openAgent
  const second = openScriptedAgent({ home, program })
  const given: Record<string, readonly string[]> = {}
  const { ended } = harness.supervise({
    run: { ...harness.run, args: ['--of-the-first'] },
    openAgent: (run, start) => {
      given[run.agent] = run.args
      return (run.agent === 'second' ? second : first)(run, start)
    },
  })
  await harness.until(() => rows(harness).at(-1)?.state === 'waiting', 'the first turn')
  fs.writeFileSync(protocolFiles(harness.home).limit, '3600000')
  harness.say('Go on.')
  const cycled = await harness.cycled()
  expect(cycled).toMatchObject({ outcome: 'done', why: 'limit', document: { by: 'ledger' } })
  expect(rows(harness).at(-1)).toMatchObject({ agent: 'second' })
  expect(fs.readFileSync(protocolFiles(home).heard, 'utf8')).toContain('Read handoff from')
  expect(given).toEqual({ scripted: ['--of-the-first'], second: ['--its-own'] })
  await control(harness.store, 'shop', 'stop')
  await ended
})

test('a run ends when its command succeeds; until then the agent is told what fails [C19]', async () => {
  const until = 'test -f done || { echo "no file called done"; exit 1; }'
  const { harness, ended } = await atWork({}, { bounds: { until } })
  const told = await harness.until(() => harness.prompts('Baton checked')[0], 'the check')
  expect(told).toContain('fails with exit code 1 (no file called done)')
  fs.writeFileSync(`${harness.cwd}/done`, '')
  harness.say('Go on.')
  expect(await ended).toEqual({ why: 'finished' })
})

test('no cycle begins while it is being found out whether the run is over [C19]', async () => {
  const harness = await Harness.open()
  harness.script({ growth: 85_000 })
  const { ended } = harness.supervise({ run: { ...harness.run, bounds: { until: 'sleep 1' } } })
  expect(await ended).toEqual({ why: 'finished' })
  expect(harness.heard()).toHaveLength(1)
  expect(harness.events.filter(({ type }) => type === 'step')).toEqual([])
})

test('a full context is handed over before it is told what the check says [C6][C19]', async () => {
  const harness = await Harness.open()
  harness.script({ growth: 85_000 })
  const until = 'sleep 0.3; test -f done || { date +%N; exit 1; }'
  const { ended } = harness.supervise({ run: { ...harness.run, bounds: { until } } })
  await harness.until(() => harness.prompts('Read handoff').length === 1, 'the fresh context')
  harness.script({ growth: 1_000 })
  expect(harness.prompts('Baton checked')).toEqual([])
  await harness.until(() => harness.prompts('Baton checked').length > 0, 'the check')
  fs.writeFileSync(`${harness.cwd}/done`, '')
  expect(await ended).toEqual({ why: 'finished' })
})

test('a run whose check fails in the same way goes on while the project changes, and ends when nothing does [C19]', async () => {
  const { ended, harness } = await atWork({ stallChecks: 2 }, { bounds: { until: 'echo never; false' } })
  // Each turn writes a file.
  await harness.until(() => harness.prompts('Baton checked').length >= 4, 'four failures')
  harness.script({ idle: true })
  const before = harness.prompts('Baton checked').length
  expect(await ended).toMatchObject({
    why: 'bound',
    bound: 'stalled',
    details: '"echo never; false" has failed 2 times in the same way, and nothing has changed in between',
  })
  expect(harness.prompts('Baton checked').length - before).toBeLessThanOrEqual(2)
  expect(harness.told.at(-1)).toMatchObject({
    level: 'warning',
    title: expect.stringContaining('The run is over'),
    body: expect.stringContaining('Baton has ended the agent'),
  })
})

test('a check that says nothing new but how long it took fails in the same way [C19]', async () => {
  const harness = await Harness.open({ stallChecks: 2 })
  harness.script({ idle: true })
  const until = 'echo "1 test failed in $(date +%s.%N) ms, $(date +%N) ms at $(date +%H:%M:%S)"; false'
  const { ended } = harness.supervise({ run: { ...harness.run, bounds: { until } } })
  expect(await ended).toMatchObject({ why: 'bound', bound: 'stalled' })
})

test('a run that commits, or whose check says something else each time, is not stalled [C19]', async () => {
  const harness = await Harness.open({ stallChecks: 2 })
  execFileSync('git', ['init', '-q', harness.cwd])
  harness.script({ idle: true })
  const count = path.join(harness.root, 'count')
  const until = `echo x >> ${count}; test $(wc -l < ${count}) -ge 6 && exit 0; test $(wc -l < ${count}) -lt 4 && wc -l < ${count}; git -c user.name=a -c user.email=b commit -q --allow-empty -m x; exit 1`
  const { ended } = harness.supervise({ run: { ...harness.run, bounds: { until } } })
  expect(await ended).toEqual({ why: 'finished' })
})

test('dollars, cycles and time bound a run, over all of its contexts [C19]', async () => {
  const usd = await atWork({}, { bounds: { maxUsd: 0.2 } })
  for (let i = 0; i < 4; i++) {
    usd.harness.script({ usd: 0.05 })
    usd.harness.say('Go on.')
  }
  expect(await usd.ended).toMatchObject({ why: 'bound', bound: 'usd' })
  const cycles = await atWork({}, { bounds: { maxCycles: 1 } })
  cycles.harness.fill(90)
  expect(await cycles.ended).toMatchObject({ why: 'bound', bound: 'cycles' })
  const idle = await Harness.open()
  const { ended } = idle.supervise({ run: { ...idle.run, bounds: { stallMinutes: 0.02 } } })
  expect(await ended).toMatchObject({
    why: 'bound',
    bound: 'stalled',
    details: expect.stringContaining('0.02 minutes'),
  })
})

test('what a run has cost adds up over cycles, crashes and resumes, and binds at the first reading past the bound [C19]', async () => {
  const { harness, ended } = await atWork({}, { bounds: { maxUsd: 1 } })
  const own = () => harness.transcript().reduce((sum, { usage }) => sum + (usage?.cost.total ?? 0), 0)
  harness.script({ usd: 0.06 })
  harness.fill(90)
  await harness.cycled(1)
  await harness.until(() => rows(harness).at(-1)?.state === 'waiting', 'the fresh context')
  expect(rows(harness).at(-1)!.usd).toBeCloseTo(own(), 6)
  harness.killAgent()
  await harness.until(() => rows(harness).some(({ state }) => state === 'restarting'), 'the restart')
  await harness.until(() => rows(harness).at(-1)?.state === 'waiting', 'its return')
  harness.fill(90)
  await harness.cycled(2)
  await harness.until(() => rows(harness).at(-1)?.state === 'waiting', 'the third context')
  let spent = own()
  expect(rows(harness).at(-1)!.usd).toBeCloseTo(spent, 6)
  // From here on a turn is one reply, and each is read before the next: replies that are written at once are read at once.
  harness.script({ idle: true, usd: 0.01 })
  for (let i = 0; i < 2; i++) {
    harness.say('Go on.')
    await harness.until(() => rows(harness).at(-1)!.usd! > spent + 0.005, 'a reading below the bound')
    spent = own()
  }
  // A little more than what is left: sums of dollars have rounding errors.
  harness.script({ usd: 1.001 - spent })
  harness.say('Go on.')
  expect(await ended).toMatchObject({ why: 'bound', bound: 'usd', details: '$1.00 of $1.00 spent' })
  expect(own()).toBeCloseTo(1.001, 6)
  await expect(harness.resume().ended).rejects.toThrow('shop has reached its bound: $1.00 of $1.00 spent')
  harness.script({ usd: 0.4 })
  const more = harness.resume({ maxUsd: 1.5 })
  await harness.until(() => rows(harness).at(-1)?.state === 'waiting', 'its return')
  harness.say('Go on.')
  await harness.until(() => rows(harness).at(-1)!.usd! > 1.4, 'a reading below the new bound')
  harness.say('Go on.')
  expect(await more.ended).toMatchObject({ why: 'bound', bound: 'usd', details: '$1.80 of $1.50 spent' })
})

test('a bound in the middle of a command ends the run when the command has ended, or is interrupted after a while [C19]', async () => {
  const outputs = (harness: Harness, text: string) =>
    harness.transcript().filter(({ content }) => content[0]?.text === text).length
  const quick = await atWork({ backgroundSeconds: 60 }, { bounds: { maxUsd: 0.2 } })
  quick.harness.script({ command: 500, usd: 0.2 })
  quick.harness.say('Go on.')
  expect(await quick.ended).toMatchObject({
    bound: 'usd',
    details: expect.stringMatching(
      /^\$0\.\d\d of \$0\.20 spent; Baton waited for the end of the command that was running$/,
    ),
  })
  expect(outputs(quick.harness, 'printed at its end')).toBe(2)
  expect(quick.harness.heard()).not.toContainEqual({ interrupted: true })
  expect(await quick.harness.health('bounds')).toMatchObject([
    { status: 'warning', details: { what: expect.stringContaining('The run is over: $0.') } },
  ])

  const slow = await atWork({}, { bounds: { maxUsd: 0.2 } })
  slow.harness.script({ command: 600_000, usd: 0.2 })
  slow.harness.say('Go on.')
  expect(await slow.ended).toMatchObject({ details: expect.stringContaining('Baton interrupted a command') })
  expect(slow.harness.heard().filter((each) => 'interrupted' in each)).toHaveLength(1)
  expect(outputs(slow.harness, 'printed at its end')).toBe(1)
  expect(outputs(slow.harness, 'cut off')).toBe(1)
})

test('turns bound a run, over all of its contexts [C19]', async () => {
  const { harness, ended } = await atWork({}, { bounds: { maxTurns: 5 } })
  harness.fill(90)
  await harness.cycled(1)
  harness.say('Go on.')
  expect(await ended).toMatchObject({ why: 'bound', bound: 'turns', details: '5 turns done' })
})

test('cycles without progress open the breaker; a person can close it [C10]', async () => {
  const { harness } = await atWork({ raise: 0, breaker: 2 })
  // A fresh context that fills at once, with nothing done in it.
  harness.script({ ignoreClears: 99 })
  harness.fill(90)
  await harness.cycled(2)
  const [check] = await harness.until(async () => {
    const found = (await harness.health('context')).filter(({ status }) => status === 'critical')
    return found.length > 0 ? found : undefined
  }, 'the breaker')
  expect(check).toMatchObject({ details: { what: expect.stringContaining('2 cycles in a row brought nothing') } })
  expect(harness.told.at(-1)).toMatchObject({ level: 'critical', action: expect.stringContaining('baton cycle shop') })
  harness.script({ ignoreClears: 0 })
  await control(harness.store, 'shop', 'cycle')
  expect(await harness.cycled(3)).toMatchObject({ outcome: 'done' })
})

test('a context that fills with nothing done but documents is no progress: the breaker opens within three cycles [C10]', async () => {
  const { harness } = await atWork({ raise: 0 })
  harness.script({ idle: true, growth: 85_000 })
  harness.say('Go on.')
  await harness.until(async () => (await harness.health('context')).some(({ status }) => status === 'critical'), 'it')
  const cycles = await harness.cycles()
  expect(cycles.map(({ progress }) => progress)).toEqual([true, false, false, false])
  // It stays open for a supervisor that comes later.
  await harness.letGo()
  harness.resume()
  await harness.aged()
  expect(await harness.cycles()).toHaveLength(4)
})

test('while a cycle waits, nothing is said that would make the context grow; then it begins [C11][C12]', async () => {
  const { harness } = await atWork({ cooldownSeconds: 4 }, { bounds: { until: 'date +%N; false' } })
  await harness.until(() => harness.prompts('Baton checked').length > 0, 'a check')
  harness.fill(90)
  await harness.cycled(1)
  // The next turn fills the context, and the pause between two cycles is not over.
  harness.script({ growth: 85_000 })
  await harness.until(() => harness.prompts('Create handoff').length === 2, 'the cycle')
  // In what the agent itself wrote, whatever follows a full context: the request for the document, and nothing before it.
  const fresh = dataOf((await harness.entries('cycled'))[0]!) as { to: string }
  const messages = harness.transcript(fresh.to)
  const full = messages.findIndex(({ usage }) => (usage?.input ?? 0) > 85_000)
  const next = messages.slice(full).find(({ role }) => role === 'user')
  expect(next?.content[0]?.text).toContain('Create handoff')
})

test('a full context is handed over before anything is said in it, though somebody was typing at first [C11][C12]', async () => {
  const { harness } = await atWork({}, { bounds: { until: 'echo x >> ../checks; date +%N; false' } })
  const checks = () => fs.readFileSync(path.join(harness.cwd, '../checks'), 'utf8').length
  await harness.until(() => harness.prompts('Baton checked').length > 0, 'a check')
  harness.script({ draft: 'wait, I want', growth: 85_000 })
  harness.say('Do some more.')
  await harness.until(() => harness.prompts('Do some more.').length > 0, 'the words')
  const before = checks()
  await harness.until(() => checks() > before, 'the check of that turn')
  await harness.aged()
  harness.script({ draft: '' })
  await harness.until(() => harness.prompts('Create handoff').length === 1, 'the cycle')
  const words = harness.prompts('')
  expect(words[words.indexOf('Do some more.') + 1]).toContain('Create handoff')
})

test('after a cycle that failed nothing is said to the fresh context until a person has spoken [C6]', async () => {
  const { harness } = await atWork({}, { bounds: { until: 'date +%N; false' } })
  await harness.until(() => harness.prompts('Baton checked').length > 0, 'a check')
  harness.script({ illiterate: true, idle: true })
  harness.fill(90)
  expect(await harness.cycled(1)).toMatchObject({ outcome: 'failed' })
  const said = harness.heard().length
  await harness.aged()
  expect(harness.heard()).toHaveLength(said)
  harness.say('I am here: go on.')
  await harness.until(() => harness.heard().length > said + 1, 'the next check')
  expect(harness.heard().at(-1)).toMatchObject({ prompt: expect.stringContaining('Baton checked') })
})

test('an alert says who, where and what to type; it is repeated while the question stands; the end of a run is told [C16]', async () => {
  const until = 'test -f done || exit 1'
  const { harness, ended } = await atWork({ remindMinutes: 0.02, stallChecks: 99 }, { bounds: { until } })
  harness.script({ dialog: 'Do you want to proceed?', mute: 'Think' })
  harness.say('Think about it.')
  const asked = () => harness.told.filter(({ title }) => title.includes('Do you want to proceed?'))
  await harness.until(() => asked().length >= 2, 'a reminder')
  expect(asked()[0]).toMatchObject({
    level: 'warning',
    title: 'shop in shop: It asks: Do you want to proceed?',
    body: expect.stringContaining(`Session shop, project ${harness.cwd}, on ${os.hostname()}`),
    action: 'Answer it: baton attach shop',
  })
  expect(asked()[1]!.body).toMatch(/^Still open since \d\d:\d\d\.\n/)
  fs.writeFileSync(`${harness.cwd}/done`, '')
  harness.script({ dialog: null, mute: '^$' })
  harness.killAgent()
  expect(await ended).toEqual({ why: 'finished' })
  expect(harness.told.at(-1)).toMatchObject({
    level: 'info',
    title: 'shop in shop: Finished: the --until command succeeded',
  })
})

test('what an earlier supervisor reported and what no longer holds is taken back by the next [C8]', async () => {
  const harness = await Harness.open()
  const health = new Health(harness.store, harness.run, undefined, () => undefined)
  const types = ['storage', 'dialog', 'prompt', 'model', 'project'] as const
  for (const check_type of types)
    await health.report({ check_type, status: 'critical', what: 'It is bad', action_taken: '', advice: 'Look' })
  harness.supervise()
  harness.fill(40)
  const last = async (type: (typeof types)[number]) => (await harness.health(type)).at(-1)?.status
  for (const type of types) await harness.until(async () => (await last(type)) === 'ok', `the end of ${type}`)
  expect(harness.told).toEqual([])
})

test('lists show the last reading, also when it came right after another and nothing happens since [C8]', async () => {
  const { harness } = await atWork()
  harness.fill(40)
  await harness.until(() => (rows(harness).at(-1)?.context_usage ?? 0) >= 0.4, 'the reading')
  await harness.until(() => rows(harness).at(-1)?.state === 'waiting', 'the end of the turn')
  const listed = async () => (await collect(sessionRows(harness.store)))[0]?.context_usage
  const read = rows(harness).at(-1)!.context_usage
  await harness.until(async () => (await listed()) === read, 'its row')
  expect(rows(harness).at(-1)!.context_usage).toBe(read)
})

test('more than one cycle in an hour: a warning, and the threshold is raised for a while [C10]', async () => {
  const { harness } = await atWork({ raise: 0.04 })
  harness.fill(90)
  await harness.cycled(1)
  harness.fill(90)
  await harness.cycled(2)
  await harness.until(() => (rows(harness).at(-1)?.threshold ?? 0) === 0.89, 'the raise')
  expect((await harness.health('context')).at(-1)).toMatchObject({
    status: 'warning',
    details: { what: expect.stringContaining('More than one cycle within an hour') },
  })
})

test('a fresh context that is full already is reported, not cycled [C1]', async () => {
  const harness = await Harness.open()
  harness.script({ base: 88_000 })
  harness.supervise()
  await harness.until(async () => (await harness.health('context')).length > 0, 'the report')
  expect(await harness.health('context')).toMatchObject([
    { status: 'warning', details: { what: expect.stringContaining('a fresh one is 88% full already') } },
  ])
  expect(harness.prompts('Create handoff')).toEqual([])
})

test('what was handed over before is carried on, cycle after cycle; usage is reset; the tapes are linked [C2][C6]', async () => {
  const { harness } = await atWork()
  harness.fill(90)
  const first = await harness.cycled(1)
  expect(first.percentAfter).toBeLessThan(20)
  harness.script({ document: null })
  harness.fill(92)
  const second = await harness.cycled(2)
  expect(second.document).toMatchObject({ by: 'ledger' })
  const text = fs.readFileSync(second.document!.path, 'utf8')
  expect(text).toContain('Build the shop; never use jQuery.')
  expect(text).toContain('The user wants no new dependencies')
  expect(text).not.toContain('Handed over before')
  const edges = (await readEdges(harness.store)).filter(({ how }) => how === 'continue')
  expect(edges).toMatchObject([{ parent: `pi:${first.from}`, child: `pi:${first.to}` }, { child: `pi:${second.to}` }])
  await expectOrder(harness)
})

test('many sessions: staggered, at most so many at a time, and a broken one delays none [C11]', async () => {
  const harness = await Harness.open({ concurrency: 1 })
  const program = harness.programs.agent
  const homes = new Map(['one', 'two', 'three'].map((name) => [name, `${harness.root}/${name}`]))
  for (const [name, home] of homes) {
    fs.mkdirSync(home)
    fs.mkdirSync(`${harness.root}/project-${name}`)
    fs.writeFileSync(protocolFiles(home).script, JSON.stringify({ base: name === 'two' ? 5_000 : 6_000 }))
  }
  let running = 0
  let most = 0
  const supervisor = openSupervisor({
    store: harness.store,
    settings: () => harness.settings,
    timings: harness.timings,
    openAgent: (run, start) => {
      if (run.name === 'broken') throw new Error('cannot be started')
      return openScriptedAgent({ home: homes.get(run.name)!, program })(run, start)
    },
    onEvent: (event) => {
      if (event.type !== 'step') return
      if (event.step === 'asked') most = Math.max(most, ++running)
      if (event.step === 'done' || event.step === 'failed') running--
    },
  })
  const run = (name: string) => ({
    ...harness.run,
    name,
    cwd: `${harness.root}/project-${name}`,
    prompt: 'Build it.',
  })
  const broken = supervisor.start({ ...run('one'), name: 'broken' })
  const sessions = [...homes.keys()].map((name) => supervisor.start(run(name)))
  await expect(broken.ended).rejects.toThrow('cannot be started')
  await harness.until(async () => {
    const all = await collect(supervisor.list())
    return all.filter(({ state }) => state === 'waiting').length === 3
  }, 'three first turns')
  for (const home of homes.values()) {
    fs.appendFileSync(protocolFiles(home).inbox, `${JSON.stringify({ do: 'prompt', text: 'Go on to 90% now.' })}\n`)
  }
  await harness.until(async () => {
    const all = await collect(supervisor.list())
    return all.filter(({ cycles }) => cycles > 0).length === 3
  }, 'three cycles')
  expect(most).toBe(1)
  const checks = await collect(healthChecks(harness.store))
  expect(checks.filter(({ check_type }) => check_type === 'handoff')).toMatchObject([
    { status: 'ok' },
    { status: 'ok' },
    { status: 'ok' },
  ])
  for (const name of homes.keys()) await supervisor.stop(name)
  for (const { ended } of sessions) expect(await ended).toEqual({ why: 'stopped' })
  await supervisor.close()
})

test('health is written on change only, with what was done; all of it can be listed [C8]', async () => {
  const { harness } = await atWork()
  harness.fill(90)
  await harness.cycled()
  const list = await collect(healthChecks(harness.store, { session: 'shop', history: true }))
  expect(list.map(({ check_type, status }) => `${check_type} ${status}`)).toEqual(['handoff ok'])
  expect(list[0]).toMatchObject({ project: harness.cwd, details: { cycle: 1 } })
  const row = await harness.until(async () => {
    const last = dataOf((await harness.entries('row')).at(-1)!) as SessionRow
    return last.state === 'waiting' && last.cycles === 1 ? last : undefined
  }, 'the row')
  expect(row).toMatchObject({
    name: 'shop',
    project: harness.cwd,
    context_usage: expect.any(Number),
    tokens: expect.any(Number),
    last_check: expect.any(String),
  })
})

test('a session whose agent is gone and cannot be started can still be stopped [C15]', async () => {
  const { harness, close } = await atWork()
  await close()
  harness.killAgent()
  const openAgent: OpenAgent = async () => {
    throw new NotFoundError('There is no program "claude" on the PATH')
  }
  await expect(harness.supervise({ openAgent }).ended).rejects.toThrow('There is no program')
  expect(await harness.supervise({ openAgent, stopping: true }).ended).toEqual({ why: 'stopped' })
  expect(await collect(sessionRows(harness.store))).toMatchObject([{ state: 'ended', ended: 'stopped' }])
})
