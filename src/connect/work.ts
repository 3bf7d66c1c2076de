// What hooks leave to be done behind the agent's back: the tape and the meters brought up to date, and the documents of what
// stood before a compaction or a clear. One worker at a time does it for the whole machine, and the hooks start it.

import fs from 'node:fs'
import path from 'node:path'
import { agentNamed, type SessionFile } from '../agents/index.ts'
import { trustedWorkspace } from '../config/index.ts'
import { ownFolder, saveDocument, writeDocument } from '../handoff/index.ts'
import { openRelay, relaySection } from '../relay/index.ts'
import { openStore, type Store } from '../store/index.ts'
import { createFile, Lock, makeFolder } from '../system/index.ts'
import { Tape } from '../tape/index.ts'
import { importSession, listSessions, resolveSession, type Session } from '../transcripts/index.ts'
import { HookState, type Job } from './hook-state.ts'

/** Does the jobs that wait. Returns at once if another worker is at it: that one takes the new jobs too. */
export async function workOnJobs(env: NodeJS.ProcessEnv): Promise<number> {
  const state = new HookState(env)
  makeFolder(state.folder)
  let done = 0
  // A job that arrives while a worker lets go of the lock has started a worker of its own, so none is left behind.
  while (state.jobs().length > 0) {
    const lock = new Lock(path.join(state.folder, 'worker.lock'), 0)
    try {
      if (!lock.tryNow()) return done
      for (const { job, remove } of pendingJobs(state)) {
        if (job !== undefined) await tried(state, job, env)
        remove()
        done++
      }
    } finally {
      lock.close()
    }
  }
  return done
}

/** The jobs, oldest first. Of several that only bring a session up to date, the newest will do. */
function pendingJobs(state: HookState): { job: Job | undefined; remove: () => void }[] {
  const all = state.jobs()
  return all.map(({ job, done }, at) => {
    const again = all.slice(at + 1).some(({ job: later }) => job?.work === 'turn' && isSame(job, later))
    return { job: again ? undefined : job, remove: done }
  })
}

function isSame(a: Job, b: Job | undefined): boolean {
  return a.agent === b?.agent && a.session === b.session && b.work === 'turn'
}

async function tried(state: HookState, job: Job, env: NodeJS.ProcessEnv): Promise<void> {
  try {
    await doJob(state, job, env)
  } catch (error) {
    const hint = (error as { hint?: string }).hint
    const message = error instanceof Error ? error.message : String(error)
    state.log(`${job.agent} ${job.session}: ${job.work} failed: ${message}${hint === undefined ? '' : ` (${hint})`}`)
  }
}

async function doJob(state: HookState, job: Job, env: NodeJS.ProcessEnv): Promise<void> {
  const file = sessionOf(job, env)
  // An agent that was started and left again has said nothing, and there is nothing to keep.
  if (file === undefined) return
  const store = await openStore(trustedWorkspace({ cwd: job.cwd, env }).address)
  try {
    const upTo = job.work === 'document' && job.bytes !== undefined ? { upTo: job.bytes } : {}
    const { tape } = await importSession(store, file, { env, ...upTo })
    const session = listSessions({ env, agent: file.agent, subagents: true }).find(
      (each) => each.path === file.path && each.id === file.id,
    )
    if (job.work === 'document' && (job.ifFull !== true || willCompact(session, job, env))) {
      await writeBefore(store, tape, session, job)
      if (job.ifFull === true) state.remember(job.agent, job.session, { compacted: job.file! })
    }
    await setGauge(state, store, session, job)
  } finally {
    await store.close()
  }
}

function sessionOf({ agent, session, transcript, cwd }: Job, env: NodeJS.ProcessEnv): SessionFile | undefined {
  if (transcript === undefined) return resolveSession(`${agent}:${session}`, { env, cwd })
  return fs.existsSync(transcript) ? resolveSession(transcript, { env, cwd, agent }) : undefined
}

/** How near to the point where the agent compacts its context has to be: the event comes just before that turn's words are sent. */
const nearCompaction = 0.85

function willCompact(session: Session | undefined, { agent, cwd }: Job, env: NodeJS.ProcessEnv): boolean {
  const { tokens, window } = session?.meter ?? {}
  const at = agentNamed(agent).compactsAt?.({ window, model: session?.model, cwd, env })
  return tokens !== undefined && at !== undefined && tokens >= at * nearCompaction
}

async function writeBefore(store: Store, tape: string, session: Session | undefined, job: Job): Promise<void> {
  const percent = session?.meter.percent
  const written = await writeDocument(new Tape(store, tape), {
    cwd: job.cwd,
    project: job.cwd,
    ...(percent === undefined ? {} : { contextUsage: Math.round(percent) }),
  })
  await saveDocument(store, tape, written.markdown, written.note, written.document)
  const file = job.file!
  ownFolder(path.dirname(file))
  createFile(file, written.markdown)
}

async function setGauge(state: HookState, store: Store, session: Session | undefined, job: Job): Promise<void> {
  const { percent, quotas = [] } = session?.meter ?? {}
  state.setGauge(job.agent, job.session, {
    ...(percent === undefined ? {} : { percent }),
    quotas: quotas.map(({ name, usedPercent }) => ({ name, usedPercent })),
    waiting: await waitingIn(store),
    at: Date.now(),
  })
}

/** How many questions wait for a person. */
async function waitingIn(store: Store): Promise<number> {
  if ((await store.info('relay/handoffs')) === undefined) return 0
  const relay = await openRelay({ store, settings: relaySection.parse({}) })
  try {
    return (await relay.escalations.ids()).length
  } finally {
    await relay.close()
  }
}
