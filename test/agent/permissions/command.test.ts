import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { allAllowed, plainCommands, wordsOf } from '../../../src/agent/permissions/command.ts'
import { mayRun } from '../../../src/agent/permissions/denied.ts'
import { temporaryFolder } from '../../support/workspace.ts'
import { judge } from './judge.ts'

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
        if (!allAllowed(command, [{ words: 'ok sub', exactly: false }])) return
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
  ])('is denied: %s', (command) => expect(mayRun(command, wordsOf('git push'))).toBe(true))

  it.each([
    'echo "$(git -C folder push)"',
    'f() { git -C folder push; }; f',
    'case x in x) git -C folder push;; esac',
    'time git -C folder push',
    'cat <<E\n$(git -C folder push)\nE',
  ])('is denied wherever it stands: %j', (command) => expect(mayRun(command, wordsOf('git push'))).toBe(true))

  it.each([
    'git -C folder push )',
    'git (-C folder push',
    'x && && git -C folder push',
    'x=$(git -C folder push',
    'if /usr/bin/git -C folder push',
    'g"i"t -C folder \\\n"pu"sh; "',
    'git -C folder\rpush',
    `${'{'.repeat(5_000)} git -C folder push`,
    `${'"$('.repeat(5_000)} git -C folder push`,
  ])('is denied in a script that cannot be parsed (%#)', (command) =>
    expect(mayRun(command, wordsOf('git push'))).toBe(true),
  )

  it.each(['git pull', 'git log --grep=pushed', 'echo pushing git', 'git pull )', 'push; git pull "'])(
    'is none: %s',
    (command) => expect(mayRun(command, wordsOf('git push'))).toBe(false),
  )
})
