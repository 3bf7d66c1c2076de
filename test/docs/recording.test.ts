// The recording of the README: a picture of a terminal that plays by itself, made by `npm run recording`.
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { animation } from '../../scripts/terminal-svg.mjs'

test('a line that stays is drawn once; colours, columns and times are those of the terminal', () => {
  const frames = [
    { lines: ['$ baton', '\u001b[32mok\u001b[0m  a <b>'], ms: 1_000 },
    { lines: ['$ baton', 'more'], ms: 3_000 },
  ]
  const svg = animation(frames, { columns: 20, rows: 4 })
  expect(svg.match(/<text id=/g)).toHaveLength(3)
  expect(svg.match(/<use /g)).toHaveLength(4)
  expect(svg).toMatch(/<tspan x="14\.0" fill="#8fc98f">ok<\/tspan><tspan x="30\.9">/)
  expect(svg).toContain('a\u00a0&lt;b>')
  expect(svg).toContain('play 4.00s steps(1,end) infinite')
  expect(svg).toContain('25.000%{transform:translateY(-100px)}')
})

test('the recording of the README shows its commands, and nothing of the machine that made it', () => {
  const svg = fs.readFileSync(path.join(import.meta.dirname, '../../docs/images/terminal.svg'), 'utf8')
  for (const command of ['baton', 'baton\u00a0handoff', 'baton\u00a0show', 'baton\u00a0continue', 'baton\u00a0demo'])
    expect(svg).toContain(`$\u00a0${command}`)
  expect(svg).not.toMatch(/\/(?:root|work)\b/)
  expect(svg.length).toBeLessThan(400_000)
})
