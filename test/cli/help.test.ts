// What a newcomer types: help, versions, mistyped words, and the scripts and pages that come with the program.
import type { Command } from 'commander'
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { trustProject } from '../../src/config/index.ts'
import { examplesOf } from '../../src/cli/examples.ts'
import { filled } from '../../src/cli/itself/docs.ts'
import { build } from '../../src/cli/program.ts'
import { temporaryFolder } from '../support/workspace.ts'
import { baton, ioOf, records } from './cli.ts'

function commandsOf(parent: Command, above: readonly string[] = []): string[] {
  return parent.commands
    .filter((command) => parent.createHelp().visibleCommands(parent).includes(command))
    .flatMap((command) => {
      const words = [...above, command.name()]
      return [words.join(' '), ...commandsOf(command, words)]
    })
}

test('the help of every command has an example', async () => {
  const lacking: string[] = []
  for (const name of commandsOf(build(ioOf(import.meta.dirname)))) {
    const { out } = await baton(import.meta.dirname, [...name.split(' '), '--help'])
    if (!/\nExamples?:\n {2}\S/.test(out)) lacking.push(name)
  }
  expect(lacking).toEqual([])
})

// Started, they would run until they are ended, or wait for somebody: of these only the words are checked.
const lasting = ['attach', 'chat', 'demo', 'follow', 'mcp', 'run', 'tape tail', 'up'].concat(
  ['ask', 'claim', 'inbox', 'request', 'serve', 'status', 'watch'].map((verb) => `relay ${verb}`),
)

test('the help of a command below another shows no options of that other command', async () => {
  const { out } = await baton(import.meta.dirname, ['handoff', 'ls', '--help'])
  expect(out.match(/^ {2}--[\w-]+/gm)).toEqual(
    ['--tape', '--workspace', '--store', '--json', '--quiet', '--no-color'].map((name) => `  ${name}`),
  )
})

test('no command refuses the words of its own example', async ({ onTestFinished }) => {
  const cwd = temporaryFolder(onTestFinished)
  await baton(cwd, ['tape', 'append', 'main'], '{"kind":"message","payload":{"role":"user","content":"hi"}}\n')
  await baton(cwd, ['task', 'new', 'LOGIN', '--title', 'Sign in'])
  fs.mkdirSync(path.join(cwd, 'docs'))
  for (const file of ['docs/plan.md', 'handoff.md']) fs.writeFileSync(path.join(cwd, file), '')
  const refused: string[] = []
  for (const name of commandsOf(build(ioOf(cwd))))
    for (const example of examplesOf(name)) {
      const [, words = ''] = /(?:^|\| )baton ?(.*?)(?: [>|].*)?$/.exec(example) ?? []
      const args = wordsOf(words)
      if (lasting.includes(name)) args.splice(name.split(' ').length, 0, '--help')
      const { code, err } = await baton(cwd, args)
      if (code === 2) refused.push(`${example}: ${err.split('\n')[0]}`)
    }
  // These are refused for what is not here; of all others, what they name is found, or missed with 4.
  const nobody = 'baton: Nothing of LOGIN waits for a person'
  const nowhere = 'baton: "TRACE" is not the id of a trace, and no trace begins like that'
  const silent = 'baton notify test: baton: baton.config.json names no channel to notify'
  expect(refused).toEqual([
    `baton task approve LOGIN --note "backed up": ${nobody}`,
    `baton task reject LOGIN --note "not on a Friday": ${nobody}`,
    `baton task withdraw LOGIN: ${nobody}`,
    `baton relay owner TRACE: ${nowhere}`,
    `baton relay return TRACE --from researcher --reason "done here": ${nowhere}`,
    silent,
    silent,
  ])
})

/** The words of a command line as a shell would pass them on. */
function wordsOf(line: string): string[] {
  return Array.from(line.matchAll(/"([^"]*)"|'([^']*)'|\S+/g), ([word, double, single]) => double ?? single ?? word)
}

test('help, version and mistyped words answer as people expect', async ({ onTestFinished }) => {
  const cwd = temporaryFolder(onTestFinished)
  const [help, tape] = [await baton(cwd, ['help']), await baton(cwd, ['help', 'tape', 'append'])]
  expect(help).toMatchObject({ code: 0, err: '' })
  expect(help.out).toContain('Usage: baton')
  expect(tape.out).toContain('Usage: baton tape append')
  for (const word of ['version', '--version', '-v', '-V'])
    expect((await baton(cwd, [word])).out).toMatch(/^\d+\.\d+\.\d+\n$/)
  expect(await baton(cwd, ['handof'])).toEqual({
    code: 2,
    out: '',
    err: 'baton: There is no command "handof"\n  Did you mean "baton handoff"?\n',
  })
  expect((await baton(cwd, ['nonsense'])).err).toBe('baton: There is no command "nonsense"\n  See "baton --help".\n')
  expect((await baton(cwd, ['tape', 'lst'])).err).toContain('Did you mean "baton tape ls"?')
})

test('what is wrong with the arguments is said in one voice, as JSON where JSON is asked for', async ({
  onTestFinished,
}) => {
  const cwd = temporaryFolder(onTestFinished)
  for (const [args, err] of [
    [
      ['ls', '--agent', 'foo'],
      '"foo" is not valid for --agent <agent>\n  Choose one of claude, codex, pi, gemini, opencode.',
    ],
    [['completion', 'tcsh'], '"tcsh" is not valid for shell\n  Choose one of bash, zsh, fish.'],
    [
      ['handoff', '--budget', 'abc'],
      '"abc" is not valid for --budget <tokens>\n  It must be a whole number, without a sign.',
    ],
    [['ls', 'extra'], '"baton ls" takes no arguments\n  See "baton ls --help".'],
    [['handoff', 'ls', '--goal', 'x'], 'Unknown option \'--goal\'\n  See "baton handoff ls --help".'],
    [['tape', 'ls', '--nope'], 'Unknown option \'--nope\'\n  See "baton tape ls --help".'],
    [
      ['relay', 'history', 'x'],
      '"x" is not the id of a trace, and no trace begins like that\n  "baton relay history --json" has the ids of traces.',
    ],
  ] as const)
    expect(await baton(cwd, args)).toEqual({ code: 2, out: '', err: `baton: ${err}\n` })
  for (const args of [
    ['ls', '--agent', 'foo'],
    ['tape', 'lst'],
    ['handoff', '--budget', 'abc'],
    ['show'],
    ['nothing'],
  ]) {
    const { code, err } = await baton(cwd, [...args, '--json'])
    expect([args, code, JSON.parse(err)]).toMatchObject([args, 2, { error: { code: 'invalid' } }])
  }
})

test('the history of a trace that does not exist is not found', async ({ onTestFinished }) => {
  const trace = '00000000-0000-4000-8000-000000000001'
  expect(await baton(temporaryFolder(onTestFinished), ['relay', 'history', trace])).toEqual({
    code: 4,
    out: '',
    err: `baton: Nothing has happened in a trace ${trace}\n  "baton relay history --json" has the ids of traces; "baton relay status ID" shows a request.\n`,
  })
})

test('a copy from a store that does not exist is refused, and makes none', async ({ onTestFinished }) => {
  const cwd = temporaryFolder(onTestFinished)
  const { code, err } = await baton(cwd, ['store', 'copy', 'nowhere', 'there'])
  expect([code, err]).toEqual([4, expect.stringMatching(/^baton: There is no store in .*nowhere\n/)])
  expect(fs.readdirSync(cwd)).toEqual([])
})

test('a noun without a verb lists what there is', async ({ onTestFinished }) => {
  const cwd = temporaryFolder(onTestFinished)
  expect((await baton(cwd, ['escalations'])).out).toBe('Nothing is waiting for you.\n')
  expect((await baton(cwd, ['task'])).out).toContain('No tasks yet.')
  expect((await baton(cwd, ['relay'])).out).toContain('0 wait')
  expect((await baton(cwd, ['config'])).out).toContain('the defaults apply')
  expect((await baton(cwd, ['tape'])).out).toContain('No tapes yet.')
})

test('a shell completes commands, options, choices and tapes', async ({ onTestFinished }) => {
  const cwd = temporaryFolder(onTestFinished)
  for (const before of [
    ['tape', 'read', ''],
    ['task', 'show', ''],
    ['escalations', 'show', ''],
  ])
    expect(await baton(cwd, ['complete', '--', ...before])).toMatchObject({ code: 0, out: '', err: '' })
  expect(fs.existsSync(path.join(cwd, '.local'))).toBe(false)
  await baton(cwd, ['tape', 'append', 'main'], '{"kind":"message","payload":{"role":"user","content":"hi"}}\n')
  const words = async (...typed: string[]) =>
    (await baton(cwd, ['complete', '--', ...typed])).out.split('\n').flatMap((line) => line.split('\t')[0] || [])
  expect(await words('han')).toEqual(['handoff'])
  expect(await words('tape', 'ap')).toEqual(['append'])
  expect(await words('tape', 'read', 'm')).toEqual(['main'])
  expect(await words('show', 'm')).toEqual(['main#1'])
  expect(await words('tape', 'read', '--li')).toEqual(['--limit'])
  expect(await words('tape', 'read', 'main', '')).toEqual([])
  expect(await words('tape', 'read', '--json', 'm')).toEqual(['main'])
  expect(await words('tape', 'fork', 'main', '--limit', '5', 'm')).toEqual([])
  expect(await words('continue', '--in', 'co')).toEqual(['codex'])
  fs.writeFileSync(path.join(cwd, 'baton.config.json'), '{"supervisor": {"agents": {"cat": {"command": ["cat"]}}}}')
  expect(await words('run', 'c')).toEqual(['claude', 'codex', 'cat'])
  expect(await words('docs', 'guide-o')).toEqual(['guide-overnight-run'])
  const question = [
    '--from',
    'coder',
    '--to',
    'human',
    '--reason',
    'requires_human_decision',
    '--summary',
    'Which port?',
  ]
  expect(await baton(cwd, ['relay', 'request', ...question])).toMatchObject({ code: 0 })
  const [open] = records(await baton(cwd, ['escalations', '--json']))
  expect(await words('escalations', 'show', '')).toEqual([open!.id])
  for (const shell of ['bash', 'zsh', 'fish'])
    expect((await baton(cwd, ['completion', shell])).out).toContain('baton complete --')
})

test('bash completes the name of a tape after its colon', async ({ onTestFinished }) => {
  const cwd = temporaryFolder(onTestFinished)
  const script = (await baton(cwd, ['completion', 'bash'])).out
  const typed = 'baton tape read claude:0b'
  // The shell function calls the program, which is a function here, and answers in COMPREPLY.
  const code = `${script}
baton() { [ "$*" = 'complete -- tape read claude:0b' ] && printf 'claude:0b41-5\\t2 entries\\n'; }
COMP_LINE='${typed}' COMP_POINT=${typed.length}; _baton; printf '%s\\n' "\${COMPREPLY[@]}"`
  expect(execFileSync('bash', ['--norc', '-c', code], { encoding: 'utf8' })).toBe('0b41-5\n')
})

test('the man page and the pages of the documentation come with the program', async ({ onTestFinished }) => {
  const cwd = temporaryFolder(onTestFinished)
  const man = (await baton(cwd, ['man'])).out
  expect(man).toMatch(/^\.TH BATON 1/)
  for (const name of commandsOf(build(ioOf(cwd)))) expect(man).toContain(`.SS "baton ${name.replaceAll('-', '\\-')}`)
  const pages = fs.readdirSync(path.join(import.meta.dirname, '../../docs')).filter((name) => name.endsWith('.md'))
  const listed = (await baton(cwd, ['docs'])).out
  for (const page of pages) expect(listed).toContain(page.slice(0, -3))
  expect((await baton(cwd, ['docs', 'cli'])).out).toMatch(/^# Command line\n/)
  expect(await baton(cwd, ['docs', 'tapse'])).toMatchObject({ code: 4 })
})

test('a page of the documentation fits into a narrow terminal, and its code stays as it is', () => {
  const code = ['```sh', 'baton show main#1..1930   # as it is', '```', '']
  const page = [
    '# A long heading that stays as it is',
    '',
    'A paragraph of two lines,',
    'which is filled.',
    '',
    '- an item that is long',
    '  and continues',
    '- another',
    '',
    ...code,
  ]
  expect(filled(page.join('\n'), 20).split('\n')).toEqual([
    '# A long heading that stays as it is',
    '',
    'A paragraph of two',
    'lines, which is',
    'filled.',
    '',
    '- an item that is',
    '  long and continues',
    '- another',
    '',
    ...code,
  ])
})

test('looking around puts nothing on the machine', async ({ onTestFinished }) => {
  const cwd = temporaryFolder(onTestFinished)
  for (const args of [[], ['ls'], ['health'], ['doctor'], ['uninstall', '--dry-run'], ['docs'], ['--help']])
    expect(await baton(cwd, args), args.join(' ')).toMatchObject({ code: 0 })
  const left = fs.readdirSync(cwd, { recursive: true, encoding: 'utf8' })
  // The doctor tries whether it can write where Baton remembers things.
  expect(left.filter((file) => !file.startsWith('.local') || file.includes('share'))).toEqual([])
})

test('uninstall lists what Baton keeps, and removes it only when it is told to', async ({ onTestFinished }) => {
  const cwd = temporaryFolder(onTestFinished)
  await baton(cwd, ['tape', 'append', 'main'], '{"kind":"message","payload":{"role":"user","content":"hi"}}\n')
  const folder = path.join(cwd, '.local', 'share', 'baton')
  expect((await baton(cwd, ['uninstall', '--dry-run'])).out).toContain(folder)
  expect(await baton(cwd, ['uninstall'])).toMatchObject({ code: 2 })
  expect(fs.existsSync(folder)).toBe(true)
  expect(await baton(cwd, ['uninstall', '--yes'])).toMatchObject({ code: 0 })
  expect(fs.existsSync(folder)).toBe(false)
})

test('uninstall removes the cache, the documents in a project and the snapshots of its work', async ({
  onTestFinished,
}) => {
  const cwd = fs.realpathSync(temporaryFolder(onTestFinished))
  const git = (...args: string[]) => execFileSync('git', ['-C', cwd, ...args], { encoding: 'utf8' }).trim()
  git('init', '-q')
  const commit = git('-c', 'user.name=A', '-c', 'user.email=a@b.c', 'commit-tree', '-m', 'kept', git('write-tree'))
  git('update-ref', 'refs/baton/job/1', commit)
  git('update-ref', 'refs/heads/mine', commit)
  const own = path.join(cwd, '.handoffs')
  const cache = path.join(cwd, '.cache', 'baton')
  for (const folder of [own, cache]) fs.mkdirSync(folder, { recursive: true })
  fs.writeFileSync(path.join(own, '.gitignore'), '*\n')
  const { out } = await baton(cwd, ['uninstall', '--dry-run'])
  for (const listed of [own, cache, '1 of uncommitted work: refs/baton in']) expect(out).toContain(listed)
  expect(await baton(cwd, ['uninstall', '--yes'])).toMatchObject({ code: 0 })
  expect([fs.existsSync(own), fs.existsSync(cache)]).toEqual([false, false])
  expect(git('for-each-ref', '--format=%(refname)')).toBe('refs/heads/mine')
  fs.mkdirSync(own)
  expect((await baton(cwd, ['uninstall', '--dry-run'])).out).not.toContain(own)

  const demo = path.join(cwd, 'baton-demo-a1B2c3')
  fs.mkdirSync(path.join(demo, 'till', '.baton'), { recursive: true })
  execFileSync('git', ['init', '-q', path.join(demo, 'till')])
  trustProject(path.join(demo, 'till'), { HOME: cwd })
  const talk = path.join(cwd, 'baton-demo-slides', 'talk')
  fs.mkdirSync(talk, { recursive: true })
  execFileSync('git', ['init', '-q', talk])
  trustProject(talk, { HOME: cwd })
  expect((await baton(cwd, ['uninstall', '--yes'])).out).toContain(`demo        ${demo}\n`)
  expect([demo, talk].map((each) => fs.existsSync(each))).toEqual([false, true])
})

test('init names the tapes that it would hide, and how to bring them along', async ({ onTestFinished }) => {
  const cwd = temporaryFolder(onTestFinished)
  await baton(cwd, ['tape', 'append', 'main'], '{"kind":"message","payload":{"role":"user","content":"hi"}}\n')
  const { err } = await baton(cwd, ['init'])
  expect(err).toContain('1 entry on main')
  const [, from = '', to = ''] = /baton store copy (\S+) (\S+)/.exec(err) ?? []
  expect(await baton(cwd, ['store', 'copy', from, to])).toMatchObject({ code: 0 })
  expect((await baton(cwd, ['tape', 'ls'])).out).toContain('main')
})

test('the beginning of an id will do in a reference', async ({ onTestFinished }) => {
  const cwd = temporaryFolder(onTestFinished)
  const tape = 'claude:0b415cbd-aaaa'
  await baton(cwd, ['tape', 'append', tape], '{"kind":"message","payload":{"role":"user","content":"hi"}}\n')
  expect((await baton(cwd, ['show', '0b415#1'])).out).toContain(`${tape}#1`)
})

test('the beginning of an id will do where a tape is read, and where it is changed the whole name is needed', async ({
  onTestFinished,
}) => {
  const cwd = temporaryFolder(onTestFinished)
  const tape = 'claude:0b415cbd-aaaa'
  await baton(cwd, ['tape', 'append', tape], '{"kind":"message","payload":{"role":"user","content":"hi"}}\n')
  expect((await baton(cwd, ['tape', 'info', '0b415'])).out).toContain(tape)
  expect((await baton(cwd, ['tape', 'context', 'claude:0b'])).out).toContain('user: hi')
  expect((await baton(cwd, ['tape', 'read', '0b415'])).out).toContain('user: hi')
  expect(await baton(cwd, ['tape', 'reset', '0b415'])).toMatchObject({ code: 4 })
  await baton(
    cwd,
    ['tape', 'append', 'claude:0b415fff'],
    '{"kind":"message","payload":{"role":"user","content":"a"}}\n',
  )
  expect(await baton(cwd, ['tape', 'info', '0b415'])).toMatchObject({ code: 4, err: expect.stringContaining(tape) })
})
