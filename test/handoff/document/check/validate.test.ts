import { describe, expect, test } from 'vitest'
import type { SectionKey } from '../../../../src/handoff/document/document.ts'
import { parseClaims, parseDocument } from '../../../../src/handoff/document/markdown/parse.ts'
import { headingsOf } from '../../../../src/handoff/document/sections.ts'
import { validate } from '../../../../src/handoff/document/check/validate.ts'
import { busy } from '../ledgers.ts'

function written(sections: Record<string, string> = {}): string {
  const texts: Record<string, string> = {
    Goal: 'Add refresh tokens',
    'Constraints & Preferences': '- None',
    Done: '- Migration',
    'In Progress': '- Rotation',
    Pending: '- None',
    'Key Decisions': '- Rotate on use',
    'Critical Context': '- Port 8080',
    'Next Steps': '1. Fix test/rotate.test.ts',
    ...sections,
  }
  return headingsOf('session')
    .map((heading) => `${heading}\n${texts[heading.replace(/^#+ /, '')] ?? ''}`)
    .join('\n\n')
}

function problems(markdown: string, ledger = busy) {
  return validate(parseClaims(markdown, 'session'), ledger).map((problem) => [problem.section, problem.kind])
}

describe('structure', () => {
  test('that is complete has no problems [H10]', () => {
    expect(problems(written())).toEqual([])
  })

  test.each(['session', 'cycle'] as const)('a %s document needs each of its sections [H10]', (profile) => {
    const headings = headingsOf(profile).filter((heading) => heading !== '## Progress')
    const missing = validate(parseDocument('', profile))
    expect(missing.map((problem) => problem.kind)).toEqual(headings.map(() => 'missing'))
  })

  test.each<[string, string, string]>([
    ['Goal', 'TBD', 'placeholder'],
    ['Goal', 'None', 'placeholder'],
    ['Key Decisions', '- TODO', 'placeholder'],
    ['Critical Context', '', 'empty'],
    ['Next Steps', '1. Continue working', 'vague'],
    ['Next Steps', '- Continue with the task from where we left off.', 'vague'],
    ['Next Steps', '- None', 'placeholder'],
    ['Next Steps', '- ...', 'placeholder'],
  ])('"%s" may not be "%s" [H10]', (title, text, kind) => {
    expect(problems(written({ [title]: text })).map(([, found]) => found)).toEqual([kind])
  })

  test('a short but concrete step is fine [H10]', () => {
    for (const step of [
      'Fix login',
      'npm test',
      '修复登录错误',
      'Continue with the rotation tests',
      'Finish refunds.ts',
    ]) {
      expect(problems(written({ 'Next Steps': `1. ${step}` }))).toEqual([])
    }
  })
})

describe('facts', () => {
  test.each<[string, string, string, SectionKey]>([
    ['All tests pass.', 'Done', 'contradicted', 'done'],
    ['Implemented rotation; all 13 tests are passing', 'Done', 'contradicted', 'done'],
    ['The test suite is green', 'Critical Context', 'contradicted', 'context'],
    ['No open failures', 'Critical Context', 'contradicted', 'context'],
    ['Wrote tests for rotation and updated the API documentation', 'Done', 'open-todo', 'done'],
    ['Changed src/billing/invoice.ts', 'Done', 'unknown-file', 'done'],
    ['See `invoice.ts`', 'Critical Context', 'unknown-file', 'context'],
  ])('"%s" under %s is found out [H10]', (text, title, kind, section) => {
    expect(problems(written({ [title]: `- ${text}` }))).toEqual([[section, kind]])
  })

  test.each([
    ['Not all tests pass yet', 'Done'],
    ['Make sure that all tests pass', 'Next Steps'],
    ['Create the migration', 'Done'],
    ['Changed src/auth/token.ts and auth/rotate.ts, see rotate.test.ts', 'Done'],
    ['See https://example.org/a/b.html, e.g. and/or', 'Critical Context'],
  ])('"%s" under %s is let through [H10]', (text, title) => {
    expect(problems(written({ [title]: `- ${text}` }))).toEqual([])
  })

  test('success is believed when nothing fails [H10]', () => {
    const ledger = { ...busy, failures: [], tests: [] }
    expect(problems(written({ Done: '- All tests pass.' }), ledger)).toEqual([])
  })
})
