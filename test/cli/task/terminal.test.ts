// The person who decides is recognised by the terminal, so these commands run in real ones.

import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { Tmux } from '../../support/terminal.ts'
import { temporaryFolder } from '../../support/workspace.ts'
import { program } from '../cli.ts'

const blocker = JSON.stringify({ issue: 'Really?', severity: 'high', requires_human: true })

test('a person decides at a terminal; an agent on the same terminal, or without one, does not, and makes itself no token that does [D10, S7]', async () => {
  const cwd = temporaryFolder()
  using tmux = new Tmux()
  const script = path.join(cwd, 'decide.sh')
  // An agent: a program of that name that runs commands, and one that Baton does not know but marks.
  fs.writeFileSync(path.join(cwd, 'claude'), '#!/bin/sh\n"$@"; exit $?\n', { mode: 0o700 })
  fs.writeFileSync(
    script,
    `baton() { ${JSON.stringify(process.execPath)} ${JSON.stringify(program)} "$@"; echo "= $?"; }
echo NEW; baton task new T1 --title Migrate
echo ASK; baton task handoff T1 --from planner --to engineer --phase implementing --blocker '${blocker}'
echo AGENT; ./claude ${JSON.stringify(process.execPath)} ${JSON.stringify(program)} task approve T1 --by anna; echo "= $?"
echo MARK; BATON_AGENT=mine baton task approve T1 --by anna
echo PIPE; echo yes | baton task approve T1 --by anna
echo ALONE; setsid --wait ${JSON.stringify(process.execPath)} ${JSON.stringify(program)} task approve T1 --by anna < /dev/null; echo "= $?"
echo TOKEN; BATON_AGENT=mine baton token create hers --scope operate; BATON_AGENT=mine baton token create reads; baton token create his --scope operate; baton token ls --json
echo PERSON; baton task approve T1 --by anna
echo GO; baton task history T1 --json
`,
  )
  const pane = tmux.open(['sh', script], { cwd, columns: 400, env: { HOME: cwd, NO_COLOR: '1' } })
  await pane.shows('[ended 0')
  const parts = pane.text.split(/^(?:NEW|ASK|AGENT|MARK|PIPE|ALONE|TOKEN|PERSON|GO)\s*$/m).slice(1)
  const [, asked, agent, mark, pipe, alone, token, person, history] = parts
  expect(asked).toContain('a person must decide: Really?')
  expect(agent).toContain('Only a person can decide this: claude (process')
  expect(mark).toContain('BATON_AGENT, which agents set for their commands')
  expect(pipe).toContain('its input is not the terminal')
  expect(alone).toContain('this command has no terminal')
  for (const refused of [agent, mark, pipe, alone]) expect(refused).toContain('= 1')
  expect(token).toContain("It is an agent's token, which decides nothing in a person's name: BATON_AGENT")
  const kinds = [...token!.matchAll(/"name":"(\w+)","scope":"\w+","kind":"(\w+)"/g)].map(([, name, kind]) => [
    name,
    kind,
  ])
  expect(kinds).toEqual([
    ['hers', 'agent'],
    ['reads', 'program'],
    ['his', 'program'],
  ])
  expect(person).toContain('anna approved at version 1 of T1:')
  expect(person).toContain('= 0')
  expect(history).toMatch(/"via":"terminal pts\/\d+"/)
})
