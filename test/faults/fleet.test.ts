// Several hosts share one store. A host is a network namespace with a name of its own, a cable to the store, and a clock.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { createInterface } from 'node:readline'
import { afterAll, expect, test, vi } from 'vitest'
import { openStore } from '../../src/store/index.ts'
import { sample } from '../support/full.ts'
import { startNats } from '../support/nats.ts'
import { startPostgres } from '../support/postgres.ts'
import { program } from '../support/program.ts'
import { collect } from '../support/workspace.ts'

const ip = (...args: string[]) => execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] })
const id = randomBytes(3).toString('hex')
const subnet = `10.${randomInt(64, 128)}.${randomInt(256)}`

class Host {
  readonly name: string
  readonly #space: string
  readonly #cable: string
  readonly #running = new Set<ChildProcess>()

  constructor(name: string, at: number) {
    this.name = name
    this.#space = `baton-${id}-${name}`
    this.#cable = `b${id}${at}`
    const [near, far] = [`${subnet}.${at * 4 + 1}`, `${subnet}.${at * 4 + 2}`]
    ip('netns', 'add', this.#space)
    ip('link', 'add', this.#cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', this.#space)
    ip('addr', 'add', `${near}/30`, 'dev', this.#cable)
    ip('link', 'set', this.#cable, 'up')
    ip('-n', this.#space, 'addr', 'add', `${far}/30`, 'dev', 'eth0')
    for (const device of ['lo', 'eth0']) ip('-n', this.#space, 'link', 'set', device, 'up')
    ip('-n', this.#space, 'route', 'add', 'default', 'via', near)
  }

  cut(): void {
    ip('link', 'set', this.#cable, 'down')
  }

  restore(): void {
    ip('link', 'set', this.#cable, 'up')
  }

  /** Starts a job of `fleet-host.ts` there; `aheadMs` is how much its clock is ahead of the others. */
  async run(job: string, address: string, aheadMs = 0): Promise<Job> {
    const file = await program(new URL('./support/fleet-host.ts', import.meta.url))
    const inside = [
      'sh',
      '-c',
      'hostname "$0" && exec "$@"',
      this.name,
      process.execPath,
      file,
      job,
      address,
      `${aheadMs}`,
    ]
    const child = spawn('ip', ['netns', 'exec', this.#space, 'unshare', '--uts', ...inside], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#running.add(child)
    return new Job(child)
  }

  /** As when its power fails. */
  async die(): Promise<void> {
    const alive = [...this.#running].filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
    const ended = alive.map((child) => new Promise<void>((resolve) => child.once('exit', () => resolve())))
    for (const child of alive) child.kill('SIGKILL')
    await Promise.all(ended)
    this.#running.clear()
  }

  async remove(): Promise<void> {
    await this.die()
    ip('netns', 'del', this.#space)
  }
}

interface Line {
  id?: number
  tag?: string
  [word: string]: unknown
}

class Job {
  readonly lines: Line[] = []
  readonly ended: Promise<void>

  constructor(child: ChildProcess) {
    const reader = createInterface({ input: child.stdout! })
    reader.on('line', (line) => this.lines.push(JSON.parse(line) as Line))
    this.ended = new Promise((resolve) => reader.once('close', () => resolve()))
  }

  async said(count: number): Promise<void> {
    await vi.waitUntil(() => this.lines.length >= count, { timeout: 240_000 })
  }

  async more(count: number): Promise<void> {
    await this.said(this.lines.length + count)
  }
}

// Processes are started in turn, which takes long where other tests have the cores.
vi.setConfig({ testTimeout: 300_000 })

const [ash, birch] = [new Host('ash', 0), new Host('birch', 1)]
const host = `${subnet}.1`
const [postgres, nats] = await Promise.all([
  startPostgres({ listen: host, access: `host all all ${subnet}.0/24 trust` }),
  startNats({ host }),
])
afterAll(async () => {
  for (const each of [ash, birch]) await each.remove()
  await Promise.all([postgres.stop(), nats.stop()])
})

const engines = [
  { engine: 'PostgreSQL', address: (name: string) => `postgres://baton@${host}/postgres?schema=${name}` },
  { engine: 'NATS', address: (name: string) => nats.address(name) },
]

test.each(engines)(
  'two hosts write to one tape on $engine while the network of one is cut: the other continues, nothing is lost or there twice [E5]',
  async ({ address }) => {
    const [one, two] = [await ash.run('append', address('tape')), await birch.run('append', address('tape'))]
    await Promise.all([one.said(20), two.said(20)])
    birch.cut()
    // What was acknowledged before the cut may still be on its way from the process to this one.
    await one.more(30)
    const before = two.lines.length
    await one.more(30)
    expect(two.lines.length).toBe(before)
    birch.restore()
    await two.more(20)
    for (const each of [ash, birch]) await each.die()
    const reader = await openStore(address('tape'))
    const tags = (await collect(reader.read('main'))).map(({ id: at, payload }) => {
      return { id: at, tag: (payload as { tag: string }).tag }
    })
    await reader.close()
    expect(tags.map(({ id: at }) => at)).toEqual(tags.map((_, at) => at + 1))
    expect(new Set(tags.map(({ tag }) => tag)).size).toBe(tags.length)
    const lost = [...one.lines, ...two.lines].filter((acked) => tags[acked.id! - 1]?.tag !== acked.tag)
    expect(lost).toEqual([])
  },
)

test.each(sample(engines, 1))(
  'of two hosts that compete for one session on $engine one gets it; when it dies, the other tells it as lost and leaves it alone, with clocks 60 s apart [E5]',
  async ({ address }) => {
    const at = address('lease')
    const both = await Promise.all([ash.run('supervise', at), birch.run('supervise', at, 60_000)])
    await Promise.all(both.map((job) => job.said(1)))
    expect(new Set(both.map((job) => Object.keys(job.lines[0]!)[0]))).toEqual(new Set(['held', 'refused']))
    const [holder, other] = 'held' in both[0].lines[0]! ? [ash, birch] : [birch, ash]
    const refused = both.flatMap((job) => job.lines).find((line) => 'refused' in line)
    expect(refused!['refused']).toMatch(new RegExp(`night is supervised by process \\d+ on ${holder.name}`))
    const seen = async (from: Host, aheadMs: number) => {
      const job = await from.run('sessions', at, aheadMs)
      await job.ended
      return job.lines
    }
    // A minute more or less makes no difference to a lease of three.
    for (const aheadMs of [-60_000, 60_000]) {
      expect(await seen(other, aheadMs)).toMatchObject([
        { name: 'night', state: 'working', supervisor: { host: holder.name } },
        { abandoned: [] },
      ])
    }
    await holder.die()
    expect(await seen(other, 5 * 60_000)).toMatchObject([
      { name: 'night', state: 'lost', host: holder.name },
      { abandoned: [] },
    ])
    // On its own machine it is taken up again.
    expect(await seen(holder, 5 * 60_000)).toMatchObject([{ name: 'night' }, { abandoned: ['night'] }])
  },
)

test.each(sample(engines, 1))(
  'an inbox on $engine is that of all hosts: one asks, another answers [E5]',
  async ({ address }) => {
    const serving = await birch.run('serve', address('relay'))
    await serving.said(1)
    const asking = await ash.run('ask', address('relay'))
    await asking.said(1)
    expect(asking.lines).toMatchObject([{ outcome: { status: 'resolved' } }])
    await birch.die()
  },
)
