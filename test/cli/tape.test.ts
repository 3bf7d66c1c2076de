import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import readline from 'node:readline'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/workspace.ts'
import { baton, batonProcess, program, records } from './cli.ts'

const line = (content: string, more = {}) =>
  `${JSON.stringify({ kind: 'message', payload: { role: 'user', content }, ...more })}\n`

async function folder(): Promise<string> {
  const cwd = temporaryFolder()
  expect((await baton(cwd, ['init'])).code).toBe(0)
  return cwd
}

test('a workspace is made by init, private and ignored by git [T17]', async () => {
  const cwd = await folder()
  expect(fs.statSync(path.join(cwd, '.baton')).mode & 0o777).toBe(0o700)
  expect(fs.readFileSync(path.join(cwd, '.baton', '.gitignore'), 'utf8')).toBe('*\n')
  const again = await baton(cwd, ['init', '--json'])
  expect(records(again)).toMatchObject([{ path: path.join(fs.realpathSync(cwd), '.baton') }])
})

test('reading makes no workspace where there is none, and finds it empty [T17]', async () => {
  const cwd = temporaryFolder()
  const reads: [command: string, code: number][] = [
    ['tape ls', 0],
    ['tape info main', 4],
    ['tape export main', 4],
    ['tape verify', 0],
    ['tape verify main', 4],
    ['tape tail main', 4],
    ['show main#1', 4],
    ['lineage', 0],
    ['handoff ls', 0],
    ['handoff --tape main', 4],
    ['resume nothing', 4],
    ['task ls', 0],
    ['task ready', 0],
    ['relay status', 0],
    ['relay history', 0],
    ['relay dead', 0],
    ['escalations', 0],
    ['token ls', 0],
    ['down', 4],
    ['store verify', 4],
  ]
  for (const [command, code] of reads)
    expect([command, (await baton(cwd, command.split(' '))).code]).toEqual([command, code])
  expect((await baton(cwd, ['store', 'verify'])).err).toContain('There is no store in ')
  expect(fs.readdirSync(cwd)).toEqual([])
  expect((await baton(cwd, ['tape', 'append', 'main'], line('hello'))).code).toBe(0)
  expect((await baton(cwd, ['tape', 'ls'])).out).toContain('main')
  expect(fs.readdirSync(cwd)).toEqual(['.local'])
})

test('reading finds nothing also where no temporary folder can be made [T17]', async () => {
  const cwd = temporaryFolder()
  const read = await batonProcess(cwd, ['tape', 'ls'], '', { TMPDIR: path.join(cwd, 'gone') })
  expect(read).toMatchObject({ code: 0, out: expect.stringContaining('No tapes yet') })
})

test('a state of null stays null [T4]', async () => {
  const cwd = await folder()
  expect(records(await baton(cwd, ['--json', 'tape', 'handoff', 'main', 'p', '--state', 'null']))[0]).toMatchObject({
    payload: { name: 'p', state: null },
  })
  expect(records(await baton(cwd, ['--json', 'tape', 'anchors', 'main']))).toMatchObject([{ name: 'p', state: null }])
})

test('append, read, handoff, anchors, context, search and info, as JSON [T2, T5, T8, T9, T10]', async () => {
  const cwd = await folder()
  expect(records(await baton(cwd, ['tape', 'append', 'main', '--json'], line('one') + line('zwei 二')))).toMatchObject([
    { id: 1 },
    { id: 2 },
  ])
  const made = records(
    await baton(cwd, [
      '--json',
      'tape',
      'handoff',
      'main',
      'phase/1',
      '--state',
      '{"n":1}',
      '--summary',
      'done',
      '--next-steps',
      'more',
      '--keep-from',
      '2',
    ]),
  )
  expect(made).toMatchObject([
    { id: 3, payload: { name: 'phase/1', state: { n: 1, summary: 'done', next_steps: 'more' }, from: 2 } },
    { id: 4, payload: { name: 'handoff' } },
  ])
  expect(
    records(
      await baton(cwd, [
        'tape',
        'read',
        'main',
        '--json',
        '--after',
        '1',
        '--before',
        '4',
        '--kinds',
        'message,anchor',
        '--reverse',
        '--limit',
        '1',
      ]),
    ),
  ).toMatchObject([{ id: 3 }])
  expect(records(await baton(cwd, ['tape', 'anchors', 'main', '--json']))).toMatchObject([
    { id: 3, name: 'phase/1', from: 2 },
  ])
  const context = await baton(cwd, ['tape', 'context', 'main', '--json', '--format', 'anthropic'])
  expect(records(context)).toMatchObject([{ messages: [{ role: 'user', content: [{}, { text: 'zwei 二' }] }] }])
  expect((await baton(cwd, ['tape', 'context', 'main'])).out).toContain('user: zwei 二')
  expect(records(await baton(cwd, ['tape', 'search', 'main', '二', '--json']))).toMatchObject([{ id: 2 }])
  expect(records(await baton(cwd, ['tape', 'info', 'main', '--json']))).toMatchObject([
    { entries: 4, anchors: 1, lastAnchor: 'phase/1' },
  ])
  expect(records(await baton(cwd, ['tape', 'ls', '--json']))).toMatchObject([{ tape: 'main', entries: 4 }])
})

test('a bad line keeps what came before it and is named', async () => {
  const cwd = await folder()
  const run = await baton(cwd, ['tape', 'append', 'main', '--json'], `${line('good')}{bad\n${line('after')}`)
  expect(run).toMatchObject({ code: 2, err: expect.stringContaining('Line 2') as string })
  expect(records(await baton(cwd, ['tape', 'read', 'main', '--json']))).toMatchObject([
    { payload: { content: 'good' } },
  ])
  const wrong = await baton(cwd, ['tape', 'append', 'main'], `${line('x')}{"kind":"message","payload":{}}\n`)
  expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining('Line 2: payload.role') as string })
  for (const field of ['id', 'b', 'crc']) {
    expect(await baton(cwd, ['tape', 'append', 'main'], line('x', { [field]: 1 }))).toMatchObject({ code: 2 })
  }
})

test('an atomic append is all or none; what is expected must hold', async () => {
  const cwd = await folder()
  expect((await baton(cwd, ['tape', 'append', 'main', '--atomic'], `${line('a')}{bad\n`)).code).toBe(2)
  expect((await baton(cwd, ['tape', 'read', 'main'])).code).toBe(4)
  expect((await baton(cwd, ['tape', 'append', 'main', '--expect', '0'], line('a') + line('b'))).code).toBe(0)
  const conflict = await baton(cwd, ['tape', 'append', 'main', '--expect', '1', '--json'], line('c'))
  expect(conflict.code).toBe(3)
  expect(JSON.parse(conflict.err)).toMatchObject({ error: { code: 'conflict' } })
  const keyed = line('k', { meta: { key: 'step' } })
  expect((await baton(cwd, ['tape', 'append', 'main', '--expect', 'step=0'], keyed)).code).toBe(0)
  expect((await baton(cwd, ['tape', 'append', 'main', '--expect', 'step=0'], keyed)).code).toBe(3)
  expect((await baton(cwd, ['tape', 'append', 'main', '--expect', 'step=3'], keyed)).code).toBe(0)
  expect((await baton(cwd, ['tape', 'append', 'main', '--expect', 'x'], keyed)).code).toBe(2)
})

test('fork, merge, lineage and show [T12, T13, T15, T18]', async () => {
  const cwd = await folder()
  await baton(cwd, ['tape', 'append', 'main'], line('start'))
  await baton(cwd, ['tape', 'handoff', 'main', 'here'])
  expect(
    (
      await baton(cwd, [
        'tape',
        'fork',
        'main',
        'side',
        '--from',
        'here',
        '--next-steps',
        'look',
        '--context-summary',
        'c',
        '--on-complete',
        'ping',
      ])
    ).code,
  ).toBe(0)
  expect((await baton(cwd, ['tape', 'fork', 'main', 'side'])).code).toBe(3)
  await baton(cwd, ['tape', 'append', 'side'], line('found'))
  expect(records(await baton(cwd, ['tape', 'merge', 'side', '--json']))).toEqual([
    { child: 'side', parent: 'main', merged: 1 },
  ])
  expect(records(await baton(cwd, ['tape', 'merge', 'side', '--json']))).toMatchObject([{ merged: 0 }])
  expect((await baton(cwd, ['lineage'])).out).toMatch(/^main\n└─ side {2}fork at here, .*merged into main\n$/)
  expect((await baton(cwd, ['lineage', 'side', '--format', 'mermaid'])).out).toContain(
    't1["main"] -->|"fork here"| t2["side"]',
  )
  expect(records(await baton(cwd, ['lineage', '--json']))).toMatchObject([
    { parent: 'main', child: 'side', how: 'fork' },
    { how: 'merge' },
  ])
  expect((await baton(cwd, ['show', 'main#1'])).out).toMatch(/^main#1 {2}message .*\nuser:\nstart\n/)
  const [entry] = records(await baton(cwd, ['show', 'main@here', '--json']))
  expect(entry).toMatchObject({ id: 2, kind: 'anchor' })
  expect((await baton(cwd, ['show', 'main#77'])).code).toBe(4)
  expect((await baton(cwd, ['tape', 'merge', 'main'])).code).toBe(4)
})

test('reset, purge, export and import [T16]', async () => {
  const cwd = await folder()
  await baton(cwd, ['tape', 'append', 'main'], line('old'))
  const [archive] = records(await baton(cwd, ['tape', 'reset', 'main', '--json']))
  expect(archive).toMatchObject({ firstId: 1, lastId: 1 })
  await baton(cwd, ['tape', 'append', 'main'], line('new'))
  const text = (await baton(cwd, ['tape', 'export', 'main'])).out
  expect(records(await baton(cwd, ['tape', 'import', 'copy', '--json'], text))).toMatchObject([{ entries: 2 }])
  expect((await baton(cwd, ['tape', 'import', 'copy'], text)).code).toBe(3)
  expect(records(await baton(cwd, ['tape', 'purge', 'main', '--json']))).toMatchObject([{ ref: archive!.ref }])
  expect((await baton(cwd, ['show', 'main#1'])).code).toBe(4)
})

test('verify names file, offset and kind of damage; repair sets it aside and the tape goes on', async () => {
  const cwd = await folder()
  await baton(cwd, ['tape', 'append', 'main'], line('first') + line('second') + line('third'))
  const file = path.join(cwd, '.baton', 'tape', 'main.jsonl')
  const bytes = fs.readFileSync(file)
  const at = bytes.indexOf('second')
  bytes[at] = bytes[at]! ^ 1
  fs.writeFileSync(file, bytes)
  const offset = bytes.lastIndexOf(10, at) + 1
  const found = await baton(cwd, ['tape', 'verify', '--json'])
  expect(found.code).toBe(1)
  expect(records(found)[0]).toMatchObject({
    tape: 'main',
    damage: [{ kind: 'checksum', file: fs.realpathSync(file), offset, lost: { from: 2, to: 2 } }],
  })
  const read = await baton(cwd, ['tape', 'read', 'main', '--json'])
  expect(read.code).toBe(1)
  expect(read.err).toContain(`byte ${offset}`)
  expect(records(read).map((entry) => entry.id)).toEqual([1, 3])
  const refused = await baton(cwd, ['tape', 'append', 'main'], line('fourth'))
  expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('baton tape repair main') as string })
  const repaired = await baton(cwd, ['tape', 'repair', 'main', '--json'])
  expect(repaired.code).toBe(0)
  const [cut] = records(repaired)[0]!.cut as string[]
  expect(fs.readFileSync(cut!)).toEqual(bytes.subarray(offset, bytes.indexOf(10, at) + 1))
  expect((await baton(cwd, ['tape', 'verify'])).code).toBe(0)
  await baton(cwd, ['tape', 'append', 'main'], line('fourth'))
  expect(records(await baton(cwd, ['tape', 'read', 'main', '--json'])).map((entry) => [entry.id, entry.kind])).toEqual([
    [1, 'message'],
    [2, 'error'],
    [3, 'message'],
    [4, 'message'],
  ])
})

test('tail prints what comes, once each, and ends on interrupt', async () => {
  const cwd = await folder()
  await baton(cwd, ['tape', 'append', 'main'], line('one') + line('two'))
  const child = spawn(process.execPath, [program, 'tape', 'tail', 'main', '--after', '1', '--json'], { cwd })
  const seen: number[] = []
  const closed = new Promise((resolve) => child.on('close', resolve))
  for await (const text of readline.createInterface({ input: child.stdout })) {
    const { id } = JSON.parse(text) as { id: number }
    seen.push(id)
    if (id === 2) await baton(cwd, ['tape', 'append', 'main'], line('three'))
    if (id === 3) await baton(cwd, ['tape', 'reset', 'main'])
    if (id === 4) child.kill('SIGINT')
  }
  expect(seen).toEqual([2, 3, 4])
  expect(await closed).toBe(130)
})

test('a reader that closes the pipe ends the command quietly', async () => {
  const cwd = await folder()
  await baton(
    cwd,
    ['tape', 'append', 'main'],
    Array.from({ length: 5_000 }, (_, i) => line(`entry ${i} ${'x'.repeat(100)}`)).join(''),
  )
  const child = spawn('sh', ['-c', `"${process.execPath}" "${program}" tape read main --json | head -n 1`], { cwd })
  let err = ''
  child.stderr.on('data', (text) => (err += String(text)))
  expect(await new Promise((resolve) => child.on('close', resolve))).toBe(0)
  expect(err).toBe('')
})

test('bad input ends with its code, a sentence and what to do, and writes nothing', async () => {
  const cwd = await folder()
  const cases: [string[], number, RegExp, string?][] = [
    [['tape', 'read', 'nope'], 4, /no tape "nope"/],
    [['tape', 'append', ''], 2, /needs a name/, line('x')],
    [['tape', 'append', 'n'.repeat(4_000)], 2, /too long/, line('x')],
    [['tape', 'append', 'task/1'], 2, /Baton's own/, line('x')],
    [['tape', 'handoff', 'main', 'a', '--state', '{bad'], 2, /must be JSON/],
    [['tape', 'handoff', 'main', 'a', '--state', '3', '--summary', 's'], 2, /is an object/],
    [['tape', 'read', 'main', '--after', 'x'], 2, /whole number/],
    [
      ['tape', 'context', 'main', '--format', 'yaml'],
      2,
      /^baton: "yaml" is not valid for --format <format>\n {2}Choose one of openai, /,
    ],
    [['tape', 'bogus'], 2, /^baton: There is no command "bogus"/],
    [['tape', 'append', 'main', '--file', 'missing.jsonl'], 4, /no file/],
    [['--workspace', 'file.txt', 'tape', 'ls'], 1, /is a file/],
    [['--workspace', 'foreign', 'tape', 'ls'], 1, /not a Baton workspace/],
    // Where Node's own making of folders never ends.
    [['--workspace', '/proc/nope/w', 'tape', 'ls'], 1, /Cannot (?:make|use)/],
    [['--store', 'redis://x', 'tape', 'ls'], 2, /no engine for addresses/],
    [['--store', 'nats://127.0.0.1:1', 'tape', 'ls'], 1, /Cannot use nats:\/\/127.0.0.1:1/],
    [['show', 'nonsense'], 2, /not a reference/],
  ]
  fs.writeFileSync(path.join(cwd, 'file.txt'), 'x')
  fs.mkdirSync(path.join(cwd, 'foreign'))
  fs.writeFileSync(path.join(cwd, 'foreign', 'thing'), 'x')
  for (const [args, code, message, input] of cases) {
    const run = await baton(cwd, args, input)
    expect({ args, code: run.code }).toEqual({ args, code })
    expect(run.err).toMatch(message)
    expect(run.err).not.toContain('    at ')
  }
  for (const name of ['../evil', '..', '/etc/passwd', 'a/../../b', 'ü ö:x']) {
    expect((await baton(cwd, ['tape', 'append', name], line('x'))).code).toBe(0)
  }
  // The folder is the home too: `baton init` has noted there that it trusts the project.
  expect(fs.readdirSync(cwd).sort()).toEqual(['.baton', '.local', 'file.txt', 'foreign'])
  expect(fs.readdirSync(path.join(cwd, '.local/state/baton'))).toEqual(['trusted'])
  expect(records(await baton(cwd, ['tape', 'ls', '--json'])).map((info) => info.tape)).toEqual(
    expect.arrayContaining(['../evil', 'ü ö:x']),
  )
  const manifest = path.join(cwd, '.baton', 'tape', 'manifest.json')
  fs.writeFileSync(
    manifest,
    JSON.stringify({ ...(JSON.parse(fs.readFileSync(manifest, 'utf8')) as object), format: 99 }),
  )
  expect(await baton(cwd, ['tape', 'ls'])).toMatchObject({
    code: 1,
    err: expect.stringContaining('newer Baton') as string,
  })
})

test('people get aligned columns, programs get the same as JSON', async () => {
  const cwd = await folder()
  expect((await baton(cwd, ['tape', 'ls'])).out).toContain('No tapes yet')
  await baton(cwd, ['tape', 'append', 'main'], line('x'))
  await baton(cwd, ['tape', 'append', 'a longer name'], line('x'))
  expect((await baton(cwd, ['tape', 'ls'])).out.split('\n').slice(0, 3)).toEqual([
    expect.stringMatching(/^TAPE {11}ENTRIES {2}ANCHORS {2}LAST ANCHOR {3}SIZE {2}CHANGED$/),
    expect.stringMatching(/^a longer name {8}1 {8}0 {15}\d+ B {2}(now|\d+s ago)$/),
    expect.stringMatching(/^main {17}1 {8}0 {15}\d+ B {2}(now|\d+s ago)$/),
  ])
  expect((await baton(cwd, ['--version'])).out).toMatch(/^\d+\.\d+\.\d+\n$/)
  expect((await baton(cwd, ['tape', '--help'])).out).toContain('plumbing')
})

test('a context passes from one agent to another, and the tape with it [T24]', async () => {
  const cwd = await folder()
  await baton(cwd, ['tape', 'append', 'main'], line('one'))
  const given = await baton(cwd, [
    'tape',
    'give',
    'main',
    '--as',
    'worker-1',
    '--to',
    'worker-2',
    '--reason',
    'my shift is over',
  ])
  expect(given).toMatchObject({ code: 0, out: "main is worker-2's now\n" })
  expect((await baton(cwd, ['tape', 'owner', 'main'])).out).toBe("main is worker-2's\n")
  for (const args of [[], ['--as', 'worker-1']]) {
    const refused = await baton(cwd, ['tape', 'append', 'main', ...args], line('two'))
    expect(refused.code).toBe(1)
    expect(refused.err).toContain("main is worker-2's now")
  }
  expect((await baton(cwd, ['tape', 'append', 'main', '--as', 'worker-2'], line('two'))).code).toBe(0)
  expect(records(await baton(cwd, ['tape', 'inbox', 'worker-2', '--json']))).toMatchObject([
    { from: 'worker-1', content: { reason: 'my shift is over', ownership: 'transfer' } },
  ])
  expect((await baton(cwd, ['tape', 'inbox', 'worker-2', '--take'])).out).toContain('my shift is over')
  expect((await baton(cwd, ['tape', 'inbox', 'worker-2', '--take'])).out).toBe('Nothing waits for worker-2.\n')
  const again = await baton(cwd, ['tape', 'give', 'main', '--as', 'worker-1', '--to', 'worker-3'])
  expect(again.err).toContain("main is worker-2's: worker-1 cannot hand it over")
})

test('a deleted tape leaves the list, its entries stay in the archive, and purge deletes those [T16, T18]', async () => {
  const cwd = await folder()
  await baton(cwd, ['tape', 'append', 'main'], line('one') + line('two'))
  await baton(cwd, ['tape', 'append', 'other'], line('x'))
  const gone = await baton(cwd, ['tape', 'delete', 'main'])
  expect(gone.out).toMatch(
    /^main is deleted; its entries are in tape\/archived\/main_.*\.jsonl until "baton tape purge main"\n$/,
  )
  expect(records(await baton(cwd, ['tape', 'ls', '--json'])).map(({ tape }) => tape)).toEqual(['other'])
  expect((await baton(cwd, ['show', 'main#2'])).out).toContain('two')
  // Whoever appends again does not use an id twice.
  expect(records(await baton(cwd, ['tape', 'append', 'main', '--json'], line('three')))).toMatchObject([{ id: 3 }])
  expect((await baton(cwd, ['tape', 'delete', 'main', '--purge'])).out).toBe(
    'main is deleted for good, with 2 archives\n',
  )
  expect(await baton(cwd, ['show', 'main#2'])).toMatchObject({ code: 4 })
  expect(await baton(cwd, ['tape', 'delete', 'main'])).toMatchObject({ code: 4 })
  expect(await baton(cwd, ['tape', 'delete', 'lineage', '--force'])).not.toMatchObject({ code: 0 })
})

test('a tape that others came from, or that is somebody’s, is deleted only by force; a fork can be discarded [T12, T13, T24]', async () => {
  const cwd = await folder()
  await baton(cwd, ['tape', 'append', 'main'], line('one'))
  await baton(cwd, ['tape', 'fork', 'main', 'side'])
  expect((await baton(cwd, ['tape', 'delete', 'main'])).err).toContain('main is not deleted: side came from it')
  expect((await baton(cwd, ['tape', 'discard', 'main'])).err).toContain('main is not a fork')
  expect((await baton(cwd, ['tape', 'discard', 'side'])).out).toMatch(/^side is deleted; .*; main stays as it is\n$/)
  await baton(cwd, ['tape', 'give', 'main', '--as', 'a', '--to', 'b'])
  expect((await baton(cwd, ['tape', 'delete', 'main'])).err).toContain("it is b's")
  expect((await baton(cwd, ['tape', 'delete', 'main', '--force'])).code).toBe(0)
})

test('prune deletes the tapes of answered questions, and says what it keeps', async () => {
  const cwd = await folder()
  for (const name of ['print', 'print-2', 'printer', 'main']) await baton(cwd, ['tape', 'append', name], line('x'))
  expect((await baton(cwd, ['tape', 'prune'])).out).toBe('No unused print tape is older than 7 days.\n')
  await baton(cwd, ['tape', 'fork', 'print-2', 'kept'])
  expect((await baton(cwd, ['tape', 'prune', '--days', '0', '--dry-run'])).out).toBe('print would be deleted\n')
  const pruned = await baton(cwd, ['tape', 'prune', '--days', '0'])
  expect(pruned.out).toMatch(/^print is deleted; /)
  expect(pruned.err).toContain('print-2 is kept: kept came from it')
  expect(records(await baton(cwd, ['tape', 'ls', '--json'])).map(({ tape }) => tape)).toEqual([
    'kept',
    'main',
    'print-2',
    'printer',
  ])
})

test('what a reference points at is shown without its secrets, as in the document that printed it [H14]', async () => {
  const cwd = await folder()
  const token = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`
  await baton(cwd, ['tape', 'append', 'main'], line(`push with ${token}`))
  for (const more of [[], ['--json']]) {
    const { out } = await baton(cwd, ['show', 'main#1', ...more])
    expect(out).toContain('push with [redacted')
    expect(out).not.toContain(token)
  }
})

test('a blob is shown without its secrets, in ranges too, and bytes that are no text as they are [H14]', async () => {
  const cwd = await folder()
  const put = (bytes: Buffer): string => {
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    fs.mkdirSync(path.join(cwd, '.baton', 'blobs'), { recursive: true })
    fs.writeFileSync(path.join(cwd, '.baton', 'blobs', sha256), bytes)
    return `blob:${sha256}`
  }
  const token = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`
  const text = put(Buffer.from(`first line\npush with ${token}\nlast line, naïve\n`))
  const whole = (await baton(cwd, ['show', text])).out
  expect(whole).toContain('push with [redacted')
  expect(whole).not.toContain(token)
  const parts = [
    await baton(cwd, ['show', text, '--length', '24']),
    await baton(cwd, ['show', text, '--offset', '24', '--length', '10']),
    await baton(cwd, ['show', text, '--offset', '34']),
  ]
  expect(parts.map(({ out }) => out).join('')).toBe(whole)
  const image = put(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0x00, 0xc3]))
  expect((await baton(cwd, ['show', image])).code).toBe(0)
})

test('show prints an entry for people, with its own line breaks and nothing left out', async ({ onTestFinished }) => {
  const cwd = temporaryFolder(onTestFinished)
  const drafts = [
    {
      kind: 'tool_call',
      payload: { calls: [{ id: 'c', name: 'edit', arguments: { path: 'a.ts', text: 'one\ntwo' } }] },
    },
    {
      kind: 'tool_result',
      payload: { results: [{ call_id: 'c', name: 'edit', output: 'no\nfile\u001b[2J', is_error: true }] },
    },
    {
      kind: 'anchor',
      payload: { name: 'phase/x', state: { summary: 'done', next_steps: ['a', 'b'], count: 2, none: [] } },
    },
    { kind: 'error', payload: { kind: 'model', message: 'overloaded', details: { code: 529 } } },
    { kind: 'mine', payload: { any: ['thing'] } },
  ]
  await baton(cwd, ['tape', 'append', 'main'], drafts.map((draft) => `${JSON.stringify(draft)}\n`).join(''))
  const shown = async (id: number) => (await baton(cwd, ['show', `main#${id}`])).out.split('\n').slice(1, -1).join('\n')
  expect(await shown(1)).toBe('call edit\n  path: a.ts\n  text:\n    one\n    two')
  expect(await shown(2)).toBe('result of edit, failed:\nno\nfile')
  expect(await shown(3)).toBe(
    'anchor phase/x\n  state:\n    summary: done\n    next_steps:\n      - a\n      - b\n    count: 2\n    none: []',
  )
  expect(await shown(4)).toBe('error model: overloaded\n  details:\n    code: 529')
  expect(await shown(5)).toBe('any:\n  - thing')
  expect(records(await baton(cwd, ['show', 'main#3', '--json']))).toMatchObject([drafts[2]])
})
