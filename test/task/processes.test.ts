import fs from 'node:fs'
import { expect, test } from 'vitest'
import { isFull } from '../support/full.ts'
import { Member } from '../support/member.ts'
import { program } from '../support/program.ts'
import { login, project } from './project.ts'

/** How many handoffs each of eight processes makes, and how often agents are killed. */
const handoffs = isFull ? 25 : 10
const rounds = isFull ? 12 : 4

const script = await program(new URL('./agent.ts', import.meta.url))

/** Says `version agent step` of every handoff that it was promised. */
const agent = (folder: string, name: string, times: number, onPromise?: () => void) =>
  new Member(script, [folder, name, String(times)], onPromise)

test('eight processes hand one task over: every handoff is a version, none is lost [S4, S11]', async () => {
  const { tasks, folder, again } = await project()
  await tasks.create(login)
  const crowd = Array.from({ length: 8 }, (_, i) => agent(folder, `agent-${i}`, handoffs))
  expect(await Promise.all(crowd.map(({ ended }) => ended))).toEqual(crowd.map(() => 0))
  const state = await (await again()).get('TASK-001')
  expect(state.version).toBe(8 * handoffs + 1)
  expect(state.decisions_made.map(({ decision }, i) => `${i + 2} ${decision}`)).toEqual(
    crowd.flatMap(({ said }) => said).sort((a, b) => Number.parseInt(a) - Number.parseInt(b)),
  )
  expect((await tasks.history('TASK-001')).map(({ version }) => version)).toEqual(
    Array.from({ length: 8 * handoffs + 1 }, (_, i) => i + 1),
  )
  expect(JSON.parse(fs.readFileSync(tasks.stateFile('TASK-001'), 'utf8'))).toEqual(state)
})

/** What may happen to the state file while others write it. */
const mishaps: ((file: string) => void)[] = [
  (file) => fs.rmSync(file, { force: true }),
  (file) => fs.writeFileSync(file, ''),
  (file) => fs.writeFileSync(file, '{"task_id":"TASK-001","version":99999}'),
  (file) => fs.truncateSync(file, 40),
]

test('agents killed in the middle lose nothing they were promised, whatever happens to the state file [S4, S10, S11]', async () => {
  const { tasks, folder } = await project()
  await tasks.create(login)
  const file = tasks.stateFile('TASK-001')
  const promised: string[] = []
  for (let round = 0; round < rounds; round++) {
    // Killed at another point of its work each time, by what it was promised so far.
    const enough = 2 + (round % 4) * 3
    let seen = 0
    const crowd: Member[] = []
    const onPromise = () => {
      if (++seen === enough) for (const { child } of crowd) child.kill('SIGKILL')
    }
    crowd.push(...['a', 'b', 'c'].map((name) => agent(folder, `${name}${round}`, 1_000, onPromise)))
    await Promise.all(crowd.map(({ ended }) => ended))
    promised.push(...crowd.flatMap((each) => each.said.filter((line) => /^\d+ \w+ \d+$/.test(line))))
    if (fs.existsSync(file)) mishaps[round % mishaps.length]!(file)

    const state = await tasks.get('TASK-001')
    const made = state.decisions_made.map(({ decision }, i) => `${i + 2} ${decision}`)
    expect(made).toHaveLength(state.version - 1)
    expect(promised.filter((line) => !made.includes(line))).toEqual([])
    expect(JSON.parse(fs.readFileSync(file, 'utf8'))).toEqual(state)
  }
})
