import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { agentNames } from '../../src/agents/index.ts'
import { baton, records } from '../cli/cli.ts'
import { temporaryFolder } from '../support/workspace.ts'

/** Settings as people have them, with what must survive. */
const settings: Record<string, string> = {
  '.claude/settings.json': `{\n  "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": "mine" }] }] },\n  "statusLine": { "type": "command", "command": "echo mine", "padding": 0 }\n}\n\n`,
  '.codex/config.toml': '# mine\nmodel = "x"\n\n[projects."/p"]\ntrust_level = "trusted"',
  '.codex/hooks.json': '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"}]}]}}',
  '.gemini/settings.json': '{ /* mine */ "hooks": {} }',
  '.config/opencode/opencode.jsonc':
    '{\n  // mine\n  "mcp": { "other": { "type": "local", "command": ["x"], }, },\n}\n',
  '.pi/agent/settings.json': '{"theme":"dark"}',
}

function home(): string {
  const folder = temporaryFolder()
  for (const [name, content] of Object.entries(settings)) {
    fs.mkdirSync(path.join(folder, path.dirname(name)), { recursive: true })
    fs.writeFileSync(path.join(folder, name), content)
  }
  return folder
}

/** Every file below the folder but Baton's own memory. */
function files(folder: string): Record<string, string> {
  const found: Record<string, string> = {}
  for (const name of fs.readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const file = path.join(folder, name)
    if (!name.startsWith('.local') && fs.statSync(file).isFile()) found[name] = fs.readFileSync(file, 'utf8')
  }
  return found
}

describe.each(agentNames)('connecting %s', (agent) => {
  it('shows what it would do and writes nothing with --dry-run [D6]', async () => {
    const folder = home()
    const before = files(folder)
    const run = await baton(folder, ['connect', agent, '--dry-run'])
    expect(run.out).toContain('Nothing was written')
    expect(run.out).toContain('+ ')
    expect(files(folder)).toEqual(before)
  })

  it('is idempotent, and disconnecting restores every file byte for byte [D6]', async () => {
    const folder = home()
    const before = files(folder)
    const first = await baton(folder, ['connect', agent])
    expect(first).toMatchObject({ code: 0, err: '' })
    const connected = files(folder)
    expect(connected).not.toEqual(before)
    expect((await baton(folder, ['connect', agent])).out).toContain('connected already')
    expect(files(folder)).toEqual(connected)
    expect((await baton(folder, ['disconnect', agent])).code).toBe(0)
    expect(files(folder)).toEqual(before)
    expect((await baton(folder, ['disconnect', agent])).out).toContain('is not connected')
  })

  it('leaves no folder behind where the agent had none [D6]', async () => {
    const folder = temporaryFolder()
    await baton(folder, ['connect', agent])
    expect(fs.readdirSync(folder).length).toBeGreaterThan(1)
    await baton(folder, ['disconnect', agent])
    expect(fs.readdirSync(folder)).toEqual(['.local'])
  })

  it('leaves folders that were there before, empty ones and links to them too [D6]', async () => {
    const folder = temporaryFolder()
    await baton(folder, ['connect', agent])
    const made = fs.readdirSync(folder).filter((name) => name !== '.local')
    await baton(folder, ['disconnect', agent])
    for (const name of made) {
      fs.mkdirSync(path.join(folder, 'dotfiles', name), { recursive: true })
      fs.symlinkSync(path.join('dotfiles', name), path.join(folder, name))
    }
    // Connecting twice: the second time, every folder is there.
    for (const word of ['connect', 'connect', 'disconnect']) expect((await baton(folder, [word, agent])).code).toBe(0)
    expect(fs.readdirSync(folder).toSorted()).toEqual(['.local', 'dotfiles', ...made].toSorted())
    for (const name of made) expect(fs.readdirSync(path.join(folder, 'dotfiles', name))).toEqual([])
    expect((await baton(folder, ['disconnect', agent])).out).toContain('is not connected')
  })

  it('removes exactly its own entries from files that were changed since [D6]', async () => {
    const folder = home()
    await baton(folder, ['connect', agent])
    const edited = Object.keys(settings).filter((name) => files(folder)[name] !== settings[name])
    for (const name of edited) {
      const file = path.join(folder, name)
      const text = fs.readFileSync(file, 'utf8')
      const changed = name.endsWith('.toml') ? `${text}\n[later]\nadded = true\n` : text.replace('{', '{"later": true,')
      fs.writeFileSync(file, changed)
    }
    await baton(folder, ['disconnect', agent])
    for (const name of edited) {
      const now = fs.readFileSync(path.join(folder, name), 'utf8')
      expect(now).toContain('later')
      expect(now).toContain('mine')
      expect(now).not.toMatch(/hook (claude|codex)|baton/)
    }
  })

  it('can be limited to a project, and touches nothing of the user then [D6]', async () => {
    const folder = home()
    fs.mkdirSync(path.join(folder, 'p/.git'), { recursive: true })
    const before = files(folder)
    await baton(folder, ['connect', agent, '--dry-run'])
    const run = await baton(path.join(folder, 'p'), ['connect', agent, '--project', '--json'])
    const { changed } = records(run)[0] as { changed: { path: string }[] }
    expect(changed.length).toBeGreaterThan(0)
    for (const { path: file } of changed) expect(file).toContain(path.join(folder, 'p'))
    await baton(path.join(folder, 'p'), ['disconnect', agent, '--project'])
    const { '.gitignore': _ours, ...after } = files(folder)
    expect(Object.fromEntries(Object.entries(after).filter(([name]) => !name.startsWith('p/.local')))).toEqual(before)
  })
})

describe('settings that are particular', () => {
  it('warns that Claude Code ignores settings with comments, and keeps the comments [D6]', async () => {
    const folder = home()
    const file = path.join(folder, '.claude/settings.json')
    fs.writeFileSync(file, '{\n  // mine\n  "model": "x"\n}\n')
    expect((await baton(folder, ['connect', 'claude'])).out).toContain(
      'contains comments, so Claude Code ignores the whole file',
    )
    expect(fs.readFileSync(file, 'utf8')).toContain('// mine')
    await baton(folder, ['disconnect', 'claude'])
    expect(fs.readFileSync(file, 'utf8')).toBe('{\n  // mine\n  "model": "x"\n}\n')
  })

  it('writes through a link to a folder of dotfiles, and keeps the mode [D6]', async () => {
    const folder = home()
    const file = path.join(folder, '.claude/settings.json')
    const real = path.join(folder, 'dotfiles.json')
    fs.renameSync(file, real)
    fs.chmodSync(real, 0o640)
    fs.symlinkSync(real, file)
    await baton(folder, ['connect', 'claude'])
    expect(fs.lstatSync(file).isSymbolicLink()).toBe(true)
    expect(fs.statSync(real).mode & 0o777).toBe(0o640)
    expect(fs.readFileSync(real, 'utf8')).toContain('hook claude statusline')
  })

  it('writes where a link leads to although nothing is there yet, and keeps the link [D6]', async () => {
    const folder = home()
    const file = path.join(folder, '.claude/settings.json')
    fs.rmSync(file)
    fs.symlinkSync('../dotfiles/claude.json', file)
    expect((await baton(folder, ['connect', 'claude'])).code).toBe(0)
    expect(fs.readFileSync(path.join(folder, 'dotfiles/claude.json'), 'utf8')).toContain('hook claude statusline')
    expect((await baton(folder, ['disconnect', 'claude'])).code).toBe(0)
    expect(fs.readlinkSync(file)).toBe('../dotfiles/claude.json')
    expect(fs.existsSync(file)).toBe(false)
  })

  it.each(['this', 'another'])("never takes a status line of %s Baton for the person's own [D6]", async (which) => {
    const folder = home()
    const file = path.join(folder, '.claude/settings.json')
    const mine = '{ "model": "x" }\n'
    fs.writeFileSync(file, mine)
    await baton(folder, ['connect', 'claude'])
    // As if the settings had come from another machine: nothing here says that they were connected.
    fs.rmSync(path.join(folder, '.local'), { recursive: true })
    const other = `node /elsewhere/main.js hook claude statusline`
    if (which === 'another') {
      fs.writeFileSync(file, JSON.stringify({ statusLine: { type: 'command', command: other } }))
    }
    expect((await baton(folder, ['connect', 'claude'])).code).toBe(0)
    const record = path.join(folder, '.local/state/baton/connected/claude-user.json')
    expect(JSON.parse(fs.readFileSync(record, 'utf8'))).not.toHaveProperty('statusLine')
    await baton(folder, ['disconnect', 'claude'])
    const left = fs.readFileSync(file, 'utf8')
    if (which === 'this') expect(left).toBe(mine)
    else expect(left).toContain(other)
  })

  it('says in a line that settings cannot be read [D6]', async () => {
    const folder = home()
    const file = path.join(folder, '.claude/settings.json')
    fs.rmSync(file)
    fs.mkdirSync(file)
    const run = await baton(folder, ['connect', 'claude'])
    expect([run.code, run.err]).toEqual([1, expect.stringMatching(/^baton: Cannot use .*settings\.json: EISDIR/)])
  })

  it('leaves settings that are broken as they are, and says so [D6]', async () => {
    const folder = home()
    const file = path.join(folder, '.claude/settings.json')
    fs.writeFileSync(file, '{"model":')
    const run = await baton(folder, ['connect', 'claude'])
    expect(run.code).toBe(2)
    expect(run.err).toContain('cannot be read as JSON')
    expect(fs.readFileSync(file, 'utf8')).toBe('{"model":')
    expect(fs.existsSync(path.join(folder, '.claude/skills'))).toBe(false)
  })

  it("says in the doctor's report that Codex waits for trust, and what is out of date [D6]", async () => {
    const folder = home()
    await baton(folder, ['connect', 'codex'])
    const codex = async () =>
      records(await baton(folder, ['doctor', '--json'])).filter(({ about }) => about === 'connect codex')
    expect(JSON.stringify(await codex())).toContain('until you trust them')
    fs.writeFileSync(path.join(folder, '.codex/hooks.json'), '{}')
    expect(JSON.stringify(await codex())).toContain('baton connect codex')
  })
})
