import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createAgent } from '../../src/agent/index.ts'
import { route } from '../../src/agent/commands/router.ts'
import { collect } from '../support/workspace.ts'
import { scene } from './harness.ts'

const command = (input: string) => {
  const to = route(input)
  if (to.to !== 'command') throw new Error(`${input} is no command`)
  return to
}

test('a comma starts a command, a slash one of the door, and all else is for the model [T19, H1]', () => {
  expect(route(',anchors')).toEqual({ to: 'command', name: 'anchors', args: { named: {}, words: [] } })
  expect(route('/handoff finish the parser')).toEqual({ to: 'slash', name: 'handoff', rest: 'finish the parser' })
  expect(route('/handoff')).toEqual({ to: 'slash', name: 'handoff', rest: '' })
  expect(route('/handoff two\nlines')).toEqual({ to: 'slash', name: 'handoff', rest: 'two\nlines' })
  for (const text of [
    'hello',
    ', he said',
    ',5 percent',
    ' ,anchors',
    ' /handoff',
    '/usr/bin/env is missing',
    '{a: 1}',
  ]) {
    expect(route(text)).toEqual({ to: 'model', text })
  }
  for (const empty of ['', '  ', '\n\t']) expect(route(empty)).toEqual({ to: 'nowhere' })
})

test('values are text unless braces say otherwise; quotes and escapes hold what spaces would end [T19]', () => {
  expect(command(`,handoff name=phase-1 summary="Setup done" next_steps='it\\'s "next"'`).args.named).toEqual({
    name: 'phase-1',
    summary: 'Setup done',
    next_steps: `it's "next"`,
  })
  expect(
    command(',handoff name=p state={goal: "Build API", tables: 5, next: Routes, done: true, nested: {a: [1, b,]}}').args
      .named.state,
  ).toEqual({ goal: 'Build API', tables: 5, next: 'Routes', done: true, nested: { a: [1, 'b'] } })
  expect(command(',handoff name=p state={"a b": null, \'c\': -1.5e3}').args.named.state).toEqual({
    'a b': null,
    c: -1500,
  })
  expect(command(',x pattern="\\d+" empty= n=5').args.named).toEqual({
    pattern: '\\d+',
    empty: '',
    n: '5',
  })
  expect(command(',tape.search "two words" three').args.words).toEqual(['two words', 'three'])
  expect(command(',x __proto__=5 state={__proto__: 1}').args.named).toHaveProperty('__proto__', '5')
})

test('what cannot be read says where [T19]', () => {
  const failing = {
    ',x summary="never ends': /quote at character 12 never ends/,
    ',x state={a 1}': /":" after a at character 13, found "1"/,
    ',x state={a: 1': /"," or "}" at character 15, found the end/,
    ',x a="b"c': /a space after the quote/,
    ',x a=1 a=2': /"a" is given twice/,
    [`,x state=${'['.repeat(500)}`]: /less nesting/,
  }
  for (const [input, message] of Object.entries(failing)) expect(() => route(input)).toThrow(message)
})

test('whatever is quoted comes back as it was [T19]', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (text, other) => {
      const { named, words } = command(
        `,x a=${JSON.stringify(text)} ${JSON.stringify(other)} b=${JSON.stringify(other)}`,
      ).args
      expect(named).toEqual({ a: text, b: other })
      expect(words).toEqual([other])
    }),
  )
})

test('every JSON value comes back, with quotes around its keys and without [T19]', () => {
  const plainKey = fc.stringMatching(/^[a-z_][a-z0-9_]{0,8}$/)
  const value = fc.oneof(
    fc.object({ key: plainKey, maxDepth: 3, values: [fc.string(), fc.integer(), fc.boolean(), fc.constant(null)] }),
    fc.array(fc.jsonValue()),
  )
  fc.assert(
    fc.property(value, (state) => {
      const json = JSON.stringify(state)
      expect(command(`,x state=${json}`).args.named.state).toEqual(JSON.parse(json))
      // Only where no text holds what looks like a key.
      if (/\\|[{,]"[^"]*[{,]/.test(json)) return
      const bare = json.replaceAll(/([{,])"([a-z_][a-z0-9_]*)":/g, '$1 $2: ')
      expect(command(`,x state=${bare}`).args.named.state).toEqual(JSON.parse(json))
    }),
  )
})

test('any line is routed or refused with a sentence, never anything else [T19]', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.string().map((text) => `,x ${text}`),
        fc.string().map((text) => `,x s={${text}`),
      ),
      (text) => {
        try {
          expect(['command', 'slash', 'model', 'nowhere']).toContain(route(text).to)
        } catch (error) {
          expect(error).toMatchObject({ code: 'invalid' })
        }
      },
    ),
  )
})

test('the commands do what they say, without a model and without reaching one [T19]', async () => {
  const { agent, server } = await scene([])
  const say = async (text: string) => {
    const result = await agent.submit(text)
    if (result.kind !== 'command') throw new Error(JSON.stringify(result))
    return result
  }
  expect(
    await say(',handoff name=phase-1 summary="Setup done" next_steps="Implement" state={tables: 5}'),
  ).toMatchObject({
    ok: true,
    text: expect.stringMatching(/^Handed off: phase-1 \(main#\d+\)$/) as string,
    data: { name: 'phase-1', state: { tables: 5, summary: 'Setup done', next_steps: 'Implement' } },
  })
  expect((await agent.tape.anchors()).at(-1)).toMatchObject({ name: 'phase-1', state: { summary: 'Setup done' } })
  expect((await say(',anchors')).text).toMatch(/session\/start[\s\S]*phase-1 \{"tables":5/)
  expect((await say(',tape.anchors limit=1')).data).toHaveLength(1)
  expect(await say(',tape.info')).toMatchObject({ ok: true, data: { tape: 'main', lastAnchor: 'phase-1' } })
  expect(await say(',tape.search "setup done"')).toMatchObject({ data: [{ kind: 'event' }, { kind: 'anchor' }] })
  expect(await say(',tape.search nowhere-to-be-found')).toMatchObject({ text: 'Nothing found', data: [] })
  expect(await say(',fork from=phase-1 next_steps="look into it"')).toMatchObject({ data: { child: 'main-fork-1' } })
  expect((await agent.tape.lineage()).descendants).toEqual(['main-fork-1'])
  expect(await say(',tape.complete')).toMatchObject({ ok: true, data: { told: false } })
  expect(await say(',tape.info now=1')).toMatchObject({ ok: false, text: /does not know what "now" is/ })
  expect(await say(',tape.reset archive=false')).toMatchObject({ ok: false, text: /always archives/ })
  expect(await say(',tape.reset archive=true')).toMatchObject({ ok: true, text: /^Archived entries 1 to \d+/ })
  expect((await say(',help')).text).toContain(',handoff name=phase-1')
  expect((await say(',help fork')).text).not.toContain(',anchors')
  expect(server.requests).toEqual([])
})

test('a fork that asked for it tells its parent when it is complete, once [T14, T19]', async () => {
  const { agent } = await scene([])
  await agent.submit(',fork name=child trigger_on_complete=notify')
  const child = await createAgent({ store: agent.tape.store, tape: 'child' })
  await child.submit(',handoff name=found summary="It was the cache"')
  expect(await child.submit(',tape.complete')).toMatchObject({ ok: true, data: { told: true } })
  expect(await child.submit(',tape.complete')).toMatchObject({ ok: true, data: { told: false } })
  const events = await collect(agent.tape.entries({ kinds: ['event'] }))
  expect(events.filter(({ meta }) => meta.key === 'completed:child')).toMatchObject([
    {
      payload: {
        name: 'child_completed',
        data: { child: 'child', anchor: 'found', state: { summary: 'It was the cache' }, trigger: 'notify' },
      },
    },
  ])
})

test('a command that is not known suggests the nearest, and a wrong one says what is wrong [T19]', async () => {
  const { agent } = await scene([], {})
  const text = async (input: string) => {
    const result = await agent.submit(input)
    return result.kind === 'command' && !result.ok ? result.text : `unexpected: ${JSON.stringify(result)}`
  }
  expect(await text(',handof name=x')).toMatch(/no command ,handof\nDid you mean ,handoff\?.*put a space in front/)
  expect(await text(',anchor')).toContain(',anchors')
  expect(await text(',zzzzzzzzz')).toMatch(/,help lists all/)
  expect(await text(',handoff')).toMatch(/needs a name\n,handoff name=/)
  expect(await text(',handoff name=x stray')).toMatch(/does not know what "stray" is/)
  expect(await text(',anchors limit=many')).toMatch(/limit/)
  expect(await text(',fork from=nowhere')).toMatch(/no anchor "nowhere"/)
  expect(await text(',handoff name=x state=5 summary=y')).toMatch(/state must be an object/)
  expect((await collect(agent.tape.entries())).map(({ kind }) => kind)).toEqual(['anchor'])
})

test('commands work with no model set, and a prompt then says how to set one [T19]', async () => {
  const { agent } = await scene([])
  const store = agent.tape.store
  const bare = await createAgent({ store, tape: 'other' })
  expect(await bare.submit(',tape.info')).toMatchObject({ kind: 'command', ok: true })
  expect(await bare.submit('hello')).toMatchObject({
    kind: 'turn',
    status: 'failed',
    error: /No model is set[\s\S]*BATON_MODEL/,
  })
  await bare.close()
})
