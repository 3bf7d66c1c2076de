import fc from 'fast-check'
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Store } from '../../src/store/index.ts'
import { readEdges, Tape } from '../../src/tape/index.ts'
import type { AgentName } from '../../src/agents/index.ts'
import { importSession } from '../../src/transcripts/index.ts'
import { importFile } from '../../src/transcripts/import.ts'
import { fileAt } from '../../src/transcripts/resolve.ts'
import { collect, temporaryFolder, temporaryStore } from '../support/workspace.ts'
import { asked, type Asked, fixtures, homeWith, sessionsIn } from './home.ts'

type Message = { role: string; content: string | null; tool_calls?: { function: { name: string } }[] }

async function contextOf(store: Store, tape: string): Promise<Message[]> {
  return (await new Tape(store, tape).context({ format: 'openai' })).messages as Message[]
}

describe.each(['claude', 'codex', 'pi', 'opencode'] as const)('%s', (agent) => {
  test('the context of an imported session is what the agent gave its model [C2, H11]', async () => {
    const home = homeWith(agent)
    const store = await temporaryStore()
    const [file] = sessionsIn(home, agent)
    const { tape } = await importSession(store, file!, { env: home.env })
    const context = await contextOf(store, tape)
    const given = asked(agent)
    // The last reply is the answer to what was given.
    expect(spoken(context).slice(0, -1)).toEqual(givenWords(given))
    // Word for word, but for the frame that each puts around a summary.
    const said = given
      .flatMap((message) => [message.text, ...message.toolResults.map((result) => result.text)])
      .join('\n')
    for (const { role, content } of context) {
      // What Codex says as the developer is among the instructions of the request.
      if (content === null || /^<(handoff|skills_instructions)/.test(content) || role === 'system') continue
      if (content !== context.at(-1)!.content) expect(said).toContain(content.trim())
    }
  })

  test('a compaction is an anchor with the summary of the agent [C2, H11]', async () => {
    const home = homeWith(agent)
    const store = await temporaryStore()
    const [file] = sessionsIn(home, agent)
    const { tape } = await importSession(store, file!, { env: home.env })
    const anchors = await new Tape(store, tape).anchors()
    expect(anchors.map(({ name }) => name)).toEqual(['session/start', 'compaction'])
    expect((anchors[1]!.state as { summary: string }).summary).toContain('We wrote notes.txt and ran its check')
  })

  test('importing again brings only what is new [C2]', async () => {
    const home = homeWith(agent)
    const store = await temporaryStore()
    const [file] = sessionsIn(home, agent)
    const first = await importFile(store, file!)
    expect(first).toMatchObject({ created: true, damaged: [] })
    const entries = await collect(store.read(first.tape))
    expect(await importFile(store, file!)).toMatchObject({ entries: 0, created: false, replaced: false })
    expect(await collect(store.read(first.tape))).toEqual(entries)
  })

  test('the import is part of the lineage, and so are those of subagents [T13]', async () => {
    const home = homeWith(agent)
    const store = await temporaryStore()
    const [file] = sessionsIn(home, agent)
    const { tape, subagents } = await importSession(store, file!, { env: home.env })
    const edges = await readEdges(store)
    expect(edges).toContainEqual(
      expect.objectContaining({ child: tape, how: 'import', parent: expect.stringContaining(file!.path) }),
    )
    for (const each of subagents) {
      expect(edges).toContainEqual(expect.objectContaining({ parent: tape, child: each.tape, how: 'import' }))
      const context = await contextOf(store, each.tape)
      expect(context.some(({ content }) => content?.includes('subtask') === true)).toBe(true)
    }
    expect(subagents).toHaveLength(agent === 'pi' ? 0 : 1)
  })
})

/** The tools called and the words of the assistant, in order. */
function spoken(messages: readonly Message[]): string[] {
  return messages.flatMap(({ role, content, tool_calls: calls = [] }) =>
    role === 'assistant' ? [...(content ? [content] : []), ...calls.map((call) => call.function.name)] : [],
  )
}

function givenWords(messages: readonly Asked[]): string[] {
  return messages.flatMap(({ role, text, toolCalls }) =>
    // A summary opens the imported context; some agents let it be the model's own words.
    role === 'assistant' && !text.startsWith('We wrote notes.txt')
      ? [...(text === '' ? [] : [text]), ...toolCalls.map((call) => call.name)]
      : [],
  )
}

test('tools keep the names and arguments that their agent gave them [C2]', async () => {
  const names: Record<AgentName, string[]> = {
    claude: ['Write', 'Bash', 'Agent'],
    codex: ['exec_command', 'exec_command', 'spawn_agent', 'wait_agent'],
    pi: ['write', 'bash'],
    gemini: ['write_file', 'run_shell_command'],
    opencode: ['write', 'bash', 'task'],
  }
  for (const [agent, expected] of Object.entries(names)) {
    const home = homeWith(agent)
    const store = await temporaryStore()
    const [file] = sessionsIn(home, agent)
    const { tape } = await importFile(store, file!)
    const calls = await collect(store.read(tape, { kinds: ['tool_call'] }))
    const made = calls.flatMap(({ payload }) => (payload as { calls: { name: string; arguments: object }[] }).calls)
    expect(made.map(({ name }) => name)).toEqual(expected)
    expect(JSON.stringify(made.map((call) => call.arguments))).toContain('first note')
  }
})

describe('a transcript that changes', () => {
  const transcript = () => {
    const folder = temporaryFolder()
    const home = homeWith('claude')
    const [file] = sessionsIn(home, 'claude')
    const lines = fs.readFileSync(file!.path, 'utf8').split(/(?<=\n)/)
    const copy = path.join(folder, path.basename(file!.path))
    return { lines, copy }
  }

  test('a tape brought up to date in any steps says the same as one made at once [C2]', async () => {
    const { lines, copy } = transcript()
    const text = lines.join('')
    const whole = await temporaryStore()
    fs.writeFileSync(copy, text)
    const { tape } = await importFile(whole, fileAt(copy))
    const expected = await plain(whole, tape)
    const cuts = fc.uniqueArray(fc.integer({ min: 0, max: text.length }), { maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(cuts, async (at) => {
        const store = await temporaryStore(path.join(temporaryFolder(), '.baton'))
        // Cut anywhere: a line without its end is left for the next time.
        for (const cut of [...at.sort((a, b) => a - b), text.length]) {
          fs.writeFileSync(copy, text.slice(0, cut))
          await importFile(store, fileAt(copy, 'claude'), { tape })
        }
        expect(await plain(store, tape)).toEqual(expected)
      }),
      { numRuns: 12 },
    )
  })

  test('an import that died between two batches goes on behind the last one [C2]', async () => {
    const { lines, copy } = transcript()
    fs.writeFileSync(copy, lines.slice(0, 10).join(''))
    const store = await temporaryStore()
    const { tape } = await importFile(store, fileAt(copy))
    fs.writeFileSync(copy, lines.join(''))
    const dying = new Proxy(store, {
      get(target, name) {
        if (name === 'append') return () => Promise.reject(new Error('killed'))
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    })
    await expect(importFile(dying, fileAt(copy))).rejects.toThrow('killed')
    await importFile(store, fileAt(copy))
    const other = await temporaryStore()
    await importFile(other, fileAt(copy))
    expect(await plain(store, tape)).toEqual(await plain(other, tape))
  })

  test('damaged lines are reported with their place, kept visible and skipped [C2]', async () => {
    const { lines, copy } = transcript()
    const before = lines.slice(0, 12).join('')
    fs.writeFileSync(copy, `${before}{"type":"user","message\n[1]\n${lines.slice(12).join('')}`)
    const store = await temporaryStore()
    const { tape, damaged } = await importFile(store, fileAt(copy))
    expect(damaged).toMatchObject([
      { file: copy, line: 13, offset: Buffer.byteLength(before), bytes: 24 },
      { line: 14, message: 'not a JSON object' },
    ])
    const events = await collect(store.read(tape, { kinds: ['event'] }))
    const noted = events.filter(({ payload }) => (payload as { name: string }).name === 'damaged')
    expect(noted.map(({ payload }) => (payload as { data: { line: number } }).data.line)).toEqual([13, 14])
    const sound = await temporaryStore()
    fs.writeFileSync(copy, lines.join(''))
    await importFile(sound, fileAt(copy))
    expect(await contextOf(store, tape)).toHaveLength((await contextOf(sound, tape)).length)
  })

  test('lines that nobody knows are kept as events [C2]', async () => {
    const { lines, copy } = transcript()
    fs.writeFileSync(copy, `${lines.join('')}{"type":"brand-new","sessionId":"s","answer":42}\n`)
    const store = await temporaryStore()
    const { tape } = await importFile(store, fileAt(copy))
    const events = await collect(store.read(tape, { kinds: ['event'] }))
    expect(events.map(({ payload }) => payload)).toContainEqual({
      name: 'claude/brand-new',
      data: { type: 'brand-new', answer: 42 },
    })
  })

  test('a transcript that was cut short or replaced is read anew, and the context is that of the new one [C2]', async () => {
    const { lines, copy } = transcript()
    fs.writeFileSync(copy, lines.join(''))
    const store = await temporaryStore()
    const { tape } = await importFile(store, fileAt(copy))
    fs.writeFileSync(copy, lines.slice(0, 14).join(''))
    expect(await importFile(store, fileAt(copy))).toMatchObject({ replaced: true, created: false })
    const alone = await temporaryStore()
    await importFile(alone, fileAt(copy))
    expect(await contextOf(store, tape)).toEqual(await contextOf(alone, tape))
    expect(await importFile(store, fileAt(copy))).toMatchObject({ entries: 0, replaced: false })
  })

  test('a prompt that hangs on an earlier line takes the context back there [C2]', async () => {
    const { lines, copy } = transcript()
    const parsed = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    const first = parsed.findIndex((line) => line.type === 'system' && line.subtype === 'turn_duration')
    const early = parsed[first]!
    const template = parsed.find((line) => line.type === 'user' && line.promptSource !== undefined)!
    const prompt = {
      ...template,
      parentUuid: early.uuid,
      uuid: 'rewound',
      message: { role: 'user', content: 'another way' },
    }
    // Rewound while the later turns were already on the tape, and in one import.
    const upTo = parsed.findIndex((line, i) => i > first && line.subtype === 'turn_duration') + 1
    const rewound = `${lines.slice(0, upTo).join('')}${JSON.stringify(prompt)}\n`
    const expected = [...lines.slice(0, first + 1), `${JSON.stringify(prompt)}\n`].join('')
    const contexts: Message[][] = []
    for (const steps of [[expected], [rewound], [lines.slice(0, upTo).join(''), rewound]]) {
      const store = await temporaryStore()
      for (const text of steps) {
        fs.writeFileSync(copy, text)
        await importFile(store, fileAt(copy, 'claude'), { tape: 'one' })
      }
      contexts.push(await contextOf(store, 'one'))
    }
    expect(contexts[1]).toEqual(contexts[0])
    expect(contexts[2]).toEqual(contexts[0])
  })
})

test('a stopped turn, a compaction and the same history told anew in Gemini CLI leave the context that it has [C2]', async () => {
  const home = homeWith('gemini')
  const store = await temporaryStore()
  const file = sessionsIn(home, 'gemini').find(({ path: at }) => at.endsWith('.jsonl'))!
  const { tape } = await importFile(store, file)
  const context = await contextOf(store, tape)
  expect(context[0]!.content).toContain('<handoff anchor=\\"compaction\\"'.replaceAll('\\', ''))
  expect(context.slice(1).map(({ role, content }) => [role, content])).toEqual([
    ['assistant', 'Got it. Thanks for the additional context!'],
    ['user', 'now fill the context'],
    ['assistant', 'The context is large now.'],
    ['user', 'go on'],
    ['assistant', 'All right.'],
  ])
  for (const { role, text } of asked('gemini'))
    if (role === 'assistant') expect(context.map(({ content }) => content)).toContain(text)
  const all = await new Tape(store, tape).search('wrong question')
  expect(all.length).toBeGreaterThan(0)
})

test('a packed rollout of Codex is read through zstd [C2]', async () => {
  const home = homeWith('codex')
  const [file] = sessionsIn(home, 'codex')
  const store = await temporaryStore()
  const plainText = await importFile(store, file!, { tape: 'plain' })
  const { execFileSync } = await import('node:child_process')
  execFileSync('zstd', ['-q', '--rm', file!.path])
  const [packed] = sessionsIn(home, 'codex')
  expect(packed!.path).toMatch(/\.jsonl\.zst$/)
  const again = await importFile(store, packed!, { tape: 'packed' })
  expect(again.entries).toBe(plainText.entries)
})

test('a tape of something else is never imported to [C2]', async () => {
  const home = homeWith('claude')
  const [file, other] = sessionsIn(home, 'claude')
  const store = await temporaryStore()
  await store.append('mine', [{ kind: 'message', payload: { role: 'user', content: 'hello' } }])
  await expect(importFile(store, file!, { tape: 'mine' })).rejects.toMatchObject({ code: 'conflict' })
  const { tape } = await importFile(store, file!)
  await expect(importFile(store, other!, { tape })).rejects.toMatchObject({ code: 'conflict' })
  expect((await collect(store.read('mine'))).length).toBe(1)
})

test('two imports at once make one tape [C2]', async () => {
  const home = homeWith('pi')
  const [file] = sessionsIn(home, 'pi')
  const store = await temporaryStore()
  const results = await Promise.all([importFile(store, file!), importFile(store, file!)])
  const entries = (await collect(store.read(results[0].tape))).length
  expect(results[0].entries + results[1].entries).toBe(entries)
  const alone = await temporaryStore()
  expect((await importFile(alone, file!)).entries).toBe(entries)
})

test('no parser throws, whatever a line holds [C2]', async () => {
  const { agents } = await import('../../src/agents/registry.ts')
  const real = fs
    .readdirSync(fixtures, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => fs.readFileSync(path.join(fixtures, name), 'utf8').trim().split('\n'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  const strange = fc.tuple(fc.constantFrom(...real), fc.string(), fc.jsonValue()).map(([line, key, value]) => {
    const keys = Object.keys(line)
    return { ...line, [keys[key.length % keys.length] ?? key]: value }
  })
  fc.assert(
    fc.property(fc.array(fc.oneof(strange, fc.dictionary(fc.string(), fc.jsonValue()))), (lines) => {
      for (const agent of agents) {
        const parser = agent.parser()
        for (const line of lines) for (const fact of parser.facts(line)) expect(fact.type).toBeTypeOf('string')
        JSON.stringify(parser.memory)
      }
    }),
  )
})

/** The entries without what differs from one writing to the next. */
async function plain(store: Store, tape: string): Promise<unknown[]> {
  const entries = await collect(store.read(tape))
  return entries
    .filter(({ payload }) => !['import', 'session'].includes(String((payload as { name?: unknown }).name)))
    .filter(({ kind, payload }) => kind !== 'anchor' || (payload as { name: string }).name !== 'session/start')
    .map(({ kind, payload, meta, date }) => {
      const { from, ...rest } = payload as { from?: number }
      // What has no date of its own has that of what came before, if that was known by then.
      return { kind, payload: rest, keeps: from !== undefined, meta, ...(kind === 'event' ? {} : { date }) }
    })
}
