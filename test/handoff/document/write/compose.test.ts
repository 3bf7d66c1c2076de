import { describe, expect, test } from 'vitest'
import { compose } from '../../../../src/handoff/document/write/compose.ts'
import { type SectionKey, sectionOf } from '../../../../src/handoff/document/document.ts'
import { makeDocument } from '../../../../src/handoff/document/write/make.ts'
import { parseClaims, parseDocument } from '../../../../src/handoff/document/markdown/parse.ts'
import { shortenProse } from '../../../../src/handoff/document/write/shorten.ts'
import { validate } from '../../../../src/handoff/document/check/validate.ts'
import type { Ledger } from '../../../../src/handoff/ledger/facts.ts'
import { Session } from '../../ledger/session.ts'
import { busy, ledgerOf } from '../ledgers.ts'

const header = { tape: 'main', created: '2026-01-22T14:30:00Z', contextUsage: 87, project: 'consilio' }

function texts(ledger: Ledger, key: SectionKey, options: Parameters<typeof compose>[1] = header): string[] {
  return sectionOf(compose(ledger, options), key)!.items.map((item) => item.text)
}

describe('a document from a ledger', () => {
  test.each(['session', 'cycle'] as const)('is complete without a model: %s [H10] [H13]', async (profile) => {
    const { document, markdown } = await makeDocument(busy, { ...header, profile })
    expect(validate(document, busy)).toEqual([])
    expect(parseDocument(markdown)).toEqual(document)
    expect(markdown).toContain('> User [#40]: Never touch the files under legacy/.')
    expect(markdown).toContain('baton show main#1..900')
    expect(markdown).toContain('edited src/auth/: index.ts +2 -1 #710, token.ts +120 -3 #640')
    expect(markdown).toContain('renamed docs/readme.md → docs/api.md #130')
    expect(markdown).toContain('AssertionError: expected 401 to be 200')
    expect(markdown).not.toContain('tmp/x.ts')
  })

  test.each(['session', 'cycle'] as const)('is valid even when nothing is known: %s [H10]', async (profile) => {
    const empty = ledgerOf({ range: undefined, span: undefined })
    const { document, markdown } = await makeDocument(empty, { profile })
    expect(validate(document, empty)).toEqual([])
    expect(parseDocument(markdown)).toEqual(document)
    expect(markdown).toContain('Context Usage: unknown')
  })

  test("keeps the user's words as the user's, and drops what they took back [H14]", () => {
    const items = sectionOf(compose(busy, header), 'constraints')!.items
    expect(items.map((item) => [item.text, item.by, item.refs])).toEqual([
      ['Never touch the files under legacy/.', 'user', ['main#40']],
      ['Use argon2 instead of bcrypt.', 'user', ['main#60']],
    ])
  })

  test('quotes of a long message the sentences that bind, word for word [H13]', () => {
    const text = `${'We talked about the layout of the page. '.repeat(20)}Never change the public API. ${'It was a nice talk. '.repeat(20)}`
    const ledger = ledgerOf({ instructions: [{ text, id: 5, standing: ['Never change the public API.'] }] })
    expect(texts(ledger, 'constraints')).toEqual(['[…] Never change the public API. […]'])
  })

  const answered = { state: 'answered', id: 890 } as const
  test.each<[string, Partial<Ledger>, RegExp]>([
    ['a todo in progress', { todos: busy.todos, failures: busy.failures }, /^Finish: Write tests for rotation/],
    [
      'the call that it stopped at',
      { ending: busy.ending, lastRequest: busy.lastRequest, instructions: busy.instructions },
      /^Continue with the user's request: Now write the tests.*in the middle of `npm run migrate`, whose result is unknown/,
    ],
    ['the error that stopped it', { ending: { state: 'error', message: '529' } }, /An error stopped it: `529`$/],
    [
      'a question',
      { ending: { state: 'asks' }, questions: busy.questions },
      /^Get the user's answer to: Should old tokens be revoked/,
    ],
    [
      'the request that nobody has answered',
      { ending: { state: 'requested' }, lastRequest: busy.lastRequest, goal: busy.goal },
      /^Act on the user's request: Now write the tests/,
    ],
    [
      'a check that failed in the answered turn',
      { ending: answered, failures: busy.failures, lastRequest: busy.lastRequest },
      /^See whether to fix `npx vitest run`: `AssertionError/,
    ],
    [
      'a todo that the answered turn left',
      { ending: answered, todos: busy.todos.slice(2), lastRequest: busy.lastRequest },
      /^Start: Update the API documentation/,
    ],
    [
      'nothing, where the request is answered',
      {
        ending: answered,
        lastRequest: busy.lastRequest,
        lastWords: { text: 'It is done.\n\nPushed as abc.', id: 890 },
      },
      /^Wait for the user: no request is waiting, and nothing is known to be open beyond what the assistant said last: `It is done. Pushed as abc.`$/,
    ],
    [
      'nothing but what still runs in the background',
      {
        ending: answered,
        lastRequest: busy.lastRequest,
        lastWords: { text: 'The export of all years has begun and takes the whole night.', id: 890 },
        background: [{ command: 'node export-all.mjs', startedId: 880, lastId: 880 }],
      },
      /^Wait for the user: no request is waiting, and nothing is known to be open beyond `node export-all.mjs`, which still runs in the background, and what the assistant said last: `The export of all years/,
    ],
    [
      'no request, where something is left from before and nothing runs',
      {
        ending: answered,
        lastRequest: busy.lastRequest,
        lastWords: { text: 'The pages are written down in pages.md now, one line for each.', id: 890 },
        todos: [{ text: 'Rename the routes', status: 'pending', id: 12 }],
      },
      /^No request is waiting\. The assistant said last: `The pages are written down/,
    ],
    [
      'nothing but what the assistant would like to know, in front of a remark',
      {
        ending: answered,
        lastRequest: busy.lastRequest,
        lastWords: {
          text: 'I cannot read that folder.\n\nCould you paste the listing of it? Any part will do.\n\nWith the listing I can compare both halves and tell you which of the routes is missing.',
          id: 890,
        },
      },
      /what the assistant said last: `Could you paste the listing of it\? Any part will do\. With the listing I can/,
    ],
    [
      'a server that was not asked again since the push',
      {
        ending: answered,
        failures: [
          {
            what: 'gh pr checks 7',
            kind: 'command',
            role: 'ci',
            message: 'lint fail',
            times: 1,
            firstId: 5,
            lastId: 5,
            closed: { reason: 'published', id: 9 },
          },
        ],
      },
      /^See whether `gh pr checks 7` passes now/,
    ],
    [
      'what is unclear, where the turn has no words',
      { ending: { state: 'silent', during: 'npm test' } },
      /^See whether/,
    ],
    ['nothing', { ending: { state: 'empty' } }, /^Ask the user what to do/],
  ])('begins its next steps with %s [H10]', (_, facts, step) => {
    expect(texts(ledgerOf(facts), 'next')[0]).toMatch(step)
    expect(texts(ledgerOf(facts), 'next', { profile: 'cycle' })[0]).toMatch(step)
  })

  test('what the next session is for decides what is kept [H3]', async () => {
    const todos = Array.from({ length: 400 }, (_, at) => ({
      text: `Look at page ${at}`,
      status: 'pending' as const,
      id: 9,
    }))
    todos.push({ text: 'Review the refunds module', status: 'pending', id: 9 })
    const ledger = ledgerOf({ todos })
    const { markdown } = await makeDocument(ledger, { ...header, budget: 500, goal: 'finish refunds' })
    expect(markdown).toContain('Goal: finish refunds')
    expect(markdown).toContain('Review the refunds module')
    expect((await makeDocument(ledger, { ...header, budget: 500 })).markdown).not.toContain('refunds')
  })

  test('takes no secret with it, also where texts are cut [H14]', async () => {
    const secret = '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'
    const words = `${'a b '.repeat(40)}${secret} ${'c d '.repeat(3_000)}`
    const ledger = ledgerOf({ goal: { text: words, id: 1 }, lastWords: { text: words, id: 2 } })
    for (const budget of [300, 400, 600, 2_000]) {
      const { markdown, redacted } = await makeDocument(ledger, { ...header, budget })
      expect(markdown).not.toContain('ghp_')
      expect(redacted.get('GitHub token')).toBe(2)
    }
  })
})

describe('what the user wants now', () => {
  const instructions = [
    { text: 'Port the settings page', id: 3, standing: [] },
    { text: 'Can we release it?', id: 40, standing: [] },
    { text: 'minor, please', id: 44, standing: [], answers: 43 },
    { text: 'yes, do it', id: 50, standing: [], answers: 49 },
  ] as const
  const asking = ledgerOf({
    instructions,
    goal: instructions[0],
    lastRequest: instructions[3],
    replies: [
      { text: 'Patch or minor?', id: 43 },
      { text: 'The steps are: tag, push, publish.\nShall I go on?', id: 49 },
    ],
  })

  test('is told back to the message that says what, with the words that the last one answers [H13]', () => {
    const items = sectionOf(compose(asking, header), 'goal')!.items
    expect(items.map(({ text }) => text)).toEqual([
      'Port the settings page',
      'Can we release it?',
      'minor, please',
      'yes, do it',
      'That answers the assistant: `Shall I go on?`',
    ])
    expect(items.at(-1)).toMatchObject({ status: 'claimed', data: expect.stringContaining('tag, push, publish') })
  })

  test('is what is done next, rather than "yes" [H10]', () => {
    expect(texts(asking, 'next')[0]).toBe("Continue with the user's request: minor, please")
    const thanked = ledgerOf({
      instructions: [instructions[0], { text: 'looks good, thanks!', id: 60, standing: [] }],
      goal: instructions[0],
      lastRequest: { text: 'looks good, thanks!', id: 60 },
    })
    expect(texts(thanked, 'next')[0]).toContain('Port the settings page')
  })

  test('comes before a todo that nobody works on, also when the list is newer [H10]', () => {
    const ledger = ledgerOf({
      ending: { state: 'requested', id: 30 },
      instructions: [instructions[0], { text: 'Now show the totals first', id: 30, standing: [] }],
      goal: instructions[0],
      lastRequest: { text: 'Now show the totals first', id: 30 },
      todos: [{ text: 'Write the manual', status: 'pending', id: 31 }],
    })
    expect(texts(ledger, 'next')[0]).toBe("Act on the user's request: Now show the totals first")
  })

  test('is not a command for the program, nor "continue" [H13]', () => {
    const others = ['Fix the header', 'Fix the footer', '/the', 'continue', 'ok'].map((text, at) => ({
      text,
      id: 10 + at,
      standing: [],
    }))
    const quoted = texts(
      ledgerOf({ ...asking, instructions: [instructions[0], ...others, instructions[3]] }),
      'context',
    )
    expect(quoted).toEqual(['Fix the header'])
  })

  test('is told in any script: only words that agree are left out [H13]', () => {
    const said = [
      '可以，但是先把数据库备份一下',
      '先备份数据库再继续',
      'да, но сначала сделай бэкап',
      'はい、先にテストを直して',
    ]
    const agreed = ['好的，继续', 'да, спасибо!', 'はい、お願いします', '네, 좋아요', 'sí, adelante']
    const others = [...said, ...agreed].map((text, at) => ({ text, id: 10 + at, standing: [] }))
    const last = { text: 'Now show the totals first', id: 60, standing: [] }
    const ledger = ledgerOf({
      instructions: [instructions[0], ...others, last],
      goal: instructions[0],
      lastRequest: last,
    })
    expect(texts(ledger, 'context')).toEqual(said.toReversed())
  })

  test('keeps of a pasted screen what was typed [H14]', () => {
    const paste = Array.from({ length: 30 }, (_, at) => `    at run (/r/src/file.ts:${at}:7)`).join('\n')
    const text = `it crashes when I start it\n${paste}\nplease see why`
    const ledger = ledgerOf({ instructions: [{ text, id: 9, standing: [] }], goal: { text, id: 9 } })
    expect(texts(ledger, 'goal')).toEqual(['it crashes when I start it\nplease see why […]'])
  })
})

describe('what was done and what was said', () => {
  test('is told: commits first, then the turns in the words of the assistant [H13]', () => {
    const ledger = ledgerOf({
      deeds: [
        { kind: 'commit', text: 'Committed 45ffe0a: Release', id: 8 },
        { kind: 'outward', text: 'Ran git push origin main', id: 9 },
      ],
      replies: [
        { text: 'The parser now reads all three formats, and is tested.', id: 4 },
        { text: 'The parser now reads all three formats, and is tested.', id: 5 },
        { text: 'I am going to look at the parser and its tests now:', id: 6 },
        { text: 'Done!', id: 7 },
      ],
      commands: [
        { command: 'ls', ok: true, looks: true, times: 9, failed: 0, firstId: 1, lastId: 2 },
        { command: 'npm i', ok: true, times: 1, failed: 0, firstId: 1, lastId: 2 },
      ],
    })
    expect(texts(ledger, 'done')).toEqual([
      'Ran `git push origin main`',
      'Committed `45ffe0a: Release`',
      'Said: `The parser now reads all three formats, and is tested.`',
    ])
    expect(texts(ledger, 'context')).toEqual(['Ran `npm i`'])
  })

  test('is not told as done where the tape denies it [H10]', () => {
    const denied = { ...busy, replies: [{ text: 'All tests pass now, and the build is green.', id: 30 }] }
    expect(texts(denied, 'done').join()).not.toContain('All tests pass')
    expect(texts(denied, 'context').join()).toContain('The assistant said last (the open failures deny it)')
  })
})

describe('open failures', () => {
  const failure = { kind: 'command', role: 'check', message: 'a.ts(1,1): error TS1: x', times: 1, firstId: 1 } as const

  test('that say the same say it once, and name their commands without what trims the output [H13]', () => {
    const ledger = ledgerOf({
      git: { cwd: '/home/me/shop', checked: false },
      failures: [
        { ...failure, what: 'npm run publish', exit: 1, lastId: 7 },
        { ...failure, what: 'cd /home/me/shop && npm run build 2>&1 | tail -3', exit: 0, lastId: 9 },
      ],
    })
    expect(texts(ledger, 'failures')).toEqual([
      '`npm run build`: `a.ts(1,1): error TS1: x`',
      '`npm run publish` exit 1: the same',
    ])
  })

  test('that the work has left behind say so [H13]', () => {
    const instructions = Array.from({ length: 10 }, (_, at) => ({
      text: `Do ${at}`,
      id: 20 + at,
      standing: [],
    }))
    const ledger = ledgerOf({ instructions, failures: [{ ...failure, what: 'tsc', exit: 2, lastId: 5 }] })
    expect(texts(ledger, 'failures')[0]).toMatch(/^`tsc` exit 2, not run again since: /)
  })
})

describe('a text that is cut', () => {
  test('leaves no code open [H14]', () => {
    const text = `Fix \`${'npm run '.repeat(20)}\`: \`\`${'cannot `x` '.repeat(20)}\`\``
    for (const limit of [60, 120, 200]) {
      const runs = shortenProse(text, limit).match(/`+/g) ?? []
      let open = ''
      for (const run of runs) open = open === '' ? run : run === open ? '' : open
      expect(open).toBe('')
    }
  })
})

describe('a narrative', () => {
  const narrative = parseClaims(`## Goal
Give the login API refresh tokens that rotate.
## Progress
### Done
- All tests pass.
- Write tests for rotation
- Wrote src/auth/rotate.ts
- Wrote src/invented/nothing.ts
## Key Decisions
- Keep one table
- Sign with ES256
## Next Steps
1. Make test/rotate.test.ts accept 401 after reuse
## Files
- src/everything.ts
`)

  test('adds claims, and the ledger has the last word on facts [H10] [H13]', () => {
    const document = compose(busy, { ...header, narrative })
    const done = sectionOf(document, 'done')!.items
    expect(done.filter((item) => item.status === 'claimed').map((item) => item.text)).toEqual([
      'Wrote src/auth/rotate.ts',
    ])
    expect(sectionOf(document, 'goal')!.items.map((item) => item.status)).toEqual(['verified', 'verified', 'claimed'])
    expect(sectionOf(document, 'next')!.items[0]).toMatchObject({
      text: 'Make test/rotate.test.ts accept 401 after reuse',
      status: 'claimed',
    })
    const decisions = sectionOf(document, 'decisions')!.items.map((item) => item.text)
    expect(decisions).toEqual(['Rotate on every use', 'Keep one table', 'Sign with ES256'])
    expect(sectionOf(document, 'files')!.items.map((item) => item.text)).not.toContain('src/everything.ts')
    expect(validate(document, busy)).toEqual([])
  })

  test('that says nothing changes nothing', () => {
    const nothing = parseClaims('## Goal\nTBD\n## Next Steps\n- Continue working\n## Key Decisions\n- None\n')
    const document = compose(busy, { ...header, narrative: nothing })
    expect(sectionOf(document, 'goal')!.items).toHaveLength(2)
    expect(sectionOf(document, 'next')!.items[0]!.status).toBe('verified')
  })
  test('that knows the next step takes none of the closing words away [H10] [H13]', () => {
    const last = 'The invoices from March still lie in euros: accounting holds them until Friday.'
    const text = `All 19 modules are moved, each with a test of its own.\n\n${last}`
    const ledger = ledgerOf({ ending: { state: 'answered', id: 890 }, lastWords: { text, id: 890 } })
    expect(texts(ledger, 'next').join()).toContain(last)
    const document = compose(ledger, { ...header, narrative })
    expect(JSON.stringify(document)).toContain(last)
    expect(JSON.stringify(document)).not.toContain('Wait for the user')
  })
})

test('what succeeded is compared with what fails in a time that grows with both, not with their product [H10]', () => {
  const session = new Session()
  session.user('Move the prices to cents')
  for (let i = 0; i < 1_500; i++) session.bash(`node build/step-${i}.js --out dist/${i} && cat dist/${i}`, 'made')
  for (let i = 0; i < 1_500; i++) session.bash(`npx vitest run test/mod-${i}.test.ts`, `Error: no ${i}`, 1)
  const ledger = session.ledger()
  const started = process.cpuUsage()
  compose(ledger, header)
  expect(process.cpuUsage(started).user).toBeLessThan(5e6)
})
