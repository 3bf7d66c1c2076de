import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { descendants, readEdges } from '../../src/tape/index.ts'
import { call, closedGate, fail, inOrder, type ModelRequest, type Reply, say } from '../support/model-server/index.ts'
import { atRest, chatRooms, type Room } from './chat-room.ts'

const room = chatRooms()

const document = `## Goal
Ship the parser.

## Constraints & Preferences
- Never touch vendor/.

## Progress
### Done
- [x] Wrote the lexer.
### In Progress
- [ ] The parser.
### Pending
- [ ] The docs.

## Key Decisions
- **Recursive descent**: easy to read; a generator was ruled out.

## Critical Context
- The token is in lexer.ts.

## Next Steps
1. Write parseExpression in parser.ts.
`

/** Turns from one list, documents from another: a document is asked for without tools. */
function scripted(turns: readonly Reply[], documents: readonly Reply[]) {
  const [turn, write] = [inOrder(turns), inOrder(documents)]
  return (request: ModelRequest) => (request.tools.length > 0 ? turn(request) : write(request))
}

async function talk({ chat }: Room) {
  const pane = await chat()
  await pane.enter('Write a parser', 'Started.')
  return pane
}

/** A chat whose document is written half way when the gate is closed; `then` is what the model says next. */
async function halfWritten(then: string) {
  const gate = closedGate()
  const held = say(document, { hold: gate.opened, holdAfter: 3 })
  const here = await room({ script: scripted([say('Started.'), say(then)], [held]) })
  const pane = await talk(here)
  await pane.enter('/handoff', 'Handing off: writing')
  return { gate, here, pane }
}

const tapes = (room: Room) =>
  room.store(async (store) => {
    const found: string[] = []
    for await (const { tape } of store.list()) if (!tape.includes('/') && tape !== 'lineage') found.push(tape)
    return found.sort()
  })

describe.concurrent('/handoff', () => {
  test('a new session starts with the document, which is all that the model gets [H1, H6, H8]', async () => {
    const here = await room({ script: scripted([say('Started.'), say('Going on.')], [say(document)]) })
    const pane = await talk(here)
    await pane.type('/handoff finish the parser')
    await pane.press('Enter')
    await pane.shows('✓ New session started with handoff context')
    await pane.shows('chat-2 · ⚓ session/start')
    expect(await pane.screen()).toContain('▤ Handoff document')
    expect(pane.text).not.toContain('/handoff finish')
    await pane.press('C-o')
    await pane.shows('Never touch vendor/.')
    const asked = here.server.requests[1]!
    expect(asked.tools).toEqual([])
    expect(asked.messages.at(-1)!.text).toContain('Additional focus: finish the parser')
    await pane.enter('go on', 'Going on.')
    const { messages } = here.server.requests[2]!
    expect(messages.map(({ role }) => role)).toEqual(['user', 'user'])
    expect(messages[0]!.text).toMatch(/^<handoff-context>[\s\S]*Ship the parser\.[\s\S]*<\/handoff-context>/)
    expect(messages[1]!.text).toBe('go on')
    const edges = await here.store((store) => readEdges(store))
    expect(descendants(edges, 'chat')).toEqual(['chat-2'])

    // A restart goes on where the session went on.
    await pane.press('C-d')
    expect(await pane.exit()).toBe(0)
    const again = await here.chat()
    await again.shows('chat-2 continues')
    expect(await again.screen()).toContain('Going on.')
  })

  test('without messages there is nothing to hand off [H2]', async () => {
    const { chat, server } = await room()
    const pane = await chat()
    await pane.enter('/handoff', '! Nothing to hand off (no messages yet)')
    expect(server.requests).toEqual([])
  })

  test('while a response streams it is refused [H2]', async () => {
    const gate = closedGate()
    const { chat, server } = await room({ script: [say('A long answer.', { hold: gate.opened, holdAfter: 1 })] })
    const pane = await chat()
    await pane.enter('Go', 'A long a')
    await pane.enter(
      '/handoff',
      '✗ Handoff failed: a response is still being written; wait for it or cancel it, then hand off',
    )
    gate.open()
    await pane.shows('A long answer.')
    expect(server.requests).toHaveLength(1)
  })

  test('shows progress and is cancelled by Escape; the old session goes on unchanged [H4, H6]', async () => {
    const { here, pane } = await halfWritten('Still here.')
    await pane.press('Escape')
    await pane.shows('! Handoff cancelled')
    await pane.shows('chat · ⚓ session/start')
    await pane.enter('and now?', 'Still here.')
    expect(here.server.requests[2]!.messages.map(({ text }) => text)).toEqual([
      'Write a parser',
      'Started.',
      'and now?',
    ])
    expect(await tapes(here)).toEqual(['chat'])
    expect(await here.server.requests[1]!.ended).toBe('aborted')
  })

  test('a model that fails or says nothing leaves the old session active [H6]', async () => {
    const here = await room({
      script: scripted([say('Started.')], [fail.status(400, 'no such deployment'), { noText: true }, { noText: true }]),
    })
    const pane = await talk(here)
    await pane.enter('/handoff', /✗ Handoff failed: .*no such deployment/)
    await pane.enter('/handoff', '✗ Handoff failed: the model returned no text')
    await pane.shows('chat · ⚓ session/start')
    expect(await tapes(here)).toEqual(['chat'])
  })

  test('what is typed while the document is written goes along and is answered there [H9]', async () => {
    const { gate, here, pane } = await halfWritten('Heard you.')
    await pane.enter('and use tabs', 'queued:')
    gate.open()
    await pane.shows('Heard you.')
    await pane.shows('New session started with handoff context')
    const { messages } = here.server.requests.at(-1)!
    expect(messages[0]!.text).toContain('Ship the parser.')
    expect(messages[1]!.text).toBe('and use tabs')
    expect(await tapes(here)).toEqual(['chat', 'chat-2'])
  })

  test('exit does not hang on a document that is being written [H4]', async () => {
    const here = await room({
      script: scripted([say('Started.')], [say(document, { hold: new Promise(() => {}), holdAfter: 1 })]),
    })
    const pane = await talk(here)
    await pane.enter('/handoff', 'Handing off: writing')
    await pane.press('C-d')
    expect(await pane.exit()).toBe(0)
    const again = await here.chat()
    await again.shows('chat continues')
  })
})

describe.concurrent('automatic handoffs', () => {
  test('after three of them in one session, facts from before the first are still with the model [H12, T22]', async () => {
    const long = (topic: string) => say(`${topic}: ${'considered at length. '.repeat(400)}`)
    let turns = 0
    const here = await room({
      window: 16_000,
      agent: { handoff: { at: 6_000, cooldown: 0, budget: 1_500 } },
      script: ({ messages }) => {
        const last = messages.at(-1)!
        if (last.role === 'user' && last.text.includes('Note the port'))
          return call('fs_read', { path: 'settings.txt' })
        turns++
        return long(`Answer ${turns}`)
      },
    })
    fs.writeFileSync(path.join(here.folder, 'settings.txt'), 'port = 48123\n')
    const pane = await here.chat(['--yes'], { rows: 50 })
    await pane.enter('Note the port in settings.txt. Never ever deploy on a Friday, whatever I say later.', 'Answer 1')
    const handoffs = () => pane.text.match(/✓ Handed off at about \d+ tokens/g)?.length ?? 0
    for (let n = 2; handoffs() < 3; n++) {
      if (n > 20) throw new Error(`no three handoffs in 20 turns:\n${pane.text}`)
      await atRest(pane)
      await pane.enter(`question ${n}`, `Answer ${n}`)
      await atRest(pane)
    }
    await pane.enter('May I deploy today, and which file had the port?', `Answer ${turns + 1}`)
    const seen = JSON.stringify(here.server.requests.at(-1)!.messages)
    expect(seen).toContain('Never ever deploy on a Friday')
    expect(seen).toContain('settings.txt')
    expect(seen.length).toBeLessThan(40_000)
    await pane.enter(',anchors', /(#\d+ handoff\/auto[\s\S]*){3}/)
    expect(await tapes(here)).toEqual(['chat'])
  })
})
