import { expect, test } from 'vitest'
import { documentIn, pastedDocument } from '../../../../src/handoff/ledger/words/document-text.ts'

const document = [
  '# Session handoff (verified unless marked claimed)',
  '',
  '## Open Failures',
  '- `npm test` exit 1 [#11]',
  '  ```',
  '  FAIL test/rows.test.ts',
  '',
  '    at row 3',
  '  ```',
  '',
].join('\n')

test.each([
  ['a tab', (line: string, at: number) => `${at}\t${line}`],
  ['an arrow', (line: string, at: number) => `${String(at).padStart(6)}→${line}`],
  ['a colon', (line: string, at: number) => `${at}: ${line}`],
  ['nothing', (line: string) => line],
])('a document that an agent read with %s behind the line numbers is the document, with its indents', (_, numbered) => {
  const lines = document.split('\n').map((line, at) => numbered(line, at + 1))
  expect(documentIn(`Here is the file:\n${lines.join('\n')}`)?.trimEnd()).toBe(document.trimEnd())
})

test.each([
  ['in front of it', `Mach hier weiter:\n\n${document}`, 'Mach hier weiter:'],
  ['behind it', `${document}\nAber nicht committen!`, 'Aber nicht committen!'],
  [
    'around a fence',
    `Weiter hiermit\n\`\`\`md\n${document}\`\`\`\nNicht committen`,
    'Weiter hiermit\n\nNicht committen',
  ],
  ['nowhere', `<handoff>\n${document}\n</handoff>`, ''],
])('a document that a person pasted is told from what they typed %s', (_, text, words) => {
  expect(pastedDocument(text)).toEqual({ document: document.trim(), words })
})

test('a text that only quotes or names a document is no document', () => {
  expect(pastedDocument('The title is "# Session handoff (verified unless marked claimed)", keep it')).toBeUndefined()
  expect(pastedDocument(document.replaceAll(/^/gm, '> '))).toBeUndefined()
})
