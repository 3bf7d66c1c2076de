import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { openStore } from '../../src/store/index.ts'
import { temporaryFolder } from '../support/workspace.ts'
import { homeWith, sessionsIn } from '../transcripts/home.ts'
import { baton, records } from './cli.ts'
import { startBaton } from './live.ts'

const everyone = ['claude', 'codex', 'pi', 'gemini', 'opencode'] as const

describe('baton alone', () => {
  test('shows the newest sessions and what can be done with them [C2]', async () => {
    const { home } = homeWith(...everyone)
    const { code, out } = await baton(home, [])
    expect(code).toBe(0)
    const [head, ...rows] = out.split('\n')
    expect(head).toMatch(/^SESSION +AGENT +PROJECT +.*TITLE +STATE +CONTEXT/)
    expect(rows.filter((row) => /^\S+ +(claude|codex|pi|gemini|opencode) /.test(row))).toHaveLength(8)
    expect(out).toMatch(/codex .*▰▰+▱+ +\d+%/)
    expect(out).toContain('baton handoff')
  })

  test('with no sessions says where it looked and what to do [C2]', async () => {
    const { home } = homeWith()
    const { code, out } = await baton(home, [])
    expect(code).toBe(0)
    expect(out).toContain('No agent sessions on this machine yet')
    expect(out).toMatch(/Claude Code +~\/\.claude\/projects/)
  })

  test('refuses a word that is no command [C2]', async () => {
    const { home } = homeWith()
    expect(await baton(home, ['frobnicate'])).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('no command'),
    })
  })
})

describe('baton ls', () => {
  test('prints a record a session for programs, of one agent or of this folder [C2]', async () => {
    const { home } = homeWith(...everyone)
    const all = records(await baton(home, ['ls', '--json']))
    expect(all).toHaveLength(8)
    for (const session of all) {
      expect(session).toMatchObject({
        agent: expect.any(String),
        id: expect.any(String),
        meter: { quotas: [] },
        state: {},
      })
    }
    expect(records(await baton(home, ['ls', '--json', '--agent', 'pi']))).toHaveLength(1)
    expect(records(await baton(home, ['ls', '--json', '--here']))).toEqual([])
    expect((await baton(home, ['ls', '--here'])).out).toContain('No sessions in this folder')
    expect((await baton(home, ['ls', '--agent', 'emacs'])).code).toBe(2)
  })

  test('a session that Baton saw end never looks at work, though its transcript stops in the middle of a turn [C8]', async () => {
    const place = homeWith('pi')
    const { home } = place
    const [file] = sessionsIn(place, 'pi')
    const now = new Date().toISOString()
    const message = { role: 'user', content: [{ type: 'text', text: 'go on' }], timestamp: Date.now() }
    fs.appendFileSync(file!.path, `${JSON.stringify({ type: 'message', id: 'ffff0000', timestamp: now, message })}\n`)
    const listed = async () => records(await baton(home, ['ls', '--json'])).find(({ agent }) => agent === 'pi')!
    const { id, state } = await listed()
    expect(state).toEqual({ state: 'working' })
    const store = await openStore(path.join(home, '.baton'))
    const last_check = new Date(Date.now() + 1_000).toISOString()
    const row = {
      name: 'shop',
      agent: 'pi',
      project: home,
      state: 'ended',
      session: id,
      last_check,
      cycles: 0,
      started: now,
    }
    await store.append('session/shop', [{ kind: 'event', payload: { name: 'row', data: row }, meta: { key: 'row' } }])
    await store.close()
    expect(await listed()).toMatchObject({ id, state: { state: 'ended' } })
  })

  test('names a place that cannot be read, and lists the sessions of all others [C2]', async () => {
    const { home } = homeWith('claude', 'opencode')
    const database = path.join(home, '.local/share/opencode/opencode.db')
    for (const name of fs.readdirSync(path.dirname(database))) fs.rmSync(path.join(path.dirname(database), name))
    fs.writeFileSync(database, 'no database at all'.repeat(100))
    const { code, out, err } = await baton(home, ['ls', '--json'])
    expect(code).toBe(0)
    expect(err).toContain(`${database} cannot be read, so the sessions in it are missing here`)
    expect(new Set(records({ code, out, err }).map(({ agent }) => agent))).toEqual(new Set(['claude']))
  })

  test('names a session that cannot be read, and why [C2]', async () => {
    const home = homeWith('codex')
    const [file] = sessionsIn(home, 'codex')
    fs.writeFileSync(`${file!.path}.zst`, 'not packed at all')
    fs.rmSync(file!.path)
    const [session] = records(await baton(home.home, ['ls', '--json']))
    expect(session?.unread).toContain('packed')
  })

  test('--watch tells of changes as they come [C2]', async () => {
    const home = homeWith('pi')
    const [file] = sessionsIn(home, 'pi')
    const watching = startBaton(home.home, ['ls', '--watch', '--json'])
    await watching.line((line) => line.includes(file!.id))
    const message = { role: 'user', content: 'and now?', timestamp: Date.now() }
    fs.appendFileSync(
      file!.path,
      `${JSON.stringify({ type: 'message', id: 'f', parentId: null, timestamp: new Date().toISOString(), message })}\n`,
    )
    const changed = JSON.parse(await watching.line((line) => line.includes('"working"'))) as { turns: number }
    expect(changed.turns).toBe(6)
    expect(await watching.stop()).toBe(130)
  })
})

describe('baton import', () => {
  test('makes a tape, and again brings only what is new [C2, T13]', async () => {
    const home = homeWith('claude')
    const [file] = sessionsIn(home, 'claude')
    const first = await baton(home.home, ['import', file!.id.slice(0, 8)])
    expect(first).toMatchObject({ code: 0, err: '' })
    expect(first.out).toMatch(new RegExp(`^claude:${file!.id}: \\d+ entries`))
    expect((await baton(home.home, ['import', file!.id])).out).toContain('nothing new')
    const context = await baton(home.home, ['tape', 'context', `claude:${file!.id}`, '--format', 'text'])
    expect(context.out).toContain('We wrote notes.txt and ran its check')
    expect((await baton(home.home, ['lineage'])).out).toContain(`claude:${file!.id}  import`)
  })

  test('takes a path, another tape, and reports damaged lines with their place [C2]', async () => {
    const home = homeWith('pi')
    const [file] = sessionsIn(home, 'pi')
    const copy = path.join(home.home, 'talk.jsonl')
    fs.writeFileSync(copy, `${fs.readFileSync(file!.path, 'utf8')}{"type":\n`)
    const { code, out, err } = await baton(home.home, ['import', 'talk.jsonl', '--tape', 'mine', '--json'])
    expect({ code, out: JSON.parse(out) as unknown }).toMatchObject({ code: 0, out: { tape: 'mine', agent: 'pi' } })
    expect(err).toMatch(/damaged: .*talk\.jsonl, line 18, byte \d+ \(9 bytes\)/)
  })

  test('says what is wrong with a name that fits none or several, and asks only on a terminal [C2]', async () => {
    const { home } = homeWith('claude')
    expect(await baton(home, ['import', 'zzz'])).toMatchObject({
      code: 4,
      err: expect.stringContaining('no session "zzz"'),
    })
    expect(await baton(home, ['import', ''])).toMatchObject({
      code: 2,
      err: expect.stringContaining('fits 2 sessions'),
    })
    expect(await baton(home, ['import'])).toMatchObject({ code: 2, err: expect.stringContaining('Which session?') })
  })
})

describe('baton follow', () => {
  test('shows what comes, and ends at once when interrupted [C2]', async () => {
    const home = homeWith('pi')
    const [file] = sessionsIn(home, 'pi')
    const following = startBaton(home.home, ['follow', file!.id])
    await following.line((line) => line.includes('following'))
    const message = { role: 'user', content: 'and now for something new', timestamp: Date.now() }
    fs.appendFileSync(
      file!.path,
      `${JSON.stringify({ type: 'message', id: 'ffff', timestamp: new Date().toISOString(), message })}\n`,
    )
    expect(await following.line((line) => line.includes('something new'))).toContain('message')
    expect(await following.stop()).toBe(130)
  })
})

describe('baton log', () => {
  test('in a pipe takes the newest session of the folder, and says what is true where there is none [C2]', async () => {
    const place = homeWith('pi')
    const home = fs.realpathSync(place.home)
    const [file] = sessionsIn(place, 'pi')
    expect(await baton(home, ['log'])).toMatchObject({ code: 2, err: expect.stringContaining('Which session?') })
    const here = fs.readFileSync(file!.path, 'utf8').replaceAll('/tmp/baton-stage/pi/project', home)
    fs.writeFileSync(file!.path, here)
    const { out, err } = await baton(home, ['log'])
    expect(out).toContain('please write the notes')
    expect(err).toBe(`Newest session here: pi:${file!.id}, please write the notes\n`)

    const empty = temporaryFolder()
    for (const command of [['log'], ['continue', '--in', 'codex'], ['import']]) {
      expect(await baton(empty, command)).toMatchObject({
        code: 4,
        err: expect.stringContaining('There are no agent sessions on this machine yet'),
      })
    }
  })

  test('reads a transcript where no workspace can be made [C2]', async () => {
    const home = homeWith('pi')
    const [file] = sessionsIn(home, 'pi')
    const workspace = process.platform === 'linux' ? '/sys/baton' : '/System/baton'
    const { code, out, err } = await baton(home.home, ['--workspace', workspace, 'log', file!.path])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toContain('please write the notes')
    expect((await baton(home.home, ['--workspace', workspace, 'tape', 'ls'])).out).toContain('No tapes yet')
    expect(await baton(home.home, ['--workspace', workspace, 'import', file!.path])).toMatchObject({
      code: 1,
      err: expect.stringContaining(`Cannot use ${workspace}`),
    })
  })

  test('tells of turns, files, failures and spend [C2]', async () => {
    const home = homeWith(...everyone)
    for (const agent of everyone) {
      const [file] = sessionsIn(home, agent)
      const { code, out, err } = await baton(home.home, ['log', agent === 'opencode' ? 'opencode:ses_' : file!.path])
      expect({ agent, code, err }).toEqual({ agent, code: 0, err: '' })
      expect(out).toContain('please write the notes')
      expect(out).toContain('notes.txt')
      expect(out).toMatch(/\d turns? {2}· {2}\d tool calls/)
    }
  })

  test('--since leaves out what came before, and --json has it all [C2]', async () => {
    const home = homeWith('claude')
    const [file] = sessionsIn(home, 'claude')
    const [whole] = records(await baton(home.home, ['log', file!.id, '--json']))
    expect(whole).toMatchObject({ agent: 'claude', handoffs: 1, spend: { source: 'prices' }, facts: { counts: {} } })
    const turns = whole!.turns as { at: string; text: string }[]
    const [part] = records(await baton(home.home, ['log', file!.id, '--json', '--since', turns.at(-1)!.at]))
    expect((part!.turns as unknown[]).length).toBe(1)
    expect((await baton(home.home, ['log', file!.id, '--since', 'soon'])).code).toBe(2)
  })

  test('of an imported tape is that of its transcript, wherever that lies [C2]', async () => {
    const home = homeWith('pi')
    const [file] = sessionsIn(home, 'pi')
    const elsewhere = path.join(home.home, 'elsewhere.jsonl')
    fs.renameSync(file!.path, elsewhere)
    const { out: imported } = await baton(home.home, ['import', elsewhere, '--tape', 'mine'])
    expect(imported).toContain('mine: ')
    const { code, out } = await baton(home.home, ['log', 'mine'])
    expect(code).toBe(0)
    expect(out).toContain('please write the notes')
    const { out: document } = await baton(home.home, ['handoff', elsewhere])
    expect(document).toContain('Project: /tmp/baton-stage/pi/project')
  })
})
