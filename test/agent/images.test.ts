import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { fsRead, withImages } from '../../src/agent/index.ts'
import { openTape, type Part } from '../../src/tape/index.ts'
import { type Api, closedGate, fail, say } from '../support/model-server/index.ts'
import { collect, temporaryFolder, temporaryStore } from '../support/workspace.ts'
import { probe, scene } from './harness.ts'

const tiny = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
/** A PNG to whoever looks at its first bytes, and larger than any line of a tape. */
const large = Buffer.concat([tiny, Buffer.alloc(1_200_000, 7)])
/** The scripted server counts bytes, and images are dear by those. */
const usage = { input: 3_000, output: 10 }
const apis: readonly Api[] = ['chat-completions', 'responses', 'messages']

/** How often the data of the image is in the request in the shape of an image, rather than in a text. */
function imagesIn(raw: unknown, image: Buffer): number {
  const data = image.toString('base64')
  const text = JSON.stringify(raw)
  const shapes = [
    `"image_url":{"url":"data:image/png;base64,${data}"`,
    `"image_url":"data:image/png;base64,${data}"`,
    `"source":{"type":"base64","media_type":"image/png","data":"${data}"`,
  ]
  expect(text.split(data).length - 1).toBe(shapes.reduce((sum, shape) => sum + text.split(shape).length - 1, 0))
  return text.split(data).length - 1
}

describe.each(apis)('images over %s', (api) => {
  test('an image that a person submits reaches the model, in this turn and in the next [T1, T21]', async () => {
    const { agent, server } = await scene([say('A dot.', { usage }), say('Red.', { usage })], {}, api)
    const image = { type: 'image', mediaType: 'image/png', data: large.toString('base64') }
    expect(await agent.submit([{ type: 'text', text: 'What is it?' }, image])).toMatchObject({ text: 'A dot.' })
    await agent.submit('Which colour?')
    expect(server.requests.map(({ raw }) => imagesIn(raw, large))).toEqual([1, 1])
    expect(server.requests[0]!.messages[0]!.text).toContain('What is it?')
  })

  test('an image in the result of a tool reaches the model as an image [T1, T21]', async () => {
    const cwd = temporaryFolder()
    fs.writeFileSync(path.join(cwd, 'logo.png'), large)
    const shot = probe('test.shot', () => ({ output: { type: 'image', mediaType: 'image/png', data: tiny } }))
    const script = [
      {
        toolCalls: [
          { name: 'fs_read', arguments: { path: 'logo.png' } },
          { name: 'test_shot', arguments: { text: 'x' } },
        ],
      },
      say('Two images.', { usage }),
      say('Still two.', { usage }),
    ]
    const { agent, server } = await scene(script, { cwd, tools: [fsRead, shot] }, api)
    expect(await agent.submit('Look.')).toMatchObject({ status: 'done', text: 'Two images.' })
    await agent.submit('Sure?')
    for (const { raw } of server.requests.slice(1)) {
      expect(imagesIn(raw, large)).toBe(1)
      expect(imagesIn(raw, tiny)).toBeGreaterThan(0)
    }
  })
})

test('an image that is sent during a turn waits on the tape and reaches the model [T21, T1]', async () => {
  const gate = closedGate()
  const { agent, server, until } = await scene([say('One.', { hold: gate.opened }), say('Two.', { usage })])
  const queued = until((event) => event.type === 'queued')
  const turn = agent.submit('Begin.')
  await server.next()
  const image = { type: 'image', mediaType: 'image/png', data: large }
  expect(await agent.submit([{ type: 'text', text: 'And this?' }, image])).toEqual({ kind: 'queued' })
  expect(await queued).toEqual({ type: 'queued', message: 'And this?' })
  gate.open()
  await turn
  expect(imagesIn(server.requests[1]!.raw, large)).toBe(1)
})

test('a model that takes no images is told their names, and the turn goes on [T22]', async () => {
  const refusal = 'Invalid content type. image_url is only supported by certain models.'
  const { agent, server, of } = await scene([fail.status(400, refusal), say('A name only.'), say('Yes.')])
  const image = { type: 'image', mediaType: 'image/png', filename: 'dot.png', data: tiny }
  expect(await agent.submit([{ type: 'text', text: 'See?' }, image])).toMatchObject({ text: 'A name only.' })
  expect(server.requests[1]!.messages[0]!.text).toContain('[image dot.png, image/png]')
  await agent.submit('Sure?')
  expect(server.requests.map(({ raw }) => imagesIn(raw, tiny))).toEqual([1, 0, 0])
  expect(of('warning').map(({ message }) => message)).toEqual([expect.stringContaining('refused the images') as string])
})

const data = large.toString('base64')
const url = `data:image/png;base64,${data}`
const shapes: readonly (readonly [name: string, part: Part])[] = [
  ['ours', { type: 'image', mediaType: 'image/png', data }],
  ['the AI SDK', { type: 'image', image: data, mediaType: 'image/png' }],
  ['the AI SDK, as a file', { type: 'file', data: url, mediaType: 'image/png' }],
  ['Anthropic', { type: 'image', source: { type: 'base64', media_type: 'image/png', data } }],
  ['chat completions', { type: 'image_url', image_url: { url, detail: 'high' } }],
  ['responses', { type: 'input_image', image_url: url, detail: 'auto' }],
  ['MCP', { type: 'image', mimeType: 'image/png', data }],
]

describe.each(shapes)('an image in the shape of %s', (_name, part) => {
  test('comes back letter by letter and is rendered for every provider, in a message and in a result [T1, T7]', async () => {
    const tape = await openTape('main', { store: await temporaryStore() })
    const said: Part[] = [{ type: 'text', text: 'See' }, part]
    await tape.record({ role: 'user', content: said })
    const calls = ['a', 'b', 'c'].map((id) => ({ id, name: 'shot', arguments: {} }))
    const outputs = [said, part, { content: said, isError: false }]
    const results = outputs.map((output, i) => ({ call_id: calls[i]!.id, name: 'shot', output }))
    await tape.append([
      { kind: 'tool_call', payload: { calls } },
      { kind: 'tool_result', payload: { results } },
    ])
    const entries = await collect(tape.entries({ kinds: ['message', 'tool_result'] }))
    expect(JSON.stringify(entries).length).toBeLessThan(10_000)
    const contexts = [
      (await tape.context({ format: 'openai' })).messages,
      (await tape.context({ format: 'anthropic' })).messages,
    ]
    for (const messages of contexts) expect(imagesIn(messages, large)).toBe(4)
    const sdk = (await tape.context({ format: 'ai-sdk' })).messages
    const parts = sdk.flatMap(({ role, content }) => (role === 'user' && typeof content !== 'string' ? content : []))
    expect(parts.filter((each) => each.type === 'image' && each.image === data)).toHaveLength(4)
    expect(JSON.stringify(sdk).split(data)).toHaveLength(5)
    const { contextTokens } = await tape.info()
    expect(contextTokens).toBeGreaterThan(6_400)
    expect(contextTokens).toBeLessThan(7_500)
  })
})

test('images that a line names go along with it: behind @, or by an absolute path [T19]', async () => {
  const cwd = temporaryFolder()
  for (const name of ['a.png', 'my photo.PNG', 'note.png']) fs.writeFileSync(path.join(cwd, name), tiny)
  fs.writeFileSync(path.join(cwd, 'note.png'), 'only text')
  const names = async (line: string) => (await withImages(line, cwd)).images.map((file) => path.basename(file))
  expect(await names('What is in @a.png?')).toEqual(['a.png'])
  expect(await names(`Compare @a.png with ${cwd}/my\\ photo.PNG.`)).toEqual(['a.png', 'my photo.PNG'])
  expect(await names(`'${cwd}/my photo.PNG' and @"my photo.PNG"`)).toEqual(['my photo.PNG'])
  expect(await names(`file://${cwd}/my%20photo.PNG`)).toEqual(['my photo.PNG'])
  expect(await names('Move a.png to @missing.png, write to me@a.png, see @note.png')).toEqual([])
  fs.writeFileSync(path.join(cwd, 'big.png'), Buffer.concat([tiny, Buffer.alloc(4_000_000)]))
  await expect(withImages('@big.png', cwd)).rejects.toThrow('too large')
})
