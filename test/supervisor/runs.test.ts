import fs from 'node:fs'
import { expect, test } from 'vitest'
import { readEdges } from '../../src/tape/index.ts'
import { openSupervisor, type SessionRow, sessionRows, healthChecks, control } from '../../src/supervisor/index.ts'
import { puppetHands } from './support/puppet-hands.ts'
import { stringsOf } from './support/strings.ts'
import { dataOf, expectOrder, Theatre } from './support/theatre.ts'
import { collect } from '../support/workspace.ts'

async function atWork(settings = {}, more = {}) {
  const theatre = await Theatre.open(settings)
  const { ended, close } = theatre.supervise({ run: { ...theatre.run, ...more } })
  await theatre.until(() => theatre.prompts('Build').length === 1, 'the first prompt')
  await theatre.until(() => rows(theatre).at(-1)?.state === 'waiting', 'the first turn')
  return { theatre, ended, close }
}

function rows(theatre: Theatre) {
  return theatre.events.flatMap((event) => (event.type === 'row' ? [event.row] : []))
}

test('an agent that is killed is reopened where it was, and told to go on if it was at work [C15]', async () => {
  const { theatre } = await atWork()
  const before = rows(theatre).at(-1)!.session
  theatre.script({ mute: 'Think' })
  theatre.say('Think about the shop.')
  await theatre.until(() => rows(theatre).at(-1)?.state === 'working', 'work')
  theatre.script({ mute: '^$' })
  theatre.killAgent()
  await theatre.until(() => theatre.prompts('Baton restarted you').length === 1, 'the word to go on')
  expect(theatre.heard().at(-1)).toMatchObject({ session: before })
  expect(await theatre.health('agent')).toMatchObject([
    { status: 'warning', details: { what: 'The agent ended by SIGKILL; it is started again' } },
  ])
  expect(theatre.told.at(-1)).toMatchObject({ level: 'warning', action: 'See what happened: baton logs shop' })
})

test('one that is killed with a full context starts afresh, with the ledger’s document [C15]', async () => {
  const { theatre } = await atWork({ turnSeconds: 60 })
  theatre.script({ mute: 'Think' })
  theatre.fill(60)
  await theatre.until(() => {
    const { context_usage = 0, state } = rows(theatre).at(-1) ?? {}
    return context_usage > 0.5 && state === 'waiting'
  }, 'the fill')
  theatre.say('Think about the shop.')
  await theatre.until(() => rows(theatre).at(-1)?.state === 'working', 'work')
  theatre.settings = { ...theatre.settings, threshold: 0.5 }
  await theatre.aged()
  theatre.killAgent()
  const cycled = await theatre.cycled()
  expect(cycled).toMatchObject({ outcome: 'done', why: 'crash', document: { by: 'ledger' } })
  expect(fs.readFileSync(cycled.document!.path, 'utf8')).toContain('never use jQuery')
  expect(theatre.prompts('Read handoff')).toHaveLength(1)
  expect(theatre.clears()).toBe(0)
})

test('an agent that is killed in the middle of a cycle goes on with the document of that cycle [C7][C15]', async () => {
  const { theatre } = await atWork()
  theatre.script({ mute: '^Read handoff' })
  theatre.fill(90)
  await theatre.until(() => theatre.prompts('Read handoff').length === 1, 'the resumption')
  await theatre.aged()
  theatre.script({ mute: '^$' })
  theatre.killAgent()
  const cycled = await theatre.cycled()
  expect(cycled).toMatchObject({ outcome: 'done', document: { by: 'agent' } })
  expect(await theatre.entries('handoff_document')).toHaveLength(1)
})

test('an agent that ends by itself, or by a person, stays ended [C15]', async () => {
  const { theatre, ended } = await atWork()
  fs.appendFileSync(stringsOf(theatre.home).inbox, '{"do":"exit"}\n')
  expect(await ended).toEqual({ why: 'exited' })
  expect(await collect(sessionRows(theatre.store))).toMatchObject([{ name: 'shop', state: 'ended', ended: 'exited' }])
  const supervisor = openSupervisor({ store: theatre.store, hands: theatre.hands, settings: () => theatre.settings })
  expect(await supervisor.recover()).toEqual([])
})

test('an agent that crashes again and again is given up, and a person told [C15]', async () => {
  const { theatre, ended } = await atWork({ restarts: 2 })
  const pids = new Set<number>()
  const killer = setInterval(() => {
    if (theatre.pid !== undefined && !pids.has(theatre.pid)) {
      pids.add(theatre.pid)
      theatre.killAgent()
    }
  }, 100)
  expect(await ended).toMatchObject({ why: 'crashed', details: 'it ended 3 times within an hour, by SIGKILL' })
  clearInterval(killer)
  expect(theatre.told.at(-1)).toMatchObject({ level: 'critical', action: 'Start it again: baton resume shop' })
})

test('after a reboot every session that had not ended is taken up again [C15]', async () => {
  const { theatre, close } = await atWork()
  const { session } = rows(theatre).at(-1)!
  await close()
  theatre.killAgent()
  const supervisor = openSupervisor({ store: theatre.store, hands: theatre.hands, settings: () => theatre.settings })
  const taken = await supervisor.recover()
  expect(taken.map(({ name }) => name)).toEqual(['shop'])
  const back = await theatre.until(async () => {
    const [row] = await collect(supervisor.list())
    return row?.supervisor?.pid === process.pid && row.state === 'waiting' ? row : undefined
  }, 'its return')
  expect(back).toMatchObject({ session })
  expect(theatre.prompts('Build')).toHaveLength(1)
  await supervisor.close()
  expect(await taken[0]!.ended).toEqual({ why: 'released' })
})

test('a limit is waited for, and the agent told to go on at the reset, once [C17]', async () => {
  const { theatre } = await atWork()
  const until = new Date(Date.now() + 3_000).toISOString()
  fs.writeFileSync(stringsOf(theatre.home).limit, until)
  theatre.fill(30)
  const row = await theatre.until(() => rows(theatre).find(({ state }) => state === 'limited'), 'the limit')
  expect(row).toMatchObject({ until })
  expect(theatre.told.at(-1)).toMatchObject({ level: 'warning', title: expect.stringContaining('A limit is reached') })
  expect(theatre.prompts('Create handoff')).toEqual([])
  await theatre.until(() => theatre.prompts('Baton waited for the limit').length === 1, 'the word to go on')
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(until))
  theatre.fill(90)
  expect(await theatre.cycled()).toMatchObject({ outcome: 'done' })
  expect(theatre.prompts('Baton waited')).toHaveLength(1)
})

test('by policy another agent goes on when a limit is reached, with the ledger’s document [C17]', async () => {
  const theatre = await Theatre.open({ quota: { continueIn: 'second' } })
  const home = `${theatre.root}/second`
  fs.mkdirSync(home)
  fs.writeFileSync(stringsOf(home).script, '{}')
  const program = `${theatre.programs}/puppet.mjs`
  const first = theatre.hands
  const second = puppetHands({ home, program })
  const { ended } = theatre.supervise({
    hands: (run, start) => (run.agent === 'second' ? second : first)(run, start),
  })
  await theatre.until(() => rows(theatre).at(-1)?.state === 'waiting', 'the first turn')
  fs.writeFileSync(stringsOf(theatre.home).limit, new Date(Date.now() + 3_600_000).toISOString())
  theatre.say('Go on.')
  const cycled = await theatre.cycled()
  expect(cycled).toMatchObject({ outcome: 'done', why: 'limit', document: { by: 'ledger' } })
  expect(rows(theatre).at(-1)).toMatchObject({ agent: 'second' })
  expect(fs.readFileSync(stringsOf(home).heard, 'utf8')).toContain('Read handoff from')
  await control(theatre.store, 'shop', 'stop')
  await ended
})

test('a run ends when its command succeeds; until then the agent is told what fails [C19]', async () => {
  const until = 'test -f done || { echo "no file called done"; exit 1; }'
  const { theatre, ended } = await atWork({}, { bounds: { until } })
  const told = await theatre.until(() => theatre.prompts('Baton checked')[0], 'the check')
  expect(told).toContain('fails with exit code 1 (no file called done)')
  fs.writeFileSync(`${theatre.cwd}/done`, '')
  theatre.say('Go on.')
  expect(await ended).toEqual({ why: 'finished' })
})

test('no cycle begins while it is being found out whether the run is over [C19]', async () => {
  const theatre = await Theatre.open()
  theatre.script({ growth: 85_000 })
  const { ended } = theatre.supervise({ run: { ...theatre.run, bounds: { until: 'sleep 1' } } })
  expect(await ended).toEqual({ why: 'finished' })
  expect(theatre.heard()).toHaveLength(1)
  expect(theatre.events.filter(({ type }) => type === 'step')).toEqual([])
})

test('a full context is handed over before it is told what the check says [C6][C19]', async () => {
  const theatre = await Theatre.open()
  theatre.script({ growth: 85_000 })
  const until = 'sleep 0.3; test -f done || { date +%N; exit 1; }'
  const { ended } = theatre.supervise({ run: { ...theatre.run, bounds: { until } } })
  await theatre.until(() => theatre.prompts('Read handoff').length === 1, 'the fresh context')
  theatre.script({ growth: 1_000 })
  expect(theatre.prompts('Baton checked')).toEqual([])
  await theatre.until(() => theatre.prompts('Baton checked').length > 0, 'the check')
  fs.writeFileSync(`${theatre.cwd}/done`, '')
  expect(await ended).toEqual({ why: 'finished' })
})

test('a check that fails in the same way again and again ends the run [C19]', async () => {
  const { ended, theatre } = await atWork({}, { bounds: { until: 'echo never; false' } })
  expect(await ended).toMatchObject({ why: 'bound', bound: 'stalled' })
  expect(theatre.prompts('Baton checked')).toHaveLength(2)
  expect(theatre.told.at(-1)).toMatchObject({ level: 'warning', title: expect.stringContaining('The run is over') })
})

test('dollars, cycles and time bound a run, over all of its contexts [C19]', async () => {
  const usd = await atWork({}, { bounds: { maxUsd: 0.2 } })
  for (let i = 0; i < 4; i++) {
    usd.theatre.script({ usd: 0.05 })
    usd.theatre.say('Go on.')
  }
  expect(await usd.ended).toMatchObject({ why: 'bound', bound: 'usd' })
  const cycles = await atWork({}, { bounds: { maxCycles: 1 } })
  cycles.theatre.fill(90)
  expect(await cycles.ended).toMatchObject({ why: 'bound', bound: 'cycles' })
  const idle = await Theatre.open()
  const { ended } = idle.supervise({ run: { ...idle.run, bounds: { stallMinutes: 0.02 } } })
  expect(await ended).toMatchObject({
    why: 'bound',
    bound: 'stalled',
    details: expect.stringContaining('0.02 minutes'),
  })
})

test('cycles without progress open the breaker; a person can close it [C10]', async () => {
  const { theatre } = await atWork({ raise: 0, breaker: 2 })
  // A fresh context that fills at once, with nothing done in it.
  theatre.script({ ignoreClears: 99 })
  theatre.fill(90)
  await theatre.cycled(2)
  const [check] = await theatre.until(async () => {
    const found = (await theatre.health('context')).filter(({ status }) => status === 'critical')
    return found.length > 0 ? found : undefined
  }, 'the breaker')
  expect(check).toMatchObject({ details: { what: expect.stringContaining('2 cycles in a row brought nothing') } })
  expect(theatre.told.at(-1)).toMatchObject({ level: 'critical', action: expect.stringContaining('baton cycle shop') })
  theatre.script({ ignoreClears: 0 })
  await control(theatre.store, 'shop', 'cycle')
  expect(await theatre.cycled(3)).toMatchObject({ outcome: 'done' })
})

test('more than one cycle in an hour: a warning, and the threshold is raised for a while [C10]', async () => {
  const { theatre } = await atWork({ raise: 0.04 })
  theatre.fill(90)
  await theatre.cycled(1)
  theatre.fill(90)
  await theatre.cycled(2)
  await theatre.until(() => (rows(theatre).at(-1)?.threshold ?? 0) === 0.89, 'the raise')
  expect((await theatre.health('context')).at(-1)).toMatchObject({
    status: 'warning',
    details: { what: expect.stringContaining('More than one cycle within an hour') },
  })
})

test('a fresh context that is full already is reported, not cycled [C1]', async () => {
  const theatre = await Theatre.open()
  theatre.script({ base: 88_000 })
  theatre.supervise()
  await theatre.until(async () => (await theatre.health('context')).length > 0, 'the report')
  expect(await theatre.health('context')).toMatchObject([
    { status: 'warning', details: { what: expect.stringContaining('a fresh context is 88% full already') } },
  ])
  expect(theatre.prompts('Create handoff')).toEqual([])
})

test('what was handed over before is carried on, cycle after cycle; usage is reset; the tapes are linked [C2][C6]', async () => {
  const { theatre } = await atWork()
  theatre.fill(90)
  const first = await theatre.cycled(1)
  expect(first.percentAfter).toBeLessThan(20)
  theatre.script({ document: null })
  theatre.fill(92)
  const second = await theatre.cycled(2)
  expect(second.document).toMatchObject({ by: 'ledger' })
  const text = fs.readFileSync(second.document!.path, 'utf8')
  expect(text).toContain('Build the shop; never use jQuery.')
  expect(text).toContain('The user wants no new dependencies')
  expect(text).not.toContain('Handed over before')
  const edges = (await readEdges(theatre.store)).filter(({ how }) => how === 'continue')
  expect(edges).toMatchObject([{ parent: `pi:${first.from}`, child: `pi:${first.to}` }, { child: `pi:${second.to}` }])
  await expectOrder(theatre)
})

test('many sessions: staggered, at most so many at a time, and a broken one delays none [C11]', async () => {
  const theatre = await Theatre.open({ concurrency: 1 })
  const program = `${theatre.programs}/puppet.mjs`
  const homes = new Map(['one', 'two', 'three'].map((name) => [name, `${theatre.root}/${name}`]))
  for (const [name, home] of homes) {
    fs.mkdirSync(home)
    fs.mkdirSync(`${theatre.root}/project-${name}`)
    fs.writeFileSync(stringsOf(home).script, JSON.stringify({ base: name === 'two' ? 5_000 : 6_000 }))
  }
  let running = 0
  let most = 0
  const supervisor = openSupervisor({
    store: theatre.store,
    settings: () => theatre.settings,
    hands: (run, start) => {
      if (run.name === 'broken') throw new Error('cannot be started')
      return puppetHands({ home: homes.get(run.name)!, program })(run, start)
    },
    onEvent: (event) => {
      if (event.type !== 'step') return
      if (event.step === 'asked') most = Math.max(most, ++running)
      if (event.step === 'done' || event.step === 'failed') running--
    },
  })
  const run = (name: string) => ({
    ...theatre.run,
    name,
    cwd: `${theatre.root}/project-${name}`,
    prompt: 'Build it.',
  })
  const broken = supervisor.start({ ...run('one'), name: 'broken' })
  const sessions = [...homes.keys()].map((name) => supervisor.start(run(name)))
  await expect(broken.ended).rejects.toThrow('cannot be started')
  await theatre.until(async () => {
    const all = await collect(supervisor.list())
    return all.filter(({ state }) => state === 'waiting').length === 3
  }, 'three first turns')
  for (const home of homes.values()) {
    fs.appendFileSync(stringsOf(home).inbox, `${JSON.stringify({ do: 'prompt', text: 'Go on to 90% now.' })}\n`)
  }
  await theatre.until(
    async () => {
      const all = await collect(supervisor.list())
      if (all.length > 0)
        console.log(all.map((r) => `${r.name} ${r.state} ${r.step} ${r.context_usage} ${r.cycles}`).join('; '))
      return all.filter(({ cycles }) => cycles > 0).length === 3
    },
    'three cycles',
    15_000,
  )
  expect(most).toBe(1)
  const checks = await collect(healthChecks(theatre.store))
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
  const { theatre } = await atWork()
  theatre.fill(90)
  await theatre.cycled()
  const list = await collect(healthChecks(theatre.store, { session: 'shop', history: true }))
  expect(list.map(({ check_type, status }) => `${check_type} ${status}`)).toEqual(['handoff ok'])
  expect(list[0]).toMatchObject({ project: theatre.cwd, details: { cycle: 1 } })
  const row = await theatre.until(async () => {
    const last = dataOf((await theatre.entries('row')).at(-1)!) as SessionRow
    return last.state === 'waiting' && last.cycles === 1 ? last : undefined
  }, 'the row')
  expect(row).toMatchObject({
    name: 'shop',
    project: theatre.cwd,
    context_usage: expect.any(Number),
    tokens: expect.any(Number),
    last_check: expect.any(String),
  })
})
