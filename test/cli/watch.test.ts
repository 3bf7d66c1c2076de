// Agents that somebody started: found in their panes, and supervised as if Baton had started them.

import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { type Event, scriptedDoor } from '../support/door.ts'
import { temporaryFolder } from '../support/workspace.ts'
import { program } from './cli.ts'

test('watch finds an agent in a pane, and only that, and cycles it when its context is full [C1, C13]', async ({
  onTestFinished,
}) => {
  const door = scriptedDoor(temporaryFolder(onTestFinished), { modules: 4, perTurn: 2, growth: 10_000 })
  onTestFinished(() => door.close())
  const home = path.join(door.folder, 'agent')
  const agent = ['scripted-agent', '--home', home, '--per-turn', '2', '--growth', '10000', '--pace', '20']
  // A server of any name will do.
  const mine = ['-S', path.join(path.dirname(door.socket), 'work')]
  const pane = (...command: string[]) =>
    door.tmux(...mine, 'new-window', '-P', '-F', '#{pane_id}', '-c', door.project, ...command).trim()
  fs.mkdirSync(path.dirname(door.socket), { mode: 0o700 })
  door.tmux(...mine, 'new-session', '-d', '-x', '120', '-y', '40', '-c', door.project)
  onTestFinished(() => void door.tmux(...mine, 'kill-server'))
  pane(process.execPath, '-e', 'setInterval(() => {}, 1000)')
  const id = pane(process.execPath, program, ...agent)
  await expect.poll(() => door.tmux(...mine, 'capture-pane', '-p', '-t', id), { timeout: 120_000 }).toContain('Ready')
  expect(door.say('watch', '--dry-run')).toEqual([
    { type: 'running', agent: 'scripted', cwd: door.project, place: expect.objectContaining({ pane: id }) },
  ])
  const watch = door.start('watch')
  await watch.event(({ type }) => type === 'row')
  door.tmux(...mine, 'load-buffer', '-b', 'task', door.task)
  door.tmux(...mine, 'paste-buffer', '-p', '-r', '-d', '-b', 'task', '-t', id)
  door.tmux(...mine, 'send-keys', '-t', id, 'Enter')
  const done = await watch.event((event: Event) => event.type === 'step' && event.step === 'done')
  expect(done).toMatchObject({ name: 'scripted-till', cycle: 1 })
  watch.child.kill('SIGINT')
  expect(await watch.ended).toBe(130)
  // The pane was there before Baton, and is there after it.
  expect(door.tmux(...mine, 'list-panes', '-a', '-F', '#{pane_id}')).toContain(id)
}, 300_000)
