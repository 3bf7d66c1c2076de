import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { dataOf, expectOrder, Theatre } from './support/theatre.ts'

/** A supervisor in a process of its own. */
function keep(theatre: Theatre, killAt?: string) {
  const job = {
    workspace: path.join(theatre.root, '.baton'),
    home: theatre.home,
    program: path.join(theatre.programs, 'puppet.mjs'),
    run: theatre.run,
    settings: theatre.settings,
    killAt,
  }
  const child = spawn(process.execPath, [path.join(theatre.programs, 'keeper.mjs'), JSON.stringify(job)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return { child, ended: once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]> }
}

const moments = [
  'before ask',
  'after ask',
  'before store',
  'after document',
  'before snapshot',
  'before clear',
  'after clear',
  'before resume',
  'after resume',
  'at verifying',
  'at done',
]

test.each(moments)(
  'a supervisor that is killed %s is followed by one that finishes the cycle, once [C7]',
  async (moment) => {
    const theatre = await Theatre.open()
    theatre.script({ pace: 100 })
    const first = keep(theatre, moment)
    await theatre.until(() => theatre.prompts('Build').length === 1, 'the first prompt')
    theatre.fill(90)
    expect(await first.ended).toEqual([null, 'SIGKILL'])
    keep(theatre)
    const cycled = await theatre.until(async () => (await theatre.cycles()).at(-1), 'the cycle')
    expect(cycled).toMatchObject({ n: 1, outcome: 'done' })
    expect(theatre.prompts('Create handoff')).toHaveLength(1)
    expect(theatre.prompts('Read handoff')).toHaveLength(1)
    expect(theatre.clears()).toBeLessThanOrEqual(2)
    await expectOrder(theatre)
    // The document was durable before the first clear was meant.
    const document = (await theatre.entries('handoff_document'))[0]!
    const clear = (await theatre.entries('cycle')).find((entry) =>
      (dataOf(entry) as { effects: string[] }).effects.includes('clear'),
    )!
    expect(document.id).toBeLessThan(clear.id)
    expect(fs.existsSync(cycled.document!.path)).toBe(true)
  },
)

test('a second supervisor is refused and told who holds the session; one that takes over from a dead one is not [C7]', async () => {
  const theatre = await Theatre.open()
  const first = keep(theatre)
  await theatre.until(() => theatre.prompts('Build').length === 1, 'the first prompt')
  await expect(theatre.supervise().ended).rejects.toMatchObject({
    code: 'conflict',
    message: `shop is supervised already by process ${first.child.pid}`,
    hint: `It ends with that process: kill ${first.child.pid}`,
  })
  first.child.kill('SIGKILL')
  await first.ended
  theatre.supervise()
  theatre.fill(90)
  expect(await theatre.cycled()).toMatchObject({ outcome: 'done' })
  expect(theatre.prompts('Build')).toHaveLength(1)
})
