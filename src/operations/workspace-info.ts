// The workspace as a whole: what it is, how much it holds, whether it is as it was written, and the same as a copy of it.

import os from 'node:os'
import { buffer } from 'node:stream/consumers'
import * as z from 'zod'
import { BatonError, InvalidError } from '../errors.ts'
import { differences, openStore, type Store } from '../store/index.ts'
import { operation } from './operation.ts'
import manifest from '../../package.json' with { type: 'json' }
import { agentNames } from '../agents/index.ts'
import { isReserved } from '../tape/index.ts'

export const workspaceInfo = operation('workspace.info', 'read', 'GET /workspace', {
  summary: 'Which workspace this is, what an acknowledged write means here, and how much it holds.',
  input: z.object({}),
  output: z.object({
    workspace: z.string().describe('Identifies it in tape:// references.'),
    place: z.string().describe('Where it is, for people.'),
    project: z.string(),
    guarantee: z.string(),
    version: z.string().describe('Of Baton.'),
    host: z.string().describe('The machine that answers: other sessions of a shared store run elsewhere.'),
    agents: z.array(z.string()).describe('The agents that Baton knows by itself.'),
    tapes: z.int(),
    entries: z.int(),
    bytes: z.int(),
  }),
  async run({ store, project }) {
    const total = { tapes: 0, entries: 0, bytes: 0 }
    for await (const { tape, entries, bytes } of store.list()) {
      if (!isReserved(tape)) total.tapes += 1
      total.entries += entries
      total.bytes += bytes
    }
    const { workspace, place, guarantee } = store
    return {
      workspace,
      place,
      project,
      guarantee,
      version: manifest.version,
      host: os.hostname(),
      agents: agentNames,
      ...total,
    }
  },
})

export const workspaceVerify = operation('workspace.verify', 'operate', 'POST /workspace/verify', {
  summary: 'Read everything in the workspace and check it, or compare it with a copy.',
  input: z.object({
    other: z.string().min(1).max(4000).optional().describe('The address of a copy; only on the command line.'),
  }),
  output: z.object({
    place: z.string(),
    tapes: z.int(),
    entries: z.int(),
    blobs: z.int(),
    problems: z.array(z.string()),
  }),
  async run({ store }, { other }, { progress, caller }) {
    if (other !== undefined && caller.local !== true)
      throw new InvalidError('A copy can be compared on the command line only', {
        path: 'other',
        hint: 'Run: baton store verify OTHER',
      })
    const problems: string[] = []
    const note = (problem: string) => void problems.push(problem)
    const { tapes, blobs } = await store.contents()
    let entries = 0
    for (const [at, tape] of tapes.entries()) {
      progress(`${at} of ${tapes.length} tapes, ${entries} entries`)
      entries += await verifyTape(store, tape, note)
    }
    for (const [at, blob] of blobs.entries()) {
      progress(`${at} of ${blobs.length} blobs`)
      await problemOf(() => store.getBlob(blob).then(buffer), note)
    }
    if (other !== undefined) await compare(store, other, note)
    return { place: store.place, tapes: tapes.length, entries, blobs: blobs.length, problems }
  },
})

/** Every entry is read, and the ids have no gap. */
async function verifyTape(store: Store, tape: string, note: (problem: string) => void): Promise<number> {
  let entries = 0
  await problemOf(async () => {
    let last: number | undefined
    for await (const { id } of store.read(tape, {
      archived: true,
      onDamage: ({ message }) => note(`${tape}: ${message}`),
    })) {
      if (last !== undefined && id !== last + 1) note(`${tape}: entries ${last + 1} to ${id - 1} are missing`)
      last = id
      entries++
    }
  }, note)
  return entries
}

async function compare(store: Store, address: string, note: (problem: string) => void): Promise<void> {
  const other = await openStore(address)
  try {
    for await (const difference of differences(store, other)) note(difference)
  } finally {
    await other.close()
  }
}

/** What is wrong with the store is listed; anything else that goes wrong ends the operation. */
async function problemOf(work: () => Promise<unknown>, note: (problem: string) => void): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!BatonError.is(error) || error.code !== 'damaged') throw error
    note(error.message)
  }
}
