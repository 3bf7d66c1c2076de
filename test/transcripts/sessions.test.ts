import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { agents } from '../../src/agents/index.ts'
import { listSessions, newestSession, resolveSession, type Session } from '../../src/transcripts/index.ts'
import { sessionEntries } from '../../src/transcripts/facts-to-entries.ts'
import { sessionFile } from '../../src/transcripts/resolve.ts'
import { configuredModels } from '../../src/config/models.ts'
import { temporaryFolder } from '../support/workspace.ts'
import { homeWith, sessionsIn, snapshot } from './home.ts'

const everyone = ['claude', 'codex', 'pi', 'gemini', 'opencode'] as const

test('sessions of every agent are found, the newest first [C2]', () => {
  const { env } = homeWith(...everyone)
  const sessions = listSessions({ env })
  expect(new Set(sessions.map(({ agent }) => agent))).toEqual(new Set(everyone))
  expect(sessions.map(({ updated }) => updated)).toEqual(
    sessions
      .map(({ updated }) => updated)
      .toSorted()
      .toReversed(),
  )
  for (const session of sessions) {
    expect(session.cwd).toBe(`/tmp/baton-stage/${session.agent}/project`)
    expect(session.turns).toBeGreaterThan(0)
    if (session.agent !== 'opencode') expect(session.title).toMatch(/^(please write the notes|start afresh)$/)
  }
})

test('folders follow the variables of their agents [C2]', () => {
  const env = {
    HOME: '/h',
    CLAUDE_CONFIG_DIR: '/c',
    CODEX_HOME: '/x',
    PI_CODING_AGENT_DIR: '/p',
    GEMINI_CLI_HOME: '/g',
    XDG_DATA_HOME: '/d',
  }
  expect(agents.flatMap((agent) => agent.folders(env))).toEqual([
    '/c/projects',
    '/x/sessions',
    '/x/archived_sessions',
    '/p/sessions',
    '/g/.gemini/tmp',
    '/d/opencode',
  ])
  expect(agents.find(({ name }) => name === 'pi')!.folders({ ...env, PI_CODING_AGENT_SESSION_DIR: '/s' })).toEqual([
    '/s',
  ])
})

test('a folder that may not be read is named, and hides no session elsewhere [C2]', () => {
  const { home, env } = homeWith('claude', 'codex')
  const shut = path.join(home, '.claude/projects')
  fs.chmodSync(home, 0o755)
  for (const entry of fs.readdirSync(home, { recursive: true, withFileTypes: true }))
    fs.chmodSync(path.join(entry.parentPath, entry.name), entry.isFile() ? 0o644 : 0o755)
  fs.chmodSync(shut, 0)
  const named: string[] = []
  const cache = { ...env, XDG_CACHE_HOME: path.join(home, 'none') }
  // Root may read everything, so for a moment this process is nobody.
  const isRoot = process.getuid?.() === 0
  if (isRoot) process.seteuid!(65_534)
  try {
    const sessions = listSessions({ env: cache, onUnreadable: (place) => named.push(place) })
    expect(new Set(sessions.map(({ agent }) => agent))).toEqual(new Set(['codex']))
  } finally {
    if (isRoot) process.seteuid!(0)
    fs.chmodSync(shut, 0o755)
  }
  expect(named).toEqual([shut])
})

test('subagents are left out unless asked for, and name the session they work for [C2]', () => {
  const { env } = homeWith('claude', 'opencode')
  const all = listSessions({ env, subagents: true })
  const subagents = all.filter(({ parent }) => parent !== undefined)
  expect(subagents.map(({ agent }) => agent).toSorted()).toEqual(['claude', 'opencode'])
  for (const { parent } of subagents) expect(all.map(({ id }) => id)).toContain(parent)
  expect(listSessions({ env })).toHaveLength(all.length - 2)
})

test('the session after /clear names the one before it [C2]', () => {
  const home = homeWith('claude')
  const [before, after] = sessionsIn(home, 'claude')
  const listed = listSessions({ env: home.env })
  expect(listed.find(({ id }) => id === after!.id)?.clearedFrom).toBe(before!.id)
  expect(listed.find(({ id }) => id === before!.id)).not.toHaveProperty('clearedFrom')
  expect(listed.find(({ id }) => id === before!.id)?.state).toEqual({ state: 'ended' })
})

test('only those of a folder and below [C2]', () => {
  const { env } = homeWith('claude', 'codex')
  expect(listSessions({ env, below: '/tmp/baton-stage/codex' }).map(({ agent }) => agent)).toEqual(['codex'])
  expect(listSessions({ env, below: '/tmp/baton' })).toEqual([])
  expect(newestSession('/tmp/baton-stage/claude/project', { env })?.title).toBe('start afresh')
})

describe('the index', () => {
  test('what has not changed is not read again, what has grown is read on [C2]', () => {
    const home = homeWith('claude')
    const [file] = sessionsIn(home, 'claude')
    const lines = fs.readFileSync(file!.path, 'utf8').split(/(?<=\n)/)
    fs.writeFileSync(file!.path, lines.slice(0, 25).join(''))
    const then = new Date('2026-11-15T12:00:00Z')
    fs.utimesSync(file!.path, then, then)
    const first = only(listSessions({ env: home.env }), file!.id)
    // Same size and time: what it holds is not looked at.
    fs.writeFileSync(file!.path, 'x'.repeat(fs.statSync(file!.path).size))
    fs.utimesSync(file!.path, then, then)
    expect(only(listSessions({ env: home.env }), file!.id)).toEqual(first)
    fs.writeFileSync(file!.path, lines.join(''))
    const grown = only(listSessions({ env: home.env }), file!.id)
    fs.rmSync(path.join(home.home, '.cache'), { recursive: true })
    expect(only(listSessions({ env: home.env }), file!.id)).toEqual(grown)
    expect(grown.turns).toBeGreaterThan(first.turns)
  })

  test('a damaged or foreign cache costs time, nothing else [C2]', () => {
    const { env, home } = homeWith('pi')
    const first = listSessions({ env })
    for (const content of ['{"version":4,"val', '{"version":99,"values":{}}', '']) {
      fs.writeFileSync(path.join(home, '.cache/baton/sessions.json'), content)
      expect(listSessions({ env })).toEqual(first)
    }
    fs.rmSync(path.join(home, '.cache/baton/tallies.json'))
    expect(listSessions({ env })).toEqual(first)
  })

  test('sessions that are gone leave the list [C2]', () => {
    const home = homeWith('pi')
    expect(listSessions({ env: home.env })).toHaveLength(1)
    fs.rmSync(sessionsIn(home, 'pi')[0]!.path)
    expect(listSessions({ env: home.env })).toEqual([])
  })

  test('of a large file that nobody touches the ends are enough [C2]', () => {
    const home = homeWith('claude')
    const [file] = sessionsIn(home, 'claude')
    const text = fs.readFileSync(file!.path, 'utf8')
    const [head, tail] = [text.split('\n').slice(0, 8).join('\n'), text.split('\n').slice(8).join('\n')]
    const filler = `${JSON.stringify({ type: 'attachment', sessionId: 's', attachment: 'x'.repeat(4_000) })}\n`
    fs.writeFileSync(file!.path, `${head}\n${filler.repeat(1_500)}${tail}`)
    const whole = only(listSessions({ env: home.env }), file!.id)
    const old = new Date(Date.now() - 3 * 86_400_000)
    fs.utimesSync(file!.path, old, old)
    const ends = only(listSessions({ env: home.env }), file!.id)
    expect(ends).toMatchObject({ partial: true, title: whole.title, cwd: whole.cwd, damaged: 0 })
    expect(ends.meter.tokens).toBe(whole.meter.tokens)
    expect(ends.meter).not.toHaveProperty('cost')
  })
})

function only(sessions: readonly Session[], id: string): Session {
  return sessions.find((session) => session.id === id)!
}

describe('an agent’s folder', () => {
  test('no link is followed out of it [C2]', () => {
    const home = homeWith('claude')
    const [file] = sessionsIn(home, 'claude')
    const outside = path.join(temporaryFolder(), '11111111-1111-4111-8111-111111111111.jsonl')
    fs.copyFileSync(file!.path, outside)
    const folder = path.dirname(file!.path)
    fs.symlinkSync(outside, path.join(folder, '22222222-2222-4222-8222-222222222222.jsonl'))
    fs.symlinkSync(path.dirname(outside), path.join(path.dirname(folder), 'elsewhere'))
    fs.symlinkSync('/nowhere', path.join(folder, '33333333-3333-4333-8333-333333333333.jsonl'))
    const inside = path.join(folder, '44444444-4444-4444-8444-444444444444.jsonl')
    fs.symlinkSync(file!.path, inside)
    const paths = listSessions({ env: home.env }).map((session) => session.path)
    expect(paths.every((each) => each.startsWith(fs.realpathSync(folder)))).toBe(true)
    expect(paths).toContain(file!.path)
  })

  test('one that is itself a link is read where it leads [C2]', () => {
    const { home } = homeWith('pi')
    const moved = path.join(temporaryFolder(), 'pi')
    fs.renameSync(path.join(home, '.pi'), moved)
    fs.symlinkSync(moved, path.join(home, '.pi'))
    expect(listSessions({ env: { HOME: home } })).toHaveLength(1)
  })

  test('nothing below it is written, read or not [C2]', () => {
    const { env, home } = homeWith(...everyone)
    const own = ['.claude', '.codex', '.pi', '.gemini', '.local'].map((name) => path.join(home, name))
    const before = own.map(snapshot)
    for (const session of listSessions({ env, subagents: true })) {
      for (const entry of sessionEntries(sessionFile(session))) expect(entry.id).toBeGreaterThan(0)
    }
    expect(own.map(snapshot)).toEqual(before)
  })
})

test('a database that was just made holds no sessions, and is no failure [C2]', () => {
  const home = temporaryFolder()
  const folder = path.join(home, '.local/share/opencode')
  fs.mkdirSync(folder, { recursive: true })
  fs.writeFileSync(path.join(folder, 'opencode.db'), '')
  expect(listSessions({ env: { HOME: home } })).toEqual([])
})

describe('a session is named', () => {
  test('by its id, the beginning of it, with its agent, or by its path [C2]', () => {
    const home = homeWith(...everyone)
    const options = { env: home.env }
    const [file] = sessionsIn(home, 'claude')
    for (const ref of [file!.id, file!.id.slice(0, 6), `claude:${file!.id}`, file!.path]) {
      expect(resolveSession(ref, options)).toMatchObject({ agent: 'claude', id: file!.id, path: file!.path })
    }
    const old = resolveSession('0b8d', options)
    expect(old).toMatchObject({ agent: 'gemini', id: expect.stringMatching(/^0b8d1c2a-/) as string })
    expect(resolveSession('ses_', { ...options, agent: 'opencode' }).agent).toBe('opencode')
  })

  test('whatever the name of the file, its content tells the agent [C2]', () => {
    for (const agent of ['claude', 'codex', 'pi', 'gemini'] as const) {
      const [file] = sessionsIn(homeWith(agent), agent)
      const copy = path.join(temporaryFolder(), `talk${path.extname(file!.path)}`)
      fs.copyFileSync(file!.path, copy)
      const found = resolveSession(copy)
      expect(found.agent).toBe(agent)
      expect(found.id).not.toBe('talk')
    }
    const nobody = path.join(temporaryFolder(), 'talk.jsonl')
    fs.writeFileSync(nobody, '{"hello":"world"}\n')
    expect(() => resolveSession(nobody)).toThrow('not a transcript that Baton recognises')
  })

  test('clearly: one of several, and none, say so [C2]', () => {
    const { env } = homeWith('claude', 'codex', 'pi')
    expect(() => resolveSession('', { env })).toThrow(/fits 4 sessions/)
    expect(() => resolveSession('zzzz', { env })).toThrow('There is no session "zzzz"')
  })
})

test('windows and prices come from baton.config.json where there is one [C2]', async () => {
  const folder = temporaryFolder()
  expect(await configuredModels(folder)).toEqual({})
  const models = { scripted: { window: 32_000, price: { input: 1, output: 2 } } }
  fs.writeFileSync(path.join(folder, 'baton.config.json'), JSON.stringify({ transcripts: { models } }))
  expect(await configuredModels(path.join(folder))).toEqual(models)
  fs.writeFileSync(path.join(folder, 'baton.config.json'), '{"transcripts":{"models":{"m":{"window":-1}}}}')
  await expect(configuredModels(folder)).rejects.toMatchObject({ code: 'invalid' })
})
