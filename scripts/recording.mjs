// `npm run recording`: makes docs/images/terminal.svg, the recording in the README. It types commands into a shell in tmux, looks at the
// screen as it changes, and writes what it saw as one SVG that plays by itself. Waits are shortened; nothing else is changed.
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { makeSample } from './sample-session.mjs'
import { root } from './stamps.mjs'
import { animation } from './terminal-svg.mjs'

const columns = 100
const rows = 28
/** Between two looks at the screen, in milliseconds. */
const lookEvery = 120
/** A frame stays no longer than this, however long the screen stood still. */
const longest = 1_400
/** The frame at the end of a command stays this long. */
const reading = 3_500

/** What is typed, and what the screen shows when the command is done: the prompt, alone on the last line. */
const story = [
  'baton',
  'baton handoff --budget 700 --quiet | tail -20',
  'baton show 7d1f0c52#20',
  'baton continue --in codex --print --quiet',
  'baton demo --fast',
]

// A name that may be seen; where somebody else makes a recording right now, this fails.
const folder = '/tmp/home'
mkdirSync(folder)
const home = join(folder, 'me')
mkdirSync(home)
const socket = join(folder, 'tmux')
const tmux = (/** @type {string[]} */ ...args) =>
  execFileSync('tmux', ['-S', socket, '-f', '/dev/null', ...args], { encoding: 'utf8' })
try {
  const project = makeSample(home)
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'baton'), `#!/bin/sh\nexec ${process.execPath} ${join(root, 'dist/cli/main.js')} "$@"\n`)
  writeFileSync(join(bin, 'codex'), '#!/bin/sh\n')
  for (const name of ['baton', 'codex']) chmodSync(join(bin, name), 0o755)
  const env = [
    `HOME=${home}`,
    `PATH=${bin}:${process.env.PATH}`,
    'PS1=$ ',
    'TERM=tmux-256color',
    'LANG=C.UTF-8',
    `TMPDIR=${folder}`,
    `TMUX_TMPDIR=${folder}`,
  ]
  const size = ['-x', String(columns), '-y', String(rows)]
  tmux('new-session', '-d', ...size, '-c', project, 'env', '-i', ...env, 'bash', '--norc', '--noprofile')
  const frames = await record()
  writeFileSync(join(root, 'docs/images/terminal.svg'), animation(frames, { columns, rows }))
  console.log(`docs/images/terminal.svg: ${frames.length} frames`)
} finally {
  // The one with the shell, and the one in which the demo had its agent.
  for (const server of [
    ['-S', socket],
    ['-L', 'baton'],
  ]) {
    spawnSync('tmux', [...server, 'kill-server'], { env: { ...process.env, TMUX_TMPDIR: folder } })
  }
  rmSync(folder, { recursive: true, force: true })
}

/** @returns {Promise<{ lines: string[], ms: number }[]>} */
async function record() {
  /** @type {{ lines: string[], ms: number }[]} */
  const frames = []
  await until((lines) => lines.at(-1) === '$', frames)
  for (const command of story) {
    for (const letter of command) tmux('send-keys', '-l', letter)
    look(frames, 900)
    tmux('send-keys', 'Enter')
    await until((lines) => lines.at(-1) === '$' && lines.length > 1, frames)
    const last = frames.at(-1)
    if (last !== undefined) last.ms = reading
    tmux('send-keys', 'C-l')
    await until((lines) => lines.length === 1, frames)
  }
  return frames.filter(({ lines }) => lines.some((line) => plain(line) !== '$'))
}

/** Looks until the screen is as wanted. @param {(lines: string[]) => boolean} wanted @param {{ lines: string[], ms: number }[]} frames */
async function until(wanted, frames) {
  for (let waited = 0; waited < 120_000; waited += lookEvery) {
    await pause(lookEvery)
    const lines = look(frames, lookEvery)
    if (wanted(lines.map(plain))) return
  }
  throw new Error(`The screen did not change as expected:\n${frames.at(-1)?.lines.join('\n')}`)
}

/** @param {{ lines: string[], ms: number }[]} frames @param {number} ms */
function look(frames, ms) {
  const lines = asInstalled(tmux('capture-pane', '-e', '-p'))
    .replace(/\n+$/, '')
    .split('\n')
  const last = frames.at(-1)
  if (last !== undefined && last.lines.join('\n') === lines.join('\n')) last.ms = Math.min(last.ms + ms, longest)
  else frames.push({ lines, ms })
  return lines
}

/** What the demo prints to type next names the program by its path, since it runs from a build. @param {string} text */
function asInstalled(text) {
  return text.replaceAll(/node \S*dist\/cli\/main\.js/g, 'baton')
}

/** @param {string} line */
function plain(line) {
  // oxlint-disable-next-line no-control-regex -- escapes are what it removes
  return line.replaceAll(/\x1b\[[0-9;]*m/g, '').trimEnd()
}
