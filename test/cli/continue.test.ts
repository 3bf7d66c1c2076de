import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../support/workspace.ts'
import { homeWith, sessionsIn } from '../transcripts/home.ts'
import { baton, records } from './cli.ts'

test("a session's work goes on in another agent, which is started with the document [C1, T13]", async () => {
  const { home } = homeWith('claude', 'pi')
  const project = path.join(home, 'project')
  fs.mkdirSync(path.join(home, 'bin'))
  fs.mkdirSync(project, { recursive: true })
  for (const file of ['CLAUDE.md', 'AGENTS.md']) fs.writeFileSync(path.join(project, file), 'Be kind.\n')
  const codex = path.join(home, 'bin', 'codex')
  fs.writeFileSync(codex, '#!/bin/sh\npwd > "$HOME/started"\nprintf "%s\\n" "$@" >> "$HOME/started"\nexit 7\n', {
    mode: 0o755,
  })
  const before = process.env.PATH
  process.env.PATH = `${path.join(home, 'bin')}:${before}`
  onTestFinished(() => void (process.env.PATH = before))
  const [session] = records(await baton(home, ['ls', '--json', '--agent', 'pi']))
  const run = await baton(project, [
    '--workspace',
    path.join(home, 'work'),
    'continue',
    String(session!.path),
    '--in',
    'codex',
    '--goal',
    'finish the notes',
  ])
  expect(run.code).toBe(7)
  const started = path.join(project, 'started')
  const [cwd, dashes, prompt] = fs.readFileSync(started, 'utf8').split('\n')
  expect(fs.realpathSync(cwd!)).toBe(fs.realpathSync(project))
  expect(dashes).toBe('--')
  expect(prompt).toContain('First read the rules of this project in CLAUDE.md.')
  const document = /handoff document at (\S+\.md)/.exec(prompt!)![1]!
  expect(fs.readFileSync(document, 'utf8')).toContain('Goal: finish the notes')
  const edges = records(await baton(home, ['--workspace', 'work', 'lineage', '--json']))
  expect(edges.map((edge) => edge.how)).toEqual(['import', 'continue'])
})

test('--print only prints the command; an agent that is not there is named, with the document [C1]', async () => {
  const place = homeWith('claude')
  const { home } = place
  const [session] = sessionsIn(place, 'claude')
  const printed = await baton(home, ['continue', session!.path, '--in', 'gemini', '--print'])
  expect(printed).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^cd \S+ && gemini --session-id \S+ -i 'Read the handoff document at /) as string,
  })
  // Whoever looks at it again is shown the same document: nothing new is stored.
  const again = await baton(home, ['continue', session!.path, '--in', 'gemini', '--print'])
  const documentOf = ({ out }: { out: string }) => /handoff document at (\S+\.md)/.exec(out)?.[1]
  expect(documentOf(again)).toBe(documentOf(printed))
  expect(records(await baton(home, ['handoff', 'ls', '--json']))).toHaveLength(1)
  const forCats = await baton(home, ['continue', session!.path, '--in', 'gemini', '--print', '--goal', 'feed the cats'])
  expect(documentOf(forCats)).not.toBe(documentOf(printed))
  // Nobody has continued yet.
  expect(records(await baton(home, ['lineage', '--json'])).map(({ how }) => how)).not.toContain('continue')
  expect(await baton(home, ['continue', session!.path])).toMatchObject({
    code: 2,
    err: expect.stringContaining('--in with one of claude, codex') as string,
  })
  const before = process.env.PATH
  process.env.PATH = path.dirname(process.execPath)
  onTestFinished(() => void (process.env.PATH = before))
  const missing = await baton(home, ['continue', session!.path, '--in', 'opencode'])
  expect(missing).toMatchObject({ code: 4, err: expect.stringContaining('no program "opencode"') as string })
  expect(missing.err).not.toContain('continues in')
  expect(records(await baton(home, ['lineage', '--json'])).map(({ how }) => how)).not.toContain('continue')
  expect((await baton(home, ['continue', session!.path, '--in', 'emacs'])).code).toBe(2)
})

test('a handoff takes a session wherever it takes a tape [H11]', async () => {
  const place = homeWith('claude', 'codex')
  const { home } = place
  const sessions = [...sessionsIn(place, 'claude'), ...sessionsIn(place, 'codex')]
  for (const session of sessions.filter((each) => each.parent === undefined)) {
    const run = await baton(home, ['handoff', `${session.agent}:${session.id}`, '--budget', '1500'])
    expect({ code: run.code, err: run.err }).toMatchObject({ code: 0 })
    expect(run.out).toContain('## Next Steps')
    expect(run.out).toContain(`Tape: ${session.agent}:${session.id}`)
  }
  expect((await baton(home, ['handoff', 'no-such-session'])).code).toBe(4)
})

test('the document lies in the project, unseen by git; what goes on from there knows where it came from [C1, T13]', async () => {
  const home = fs.realpathSync(homeWith().home)
  const project = home
  const claude = { sessionId: 'first', cwd: project, uuid: 'u', parentUuid: null, timestamp: '2026-01-01T08:00:00Z' }
  const file = path.join(home, '.claude', 'projects', 'p', 'first.jsonl')
  fs.mkdirSync(path.dirname(file), { recursive: true })
  fs.writeFileSync(file, JSON.stringify({ type: 'user', ...claude, message: { role: 'user', content: 'Dig a pond' } }))
  const workspace = ['--workspace', path.join(home, 'work')]
  const [first] = records(
    await baton(project, [...workspace, 'continue', 'first', '--in', 'codex', '--print', '--json']),
  )
  const document = String(first!.document)
  expect(path.dirname(document)).toBe(path.join(project, '.handoffs', 'claude%3Afirst'))
  expect(fs.readFileSync(path.join(project, '.handoffs', '.gitignore'), 'utf8')).toBe('*\n')
  // Codex chooses the id of its session itself.
  const id = '01a1b2c3-0000-7000-8000-00000000000a'
  const rollout = path.join(home, '.codex', 'sessions', '2026', '01', '02', `rollout-2026-01-02T08-00-00-${id}.jsonl`)
  fs.mkdirSync(path.dirname(rollout), { recursive: true })
  const prompt = (first!.args as string[]).at(-1)!
  const lines = [
    { type: 'session_meta', payload: { id, cwd: project } },
    {
      type: 'response_item',
      payload: { type: 'message', role: 'user', content: [{ type: 'input_text', text: prompt }] },
    },
    {
      type: 'response_item',
      payload: { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Dug.' }] },
    },
  ].map((line) => JSON.stringify({ timestamp: '2026-01-02T08:00:00.000Z', ...line }))
  fs.writeFileSync(rollout, `${lines.join('\n')}\n`)
  const [second] = records(await baton(project, [...workspace, 'continue', '--in', 'pi', '--json']))
  expect(second!.tape).toBe(`codex:${id}`)
  const edges = records(await baton(project, [...workspace, 'lineage', '--json']))
  expect(edges).toContainEqual(
    expect.objectContaining({ parent: 'claude:first', child: `codex:${id}`, how: 'continue' }),
  )
  expect(edges).toContainEqual(expect.objectContaining({ parent: `codex:${id}`, how: 'continue' }))
})

test('baton eval measures sessions without leaving anything behind [H13]', async () => {
  const { home } = homeWith('claude', 'pi')
  const before = fs.readdirSync(home).sort()
  const measured = records(await baton(home, ['eval', '--json', '--budget', '1500']))
  expect(measured.length).toBeGreaterThan(1)
  for (const each of measured) expect(each).toMatchObject({ wrong: [], kept: { requests: { missed: [] } } })
  const { out } = await baton(home, ['eval', '--agent', 'pi'])
  expect(out).toMatch(/^SESSION +REQUESTS +WORDS/)
  expect(out).toMatch(/^all 1 +2\/2 100%/m)
  expect(fs.readdirSync(home).filter((name) => !before.includes(name))).toEqual(['.cache'])
  expect((await baton(temporaryFolder(), ['eval'])).code).toBe(4)
})
