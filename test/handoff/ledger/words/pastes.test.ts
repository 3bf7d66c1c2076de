import { describe, expect, it } from 'vitest'
import { withoutPastes } from '../../../../src/handoff/ledger/words/pastes.ts'

const before = 'the nightly job died again and nobody at the office knows what it was doing at the time'
const after = 'have a look, the second half is what matters to us'

describe('of a message with a paste in it, only the typed lines are left', () => {
  it.each([
    ['log lines', '2026-05-04T10:11:12Z WARN must never be empty\n2026-05-04T10:11:13Z INFO retry'],
    ['log lines of syslog', 'May  4 10:11:12 host job[1]: only one\nMay  4 10:11:13 host job[1]: always'],
    ['a trace', 'TypeError: must be a string\n    at parse (/srv/a.js:3:9)\n    at run (/srv/b.js:9:1)'],
    ['a trace of .NET', 'System.Exception: never\n   at Acme.Worker.Run(String[] args)\n   at Acme.Main()'],
    ['a diff', '@@ -1,2 +1,2 @@\n-const never = 1\n+const always = 2'],
    ['a table', '| id | must |\n|---|---|\n| 1 | never |'],
    ['columns', 'NAME        READY   STATUS\nweb-1       1/1     Running only'],
    ['a record', '{"level":"warn","msg":"must not"}\n{"level":"info","msg":"only"}'],
    ['values', 'a=1 b=2 c=never d=4\na=2 b=3 c=only d=5'],
    ['a prompt', '$ npm test\n❯ git status'],
    ['lines with the same mark', 'remote-1> no\nremote-1> never\nremote-1> only'],
    ['code', 'const rows = await load({ only: true });\nif (rows) {\n  return must(rows);\n}'],
    ['a fence', '```\nnever do that\n```'],
    ['a line in quotation marks', '"Always validate in steps. Never tune more than three values at once."'],
    ['one in other marks', '«Il faut toujours valider par étapes et ne jamais régler plus de trois valeurs.»'],
    ['one in Japanese marks', '「必ず段階的に検証し、三つ以上の値を同時に調整しないでください。」'],
    ['a quotation', '> You should never tune more than three values'],
  ])('[H13] %s', (_, paste) => {
    expect(withoutPastes(`${before}\n${paste}\n${after}`)).toBe(`${before}\n${after}`)
  })

  it('[H13] also the beginning of a line that goes over into markup', () => {
    const typed = 'in the detail page of an order the field for the points stays empty'
    const markup =
      '<div class="field field-number" style="width: 50%;" data-name="points" data-type="number">\n<input type="number" id="points" step="any">\n</div>'
    expect(withoutPastes(`${typed} ${markup}`)).toBe(typed)
    expect(withoutPastes(`${before}\n${after}\nso <a href="x" id="y" class="z">must</a>`)).toBe(`${before}\n${after}`)
  })

  it('[H13] also one in the middle of a paste', () => {
    const log = (at: number) => `2026-05-04T10:11:${10 + at}Z INFO scan ${at} accepted`
    const lines = [log(1), log(2), 'please keep the old numbers, the auditors need them', log(3), log(4)]
    expect(withoutPastes(lines.join('\n'))).toBe('please keep the old numbers, the auditors need them')
  })
})

describe('what people type is no paste', () => {
  it.each([
    '- 2 spaces for indentation, never tabs',
    'Never touch the public API.  ',
    '# Never push to main',
    '1. Never push to main',
    'Never push\nNever rebase\nNever squash',
    'Bitte nichts löschen, was in `docs/` liegt',
    '永远不要直接提交到主分支',
    'a -> b, then b -> c',
    '"Los" statt "Start" auf dem Knopf, und "Pause" bleibt wie es ist',
    'the label must say "Save and close"',
    '>500 items must still load in a second',
  ])('[H13] %j', (line) => {
    expect(withoutPastes(`${before}\n\n${line}\n\n${after}`)).toBe(`${before}\n\n${line}\n\n${after}`)
  })

  it('[H13] a message that is nothing but a paste is kept', () => {
    const paste = Array.from({ length: 5 }, (_, at) => `    at never (/r/only/must.ts:${at}:1)`).join('\n')
    expect(withoutPastes(paste)).toBe(paste)
  })
})

it('[H13] a numbered line that was wrapped is pasted to its end; what is typed behind a log is typed, whatever it begins with', () => {
  const diff = [
    'look at this part of the notes:',
    '+ 12 - **Harbour fees**: fees are read from the table of the port and no longer from',
    ' the contract, which only names the port',
    '+ 13 - **Pilots**: a pilot is ordered when the ship is a day away from the port, and',
    ' the order is repeated every hour',
    'the second one is wrong, pilots are ordered by phone',
  ].join('\n')
  expect(withoutPastes(diff)).toBe(
    'look at this part of the notes:\nthe second one is wrong, pilots are ordered by phone',
  )
  const log = [
    'this came up last night:',
    '2026-03-20T02:00:11Z INFO intake scan=389080 hub=HAM accepted',
    '2026-03-20T02:00:12Z WARN intake scan=389081 hub=HAM retry 1 of 3',
    ' please keep the names of customers out of it, even at debug level',
  ].join('\n')
  expect(withoutPastes(log)).toContain('keep the names of customers out of it')
})
