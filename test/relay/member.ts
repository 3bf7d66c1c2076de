// A process that takes part in a relay: `node member.mjs FOLDER WORK NAME [REQUEST_ID]`. It says what it does, a line each.

import { openRelay, relaySection } from '../../src/relay/index.ts'
import { openFileStore } from '../../src/store/index.ts'
import { boundless, request, resolved, team } from './team.ts'

const [folder, work, name, requestId] = process.argv.slice(2) as [string, string, string, string]
const say = (line: string) => process.stdout.write(`${line}\n`)
const store = await openFileStore(folder)
const settings = relaySection.parse({ ...team, limits: boundless, leaseMs: 400 })
const forever = () => new Promise<never>(() => setInterval(() => {}, 60_000))

if (work === 'serve') {
  const relay = await openRelay({ store, settings })
  const stop = new AbortController()
  process.once('SIGTERM', () => stop.abort())
  const handler = (_body: object, { envelope }: { envelope: { requestId: string } }) => {
    say(envelope.requestId)
    return resolved
  }
  await relay.serve('researcher', handler, { signal: stop.signal, worker: name, concurrency: 4 })
  await relay.close()
}
if (work === 'hang') {
  const relay = await openRelay({ store, settings, handlers: { researcher: () => (say('working'), forever()) } })
  await relay.request(request(requestId), { requestId })
}
if (work === 'local') {
  const handlers = { researcher: () => (say('working'), resolved) }
  const relay = await openRelay({ store, settings, handlers })
  say(JSON.stringify(await relay.request(request(requestId), { requestId })))
  await relay.close()
}
if (work === 'ask') {
  const relay = await openRelay({ store, settings })
  await relay.request({ ...request(requestId), handoffTo: 'human' }, { requestId })
  say('asked')
  say(JSON.stringify(await relay.wait(requestId)))
  await relay.close()
}
if (work === 'resume') {
  const relay = await openRelay({ store, settings })
  const goOn = async () => (say('working'), name === 'hangs' ? forever() : 'done')
  say(await relay.resume(requestId, { by: 'generator' }, goOn).catch((error: Error) => error.message))
  await relay.close()
}
if (work === 'flood') {
  const relay = await openRelay({ store, settings })
  for (let i = 0; ; i++) {
    const id = `${name}-${i}`
    await relay.request(request(), { requestId: id, wait: false })
    say(id)
  }
}
await store.close()
