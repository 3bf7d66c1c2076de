// npm run bench chat [-- --quick]
//
// How soon `baton chat` stands on the screen, and how soon it can be talked to, beside starting Node at all. The chat
// runs in a tmux pane, which is slower than a bare terminal: what tmux takes to start it is counted in.

import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Tmux } from '../test/support/terminal.ts'
import { median } from './contest.ts'
import { isMet, keepResults, machine, render, type Section } from './table.ts'

const args = process.argv.slice(2)
const rounds = args.includes('--quick') ? 5 : 21
const cli = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))

const place = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-bench-'))
const env = { HOME: place }
const node: number[] = []
const first: number[] = []
const ready: number[] = []
{
  using tmux = new Tmux()
  for (let round = 0; round < rounds; round++) {
    node.push(startOfNode())
    const { painted, opened } = await startOfChat(tmux)
    first.push(painted)
    ready.push(opened)
  }
}
fs.rmSync(place, { recursive: true, force: true })
const section: Section = {
  title: 'baton chat, from start to screen',
  note: 'First frame: the editor takes keys. Ready: store, tape and agent are open, and the footer names the tape.',
  columns: ['time'],
  rows: [
    { name: 'node -e 0', unit: 'ms', values: [median(node)] },
    { name: 'baton chat, first frame', unit: 'ms', values: [median(first)] },
    { name: 'baton chat, ready', unit: 'ms', values: [median(ready)] },
  ],
  bars: [{ name: 'first frame, to node -e 0', value: median(first) / median(node), unit: '×', atMost: 8 }],
}
const where = machine(os.tmpdir())
const line = `${new Date().toISOString().slice(0, 10)}, ${where.cpu} (${where.cores} cores), ${where.system}, Node ${where.node}`
console.log(render(line, [section], args.includes('--markdown')))
keepResults('chat', os.tmpdir(), [section], { quick: args.includes('--quick') })
if (!section.bars.every(isMet)) process.exitCode = 1

function startOfNode(): number {
  const start = performance.now()
  spawnSync(process.execPath, ['-e', '0'], { cwd: place, env: { PATH: process.env.PATH, ...env } })
  return performance.now() - start
}

async function startOfChat(tmux: Tmux): Promise<{ painted: number; opened: number }> {
  const start = performance.now()
  const pane = tmux.open([process.execPath, cli, 'chat'], { cwd: place, env })
  await pane.shows('Baton chat')
  const painted = performance.now() - start
  await pane.shows('⚓')
  const opened = performance.now() - start
  await pane.press('C-d')
  await pane.exit()
  return { painted, opened }
}
