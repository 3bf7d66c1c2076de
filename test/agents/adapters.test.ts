import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Adapter, ScreenState } from '../../src/agents/index.ts'
import { capability } from '../../src/agents/index.ts'
import { adapterNamed, agentSettings, type AgentSettings } from '../../src/agents/index.ts'
import { screenOf } from '../../src/supervisor/drivers/screen.ts'
import { agentNames } from '../../src/agents/index.ts'
import { temporaryFolder } from '../support/workspace.ts'

const rule = '─'.repeat(80)
/** Drawn faint, as hints are. */
const faint = (text: string) => `\u001B[2m${text}\u001B[0m`

function readScreen(agent: string, ...lines: string[]): ScreenState {
  return adapterNamed(agent, { env: {} }).readScreen!(screenOf(lines.join('\n')))
}

// Pictures of the real programs: Claude Code 2.1.197, Codex 0.166.0, pi 0.73.1, opencode 1.18.33.
describe('screens', () => {
  const claude = (...composer: string[]) => ['● Done.', '', rule, ...composer, rule, '  ? for shortcuts']

  test('Claude Code: a prompt, a draft, a hint, work, and questions [C13]', () => {
    expect(readScreen('claude', ...claude('❯\u00A0'))).toEqual({ is: 'prompt', draft: '' })
    expect(readScreen('claude', ...claude('❯ half a', '  thought'))).toEqual({ is: 'prompt', draft: 'half a\nthought' })
    expect(readScreen('claude', ...claude(`❯ ${faint('Press up to edit queued messages')}`))).toEqual({
      is: 'prompt',
      draft: '',
    })
    // After an error, as 2.1.327 draws it: with its own cursor over the first letter, and without anything faint under NO_COLOR.
    const again = 'esend your message to try again'
    for (const drawn of [faint(again), again]) {
      expect(readScreen('claude', ...claude(`❯\u00A0\u001B[7mR\u001B[0m${drawn}`))).toEqual({ is: 'prompt', draft: '' })
    }
    for (const words of ['Once fixed, resend your message', 'Run /rewind to go back', 'Try "fix lint errors"'])
      expect(readScreen('claude', ...claude(`❯ ${words}`))).toEqual({ is: 'prompt', draft: '' })
    expect(readScreen('claude', ...claude('❯ \u001B[7mR\u001B[0mesend it'))).toEqual({
      is: 'prompt',
      draft: 'Resend it',
    })
    expect(readScreen('claude', '✢ Twisting… (1s · ↓ 28 tokens)', ...claude('❯'))).toEqual({ is: 'busy', draft: '' })
    expect(readScreen('claude', '')).toEqual({ is: 'starting' })
    const asks = ['● Bash(touch x)', '  ⎿  Waiting…', rule, ' Bash command', '   touch x', ' Do you want to proceed?']
    const answers = [' ❯ 1. Yes', '   2. Yes, and always allow access', '   3. No', '', ' Esc to cancel · Tab to amend']
    expect(readScreen('claude', ...asks, ...answers)).toEqual({
      is: 'dialog',
      question: 'Bash command · touch x · Do you want to proceed?',
      about: 'permission',
    })
    const shown = [
      '  44',
      '  45 - None',
      '  46 + Added a till',
      '╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌',
      ' Do you want to create handoff-2026-11-17.md?',
    ]
    expect(readScreen('claude', rule, ' Create file', ...shown, ...answers)).toMatchObject({
      question: 'Create file · Do you want to create handoff-2026-11-17.md?',
    })
    const trust = [
      'Quick safety check: Is this a project you trust?',
      '',
      ' ❯ 1. Yes, I trust this folder',
      '   2. No, exit',
    ]
    expect(readScreen('claude', rule, ...trust, '', ' Enter to confirm · Esc to cancel')).toMatchObject({
      is: 'dialog',
      about: 'trust',
    })
    // As 2.1.327 draws it.
    const safety = [
      ' Accessing workspace:',
      '',
      ' /the/project',
      '',
      ' Quick safety check: Is this a project you created or one you trust? (Like your own code, a well-known open source project, or',
      " work from your team). If not, take a moment to review what's in this folder first.",
      '',
      " Claude Code'll be able to read, edit, and execute files here.",
      '',
    ]
    const choices = (...lines: string[]) => [rule, ...safety, ...lines, '', ' Enter to confirm · Esc to cancel', '']
    const asked = readScreen('claude', ...choices(' ❯ No, exit', '   Yes, I trust this folder'))
    expect(asked).toEqual({
      is: 'dialog',
      question:
        "Quick safety check: Is this a project you created or one you trust? (Like your own code, a well-known open source project, or work from your team). If not, take a moment to review what's in this folder first. Claude Code'll be able to read, edit, and execute files here. (No, exit / Yes, I trust this folder)",
      about: 'trust',
    })
    expect(readScreen('claude', ...choices('   No, exit', ' ❯ Yes, I trust this folder'))).toEqual(asked)
    // What explains an answer is no part of the question, wherever the mark stands.
    const chosen = (mark: number) => {
      const row = (n: number, words: string) => `${n === mark ? '❯' : ' '} ${n}. ${words}`
      const rows = [row(1, 'SQLite'), '     A file, no server', row(2, 'PostgreSQL'), '     A server, for many tills']
      const rest = [row(3, 'Type something.'), rule, row(4, 'Chat about this'), '', 'Enter to select · Esc to cancel']
      return readScreen('claude', '● Which?', rule, ' ☐ Database', '', 'Which one shall it use?', '', ...rows, ...rest)
    }
    expect(chosen(1)).toEqual({
      is: 'dialog',
      question: 'Database · Which one shall it use?',
      about: 'other',
      answers: ['SQLite', 'PostgreSQL', 'Type something', 'Chat about this'],
    })
    for (const mark of [2, 3, 4]) expect(chosen(mark)).toEqual(chosen(1))
    const limit = [
      "You've hit your limit · resets 8:54pm (UTC)",
      '',
      ' ❯ 1. Stop and wait for limit to reset',
      '   2. Upgrade',
    ]
    expect(readScreen('claude', rule, ...limit)).toMatchObject({ is: 'dialog', about: 'limit' })
    // A list that somebody has written is no question.
    expect(readScreen('claude', '● Steps:', '  1. Read', '  2. Write', ...claude('❯ '))).toEqual({
      is: 'prompt',
      draft: '',
    })
    expect(readScreen('claude', '> 1. quoted', '  2. text', ...claude('❯ '))).toEqual({ is: 'prompt', draft: '' })
  })

  test('Codex: a prompt, a draft, a list of commands, and a question [C13]', () => {
    const foot = ['', '  scripted default · /the/project', '  ? for shortcuts']
    expect(
      readScreen('codex', '• Done', '', `\u001B[1m›\u001B[0m ${faint('Ask Codex to do anything')}`, ...foot),
    ).toEqual({
      is: 'prompt',
      draft: '',
    })
    expect(readScreen('codex', '› draft one', '  draft two', ...foot)).toEqual({
      is: 'prompt',
      draft: 'draft one\ndraft two',
    })
    expect(readScreen('codex', '› /new  start a new chat', '', '› /new', ...foot)).toEqual({
      is: 'prompt',
      draft: '/new',
    })
    expect(readScreen('codex', '• Working (3s • esc to interrupt)', '', '› ', ...foot)).toEqual({
      is: 'busy',
      draft: '',
    })
    const asks = ['  Would you like to run the following command?', '', '  $ sleep 100', '']
    const answers = [
      '› 1. Yes, proceed (y)',
      "  2. Yes, and don't ask again (p)",
      '  3. No, and tell Codex what to do (esc)',
    ]
    expect(readScreen('codex', ...asks, ...answers, '', '  Press enter to confirm or esc to cancel')).toEqual({
      is: 'dialog',
      question: 'Would you like to run the following command? $ sleep 100',
      about: 'permission',
    })
  })

  test('pi: a prompt, a draft, work, and a retry that hears nothing [C13]', () => {
    const pi = (...composer: string[]) => [rule, ...composer, rule, '/the/project', '0.0%/40k (auto)      scripted']
    expect(readScreen('pi', ...pi(''))).toEqual({ is: 'prompt', draft: '' })
    expect(readScreen('pi', ...pi('my draft'))).toEqual({ is: 'prompt', draft: 'my draft' })
    expect(readScreen('pi', ' ⠹ Working...', '', ...pi(''))).toEqual({ is: 'busy', draft: '' })
    expect(readScreen('pi', ' ⠹ Retrying (1/3) in 2s', '', ...pi(''))).toEqual({ is: 'busy', draft: '', deaf: true })
    expect(readScreen('pi', ' pi v0.73.1', rule)).toEqual({ is: 'starting' })
  })

  test('pi asks whether the folder is trusted, before it draws an input [C13]', () => {
    const answers = [' → Trust', '   Trust (this session only)', '   Do not trust']
    const keys = ' ↑↓ navigate  enter select  escape/ctrl+c cancel'
    expect(
      readScreen('pi', rule, '', ' Trust project folder?', ' /the/project', '', ...answers, '', keys, rule),
    ).toEqual({
      is: 'dialog',
      question: expect.stringMatching(/^Trust project folder\? .*Do not trust/) as string,
      about: 'trust',
    })
  })

  test.each([
    ['── ⠋ Working ────────────────────', { is: 'busy', draft: 'so far' }],
    ['── ⠼ Auto-compacting... (escape to cancel) ──', { is: 'busy', draft: 'so far' }],
    ['── ⠙ Retrying (2/3) in 4s... (escape to cancel) ─', { is: 'busy', draft: 'so far', deaf: true }],
    ['───⠙────', { is: 'busy', draft: 'so far' }],
    ['── ⠋ Working ────── ↑ 7 more ──────', { is: 'busy', draft: 'so far' }],
    ['── asking the owl ───────────────', { is: 'busy', draft: 'so far' }],
    ['────── ↑ 7 more ──────', { is: 'prompt', draft: 'so far' }],
  ])('pi that says in the border of its input what it does: %s [C13]', (top, seen) => {
    const foot = [rule, '/the/project', '↑49k ↓140 $0.049 ?/40k (auto)     scripted']
    expect(readScreen('pi', ' Earlier words.', '', top, 'so far', ...foot)).toEqual(seen)
    const hidesMore = ['─── ↓ 3 more ──────', ...foot.slice(1)]
    expect(readScreen('pi', ' Earlier words.', '', top, 'so far', ...hidesMore)).toEqual(seen)
  })

  test('opencode: a prompt, a draft beside its other column, work, and a question [C13]', () => {
    const foot = `  ╹${'▀'.repeat(40)}`
    const box = (typed: string) => [
      '  ┃',
      `  ┃  ${typed}`.padEnd(60) + 'LSPs are disabled',
      '  ┃',
      '  ┃  Build · scripted loop',
      foot,
    ]
    expect(readScreen('opencode', ...box('Ask anything… "Fix a TODO"'), '   ctrl+p commands')).toEqual({
      is: 'prompt',
      draft: '',
    })
    expect(readScreen('opencode', ...box('my draft'), '   ctrl+p commands')).toEqual({
      is: 'prompt',
      draft: 'my draft',
    })
    expect(readScreen('opencode', ...box(''), '   ■■⬝  esc interrupt    ctrl+p commands')).toEqual({
      is: 'busy',
      draft: '',
    })
    expect(readScreen('opencode', ...box('Ask anything…'), '')).toEqual({ is: 'starting' })
    const popup = '  ┃ /new          New session            ┃'
    expect(readScreen('opencode', popup, ...box('/new'), '   ctrl+p commands')).toEqual({ is: 'prompt', draft: '/new' })
    const asks = ['  ┃  △ Permission required', '  ┃    # Shell command', '  ┃  $ sleep 100', '  ┃']
    expect(readScreen('opencode', ...asks, '  ┃   Allow once   Allow always   Reject')).toMatchObject({
      is: 'dialog',
      question: expect.stringContaining('sleep 100') as string,
      about: 'permission',
    })
  })

  test('in a question, rows that begin something else are set apart, and broken rows are not, with every agent [C16]', () => {
    const asked = (agent: string, ...lines: string[]) => {
      const screen = readScreen(agent, ...lines)
      return screen.is === 'dialog' ? screen.question : screen
    }
    const fetch = [
      ' Fetch',
      '',
      '   url: "http://localhost/none", prompt: "what is there?"',
      '   Claude wants to fetch content from localhost',
      '',
      ' Do you want to allow Claude to fetch this content?',
      ' ❯ 1. Yes',
      '   2. No (esc)',
    ]
    expect(asked('claude', rule, ...fetch)).toBe(
      'Fetch · url: "http://localhost/none", prompt: "what is there?" · Claude wants to fetch content from localhost · Do you want to allow Claude to fetch this content?',
    )
    const run = [
      '  Would you like to run the following command?',
      '',
      '  Environment: local',
      '',
      '  Reason: May I publish the build to the web folder of this machine, where',
      '  Everybody on the Net sees it, and remove what is there?',
      '',
      '  $ cp -r build /srv/www',
      '',
      '› 1. Yes, proceed (y)',
      '  2. No (esc)',
    ]
    expect(asked('codex', rule, ...run)).toBe(
      'Would you like to run the following command? Environment: local · Reason: May I publish the build to the web folder of this machine, where Everybody on the Net sees it, and remove what is there? $ cp -r build /srv/www',
    )
    const box = (text: string) => `│ ${text.padEnd(76)} │`
    const write = [
      `╭${'─'.repeat(78)}╮`,
      box('? WriteFile  Writing to src/till.js'),
      box(`╭${'─'.repeat(70)}╮`),
      box('│ 1 export const till = 1'.padEnd(71) + '│'),
      box(`╰${'─'.repeat(70)}╯`),
      box('Apply this change?'),
      box(''),
      box('● 1. Allow once'),
      box('  2. No, suggest changes (esc)'),
      `╰${'─'.repeat(78)}╯`,
    ]
    expect(asked('gemini', ...write)).toBe('? WriteFile Writing to src/till.js · Apply this change?')
    const edit = ['  ┃', '  ┃  △ Permission required', '  ┃    → Edit src/till.js', '  ┃']
    expect(asked('opencode', ...edit, '  ┃   Allow once   Allow always   Reject', rule)).toMatch(
      /^Permission required · → Edit src\/till\.js/,
    )
    expect(asked('pi', rule, 'Delete the session', '→ Yes', '  No', rule, '0.0%/40k (auto)')).toBe(
      'Delete the session · → Yes · No',
    )
  })

  describe('Gemini CLI', () => {
    const rule = '─'.repeat(100)
    const footer = [
      ' workspace (/directory)      sandbox      /model',
      ' /tmp/project               no sandbox  gemini-2.5-pro',
    ]
    const said = [' > hello there', '', '✦ All right.', '']
    const top = [rule, ' Shift+Tab to accept edits']
    const empty = ' >   Type your message or @path/to/file'
    const thinking = ` ⠴ Thinking... (esc to cancel, 4s)${' '.repeat(50)}? for shortcuts`

    test('the place to type, as it is drawn with few colours, with many, and with all [C13]', () => {
      for (const [above, below] of [
        ['', ''],
        [rule, rule],
        ['▄'.repeat(100), '▀'.repeat(100)],
      ]) {
        const screen = (...typed: string[]) =>
          readScreen('gemini', ...said, ...top, above!, ...typed, below!, ...footer)
        expect(screen(empty)).toEqual({ is: 'prompt', draft: '' })
        expect(screen(' > line one', '   line two')).toEqual({ is: 'prompt', draft: 'line one\nline two' })
        expect(screen(' > [Pasted Text: 40 lines]')).toEqual({ is: 'prompt', draft: '[Pasted Text: 40 lines]' })
        expect(readScreen('gemini', ...said, thinking, ...top, above!, empty, below!, ...footer)).toEqual({
          is: 'busy',
          draft: '',
        })
      }
      const box = [`╭${'─'.repeat(40)}╮`, `│ > my draft`.padEnd(41) + '│', `╰${'─'.repeat(40)}╯`]
      expect(readScreen('gemini', ...box)).toEqual({ is: 'prompt', draft: 'my draft' })
    })

    test('a list that the model wrote is no question while there is a place to type [C13]', () => {
      const list = ['✦ Choose:', '  ● 1. this', '    2. that', '']
      expect(readScreen('gemini', ...list, ...top, rule, empty, rule, ...footer)).toEqual({ is: 'prompt', draft: '' })
    })

    test('a long text that is being pasted is no question, whatever is in it [C13]', () => {
      const pasted = [' > 1. Write src/till.js', '   2. Stamp it', '   3. Go on', '', '   > These values bind.']
      expect(readScreen('gemini', ...said, ...top, rule, ...pasted, rule, ...footer)).toEqual({
        is: 'prompt',
        draft: '1. Write src/till.js\n2. Stamp it\n3. Go on',
      })
    })

    test('questions, also behind a prompt that is drawn like the place to type [C13]', () => {
      const asks = (...lines: string[]) =>
        readScreen('gemini', rule, ' > go on', rule, '', `╭${rule}╮`, ...lines, `╰${rule}╯`)
      const shell = ['│ ? Shell  rm x.txt', '│ Allow execution of [Shell]?', '│']
      const answers = ['│ ● 1. Allow once', '│   2. Allow for this session', '│   3. No, suggest changes (esc)']
      expect(asks(...shell, ...answers)).toMatchObject({ is: 'dialog', about: 'permission' })
      const limit = ['│ Usage limit reached for all Pro models.', '│ /model to switch models.', '│']
      const again = { is: 'limited', words: expect.stringContaining('Usage limit reached') as string, again: ['1'] }
      expect(asks(...limit, '│ ● 1. Keep trying', '│   2. Stop', '│')).toMatchObject(again)
      expect(asks(...limit, '│   1. Keep trying', '│ ● 2. Stop', '│')).toMatchObject(again)
      expect(asks(...limit, '│ ● 1. Switch to flash', '│   2. Stop', '│')).toMatchObject({
        is: 'dialog',
        about: 'limit',
      })
      const trust = [
        '│ Do you trust the files in this folder?',
        '│',
        '│ ● 1. Trust folder (project)',
        "│   2. Don't trust",
      ]
      expect(asks(...trust)).toMatchObject({ is: 'dialog', about: 'trust' })
      const model = [
        '│ Select Model',
        '│',
        '│   1. Auto',
        '│      Let it decide',
        '│ ● 2. Manual',
        '│      By hand',
        '│',
      ]
      expect(asks(...model, '│ > To use a model on startup, use --model.', '│')).toMatchObject({
        is: 'dialog',
        question: expect.stringContaining('Select Model') as string,
      })
    })
  })
})

describe('where an agent compacts by itself [C1]', () => {
  const at = (agent: string, window: number | undefined, env: NodeJS.ProcessEnv = {}) =>
    adapterNamed(agent, { env: { HOME: '/nowhere', ...env } }).compactsAt({ ...(window && { window }) })

  test('by what was seen of each', () => {
    expect(at('claude', 200_000)).toBe(200_000)
    expect(at('claude', 200_000, { CLAUDE_CODE_AUTO_COMPACT_WINDOW: '100000' })).toBe(67_000)
    expect(at('claude', 200_000, { DISABLE_AUTO_COMPACT: '1' })).toBeUndefined()
    expect(at('codex', 100_000)).toBe(90_000)
    expect(at('pi', 100_000)).toBe(83_616)
    expect(at('gemini', 1_048_576)).toBe(524_288)
    expect(at('opencode', 100_000)).toBe(68_000)
    for (const agent of agentNames) expect(at(agent, undefined)).toBeUndefined()
  })

  test('by the settings files of Claude Code: for all models, for one, in the environment that they set, in the project', () => {
    const home = temporaryFolder()
    const project = path.join(home, 'project')
    const write = (file: string, value: unknown) => {
      fs.mkdirSync(path.dirname(path.join(home, file)), { recursive: true })
      fs.writeFileSync(path.join(home, file), JSON.stringify(value))
    }
    const claude = (model?: string) =>
      adapterNamed('claude', { env: { HOME: home } }).compactsAt({ window: 1_000_000, model, cwd: project })
    expect(claude()).toBe(1_000_000)
    write('.claude/settings.json', { autoCompactWindow: 400_000 })
    expect(claude()).toBe(367_000)
    write('.claude/settings.json', {
      autoCompactWindow: 400_000,
      modelSettings: { 'claude-opus-5-5': { autoCompactWindow: 300_000 } },
    })
    expect(claude('claude-opus-5-5-20261001')).toBe(267_000)
    expect(claude('claude-haiku-5-5')).toBe(367_000)
    write('project/.claude/settings.json', { env: { CLAUDE_CODE_AUTO_COMPACT_WINDOW: '200000' } })
    expect(claude()).toBe(167_000)
    write('project/.claude/settings.local.json', { env: { CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: '10' } })
    expect(claude()).toBe(100_000)
    write('project/.claude/settings.local.json', { autoCompactEnabled: false })
    expect(claude()).toBeUndefined()
  })

  test('by what its own settings say', () => {
    const home = temporaryFolder()
    const write = (file: string, text: string) => {
      fs.mkdirSync(path.dirname(path.join(home, file)), { recursive: true })
      fs.writeFileSync(path.join(home, file), text)
    }
    write(
      '.codex/config.toml',
      'model = "x"\nmodel_auto_compact_token_limit = 50_000\n[a]\nmodel_auto_compact_token_limit = 1\n',
    )
    write('.pi/agent/settings.json', '{"compaction":{"reserveTokens":20000}}')
    write('.gemini/settings.json', '{"model":{"compressionThreshold":0.7}}')
    const limit = { context: 100_000, output: 4_000 }
    write('.config/opencode/opencode.json', JSON.stringify({ provider: { p: { models: { m: { limit } } } } }))
    const env = { HOME: home }
    expect(at('codex', 100_000, env)).toBe(50_000)
    expect(at('codex', 20_000, env)).toBe(18_000)
    expect(at('pi', 100_000, env)).toBe(80_000)
    expect(at('gemini', 1_000_000, env)).toBe(700_000)
    expect(at('opencode', 100_000, env)).toBe(96_000)
    write('.pi/agent/settings.json', '{"compaction":{"enabled":false}}')
    write('.config/opencode/opencode.json', '{"compaction":{"auto":false}}')
    write('.codex/config.toml', '= broken')
    expect(at('pi', 100_000, env)).toBeUndefined()
    expect(at('opencode', 100_000, env)).toBeUndefined()
    expect(at('codex', 100_000, env)).toBe(90_000)
  })
})

describe('commands', () => {
  const words = (agent: string) => {
    const adapter = adapterNamed(agent, { env: {} })
    return [
      adapter.launch!({ prompt: 'do it', args: ['-x'], session: 'ID' }),
      adapter.resume!('ID', { args: ['-x'] }),
      adapter.turn!('do it', undefined, { session: 'ID' }),
      adapter.turn!('do it', 'ID'),
    ].map(({ program, args }) => [program, ...args].join(' '))
  }

  test('of each agent: launched, reopened, a turn, a turn that goes on [C13]', () => {
    expect(Object.fromEntries(agentNames.map((name) => [name, words(name)]))).toEqual({
      claude: [
        'claude --session-id ID -x -- do it',
        'claude --resume ID -x',
        'claude -p --output-format json --session-id ID -- do it',
        'claude -p --output-format json --resume ID -- do it',
      ],
      codex: [
        'codex --no-daemon -x -- do it',
        'codex resume --no-daemon -x ID',
        'codex exec --json --skip-git-repo-check -- do it',
        'codex exec resume --json --skip-git-repo-check ID -- do it',
      ],
      pi: ['pi -x do it', 'pi --session ID -x', 'pi --mode json do it', 'pi --mode json --session ID do it'],
      gemini: [
        'gemini --session-id ID -x -i do it',
        'gemini --resume ID -x',
        'gemini --output-format stream-json --session-id ID -p do it',
        'gemini --output-format stream-json --resume ID -p do it',
      ],
      opencode: [
        'opencode -x --prompt do it',
        'opencode -s ID -x',
        'opencode run --format json -- do it',
        'opencode run --format json -s ID -- do it',
      ],
    })
    // opencode joins its arguments with blanks, quotes those that contain one, and fails on a number.
    const given = adapterNamed('opencode').turn!('It ended with 1:\n  see line 7 5', undefined).args
    expect(given.slice(given.indexOf('--') + 1)).toEqual([
      'It',
      'ended',
      'with',
      '1:\n',
      '',
      'see',
      'line\u00A07\u00A05',
    ])
    // Else Claude Code writes no transcript when an agent starts it.
    expect(Object.keys(adapterNamed('claude').launch!().env!)).toContain('CLAUDECODE')
    for (const name of agentNames) expect(adapterNamed(name).interrupt).not.toContain('C-c')
    // Their transcripts hold a call only when it has ended.
    const late = agentNames.filter((name) => adapterNamed(name).callsShowLate === true)
    expect(late).toEqual(['gemini'])
  })

  test('how a turn ended is told by what was printed, not by its exit status [C13]', () => {
    const outcome = (agent: string, out: string, code: number | 'runs' = 0, err = '') =>
      adapterNamed(agent, { env: {} }).outcome!({ out, err, code: code === 'runs' ? undefined : code })
    expect(
      outcome('claude', '{"type":"result","is_error":true,"result":"API Error: 500","session_id":"a"}\n', 1),
    ).toMatchObject({ session: 'a', error: 'API Error: 500' })
    expect(outcome('claude', '{"type":"result","is_error":false,"session_id":"a"}\n')).toMatchObject({
      error: undefined,
    })
    expect(outcome('claude', '', 1, 'No conversation found with session ID: x\n').error).toContain(
      'No conversation found',
    )
    expect(outcome('opencode', '', 1, '\u001B[91m\u001B[1mError: \u001B[0mUnexpected error\n').error).toBe(
      'Error: Unexpected error (it ended with 1)',
    )
    const usage =
      "  tip: to pass it as a value, use '--'\n\nUsage: codex exec [PROMPT]\n\nFor more information, try '--help'.\n"
    expect(outcome('codex', '', 2, `WARNING: odd\nerror: unexpected argument '-x' found\n${usage}`).error).toMatch(
      /^error: unexpected argument '-x' found .*\(it ended with 2\)$/,
    )
    expect(outcome('opencode', '', 1, 'opencode run\n\nOptions:\n  --auto  [boolean]\n').error).toBe(
      'it printed its help, as for an unknown option or command (it ended with 1)',
    )
    expect(outcome('gemini', '', 137, 'Warning: no colours\n').error).toBe('it was ended by SIGKILL')
    const used =
      '{"type":"result","status":"error","error":{"message":"[API Error: You have exhausted your daily quota on this model.]"}}\n'
    expect(outcome('gemini', used, 173)).toMatchObject({ isLimit: true })
    const internal = '{"type":"result","status":"error","error":{"message":"[API Error: Internal error]"}}\n'
    expect(outcome('gemini', internal, 244)).toMatchObject({ isLimit: false, error: '[API Error: Internal error]' })
    expect(outcome('claude', '', 'runs').error).toBeUndefined()
    const begun = '{"type":"thread.started","thread_id":"t"}\n'
    expect(outcome('codex', begun, 'runs')).toMatchObject({ session: 't', error: undefined, over: false })
    expect(outcome('codex', `${begun}{"type":"turn.failed","error":{"message":"limit"}}\n`, 1)).toMatchObject({
      error: 'limit',
    })
    expect(outcome('codex', `${begun}{"type":"turn.completed"}\n`, 143)).toMatchObject({ error: undefined, over: true })
    expect(outcome('codex', begun).error).toBe('it ended without an answer')
    const failed =
      '{"type":"session","id":"p"}\n{"type":"auto_retry_end","success":false,"finalError":"500"}\n{"type":"agent_end","messages":[]}\n'
    expect(outcome('pi', failed)).toMatchObject({ session: 'p', error: '500' })
    const stopped = '{"type":"agent_end","messages":[{"role":"assistant","errorMessage":"429"}]}\n'
    expect(outcome('pi', stopped).error).toBe('429')
    expect(
      outcome('opencode', '{"type":"error","sessionID":"o","error":{"name":"ContextOverflowError"}}\n', 1),
    ).toMatchObject({
      session: 'o',
      error: 'ContextOverflowError',
    })
    const opened = '{"type":"init","session_id":"g","model":"gemini-2.5-pro"}\n'
    const ended = '{"type":"result","status":"success","stats":{}}\n'
    expect(outcome('gemini', opened + ended)).toMatchObject({ session: 'g', error: undefined })
    expect(outcome('gemini', opened)).toMatchObject({ session: 'g', error: 'it ended without an answer' })
    const broken = '{"type":"result","status":"error","error":{"type":"unknown","message":"[API Error: bad]"}}\n'
    expect(outcome('gemini', opened + broken, 144, 'noise')).toMatchObject({ session: 'g', error: '[API Error: bad]' })
    expect(outcome('gemini', '', 42, 'Error resuming session').error).toContain('Error resuming session')
  })
})

describe('agents of one’s own', () => {
  const mine: AgentSettings = {
    command: ['my-agent', '--always'],
    transcript: 'claude',
    env: { CLAUDE_CONFIG_DIR: '/mine' },
    launch: ['--start', '{prompt}'],
    turn: ['run', '{prompt}', '--as={session}'],
    resumeTurn: ['run', '{prompt}', '--on={session}'],
    clear: '/reset',
    ready: '^» (.*)$',
    compactsAt: 0.8,
  }
  const adapter = (settings: AgentSettings = mine): Adapter => adapterNamed('mine', { agents: { mine: settings } })

  test('are what their description says, and lack the rest [C13]', () => {
    const own = adapter()
    expect(own.launch!({ prompt: 'go', args: ['-x'] })).toEqual({
      program: 'my-agent',
      args: ['--always', '--start', 'go', '-x'],
      env: { CLAUDE_CONFIG_DIR: '/mine' },
    })
    expect(own.turn!('go', undefined).args).toEqual(['--always', 'run', 'go'])
    expect(own.turn!('go', 'ID').args).toEqual(['--always', 'run', 'go', '--on=ID'])
    expect(own.compactsAt({ window: 1_000 })).toBe(800)
    expect(own.readScreen!(screenOf('» half'))).toEqual({ is: 'prompt', draft: 'half' })
    expect(own.readScreen!(screenOf('» '))).toEqual({ is: 'prompt', draft: '' })
    expect(() => capability(own, 'interrupt')).toThrow('mine cannot interrupt')
    expect(() => capability(own, 'resume')).toThrow('mine cannot resume')
  })

  test('known agents can be started in another way, and stay what they are [C13]', () => {
    const own = adapterNamed('pi', { env: {}, agents: { pi: { command: ['node', 'pi.js'], compactsAt: 9_000 } } })
    expect(own.launch!().args).toEqual(['pi.js'])
    expect(own.compactsAt({ window: 20_000 })).toBe(9_000)
    expect(own.clear).toBe('/new')
  })

  test('a mistake in one is told with its place', () => {
    expect(() => adapter({ command: ['x'] })).toThrow('supervisor.agents.mine: "transcript" is missing')
    expect(() => adapter({ transcript: 'pi' })).toThrow('supervisor.agents.mine: "command" is missing')
    expect(() => adapterNamed('nobody')).toThrow('There is no agent "nobody"')
    for (const wrong of [{ interrupt: ['C-c'] }, { ready: '(' }, { command: [] }, { colour: 'red' }])
      expect(agentSettings.safeParse(wrong).success).toBe(false)
  })
})
