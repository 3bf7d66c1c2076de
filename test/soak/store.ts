// npm run soak -- --store file|postgres|nats [--kills 1000] [--minutes 60]
//
// Three processes append to one tape; again and again one of them, or the server, is killed. Afterwards nothing that was
// acknowledged is missing, nothing is there twice, and ids have no gaps.

import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { openStore } from '../../src/store/index.ts'
import { startNats } from '../support/nats.ts'
import { startPostgres } from '../support/postgres.ts'

interface Ground {
  readonly address: string
  /** Kills the server and starts it again; missing where there is none. */
  readonly crash?: () => Promise<void>
  readonly stop: () => Promise<void>
}

const grounds: Record<string, () => Promise<Ground>> = {
  async file() {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-soak-'))
    return {
      address: path.join(folder, '.baton'),
      stop: async () => fs.rmSync(folder, { recursive: true, force: true }),
    }
  },
  async postgres() {
    const server = await startPostgres({ durable: true })
    return { address: server.address('soak'), crash: () => server.crash(), stop: () => server.stop() }
  },
  async nats() {
    const servers = await startNats()
    const crash = async () => {
      await servers.kill(0)
      await servers.start(0)
    }
    return { address: servers.address('soak'), crash, stop: () => servers.stop() }
  },
}

const writers = 3
/** One kill in so many is of the server. */
const serverEvery = 10
/** A writer is killed when it has been acknowledged so many appends. */
const minAcks = 5

const { values } = parseArgs({
  options: {
    store: { type: 'string' },
    kills: { type: 'string', default: '1000' },
    /** Ends it earlier. */
    minutes: { type: 'string', default: '600' },
    write: { type: 'string' },
  },
})
if (values.write === undefined) await soak(values.store ?? '', Number(values.kills), Number(values.minutes))
else await write(values.write)

/** Appends until it is killed, four at once, and says what was acknowledged. */
async function write(address: string): Promise<void> {
  const store = await openStore(address).catch(() => process.exit(1))
  // The number of a process is given again after some ten thousand others.
  const writer = randomUUID().slice(0, 18)
  let n = 0
  const lane = async () => {
    for (;;) {
      const tag = `${writer}-${n++}`
      const [entry] = await store.append('main', [{ kind: 'count', payload: tag }])
      fs.writeSync(1, `${entry!.id} ${tag}\n`)
    }
  }
  // A server may be away for longer than an append waits; the process that takes this one's place continues.
  await Promise.all([lane(), lane(), lane(), lane()]).catch((error: Error) => {
    process.stderr.write(`a writer gave up: ${error.message}\n`)
    process.exit(1)
  })
}

async function soak(engine: string, kills: number, minutes: number): Promise<void> {
  const start = grounds[engine]
  if (start === undefined) throw new Error(`--store takes ${Object.keys(grounds).join(', ')}`)
  const ground = await start()
  const begun = performance.now()
  const passed = () => (performance.now() - begun) / 60_000
  let isOver = false
  const acknowledged = new Map<string, number>()
  const [counts, readers] = [new Map<ChildProcess, number>(), new Set<Promise<void>>()]
  const launch = () => {
    const child = spawn(process.execPath, [process.argv[1]!, '--write', ground.address], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    counts.set(child, 0)
    const lines = createInterface({ input: child.stdout })
    lines.on('line', (line) => {
      const [id, tag] = line.split(' ')
      // A line that the kill has cut is no promise.
      if (tag === undefined) return
      acknowledged.set(tag, Number(id))
      // What is read of one that was killed counts as acknowledged, but the process is no longer a writer.
      const before = counts.get(child)
      if (before !== undefined) counts.set(child, before + 1)
    })
    readers.add(new Promise((resolve) => lines.once('close', () => resolve())))
    // One that began while the server was away gives up; another takes its place.
    child.once('exit', () => {
      if (counts.delete(child) && !isOver) launch()
    })
  }
  for (let n = 0; n < writers; n++) launch()
  let kill = 0
  while (kill < kills && passed() < minutes) {
    kill++
    const victim = await ready(counts)
    if (kill % serverEvery === 0) await ground.crash?.()
    if (kill % serverEvery === 0 && ground.crash !== undefined) {
      for (const child of counts.keys()) counts.set(child, 0)
      await ready(counts)
    } else {
      counts.delete(victim)
      victim.kill('SIGKILL')
      launch()
    }
    if (kill % 50 === 0) say(`${kill} kills, ${acknowledged.size} acknowledged`)
  }
  isOver = true
  for (const child of counts.keys()) child.kill('SIGKILL')
  await Promise.all(readers)
  const found = await problems(ground.address, acknowledged)
  say(
    `${engine}: ${kill} kills in ${passed().toFixed(1)} minutes, ${acknowledged.size} acknowledged, ${found.length} problems`,
  )
  for (const problem of found.slice(0, 20)) say(problem)
  await ground.stop()
  if (found.length > 0) process.exitCode = 1
}

/** A writer that has been acknowledged enough to be worth killing. */
async function ready(counts: ReadonlyMap<ChildProcess, number>): Promise<ChildProcess> {
  for (const end = performance.now() + 120_000; ;) {
    for (const [child, count] of counts) if (count >= minAcks) return child
    if (performance.now() > end) throw new Error('The writers are stuck')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

async function problems(address: string, acknowledged: ReadonlyMap<string, number>): Promise<string[]> {
  const store = await openStore(address)
  const found: string[] = []
  const tags = new Map<string, number>()
  let last = 0
  for await (const { id, payload } of store.read('main')) {
    if (id !== last + 1) found.push(`entry ${id} comes behind ${last}`)
    if (tags.has(String(payload))) found.push(`${String(payload)} is there twice`)
    tags.set(String(payload), id)
    last = id
  }
  for (const [tag, id] of acknowledged) if (tags.get(tag) !== id) found.push(`${tag} is not entry ${id}`)
  await store.close()
  return found
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
