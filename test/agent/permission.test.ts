import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { permissionPolicy, permissionsSchema, type PermissionSettings } from '../../src/agent/permission.ts'
import { allAllowed, mayRun, plainCommands } from '../../src/agent/permission-command.ts'
import { literalGlob, parseGlob } from '../../src/agent/permission-glob.ts'
import { absolutePath, isInside, realTarget } from '../../src/agent/permission-path.ts'
import { bash, codingTools, fsEdit, fsRead, fsWrite, tapeInfo } from '../../src/agent/tools/index.ts'
import type { AgentTool, Decision } from '../../src/agent/tool.ts'
import { temporaryFolder } from '../support/workspace.ts'

interface House {
  readonly cwd: string
  readonly outside: string
}

function house(): House {
  const root = fs.realpathSync(temporaryFolder())
  const cwd = path.join(root, 'work')
  const outside = path.join(root, 'outside')
  fs.mkdirSync(path.join(cwd, 'src'), { recursive: true })
  fs.mkdirSync(outside)
  fs.writeFileSync(path.join(outside, 'secret'), '')
  fs.writeFileSync(path.join(cwd, 'src/a.ts'), '')
  return { cwd, outside }
}

/** Decides about calls as the loop does. */
function judge(cwd: string, settings: PermissionSettings & { yes?: boolean } = {}) {
  const policy = permissionPolicy({ cwd, ...settings })
  const access = (tool: AgentTool, input: unknown) =>
    // The tools here say what they touch without a tape.
    tool.access?.(input, { cwd } as never) as never
  return {
    policy,
    decide: (tool: AgentTool, input: unknown): Decision =>
      policy.decide(tool, input, access(tool, input) ?? { kind: 'none' }),
    remember: (tool: AgentTool, input: unknown) => policy.remember(tool, input, access(tool, input)),
    always: (tool: AgentTool, input: unknown) => policy.always(tool, input, access(tool, input)),
    run: (command: string): Decision => policy.decide(bash, { command }, { kind: 'command', command }),
  }
}

describe('without any settings', () => {
  it('reading in the workspace is allowed; writing in it, commands and reading outside are asked about', () => {
    const { cwd, outside } = house()
    const { decide, run } = judge(cwd)
    expect(decide(fsRead, { path: 'src/a.ts' })).toBe('allow')
    expect(decide(fsRead, { path: '.' })).toBe('allow')
    expect(decide(tapeInfo, {})).toBe('allow')
    expect(decide(fsWrite, { path: 'src/b.ts' })).toBe('ask')
    expect(decide(fsRead, { path: `${outside}/secret` })).toBe('ask')
    expect(run('ls')).toBe('ask')
  })

  it('writing outside is denied, by whatever name', () => {
    const { cwd, outside } = house()
    fs.symlinkSync(outside, path.join(cwd, 'folder-link'))
    fs.symlinkSync(path.join(outside, 'secret'), path.join(cwd, 'file-link'))
    fs.symlinkSync('../outside/not-yet', path.join(cwd, 'dangling'))
    fs.symlinkSync('folder-link', path.join(cwd, 'link-to-link'))
    fs.symlinkSync('/proc/self/cwd/../outside', path.join(cwd, 'magic'))
    const { decide } = judge(cwd, { yes: true })
    const names = [
      '../outside/x',
      `${outside}/x`,
      `${cwd}/../outside/x`,
      'src/../../outside/x',
      'missing/../../outside/x',
      'folder-link/x',
      'folder-link/new/deep/x',
      'file-link',
      'dangling',
      'link-to-link/x',
      `${cwd}-beside/x`,
      '/etc/passwd',
      '~/x',
      '/',
    ]
    for (const name of names)
      expect(decide(fsWrite, { path: name }), name).toMatchObject({ deny: /outside the workspace/ })
    expect(() => decide(fsWrite, { path: 'a\0/../../x' })).toThrow('null byte')
  })

  it('a name that only looks like a way out stays inside', () => {
    const { cwd } = house()
    const { decide } = judge(cwd)
    for (const name of [
      '..．/x',
      '．．/x',
      '‥/x',
      '...',
      '..a/x',
      'a/..b',
      '%2e%2e/x',
      String.raw`..\x`,
      '\u202e../x'.slice(0, 1),
    ])
      expect(decide(fsRead, { path: name }), name).toBe('allow')
  })

  it('the history, the workspace of Baton and these settings are closed to writes, however they are spelled', () => {
    const { cwd } = house()
    fs.mkdirSync(path.join(cwd, '.git'))
    fs.symlinkSync('.git', path.join(cwd, 'innocent'))
    const { decide } = judge(cwd, { yes: true, allow: ['fs.write', 'fs.* **'] })
    const names = [
      '.git/config',
      'sub/.git/hooks/x',
      '.GIT/config',
      '.g\u200dit/config',
      'innocent/hooks/pre-commit',
      '.baton/tape/x',
      'baton.config.json',
      'sub/baton.config.json',
    ]
    for (const name of names) expect(decide(fsWrite, { path: name }), name).toMatchObject({ deny: /closed to writes/ })
    expect(decide(fsRead, { path: '.git/config' })).toBe('allow')
    expect(decide(fsWrite, { path: '.github/workflows/ci.yml' })).toBe('allow')
    expect(decide(fsWrite, { path: '.gitignore' })).toBe('allow')
    const opened = judge(cwd, { allow: ['fs.write .git/info/**'] })
    expect(opened.decide(fsWrite, { path: '.git/info/exclude' })).toBe('allow')
    expect(opened.decide(fsWrite, { path: '.git/config' })).toMatchObject({ deny: /closed to writes/ })
  })

  it('a workspace that is reached by a link is one and the same', () => {
    const { cwd } = house()
    const link = `${cwd}-link`
    fs.symlinkSync(cwd, link)
    expect(judge(link).decide(fsRead, { path: 'src/a.ts' })).toBe('allow')
    expect(judge(link).decide(fsRead, { path: `${cwd}/src/a.ts` })).toBe('allow')
    expect(judge(cwd).decide(fsRead, { path: `${link}/src/a.ts` })).toBe('allow')
  })
})

describe('rules', () => {
  it('what is denied wins over what is asked about, and that over what is allowed', () => {
    const { cwd } = house()
    const { decide } = judge(cwd, {
      allow: ['fs.* src/**'],
      ask: ['fs.write src/generated/**'],
      deny: ['* **/*.pem', 'fs.edit src/frozen/**'],
    })
    expect(decide(fsWrite, { path: 'src/a.ts' })).toBe('allow')
    expect(decide(fsWrite, { path: 'src/generated/a.ts' })).toBe('ask')
    expect(decide(fsWrite, { path: 'src/key.pem' })).toEqual({ deny: 'The rule "* **/*.pem" denies it.' })
    expect(decide(fsRead, { path: 'src/key.pem' })).toEqual({ deny: 'The rule "* **/*.pem" denies it.' })
    expect(decide(fsEdit, { path: 'src/frozen/a.ts' })).toMatchObject({ deny: /src\/frozen/ })
    expect(decide(fsWrite, { path: 'docs/a.md' })).toBe('ask')
  })

  it('open places outside the workspace, and only those', () => {
    const { cwd, outside } = house()
    const { decide } = judge(cwd, { allow: [`fs.write ${outside}/**`, 'fs.read ../outside/*', 'fs.edit'] })
    expect(decide(fsWrite, { path: `${outside}/deep/x` })).toBe('allow')
    expect(decide(fsRead, { path: '../outside/secret' })).toBe('allow')
    expect(decide(fsRead, { path: '../outside/deep/secret' })).toBe('ask')
    expect(decide(fsEdit, { path: 'src/a.ts' })).toBe('allow')
    expect(decide(fsEdit, { path: '../outside/secret' })).toMatchObject({ deny: /outside/ })
    expect(decide(fsWrite, { path: '../other/x' })).toMatchObject({ deny: /outside/ })
  })

  it('an allowed folder does not open what a link in it leads to; a denied name holds for the link too', () => {
    const { cwd, outside } = house()
    fs.symlinkSync(outside, path.join(cwd, 'src/out'))
    fs.symlinkSync('src', path.join(cwd, 'closed'))
    const { decide } = judge(cwd, { allow: ['fs.* src/**'], deny: ['fs.read closed/**', 'fs.read **/secret'] })
    expect(decide(fsWrite, { path: 'src/out/secret' })).toMatchObject({ deny: /outside/ })
    expect(decide(fsRead, { path: 'closed/a.ts' })).toMatchObject({ deny: /closed/ })
    expect(decide(fsRead, { path: 'src/a.ts' })).toBe('allow')
  })

  it('without a question, all that is not denied is allowed', () => {
    const { cwd } = house()
    const { decide, run } = judge(cwd, { yes: true, ask: ['bash'], deny: ['bash git push'] })
    expect(run('rm -rf build')).toBe('allow')
    expect(decide(fsWrite, { path: 'x' })).toBe('allow')
    expect(run('git push origin main')).toMatchObject({ deny: /git push/ })
    expect(decide(fsWrite, { path: '/x' })).toMatchObject({ deny: /outside/ })
  })

  it('that name a folder are about all that is in it', () => {
    const { cwd } = house()
    const { decide } = judge(cwd, { allow: ['fs.write src', 'FS.Edit docs/'], deny: ['* src/secrets', '* keys/'] })
    expect(decide(fsWrite, { path: 'src/deep/a.ts' })).toBe('allow')
    expect(decide(fsWrite, { path: 'srcs/a.ts' })).toBe('ask')
    expect(decide(fsEdit, { path: 'docs/a.md' })).toBe('allow')
    expect(decide(fsRead, { path: 'src/secrets/a' })).toMatchObject({ deny: /secrets/ })
    expect(decide(fsRead, { path: 'keys/a' })).toMatchObject({ deny: /keys/ })
  })

  it('that cannot be read are refused with the field', () => {
    expect(permissionsSchema.safeParse({ allow: ['Bash(git status)'] }).success).toBe(false)
    expect(() => permissionPolicy({ cwd: '/', tools: codingTools(), deny: ['fs.raed **/.env'] })).toThrow(
      expect.objectContaining({
        message: 'The rule "fs.raed **/.env" in agent.permissions is about "fs.raed", which is no tool',
        hint: expect.stringContaining('fs.read'),
      }),
    )
    expect(() => permissionPolicy({ cwd: '/', tools: codingTools(), deny: ['fs.* x', '* y', 'bash rm'] })).not.toThrow()
    expect(permissionsSchema.safeParse({ allow: [' '] }).success).toBe(false)
    expect(permissionsSchema.safeParse({ alow: [] }).success).toBe(false)
    expect(permissionsSchema.parse({})).toEqual({ allow: [], ask: [], deny: [] })
  })
})

describe('"always"', () => {
  it('is shown before it is said, and holds for the like and for nothing else', () => {
    const { cwd, outside } = house()
    const { decide, run, always, remember } = judge(cwd)
    expect(always(fsEdit, { path: 'src/a.ts' })).toEqual(['fs.edit src/**'])
    remember(fsEdit, { path: 'src/a.ts' })
    expect(decide(fsEdit, { path: 'src/deep/b.ts' })).toBe('allow')
    expect(decide(fsEdit, { path: 'b.ts' })).toBe('ask')
    expect(decide(fsWrite, { path: 'src/a.ts' })).toBe('ask')
    expect(decide(fsEdit, { path: 'src/.git/x' })).toMatchObject({ deny: /closed/ })
    expect(always(fsWrite, { path: 'a.ts' })).toEqual(['fs.write **'])
    expect(always(fsRead, { path: `${outside}/secret` })).toEqual([`fs.read ${outside}/secret`])
    remember(fsRead, { path: `${outside}/secret` })
    expect(decide(fsRead, { path: '../outside/secret' })).toBe('allow')
    expect(decide(fsRead, { path: '../outside/other' })).toBe('ask')

    expect(always(bash, { command: 'git commit -m x && npm run build' })).toEqual([
      'bash git commit',
      'bash npm run build',
    ])
    remember(bash, { command: 'git commit -m x && npm run build' })
    expect(run('npm run build; git commit -m "y z"')).toBe('allow')
    expect(run('npm run deploy')).toBe('ask')
    expect(always(bash, { command: 'rm -rf build' })).toEqual(['bash rm -rf build'])
    remember(bash, { command: 'rm -rf build' })
    expect(run('rm -rf build')).toBe('allow')
    expect(run('rm -rf src')).toBe('ask')
  })

  it('to a script that no prefix can stand for holds for that very script', () => {
    const { run, always, remember } = judge(house().cwd)
    const command = 'for f in *.ts; do wc -l "$f"; done'
    expect(always(bash, { command })).toEqual([`bash ${command}`])
    remember(bash, { command })
    expect(run(command)).toBe('allow')
    expect(run(`${command}; rm x`)).toBe('ask')
    remember(bash, { command: 'rm -rf "$TMP"/x' })
    expect(run(`rm -rf '"$TMP"/x' /`)).toBe('ask')
  })

  it('to a path with the signs of a glob in it opens only that path', () => {
    const { cwd, outside } = house()
    const odd = path.join(outside, 'a[b]*{c,d}?')
    fs.writeFileSync(odd, '')
    const { decide, remember } = judge(cwd)
    remember(fsRead, { path: odd })
    expect(decide(fsRead, { path: odd })).toBe('allow')
    expect(decide(fsRead, { path: path.join(outside, 'abXcY') })).toBe('ask')
  })
})

describe('a command that begins like an allowed one', () => {
  const { run } = judge('/', { allow: ['bash git status', 'bash npm test', 'bash ls'] })

  it.each([
    'git status',
    '  git   status --short  ',
    'git status -- "a file" \'another\'',
    'git status && npm test 2>&1 | ls',
    'git status\nls -la src/*.ts',
    'npm test > /dev/null 2>&1',
    'git "status"',
    'ls ~/x',
  ])('is allowed: %s', (command) => expect(run(command)).toBe('allow'))

  it.each([
    'git status; rm -rf /',
    'git status && rm x',
    'git status & rm x',
    'git status | sh',
    'git status\nrm x',
    'git status\rrm x',
    'git status $(rm x)',
    'git status `rm x`',
    'git status "$(rm x)"',
    'git status "${x:=$(rm y)}"',
    'git status <(rm x)',
    'git status > .git/config',
    'git status >> x',
    'git status >/dev/nullx',
    'git status >/dev/null/../x',
    'PATH=. git status',
    'git_status',
    'git statusx',
    'git -c core.pager=sh status',
    '(rm x); git status',
    '{ rm x; }; git status',
    'git status #',
    'git status \\; rm x',
    'git status ; ; rm',
    'git() { rm x; }; git status',
    'git status "unclosed',
    "git status 'unclosed",
    'g?t status',
    './git status',
    'git status\u00a0; rm x',
    'git status !rm',
    'git status {a,b}',
    'git status <<< $(rm x)',
    'git status <<EOF\n$(rm x)\nEOF',
    'git status &&',
    'if ls; then rm x; fi',
    'time rm x',
    '',
    ' ',
  ])('is asked about: %j', (command) => expect(run(command)).toBe('ask'))

  it('is allowed only if the shell runs nothing but what is allowed, whatever is put together', () => {
    const folder = temporaryFolder()
    const bin = path.join(folder, 'bin')
    fs.mkdirSync(bin)
    // Every program there is says its name; `ok` is allowed, the others are not.
    for (const name of ['ok', 'evil', 'sub']) {
      fs.writeFileSync(path.join(bin, name), `#!/bin/bash\necho "$(basename "$0") $1" >> ${folder}/ran\n`, {
        mode: 0o755,
      })
    }
    const pieces = [
      'ok sub',
      'ok',
      'evil',
      'sub',
      ' ',
      ' ',
      '\n',
      ';',
      '&',
      '&&',
      '|',
      '||',
      '$(evil)',
      '`evil`',
      '"',
      "'",
      '\\',
      '#',
      '(',
      ')',
      '{',
      '}',
      '<',
      '>',
      '>/dev/null',
      '2>&1',
      '$',
      '=',
      'A=1',
      '!',
      '*',
      '~',
      '[',
      '\r',
      '\t',
      '\u00a0',
      'ö',
      '-x',
      ',',
      '<<E',
      'E',
    ]
    const piece = fc.constantFrom(...pieces)
    const script = fc.array(piece, { minLength: 1, maxLength: 9 }).map((chosen) => `ok sub${chosen.join('')}`)
    let allowed = 0
    fc.assert(
      fc.property(script, (command) => {
        if (!allAllowed(command, ['ok sub'])) return
        fs.rmSync(path.join(folder, 'ran'), { force: true })
        const work = path.join(folder, 'work')
        fs.rmSync(work, { recursive: true, force: true })
        fs.mkdirSync(work)
        const env = { PATH: `${bin}:/usr/bin:/bin` }
        const { error } = spawnSync('/bin/bash', ['-c', command], { cwd: work, env, timeout: 20_000 })
        expect(error).toBeUndefined()
        const file = path.join(folder, 'ran')
        const ran = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim().split('\n') : []
        allowed += ran.length
        expect(new Set(ran)).toEqual(new Set(['ok sub']))
        expect(fs.readdirSync(work)).toEqual([])
      }),
      { numRuns: 3_000 },
    )
    expect(allowed).toBeGreaterThan(20)
  })

  it('is read into the words that the shell would make of it', () => {
    const word = fc.string({
      unit: fc.constantFrom('a', 'b', '-', '.', '/', ' ', '"', "'", ';', '$', '|', 'é', '*'),
      maxLength: 6,
    })
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 4 }), (words) => {
        const quoted = words.map((each) => `'${each.replaceAll("'", `'"'"'`)}'`).join(' ')
        expect(plainCommands(`cmd ${quoted}`)).toEqual([['cmd', ...words]])
      }),
    )
  })
})

describe('a command that may be a denied one', () => {
  it.each([
    'git push',
    'cd x && git push --force',
    '/usr/bin/git push',
    'git -C folder push',
    'sudo git push',
    'bash -c "git push"',
    'echo $(git push)',
    'true | git "push"',
    'for r in a b; do git push $r; done',
    'if true; then git push; fi',
    'git  \\\n push',
  ])('is denied: %s', (command) => expect(mayRun(command, 'git push')).toBe(true))

  it.each(['git pull', 'git log --grep=pushed', 'echo pushing git'])('is none: %s', (command) =>
    expect(mayRun(command, 'git push')).toBe(false),
  )
})

describe('paths', () => {
  const name = fc.constantFrom('a', 'b', 'in', 'out', '..', '.', '', 'loop', 'ab', 'ｂ', '..a')

  it('what is judged to be inside is inside, for the system too', () => {
    const { cwd, outside } = house()
    fs.mkdirSync(path.join(cwd, 'a/b'), { recursive: true })
    fs.mkdirSync(path.join(outside, 'a/b'), { recursive: true })
    fs.symlinkSync('..', path.join(cwd, 'a/in'))
    fs.symlinkSync(outside, path.join(cwd, 'out'))
    fs.symlinkSync('../../outside/a', path.join(cwd, 'a/out'))
    fs.symlinkSync(cwd, path.join(outside, 'in'))
    fs.symlinkSync('../../work/a', path.join(outside, 'a/in'))
    fs.symlinkSync('loop', path.join(cwd, 'loop'))
    const given = fc.array(name, { maxLength: 8 }).map((names) => names.join('/') || '.')
    fc.assert(
      fc.property(given, fc.constantFrom('', `${cwd}/`, `${outside}/`), (file, prefix) => {
        const absolute = absolutePath(cwd, prefix + file)
        let real: string
        try {
          real = realTarget(absolute)
        } catch {
          expect(() => fs.realpathSync(absolute)).toThrow('ELOOP')
          return
        }
        // What is there is where the system finds it; a second look changes nothing.
        if (fs.existsSync(absolute)) expect(real).toBe(fs.realpathSync(absolute))
        expect(realTarget(real)).toBe(real)
        expect(isInside(cwd, real)).toBe(
          !path.relative(cwd, real).startsWith('../') && path.relative(cwd, real) !== '..',
        )
      }),
      { numRuns: 2_000 },
    )
  })

  it('a glob that was made from a path matches it and no other', () => {
    const odd = fc.string({
      unit: fc.constantFrom('a', '/', '*', '?', '[', ']', '{', '}', ',', '\\', '.', '!', '^', 'é', '🎉'),
      maxLength: 8,
    })
    fc.assert(
      fc.property(odd, odd, (one, other) => {
        const glob = parseGlob(literalGlob(`/${one}`))
        expect(glob(`/${one}`)).toBe(true)
        if (one !== other) expect(glob(`/${other}`)).toBe(false)
      }),
    )
  })

  it.each([
    ['/a/*', '/a/b', true],
    ['/a/*', '/a/b/c', false],
    ['/a/**', '/a', true],
    ['/a/**', '/a/b/c', true],
    ['/a/**', '/ab', false],
    ['/a/**/c', '/a/c', true],
    ['/a/**/c', '/a/b/b/c', true],
    ['/a/**/c', '/a/b/cc', false],
    ['**/*.ts', 'x.ts', true],
    ['**/*.ts', 'a/b/x.ts', true],
    ['*.ts', 'a/x.ts', false],
    ['a?c', 'a🎉c', true],
    ['[a-c]x', 'bx', true],
    ['[!a-c]x', 'bx', false],
    ['[!a-c]x', 'dx', true],
    ['*.{ts,{js,mjs}}', 'a.mjs', true],
    ['*.{ts,js}', 'a.md', false],
    ['src/{a,b/c}/x', 'src/b/c/x', true],
    ['{a', '{a', true],
    ['[a', '[a', true],
    ['*a*b*', 'xxaxxbxx', true],
    ['*a*b*', 'xxbxxaxx', false],
    ['', '', true],
  ])('%s and %s: %s', (glob, file, fits) => expect(parseGlob(glob)(file)).toBe(fits))

  it('no glob takes forever', () => {
    const folders = `/${'a/'.repeat(200)}b`
    expect(parseGlob(`/${'**/'.repeat(50)}c`)(folders)).toBe(false)
    expect(parseGlob(`${'*a'.repeat(60)}*c`)('a'.repeat(250))).toBe(false)
    expect(parseGlob(`${'{a,b}'.repeat(40)}c`)('c')).toBe(false)
  })
})
