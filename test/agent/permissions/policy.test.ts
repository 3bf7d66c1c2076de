import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { permissionPolicy, permissionsSchema } from '../../../src/agent/permissions/policy.ts'
import { bash, codingTools, fsEdit, fsRead, fsWrite, tapeInfo } from '../../../src/agent/tools/index.ts'
import { makeFolders, judge } from './judge.ts'

describe('without any settings', () => {
  it('reading in the workspace is allowed; writing in it, commands and reading outside are asked about', () => {
    const { cwd, outside } = makeFolders()
    const { decide, run } = judge(cwd)
    expect(decide(fsRead, { path: 'src/a.ts' })).toBe('allow')
    expect(decide(fsRead, { path: '.' })).toBe('allow')
    expect(decide(tapeInfo, {})).toBe('allow')
    expect(decide(fsWrite, { path: 'src/b.ts' })).toBe('ask')
    expect(decide(fsRead, { path: `${outside}/secret` })).toBe('ask')
    expect(run('ls')).toBe('ask')
  })

  it('writing outside is denied, by whatever name', () => {
    const { cwd, outside } = makeFolders()
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
    const { cwd } = makeFolders()
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
    const { cwd } = makeFolders()
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
    const beside = judge(cwd, { allow: ['fs.write .github/**'] })
    expect(beside.decide(fsWrite, { path: '.github/.git/config' })).toMatchObject({ deny: /closed to writes/ })
  })

  it('a workspace that is reached by a link is one and the same', () => {
    const { cwd } = makeFolders()
    const link = `${cwd}-link`
    fs.symlinkSync(cwd, link)
    expect(judge(link).decide(fsRead, { path: 'src/a.ts' })).toBe('allow')
    expect(judge(link).decide(fsRead, { path: `${cwd}/src/a.ts` })).toBe('allow')
    expect(judge(cwd).decide(fsRead, { path: `${link}/src/a.ts` })).toBe('allow')
  })
})

describe('rules', () => {
  it('what is denied wins over what is asked about, and that over what is allowed', () => {
    const { cwd } = makeFolders()
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
    const { cwd, outside } = makeFolders()
    const { decide } = judge(cwd, { allow: [`fs.write ${outside}/**`, 'fs.read ../outside/*', 'fs.edit'] })
    expect(decide(fsWrite, { path: `${outside}/deep/x` })).toBe('allow')
    expect(decide(fsRead, { path: '../outside/secret' })).toBe('allow')
    expect(decide(fsRead, { path: '../outside/deep/secret' })).toBe('ask')
    expect(decide(fsEdit, { path: 'src/a.ts' })).toBe('allow')
    expect(decide(fsEdit, { path: '../outside/secret' })).toMatchObject({ deny: /outside/ })
    expect(decide(fsWrite, { path: '../other/x' })).toMatchObject({ deny: /outside/ })
  })

  it('an allowed folder does not open what a link in it leads to; a denied name holds for the link too', () => {
    const { cwd, outside } = makeFolders()
    fs.symlinkSync(outside, path.join(cwd, 'src/out'))
    fs.symlinkSync('src', path.join(cwd, 'closed'))
    const { decide } = judge(cwd, { allow: ['fs.* src/**'], deny: ['fs.read closed/**', 'fs.read **/secret'] })
    expect(decide(fsWrite, { path: 'src/out/secret' })).toMatchObject({ deny: /outside/ })
    expect(decide(fsRead, { path: 'closed/a.ts' })).toMatchObject({ deny: /closed/ })
    expect(decide(fsRead, { path: 'src/a.ts' })).toBe('allow')
  })

  it('without a question, all that is not denied is allowed', () => {
    const { cwd } = makeFolders()
    const { decide, run } = judge(cwd, { yes: true, ask: ['bash'], deny: ['bash git push'] })
    expect(run('rm -rf build')).toBe('allow')
    expect(decide(fsWrite, { path: 'x' })).toBe('allow')
    expect(run('git push origin main')).toMatchObject({ deny: /git push/ })
    expect(decide(fsWrite, { path: '/x' })).toMatchObject({ deny: /outside/ })
  })

  it('that name a folder are about all that is in it', () => {
    const { cwd } = makeFolders()
    const { decide } = judge(cwd, { allow: ['fs.write src', 'FS.Edit docs/'], deny: ['* src/secrets', '* keys/'] })
    expect(decide(fsWrite, { path: 'src/deep/a.ts' })).toBe('allow')
    expect(decide(fsWrite, { path: 'srcs/a.ts' })).toBe('ask')
    expect(decide(fsEdit, { path: 'docs/a.md' })).toBe('allow')
    expect(decide(fsRead, { path: 'src/secrets/a' })).toMatchObject({ deny: /secrets/ })
    expect(decide(fsRead, { path: 'keys/a' })).toMatchObject({ deny: /keys/ })
  })

  it('that deny mind neither case nor how a letter is composed; those that allow do', () => {
    const { decide } = judge(makeFolders().cwd, { allow: ['fs.write café/**'], deny: ['* **/.env', '* Schlüssel/**'] })
    for (const name of ['.env', '.ENV', 'src/.Env', 'Schlu\u0308ssel/a', 'SCHLÜSSEL/a'])
      expect(decide(fsRead, { path: name }), name).toMatchObject({ deny: /denies it/ })
    expect(decide(fsWrite, { path: 'café/a' })).toBe('allow')
    expect(decide(fsWrite, { path: 'Café/a' })).toBe('ask')
    expect(decide(fsWrite, { path: 'cafe\u0301/a' })).toBe('ask')
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
    const { cwd, outside } = makeFolders()
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
    expect(always(bash, { command: 'rm -rf build' })).toEqual(['bash rm -rf build (just so)'])
    remember(bash, { command: 'rm -rf build' })
    expect(run('rm -rf build')).toBe('allow')
    expect(run(' rm  -rf "build" && git commit')).toBe('allow')
    expect(run('rm -rf src')).toBe('ask')
    expect(run('rm -rf build src')).toBe('ask')
    expect(run('rm -rf build ~')).toBe('ask')
    expect(run('rm -rf build\u00a0')).toBe('ask')
  })

  it.each([
    ['find . -name x', 'find . -name x -delete'],
    ['cat a', 'cat a /etc/shadow'],
    ['go run main.go', 'go run evil.go'],
    ['bundle exec rake', 'bundle exec rm x'],
    ['uv run pytest', 'uv run pytest -p evil'],
    ['git rebase main', 'git rebase main --exec evil'],
    ['git config user.name', 'git config core.pager evil'],
    ['docker run alpine', 'docker run alpine sh'],
    ['docker compose ps', 'docker compose ps --all'],
    ['xargs -a list wc', 'xargs -a list wc -x'],
    ['git -c core.pager=less log', 'git -c core.pager=less log --all'],
    ["rm '*'", 'rm *'],
    ['ls *.ts', "ls '*.ts' x"],
  ])('to %j is about just that, not about %j', (command, more) => {
    const { run, always, remember } = judge(makeFolders().cwd)
    expect(always(bash, { command })).toEqual([`bash ${command} (just so)`])
    remember(bash, { command })
    expect(run(command)).toBe('allow')
    expect(run(more)).toBe('ask')
  })

  it('to a script that no prefix can stand for holds for that very script', () => {
    const { run, always, remember } = judge(makeFolders().cwd)
    const command = 'for f in *.ts; do wc -l "$f"; done'
    expect(always(bash, { command })).toEqual([`bash ${command} (just so)`])
    remember(bash, { command })
    expect(run(command)).toBe('allow')
    expect(run(`${command}; rm x`)).toBe('ask')
    remember(bash, { command: 'rm -rf "$TMP"/x' })
    expect(run(`rm -rf '"$TMP"/x' /`)).toBe('ask')
  })

  it('to a path with the signs of a glob in it opens only that path', () => {
    const { cwd, outside } = makeFolders()
    const odd = path.join(outside, 'a[b]*{c,d}?')
    fs.writeFileSync(odd, '')
    const { decide, remember } = judge(cwd)
    remember(fsRead, { path: odd })
    expect(decide(fsRead, { path: odd })).toBe('allow')
    expect(decide(fsRead, { path: path.join(outside, 'abXcY') })).toBe('ask')
  })
})
