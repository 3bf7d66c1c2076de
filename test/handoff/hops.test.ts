// Work that passes from agent to agent: each hop is a session of another agent, which was told to read the document of the one
// before it. What the first user said and what was done for them is in the last document.

import fs from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  continueText,
  handoffSession,
  resumeText,
  saveDocument,
  withDocumentText,
  writeDocument,
  writeHandoff,
} from '../../src/handoff/index.ts'
import type { Store } from '../../src/store/index.ts'
import { Tape, openTape, tokenCounter } from '../../src/tape/index.ts'
import { importFile } from '../../src/transcripts/import.ts'
import { fileAt } from '../../src/transcripts/resolve.ts'
import type { AgentName } from '../../src/agents/index.ts'
import { runs } from '../support/full.ts'
import { temporaryFolder, temporaryStore } from '../support/workspace.ts'

type Line = Record<string, unknown>

/** What happens in a session, in the lines of one agent. */
interface Scribe {
  user(text: string): Line[]
  says(text: string): Line[]
  runs(command: string, output: string, exit?: number): Line[]
  writes(file: string): Line[]
  /** The file as the agent is shown it. */
  reads(file: string, text: string): Line[]
}

type Listed = readonly (readonly [text: string, status: 'pending' | 'in_progress' | 'completed'])[]

const at = '2026-05-01T10:00:00Z'
let calls = 0

function claude(session: string): Scribe & { todos(list: Listed): Line[] } {
  let last: string | null = null
  const line = (type: string, message: Line): Line => {
    const uuid = `${session}-${++calls}`
    const made = { type, uuid, parentUuid: last, sessionId: session, cwd: '/work/shop', timestamp: at, message }
    last = uuid
    return made
  }
  const tool = (name: string, input: Line, content: string, isError = false): Line[] => {
    const id = `toolu_${++calls}`
    return [
      line('assistant', {
        id,
        role: 'assistant',
        model: 'm',
        stop_reason: 'tool_use',
        content: [{ type: 'tool_use', id, name, input }],
      }),
      line('user', {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: id, content, ...(isError ? { is_error: true } : {}) }],
      }),
    ]
  }
  return {
    user: (text) => [line('user', { role: 'user', content: text })],
    says: (text) => [
      line('assistant', {
        id: `m${++calls}`,
        role: 'assistant',
        model: 'm',
        stop_reason: 'end_turn',
        content: [{ type: 'text', text }],
      }),
    ],
    runs: (command, output, exit = 0) =>
      tool('Bash', { command }, exit === 0 ? output : `Exit code ${exit}\n${output}`, exit !== 0),
    todos: (list) =>
      tool(
        'TodoWrite',
        { todos: list.map(([content, status]) => ({ content, status, activeForm: content })) },
        'Todos have been modified successfully.',
      ),
    writes: (file) => tool('Write', { file_path: `/work/shop/${file}`, content: 'x\n' }, 'File created successfully'),
    reads: (file, text) =>
      tool(
        'Read',
        { file_path: file },
        text
          .split('\n')
          .map((row, n) => `${String(n + 1).padStart(6)}→${row}`)
          .join('\n'),
      ),
  }
}

function codex(session: string): Scribe {
  const item = (payload: Line): Line => ({ type: 'response_item', timestamp: at, payload })
  const message = (role: string, type: string, text: string) =>
    item({ type: 'message', role, content: [{ type, text }] })
  const exec = (cmd: string, output: string, exit: number): Line[] => {
    const call_id = `call_${++calls}`
    const shown = `Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code ${exit}\nOutput:\n${output}`
    return [
      item({ type: 'function_call', name: 'exec_command', arguments: JSON.stringify({ cmd }), call_id }),
      item({ type: 'function_call_output', call_id, output: shown }),
    ]
  }
  let begun = false
  const start = (): Line[] => {
    if (begun) return []
    begun = true
    return [{ type: 'session_meta', timestamp: at, payload: { id: session, cwd: '/work/shop', timestamp: at } }]
  }
  return {
    user: (text) => [...start(), message('user', 'input_text', text)],
    says: (text) => [
      message('assistant', 'output_text', text),
      { type: 'event_msg', timestamp: at, payload: { type: 'task_complete' } },
    ],
    runs: (command, output, exit = 0) => exec(command, output, exit),
    writes: (file) => exec(`cat > ${file} <<'EOF'\nx\nEOF`, '', 0),
    reads: (file, text) => exec(`cat ${file}`, text, 0),
  }
}

function pi(session: string): Scribe {
  let begun = false
  const line = (message: Line): Line => ({ type: 'message', id: `p${++calls}`, timestamp: at, message })
  const tool = (name: string, args: Line, text: string, isError = false): Line[] => {
    const id = `tc_${++calls}`
    return [
      line({ role: 'assistant', content: [{ type: 'toolCall', id, name, arguments: args }], stopReason: 'toolUse' }),
      line({ role: 'toolResult', toolCallId: id, toolName: name, content: [{ type: 'text', text }], isError }),
    ]
  }
  const start = (): Line[] => {
    if (begun) return []
    begun = true
    return [{ type: 'session', version: 3, id: session, timestamp: at, cwd: '/work/shop' }]
  }
  return {
    user: (text) => [...start(), line({ role: 'user', content: [{ type: 'text', text }] })],
    says: (text) => [line({ role: 'assistant', content: [{ type: 'text', text }], stopReason: 'stop' })],
    runs: (command, output, exit = 0) =>
      tool('bash', { command }, exit === 0 ? output : `${output}\n\nCommand exited with code ${exit}`, exit !== 0),
    writes: (file) => tool('write', { path: `/work/shop/${file}`, content: 'x\n' }, 'Successfully wrote 2 bytes'),
    reads: (file, text) => tool('read', { path: file }, text),
  }
}

const agents: readonly [AgentName, (session: string) => Scribe][] = [
  ['claude', claude],
  ['codex', codex],
  ['pi', pi],
]

describe('ten hops over three agents', () => {
  test('what the first user said and what was done for them is in the tenth document, within 2,000 tokens [H13]', async () => {
    const store = await temporaryStore()
    const folder = temporaryFolder()
    const count = await tokenCounter()
    let document = ''
    let markdown = ''
    for (let hop = 1; hop <= 10; hop++) {
      const [agent, scribe] = agents[(hop - 1) % 3]!
      const session = `0000000${hop % 10}-1111-4222-8333-444455556666`
      const s = scribe(session)
      const lines: Line[] = []
      if (hop === 1) {
        lines.push(
          ...s.user('Build the returns page of the shop. Never touch src/api.ts, partners import it.'),
          ...s.writes('src/returns.ts'),
          ...s.runs('node scripts/reserve.mjs returns', 'returns desk 4417'),
          ...s.says('The page is there.'),
          ...s.user('All amounts stay in cents, whatever the carriers send.'),
          ...s.says(
            'I keep the amounts as integers in a ledger table rather than as JSON, because the auditors read it with SQL.',
          ),
          ...s.user('Now the labels.'),
          ...s.writes('src/labels.ts'),
          ...s.runs(
            'npx vitest run test/labels.test.ts',
            ' FAIL  test/labels.test.ts > prints\n Tests  1 failed (1)',
            1,
          ),
          ...s.says('The label test still fails, the printer is missing here.'),
        )
      } else {
        const prompt = continueText(document)
        // Every third session is given the document in its prompt, as `baton continue` does where it is short.
        const inline = hop % 3 === 0
        lines.push(
          ...s.user(inline ? withDocumentText(prompt, markdown) : prompt),
          ...(inline || hop === 8 ? [] : s.reads(document, markdown)),
          ...s.writes(`src/part-${hop}.ts`),
          ...s.runs(`node scripts/check-part.mjs --part ${hop}`, 'ok'),
          ...s.says(`Part ${hop} is done and checked. The rest of the page stays as it is.`),
        )
      }
      const file = path.join(
        folder,
        `${agent}-${hop}`,
        `${agent === 'codex' ? 'rollout-2026-05-01T10-00-00-' : ''}${session}.jsonl`,
      )
      fs.mkdirSync(path.dirname(file), { recursive: true })
      fs.writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
      const { tape } = await importFile(store, fileAt(file, agent))
      const written = await writeDocument(new Tape(store, tape), { budget: 2_000 })
      markdown = written.markdown
      document = path.join(folder, `handoff-${hop}.md`)
      fs.writeFileSync(document, markdown)
    }
    expect(count(markdown)).toBeLessThanOrEqual(2_000)
    for (const words of [
      'Build the returns page of the shop. Never touch src/api.ts, partners import it.',
      'All amounts stay in cents, whatever the carriers send.',
      'ledger table rather than as JSON',
      'npx vitest run test/labels.test.ts',
      'returns.ts',
      'labels.ts',
      'part-2.ts',
      'part-10.ts',
      // A command printed it, once.
      'returns desk 4417',
    ])
      expect.soft(markdown).toContain(words)
  })

  /** Gives the document of a session of Claude Code, which is saved as every door saves it. */
  async function writer() {
    const store = await temporaryStore()
    const folder = temporaryFolder()
    return async (name: string, lines: readonly Line[], budget = 2_000) => {
      const file = path.join(folder, name, `${name}.jsonl`)
      fs.mkdirSync(path.dirname(file), { recursive: true })
      fs.writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
      const { tape } = await importFile(store, fileAt(file, 'claude'))
      const { markdown, note, document } = await writeDocument(new Tape(store, tape), { budget })
      await saveDocument(store, tape, markdown, note, document)
      return markdown
    }
  }

  test('a question of an earlier hop is no first step once the work went on without the answer [H13]', async () => {
    const write = await writer()
    const first = claude('q1')
    const asking = await write('q1', [
      ...first.user('Split the shop into packages.'),
      ...first.writes('packages/cart/index.ts'),
      ...first.says('The cart is a package now. Shall I take the orders next?'),
    ])
    const firstStep = (markdown: string) => /^1\. .*/m.exec(markdown.split('## Next Steps')[1]!)![0]
    expect(firstStep(asking)).toContain('Shall I take the orders next?')
    const second = claude('q2')
    const prompt = second.user(withDocumentText(continueText('/x/handoff.md'), asking))
    expect(firstStep(await write('q2', prompt))).toContain('Shall I take the orders next?')
    const worked = await write('q3', [
      ...prompt,
      ...second.writes('packages/orders/index.ts'),
      ...second.says('The orders are a package too, and everything builds.'),
    ])
    expect(firstStep(worked)).not.toContain('Shall I take the orders next?')
    expect(worked).toContain('Shall I take the orders next?')
  })

  test('a document that a person pasted into a prompt is the hop before, and their words are theirs [H13]', async () => {
    const write = await writer()
    const first = claude('p1')
    const before = await write('p1', [
      ...first.user('Split the shop into packages. Never touch src/api.ts, partners import it.'),
      ...first.writes('packages/cart/index.ts'),
      ...first.says('The cart is a package now.'),
      ...first.user('And the orders'),
    ])
    expect(before).toContain('The assistant said last: `The cart is a package now.`')
    const second = claude('p2')
    const after = await write('p2', [
      ...second.user(`Nimm das hier als Ausgangspunkt:\n\n${before}`),
      ...second.writes('packages/orders/index.ts'),
      ...second.says('The orders are a package too.'),
    ])
    expect(after).toMatch(/^> User \[claude:p1#\d+\]: Split the shop into packages\. Never touch src\/api\.ts/m)
    expect(after).toMatch(/^> User \[#\d+\]: Nimm das hier als Ausgangspunkt:$/m)
    expect(after).toMatch(/^- created packages\/: .*cart\/index\.ts/m)
    expect(after).toContain('Said: `The cart is a package now.`')
    expect(after).not.toContain('said last: `The cart')
    expect(after.match(/^# Session handoff/gm)).toHaveLength(1)
  })

  test('a todo list of an earlier hop is open until its items come up in what was done, and says that it is old [H13]', async () => {
    const write = await writer()
    const first = claude('t1')
    const listing = await write('t1', [
      ...first.user('Get the shop ready for the fair.'),
      ...first.todos([
        ['Translate the terms of payment into Danish', 'pending'],
        ['Port the invoice printer to the new driver', 'pending'],
      ]),
      ...first.says('Here is the list.'),
    ])
    const pending = (markdown: string) => markdown.split('### Pending')[1]!.split('\n#')[0]!
    expect(pending(listing)).toContain('Translate the terms of payment into Danish')
    const second = claude('t2')
    const prompt = second.user(withDocumentText(continueText('/x/handoff.md'), listing))
    const worked = await write('t2', [
      ...prompt,
      ...second.writes('src/printer.ts'),
      ...second.says('The invoice printer is ported to the new driver now.'),
    ])
    expect(pending(worked)).toContain(
      'Translate the terms of payment into Danish (on the list of an earlier turn; may be done by now)',
    )
    expect(pending(worked)).not.toContain('invoice printer')
    expect(worked).not.toContain('nothing is known to be open')
    expect(worked).toContain('2. Still on the todo list: Translate the terms of payment into Danish')
    const third = claude('t3')
    const over = await write('t3', [
      ...third.user(withDocumentText(continueText('/x/handoff.md'), worked)),
      ...third.writes('src/terms.da.md'),
      ...third.says('The terms of payment are translated into Danish.'),
    ])
    expect(pending(over)).toContain('None')
    expect(over).toContain('nothing is known to be open')
  })

  test('words of an earlier hop are shown with the later ones about the same [H13]', async () => {
    const write = await writer()
    const first = claude('r1')
    const ruled = await write('r1', [
      ...first.user('Build the importer.'),
      ...first.writes('src/import.ts'),
      ...first.says('It is there.'),
      ...first.user('New dependencies of the importer are always installed with npm.'),
      ...first.says('Understood.'),
      ...first.user('All amounts stay in cents, whatever the carriers send.'),
      ...first.says('Understood.'),
    ])
    expect(ruled).not.toContain('superseded')
    const second = claude('r2')
    const markdown = await write('r2', [
      ...second.user(withDocumentText(continueText('/x/handoff.md'), ruled)),
      ...second.writes('src/part.ts'),
      ...second.says('A part is done.'),
      ...second.user('From now on dependencies are installed with pnpm.'),
      ...second.says('Understood.'),
    ])
    const rules = markdown.split('## Constraints & Preferences')[1]!.split('\n## ')[0]!
    expect(rules).toContain(
      'New dependencies of the importer are always installed with npm. [superseded where later words differ: From now on dependencies are installed with pnpm.]',
    )
    // It was the last request of its hop, and binds all the same.
    expect(rules).toMatch(/All amounts stay in cents, whatever the carriers send\.$/m)
  })

  test('what the assistant said at the end of a hop is in the later documents, and not as what it said last [H13]', async () => {
    const write = await writer()
    const first = claude('e1')
    const told = await write('e1', [
      ...first.user('Find out why the export is slow.'),
      ...first.runs('node scripts/profile.mjs', 'ok'),
      ...first.says(
        'The export is slow because the driver opens a connection for each row.\n\nA pool of four brings it from 90 seconds to 6 on the same data, and I measured no further gain from eight.',
      ),
    ])
    const second = claude('e2')
    const later = await write('e2', [
      ...second.user(withDocumentText(continueText('/x/handoff.md'), told)),
      ...second.writes('src/pool.ts'),
      ...second.says('The pool is in src/pool.ts now.'),
    ])
    expect(later).toContain('opens a connection for each row')
    expect(later).toContain('from 90 seconds to 6')
    expect(later.match(/Answered the user's last request/g)).toHaveLength(1)
  })

  test('what had no room at one hop is in a later document that has room, also when a person changed the text [H13]', async () => {
    for (const isEdited of [false, true]) {
      const write = await writer()
      const first = claude('s1')
      const files = Array.from({ length: 30 }, (_, n) => `src/area-${n}/module-${n}.ts`)
      const small = await write(
        's1',
        [
          ...first.user('Split the shop into modules.'),
          ...files.flatMap((file) => first.writes(file)),
          ...first.says('They are split.'),
          ...first.user('All amounts stay in cents, whatever the carriers send.'),
          ...first.says('Understood.'),
          ...first.user('Now the labels.'),
          ...first.writes('src/labels.ts'),
          ...first.says('The labels are there.'),
        ],
        400,
      )
      expect(files.every((file) => small.includes(file.slice(file.lastIndexOf('/') + 1)))).toBe(false)
      const second = claude('s2')
      const given = isEdited ? small.replace('Now the labels.', 'Now the labels, please.') : small
      const later = await write('s2', [
        ...second.user(withDocumentText(continueText('/x/handoff.md'), given)),
        ...second.writes('src/part.ts'),
        ...second.says('A part is done.'),
      ])
      for (const file of files) expect.soft(later).toContain(file.slice(file.lastIndexOf('/') + 1))
      expect(later).toContain('All amounts stay in cents, whatever the carriers send.')
      expect(later).toContain(isEdited ? 'Now the labels, please.' : 'Now the labels.')
    }
  })

  test('a failure is dropped at the hop that settles it [H13]', async () => {
    const write = await writer()
    const first = claude('a1')
    const failed = await write('a1', [
      ...first.user('Make the tests pass.'),
      ...first.runs('npx vitest run test/cart.test.ts', ' FAIL  test/cart.test.ts > adds\n Tests  1 failed (1)', 1),
      ...first.says('It fails on the sum.'),
    ])
    expect(failed).toContain('npx vitest run test/cart.test.ts')
    const second = claude('a2')
    const settled = await write('a2', [
      ...second.user(withDocumentText(continueText('/x/handoff.md'), failed)),
      ...second.runs('npx vitest run', ' Tests  9 passed (9)'),
      ...second.says('All of them pass now.'),
    ])
    expect(settled.split('## Open Failures')[1]).not.toContain('cart.test.ts')
    expect(settled).toContain('Make the tests pass.')
  })
})

/** `budget`: of the document, where the hop has one. */
type Hop =
  | { readonly how: 'anchor' | "model's own" | 'compaction' | 'new tape' | 'same tape'; readonly budget: number }
  | {
      readonly how: 'continue' | 'cycle'
      readonly agent: number
      readonly given: 'inline' | 'read' | 'file'
      readonly budget: number
    }

const budget = fc.constantFrom(500, 2_000)

const hopKind: fc.Arbitrary<Hop> = fc.oneof(
  fc.record({
    how: fc.constantFrom(
      'anchor' as const,
      "model's own" as const,
      'compaction' as const,
      'new tape' as const,
      'same tape' as const,
    ),
    budget,
  }),
  fc.record({
    how: fc.constantFrom('continue' as const, 'cycle' as const),
    agent: fc.nat({ max: 2 }),
    given: fc.constantFrom('inline' as const, 'read' as const, 'file' as const),
    budget,
  }),
)

/** It fails in the first session, and passes in the third. */
const mended = 'npx vitest run test/tax.test.ts'

/** What the user says at the end of some hops. */
const rules: Readonly<Record<number, string>> = {
  3: 'Die Etiketten druckt immer der Drucker im Lager, nie der im Büro.',
  4: "Dates are shown in the reader's own zone, whatever the browser claims.",
  5: '送料は必ず税込みで表示してください。',
}

/** Passes the work on in one way, and does a part of it there. Returns the tape on which it goes on. */
async function pass(store: Store, folder: string, from: string, hop: Hop, number: number): Promise<string> {
  const tape = new Tape(store, from)
  const part = `src/part-${number}.ts`
  const rule = rules[number] === undefined ? [] : [rules[number]]
  if (hop.how === 'continue' || hop.how === 'cycle') {
    const isCycle = hop.how === 'cycle'
    const { markdown, document, note } = await writeDocument(tape, {
      budget: hop.budget,
      profile: isCycle ? 'cycle' : 'session',
    })
    await saveDocument(store, from, markdown, note, document)
    const file = path.join(folder, `handoff-${number}.md`)
    fs.writeFileSync(file, markdown)
    const [agent, scribe] = agents[hop.agent]!
    const session = `000000${String(number).padStart(2, '0')}-2222-4222-8333-444455556666`
    const s = scribe(session)
    const prompt = isCycle ? resumeText(file) : continueText(file)
    const lines = [
      ...s.user(hop.given === 'inline' ? withDocumentText(prompt, markdown) : prompt),
      ...(hop.given === 'read' ? s.reads(file, markdown) : []),
      ...s.writes(part),
      ...(number === 3 ? s.runs(mended, ' Tests  4 passed (4)') : []),
      ...s.says(`Part ${number} is done.`),
      ...rule.flatMap((words) => [...s.user(words), ...s.says('Understood.')]),
    ]
    const transcript = path.join(
      folder,
      `${number}`,
      `${agent === 'codex' ? 'rollout-2026-05-01T10-00-00-' : ''}${session}.jsonl`,
    )
    fs.mkdirSync(path.dirname(transcript), { recursive: true })
    fs.writeFileSync(transcript, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    return (await importFile(store, fileAt(transcript, agent))).tape
  }
  let to = tape
  if (hop.how === 'new tape') {
    const moved = await handoffSession(tape, { into: `tape-${number}`, budget: hop.budget })
    if (moved.status !== 'done') throw new Error(moved.message)
    to = new Tape(store, moved.tape)
  } else if (hop.how === 'same tape') await writeHandoff(tape, { budget: hop.budget })
  else if (hop.how === 'anchor')
    await tape.append([{ kind: 'anchor', payload: { name: `phase ${number}`, state: null } }])
  else if (hop.how === 'compaction')
    await tape.append([
      { kind: 'anchor', payload: { name: 'compaction', state: { summary: 'The work goes on in parts.' } } },
    ])
  else await tape.handoff(`half of ${number}`, { state: { summary: 'in parts' } })
  const say = (role: string, content: string) => ({ kind: 'message', payload: { role, content } })
  const id = `w${number}`
  await to.append([
    { kind: 'tool_call', payload: { calls: [{ id, name: 'Write', arguments: { file_path: part, content: 'x' } }] } },
    { kind: 'tool_result', payload: { results: [{ call_id: id, name: 'Write', output: 'written' }] } },
    ...(number === 3
      ? [
          { kind: 'tool_call', payload: { calls: [{ id: 'run', name: 'Bash', arguments: { command: mended } }] } },
          {
            kind: 'tool_result',
            payload: { results: [{ call_id: 'run', name: 'Bash', output: ' Tests  4 passed (4)' }] },
          },
        ]
      : []),
    say('assistant', `Part ${number} is done.`),
    ...rule.flatMap((words) => [say('user', words), say('assistant', 'Understood.')]),
  ])
  return to.name
}

test(
  'ten hops in any order of their kinds keep what the first user said and what each hop did [H13]',
  { timeout: 120_000 },
  async () => {
    const hops = fc.array(hopKind, { minLength: 9, maxLength: 9 })
    await fc.assert(
      fc.asyncProperty(hops, async (order) => {
        const store = await temporaryStore()
        const folder = temporaryFolder()
        const s = claude('00000001-2222-4222-8333-444455556666')
        const file = path.join(folder, 'first.jsonl')
        const lines = [
          ...s.user('Build the returns page of the shop. Never touch src/api.ts, partners import it.'),
          ...s.writes('src/returns.ts'),
          ...s.says('The page is there.'),
          ...s.user('All amounts stay in cents, whatever the carriers send.'),
          ...s.says(
            'I keep the amounts as integers in a ledger table rather than as JSON, because the auditors read it with SQL.',
          ),
          ...s.user('Now the labels.'),
          ...s.writes('src/labels.ts'),
          ...s.runs(mended, ' FAIL  test/tax.test.ts > rounds\n Tests  1 failed (4)', 1),
          ...s.runs(
            'npx vitest run test/labels.test.ts',
            ' FAIL  test/labels.test.ts > prints\n Tests  1 failed (1)',
            1,
          ),
          ...s.says('The label test still fails, the printer is missing here.'),
        ]
        fs.writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
        let tape = (await importFile(store, fileAt(file, 'claude'))).tape
        for (const [at, hop] of order.entries()) tape = await pass(store, folder, tape, hop, at + 2)
        const { markdown } = await writeDocument(new Tape(store, tape), { budget: 2_000 })
        const parts = order.map((_, at) => `part-${at + 2}.ts`)
        const wanted = [
          'Build the returns page of the shop. Never touch src/api.ts, partners import it.',
          'All amounts stay in cents, whatever the carriers send.',
          ...Object.values(rules),
          'ledger table rather than as JSON',
          'npx vitest run test/labels.test.ts',
          'returns.ts',
          'labels.ts',
          ...parts,
        ]
        expect(wanted.filter((words) => !markdown.includes(words))).toEqual([])
        // The user said each of them once, and took none of them back.
        const said = [
          ...Object.values(rules),
          'All amounts stay in cents',
          'Build the returns page',
          'ledger table rather',
        ]
        expect(said.filter((words) => markdown.split(words).length !== 2)).toEqual([])
        expect(markdown).not.toContain('superseded')
        expect(markdown).not.toContain('Said: `Understood.`')
        expect(markdown.split('## Open Failures')[1]!.split('\n## ')[0]).not.toContain('tax.test.ts')
        // In a quarter of that there still is what nobody can do without.
        const small = (await writeDocument(new Tape(store, tape), { budget: 500 })).markdown
        const least = ['## Status', '1. ', 'All amounts stay in cents', 'npx vitest run test/labels.test.ts']
        expect(least.filter((words) => !small.includes(words))).toEqual([])
      }),
      { numRuns: runs(24) },
    )
  },
)

test("a plain anchor and the model's own handoff do not make a document forget the user [H13] [T9]", async () => {
  const tape = await openTape('main', { store: await temporaryStore() })
  const say = (role: string, content: string) => ({ kind: 'message', payload: { role, content } })
  await tape.append([say('user', 'Build the importer. Never touch the public API.'), say('assistant', 'I begin.')])
  await tape.append([{ kind: 'anchor', payload: { name: 'p', state: null } }])
  await tape.append([say('user', 'Rows end in CRLF, always.'), say('assistant', 'Noted.')])
  await tape.append([
    {
      kind: 'anchor',
      payload: { name: 'half', state: { summary: 'parser half done', next_steps: ['Register the route'] } },
    },
  ])
  const { markdown } = await writeDocument(tape)
  expect(markdown).toContain('Never touch the public API.')
  expect(markdown).toContain('Rows end in CRLF, always.')
  expect(markdown).toContain('1. Register the route')
})
