import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { normaliseDocument } from '../../../../src/handoff/document/markdown/normalise.ts'
import { parseDocument } from '../../../../src/handoff/document/markdown/parse.ts'
import { renderMarkdown } from '../../../../src/handoff/document/markdown/render.ts'
import { anyDocument } from '../documents.ts'
import { runs } from '../../../support/full.ts'

describe('a document written as Markdown', () => {
  test('reads back as the same document, whatever it holds [H10] [H15]', () => {
    fc.assert(
      fc.property(anyDocument, (document) => {
        expect(parseDocument(renderMarkdown(document))).toEqual(document)
      }),
      { numRuns: runs(1_000) },
    )
  })

  test('reads back as the same document where every token counts [H10] [H15]', () => {
    fc.assert(
      fc.property(anyDocument, (document) => {
        // Blank lines within a text are for the eye too, and go.
        const dense = JSON.parse(JSON.stringify(document).replaceAll(/(?:\\n)(?:\\n)+/g, '\\n')) as typeof document
        expect(parseDocument(renderMarkdown(normaliseDocument(dense), true))).toEqual(normaliseDocument(dense))
      }),
      { numRuns: runs(1_000) },
    )
  })

  test('has one normal form', () => {
    fc.assert(
      fc.property(anyDocument, (document) => {
        expect(normaliseDocument(document)).toEqual(document)
      }),
    )
  })
})
