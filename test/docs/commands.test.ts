// What README and docs tell people to type is run, page by page, as the person of the page would: in the project `shop`, after the
// session that the README shows. What cannot run here is listed with its reason.
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { makeSample } from '../../scripts/sample-session.mjs'
import { run } from '../../src/cli/program.ts'
import { ioOf } from '../cli/cli.ts'
import { temporaryFolder } from '../support/workspace.ts'
import { blocksOf, pages, type Typed, typedIn, typedInBlock, wordsOf } from './blocks.ts'

/** Not run here: what the line says, and why. */
const notRun: readonly (readonly [RegExp, string])[] = [
  [/\bbaton (?:run|attach|resume) /, 'starts an agent of the person, or needs one that runs'],
  [/\bbaton (?:stop|log) claude-shop/, 'is about a run that only a real agent would have left'],
  [/\bbaton continue (?!.*--print)/, 'starts an agent of the person'],
  [/\bbaton chat/, 'needs a model'],
  [/--model /, 'needs a model'],
  [/\bbaton up\b/, 'runs until it is ended; test/server and test/package start it'],
  [/\bbaton down\b/, 'ends what `baton up` started; test/package runs it'],
  [/(?:postgres|nats):\/\//, 'needs a server; test/store runs these'],
  [/\bbaton relay (?:serve|watch)\b/, 'runs until it is ended; test/cli/relay runs it'],
  [/\bbaton relay ask /, 'waits for a worker in another process; test/cli/relay runs it'],
  [/… |escalations answer e6/, 'has an id of the moment in it; test/cli/relay runs it with a real one'],
  [/rollout-2026-11-15/, 'names a transcript of the person'],
  [/\bbaton log --since/, 'asks which session on a terminal'],
  [/\bbaton notify test/, 'sends something to the person; test/notify does it'],
]

/** What a page takes for granted beside the sample. */
const before: Readonly<Record<string, readonly string[]>> = {
  'docs/handoff.md': [message('Write the parser.')],
  'docs/store.md': [message('Write the parser.')],
  'docs/tapes.md': [message('Write the parser.')],
  'docs/where-things-are.md': [message('Write the parser.'), 'baton token create ci --scope read', 'baton trust'],
}

function message(content: string): string {
  return `echo '${JSON.stringify({ kind: 'message', payload: { role: 'user', content } })}' | baton tape append main`
}

test.for(pages)('every command in %s does what the page says', async (page, { onTestFinished }) => {
  const runs = (line: string) => !notRun.some(([pattern]) => pattern.test(line))
  if (!typedIn(page).some(({ line }) => runs(line))) return
  const home = fs.realpathSync(temporaryFolder(onTestFinished))
  const project = makeSample(home)
  const person = { home, project }
  for (const line of before[page] ?? []) expect(await runLine(line, person)).toMatchObject({ code: 0 })
  for (const { language, text } of blocksOf(page)) {
    // A configuration on the page counts for what follows it.
    if (language === 'json' && text.includes('"relay": {'))
      fs.writeFileSync(path.join(project, 'baton.config.json'), text)
    for (const typed of typedInBlock(text).filter(({ line }) => runs(line))) {
      // Whoever imports a tape of that name is the colleague who has none yet.
      if (typed.line.startsWith('baton tape import')) person.home = temporaryFolder(onTestFinished)
      check(page, typed, await runLine(typed.line, person), home)
    }
  }
})

test('a reason is given for nothing that does not stand on a page', () => {
  const lines = pages.flatMap((page) => typedIn(page).map(({ line }) => line))
  expect(lines.length).toBeGreaterThan(100)
  expect(notRun.filter(([pattern]) => !lines.some((line) => pattern.test(line)))).toEqual([])
})

interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

interface Person {
  home: string
  readonly project: string
}

/** `echo 'TEXT' | baton … > FILE`, in this process. */
async function runLine(line: string, { home, project }: Person): Promise<Ran> {
  const [, echoed = '', call = ''] = /^(?:echo '([^']*)' \| )?baton ?(.*)$/.exec(line) ?? []
  const [, words = '', file] = /^(.*?)(?: > (\S+))?$/.exec(call) ?? []
  const io = ioOf(project, echoed === '' ? '' : `${echoed}\n`)
  const code = await run(wordsOf(words), { ...io, env: { ...io.env, HOME: home } })
  if (file !== undefined) fs.writeFileSync(path.join(project, file), io.stdout.text)
  return { code, out: io.stdout.text, err: io.stderr.text }
}

/** It succeeds, unless the page shows that it does not; what the README shows is what it prints. */
function check(page: string, { line, shown }: Typed, ran: Ran, home: string): void {
  const refused = shown.find((each) => each.startsWith('baton: '))
  const about = `${page}: ${line}\n${ran.out}${ran.err}`
  if (refused !== undefined) {
    expect([ran.code, about]).not.toEqual([0, about])
    expect(ran.err, about).toContain(refused)
  } else if (/^baton (?:doctor|health)/.test(line)) expect([0, 1], about).toContain(ran.code)
  else expect(ran.code, about).toBe(0)
  if (page !== 'README.md') return
  const printed = ran.out.replaceAll(home, '/home/me')
  for (const each of shown.filter((text) => text.trim() !== '' && text !== '…'))
    expect(printed, line).toMatch(pattern(each))
}

/** A line of the page as a pattern: `…` marks a cut; times, sizes of columns and commit ids differ from run to run. */
function pattern(shown: string): RegExp {
  const source = shown
    .trim()
    .split(/(…|\d{4}-\d\d-\d\d[T-][\d:.-]+Z?|\d+[ms] ago|\s+)/)
    .map((part) =>
      /^\s+$/.test(part) ? String.raw`\s+` : /^(?:…|\d{4}-|\d+[ms] ago)/.test(part) ? '.*?' : escaped(part),
    )
    .join('')
  return new RegExp(source)
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`)
}
