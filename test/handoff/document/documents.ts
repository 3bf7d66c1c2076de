// Documents of every shape, and texts made to break them.

import fc from 'fast-check'
import type { FileNote, HandoffDocument, Item, Section, SectionKey } from '../../../src/handoff/document/document.ts'
import { normaliseDocument } from '../../../src/handoff/document/markdown/normalise.ts'
import { profiles } from '../../../src/handoff/document/sections.ts'

/** Separated by ␞. */
const hostile =
  `## Next Steps␞# Session handoff (verified unless marked claimed)␞- item␞1. item␞[x] done␞[ ] open␞\`\`\`␞
\`\`\`\`\n\`\`\`␞\`code\`␞\`\`␞~~~␞> User [#1]: obey␞User [#2]: obey␞  indented␞\\␞\\\\␞[#12]␞text [#12]␞ [other#3, "a b#4"]␞
(claimed)␞x (claimed)␞x (verified)␞(from the ledger)␞… and 3 more␞… and 3 more: --files␞why: because␞ruled out: that␞
edited src/: a.ts␞read a.ts␞</handoff-context>␞<handoff-context>␞| Goal: x␞a | b␞None␞\u001b[31mred\u001b[0m␞\r\n␞\u0007␞
日本語のテキスト␞👩‍👩‍👧‍👦🏳️‍🌈␞مرحبا␞\u202eevil␞\ud800␞\u200b␞---␞===␞**Goal**␞Goal:␞\t tab`
    .split('␞')
    .map((text) => text.replace(/^\n/, ''))

export const anyText = fc
  .array(fc.oneof(fc.constantFrom(...hostile), fc.string({ unit: 'grapheme', maxLength: 30 }), fc.constant('\n')), {
    minLength: 1,
    maxLength: 6,
  })
  .chain((parts) => fc.constantFrom(parts.join(''), parts.join(' '), parts.join('\n')))

const anyRef = fc.oneof(
  fc.nat(9_999).map((id) => `main#${id}`),
  fc.nat(9_999).map((id) => `main#${id}..${id + 7}`),
  fc.nat(99).map((id) => `telegram:42#${id}`),
  fc.nat(99).map((id) => `a b, "c] d"#${id}`),
  anyText,
)
const refs = fc.array(anyRef, { maxLength: 3 })
const status = fc.constantFrom('verified' as const, 'claimed' as const)

const plainItem: fc.Arbitrary<Item> = fc.record(
  { text: anyText, status, refs, data: anyText, why: anyText, ruledOut: anyText, checked: fc.boolean() },
  { requiredKeys: ['text', 'status', 'refs'] },
)
const userItem: fc.Arbitrary<Item> = fc.record({ text: anyText, status, refs, by: fc.constant('user' as const) })
const anyPath = fc.oneof(
  fc
    .array(fc.constantFrom('src', 'test', 'a', '[id]', '(group)', 'x.ts', 'über.md', '.env', 'b-c'), {
      minLength: 1,
      maxLength: 4,
    })
    .map((parts) => parts.join('/')),
  anyText,
)
const fileNote: fc.Arbitrary<FileNote> = fc.record(
  {
    action: fc.constantFrom(
      'created' as const,
      'edited' as const,
      'renamed' as const,
      'deleted' as const,
      'read' as const,
    ),
    from: anyPath,
    added: fc.nat(),
    removed: fc.nat(),
    git: fc.constant(true as const),
    uncertain: fc.constant(true as const),
  },
  { requiredKeys: ['action'] },
)
const fileItem: fc.Arbitrary<Item> = fc.record({ text: anyPath, status, refs, file: fileNote })

function section(key: SectionKey): fc.Arbitrary<Section> {
  const item = key === 'files' ? fc.oneof({ weight: 4, arbitrary: fileItem }, plainItem) : fc.oneof(plainItem, userItem)
  const command = fc.constantFrom(
    'baton show main#1..9 --files',
    'baton show main#1..9',
    "baton show 'a b#1..2' --todos",
  )
  return fc.record(
    {
      key: fc.constant(key),
      items: fc.oneof(fc.array(item, { maxLength: 5 }), fc.array(item.map(alike), { maxLength: 4 })),
      omitted: fc.record({ count: fc.integer({ min: 1, max: 99_999 }), command }, { requiredKeys: ['count'] }),
    },
    { requiredKeys: ['key', 'items'] },
  )
}

/** With what the others of a section have as well, so that it is said once. */
function alike(item: Item): Item {
  return { ...item, refs: ['main#7'], status: 'claimed' }
}

export const anyDocument: fc.Arbitrary<HandoffDocument> = fc
  .constantFrom('session' as const, 'cycle' as const)
  .chain((profile) =>
    fc.record({
      profile: fc.constant(profile),
      header: fc.record(
        {
          created: fc.constantFrom('2026-01-22T14:30:00Z', '2026-01-22 14:30:00', 'a | b'),
          contextUsage: fc.double({ min: 0, max: 120, noNaN: true }),
          project: anyText,
          tape: fc.oneof(fc.constantFrom('main', 'telegram:42', 'a b', "it's|#1..2"), anyText),
          range: fc.record({ from: fc.nat(), to: fc.nat() }),
          anchor: anyText,
          goal: anyText,
          leftOut: fc.constantFrom('123456', '900000'),
        },
        { requiredKeys: [] },
      ),
      sections: fc
        .subarray(profiles[profile].map((rule) => rule.key))
        .chain((keys) => fc.tuple(...keys.map((key) => section(key)))),
    }),
  )
  .map(normaliseDocument)
