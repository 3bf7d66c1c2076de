import { expect, test } from 'vitest'
import { LaterWords } from '../../../../src/handoff/document/write/later-words.ts'

const between = [
  'Build the returns page of the shop.',
  'Now the labels, please.',
  'Mach die Seite etwas übersichtlicher.',
  '看一下为什么这么慢。',
  'Then write the release notes.',
]

/** The earlier words as a document shows them once the later ones were said. */
function shown(earlier: string, later: string, others = between): string {
  const said = [earlier, ...others, later].map((text, at) => ({ text, id: at + 1, standing: [] }))
  return new LaterWords(said).mark(earlier, [earlier], 1)
}

test.each([
  ['Always use npm for installing packages.', 'Actually, use pnpm instead of npm from now on.'],
  ["Don't add any caching.", 'You may add caching now, the profile shows that we need it.'],
  ['日志必须写到 Redis。', '算了，日志改用 SQLite，不要用 Redis。'],
  ['Never push to main directly.', 'From today you can push to main yourself.'],
  ['All dates are shown in UTC.', "Forget UTC, show dates in the reader's zone."],
  ['Kommentare immer auf Deutsch schreiben.', 'Ab jetzt bitte Kommentare auf Englisch.'],
  [
    'Utilise toujours des tabulations pour indenter.',
    'Finalement, deux espaces au lieu des tabulations pour indenter.',
  ],
  ['コメントは英語で書いてください。', 'やっぱりコメントは日本語でお願いします。'],
  ['Не трогай папку deploy.', 'Папку deploy теперь можно менять.'],
  ['커밋 메시지는 한국어로 작성하세요.', '커밋 메시지는 이제 영어로 작성하세요.'],
])('words that later ones are about are shown with those: %s [H13]', (earlier, later) => {
  expect(shown(earlier, later)).toContain(`${earlier} [superseded where later words differ: ${later.slice(0, 40)}`)
  expect(shown(earlier, later, [])).toContain('superseded')
})

test.each([
  ['Never touch the files under vendor/, they are synced from upstream.', 'Look why vendor/lib.js is so slow.'],
  ['Bitte keine neuen Abhängigkeiten hinzufügen.', 'Liste die Abhängigkeiten auf.'],
  ['Tests come first, code second.', 'Now run the tests again.'],
  ['变量名用英文。', '把变量 count 改成 total。'],
  ['테스트를 건너뛰지 마세요.', '테스트를 다시 실행해 주세요.'],
  ["Dates are shown in the reader's own zone.", 'Sort the list by date.'],
  ['Always use npm for installing packages.', 'Why do we use npm for installing packages?'],
])('words that are only touched on later, or asked about, are shown as they are: %s [H13]', (earlier, later) => {
  expect(shown(earlier, later)).toBe(earlier)
})

test('of several wishes in a sentence, one may be taken back [H13]', () => {
  const earlier = 'Please indent new files with tabs, and commit after each step so that I can follow along.'
  expect(shown(earlier, 'New files are indented with two spaces from now on, not with tabs.')).toContain('superseded')
  expect(shown(earlier, 'Add a file that lists the steps for each release.')).toBe(earlier)
})

test('two halves of a contraction are one word: what shares no other says nothing anew [H13]', () => {
  for (const later of ["I don't understand what the price list does.", "You don't have to hurry with this."])
    expect(shown("Don't add any caching.", later)).toBe("Don't add any caching.")
})

test('later words are found however many messages follow them [H13]', () => {
  const many = Array.from({ length: 400 }, (_, at) => `Have a look at page ${at} of the catalogue.`)
  const said = ['Always use npm for installing packages.', ...between, 'Use pnpm instead of npm from now on.', ...many]
  const words = new LaterWords(said.map((text, at) => ({ text, id: at + 1, standing: [] })))
  expect(words.mark(said[0]!, [said[0]!], 1)).toContain('superseded where later words differ: Use pnpm instead of npm')
})

test('of several later sentences in one message, the last one counts [H13]', () => {
  const later = 'For installing packages take pnpm. No, stay with npm for packages, as before.'
  expect(shown('Always use npm for installing packages.', later)).toContain('No, stay with npm')
})
