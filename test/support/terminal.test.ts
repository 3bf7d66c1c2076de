import { expect, test } from 'vitest'
import { Tmux } from './terminal.ts'
import { temporaryFolder } from './workspace.ts'

test('a program in a pane gets keys, and its screen, cursor and colours can be read', async () => {
  using tmux = new Tmux()
  const pane = tmux.open(['sh', '-c', 'printf "\\033[31mrot\\033[0m 日本 👍\\n"; cat'], {
    cwd: temporaryFolder(),
    columns: 40,
  })
  await pane.shows('rot 日本 👍')
  expect(pane.styleOf('rot')).toMatchObject({ color: 1, bold: false })
  await pane.enter('grüße; "quoted" 漢字')
  await pane.until(() => pane.text.split('漢字').length === 3, 'the line twice')
  expect(await pane.screen()).toContain('grüße; "quoted" 漢字')
  await pane.resize(60, 10)
  await pane.press('C-d')
  expect(await pane.exit()).toBe(0)
})
