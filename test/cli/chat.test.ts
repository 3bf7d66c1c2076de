import { describe, expect, test } from 'vitest'
import { say } from '../support/model-server/index.ts'
import { chatRooms } from './chat-room.ts'

const room = chatRooms()

describe.concurrent('a chat on a terminal', () => {
  test('streams an answer as markdown, with the footer and colours of the terminal', async () => {
    const { chat, server } = await room({
      script: [say('# Plan\n\nSome **bold** words and `code`.', { usage: { input: 9_000, output: 1_000 } })],
    })
    const pane = chat()
    await pane.shows('chat · ⚓ session/start · test/scripted')
    await pane.enter('What is the plan?')
    await pane.shows('10% of 100k')
    const screen = await pane.screen()
    expect(screen).toContain('› What is the plan?')
    expect(screen).toContain('\nSome bold words and code.\n')
    expect(pane.styleOf('Plan')).toMatchObject({ color: 6, bold: true })
    expect(pane.styleOf('bold words')).toMatchObject({ color: -1, bold: true })
    expect(server.requests[0]!.messages).toMatchObject([{ role: 'user', text: 'What is the plan?' }])
    await pane.press('C-d')
    expect(await pane.exit()).toBe(0)
    expect(server.problems).toEqual([])
  })
})
