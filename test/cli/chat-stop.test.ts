// What happens when a person cancels, or the process is killed, at each stage of a turn.

import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { call, closedGate, inOrder, type ModelRequest, type Reply, say } from '../support/model-server/index.ts'
import type { Pane } from '../support/terminal.ts'
import { atRest, chatRooms, type Room } from './chat-room.ts'

const room = chatRooms()
const forever = new Promise<never>(() => {})

interface Stage {
  readonly name: string
  /** What the model says in the turn that is stopped. */
  readonly turn: Reply
  /** How the document is written, where one is. */
  readonly document?: Reply
  /** Gets the chat there. */
  reach(pane: Pane): Promise<void>
  /** On the screen after Escape. */
  readonly cancelled: string
}

const slow = { command: 'echo begun; touch begun; sleep 60; echo ended > ended' }

const stages: readonly Stage[] = [
  {
    name: 'while it waits for the first token',
    turn: say('never', { hold: forever }),
    reach: (pane) => pane.shows('Waiting for the model'),
    cancelled: '! Cancelled',
  },
  {
    name: 'in the middle of a response',
    turn: say('A response that is cut.', { hold: forever, holdAfter: 1 }),
    reach: (pane) => pane.shows('A respon'),
    cancelled: '! Cancelled',
  },
  {
    name: 'while a tool runs',
    turn: call('bash', slow),
    reach: async (pane) => {
      await pane.shows('allow once')
      await pane.press('y')
      await pane.shows('bash echo begun; touch begun; sleep 60; echo ended > ended · 1 line')
    },
    cancelled: '! Cancelled',
  },
  {
    name: 'while it asks for permission',
    turn: call('bash', slow),
    reach: (pane) => pane.shows('allow once'),
    cancelled: '· failed',
  },
  {
    name: 'while a handoff document is written',
    turn: say('Ready.'),
    document: say('## Goal\nShip it.', { hold: forever, holdAfter: 1 }),
    reach: async (pane) => {
      await pane.shows('Ready.')
      await pane.enter('/handoff', 'Handing off: writing')
    },
    cancelled: '! Handoff cancelled',
  },
]

function scripted({ turn, document }: Stage, after: readonly Reply[]) {
  const turns = inOrder([say('Hello.'), turn, ...after])
  const documents = inOrder(document === undefined ? [] : [document])
  return (request: ModelRequest) => (request.tools.length > 0 ? turns(request) : documents(request))
}

async function begin({ chat }: Room, stage: Stage): Promise<Pane> {
  const pane = await chat()
  await pane.enter('hi', 'Hello.')
  await atRest(pane)
  await pane.enter('do it')
  await stage.reach(pane)
  return pane
}

describe.concurrent.each(stages)('$name', (stage) => {
  test('Escape cancels, says so, and the session goes on [H4]', async () => {
    const here = await room({ script: scripted(stage, [say('Going on.'), say('And on.')]) })
    const pane = await begin(here, stage)
    await pane.press('Escape')
    await pane.shows(stage.cancelled)
    await atRest(pane)
    await pane.enter('go on', /Going on\.[\s\S]*(?:go on|And on)|go on[\s\S]*Going on\./)
    expect(pane.text).not.toContain('New session started')
    expect(fs.existsSync(path.join(here.folder, 'ended'))).toBe(false)
    expect(here.server.problems).toEqual([])
  })

  test('killed there, the next start resumes, tells where the work stands, and repeats nothing [T23]', async () => {
    const here = await room({ script: scripted(stage, [say('Going on.')]) })
    const pane = await begin(here, stage)
    await pane.enter('queued before the end', 'queued: the model gets it')
    const begun = () =>
      fs.existsSync(path.join(here.folder, 'begun')) ? fs.statSync(path.join(here.folder, 'begun')).mtimeMs : 0
    const before = begun()
    await pane.kill()
    const again = await here.chat()
    await again.shows('chat continues')
    expect(again.text).toContain('› hi')
    expect(again.text).toContain('› do it')
    if (stage.document === undefined) {
      await again.shows('The last run ended in the middle of a turn; nothing that was on the tape is lost.')
      await again.shows('Last anchor: session/start {"owner":"human"}')
    }
    await again.enter('go on', 'Going on.')
    const seen = here.server.requests.at(-1)!.messages
    const typed = seen.filter(({ role }) => role === 'user').map(({ text }) => text)
    expect(typed.slice(0, 2)).toEqual(['hi', 'do it'])
    expect(typed.at(-1)).toBe('go on')
    expect(typed).toContain('queued before the end')
    expect(begun()).toBe(before)
    const calls = seen.flatMap(({ toolCalls }) => toolCalls)
    const results = seen.flatMap(({ toolResults }) => toolResults)
    expect(results.map(({ id }) => id)).toEqual(calls.map(({ id }) => id))
    for (const { text } of results) expect(text).toContain('interrupted: the process ended while this ran')
    expect(here.server.problems).toEqual([])
  })
})

test('a tool that was cancelled is gone with all that it started', async () => {
  const gate = closedGate()
  const command = 'sleep 300 & echo $! > child; wait'
  const here = await room({ script: [call('bash', { command }), say('ok', { hold: gate.opened })] })
  const pane = await here.chat(['--yes'])
  await pane.enter('go')
  await pane.until(() => fs.existsSync(path.join(here.folder, 'child')), 'the child')
  await pane.press('Escape')
  await pane.shows('! Cancelled')
  const pid = Number(fs.readFileSync(path.join(here.folder, 'child'), 'utf8'))
  await expect.poll(() => fs.existsSync(`/proc/${pid}`), { timeout: 20_000 }).toBe(false)
  gate.open()
})
