// The page of figures says what the benches have kept, and nothing else.
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { benches, figuresPage } from '../../scripts/figures/page.ts'
import { withFigures } from '../../scripts/figures/readme.ts'
import { plot } from '../../scripts/figures/plot.ts'

const folder = path.join(import.meta.dirname, '../../docs/bench')

test('docs/bench is what "npm run bench page" writes', () => {
  const files = figuresPage(folder)
  expect(Object.keys(files).length).toBeGreaterThan(5)
  for (const [name, content] of Object.entries(files))
    expect(fs.readFileSync(path.join(folder, name), 'utf8')).toBe(content)
  const kept = fs.readdirSync(folder).filter((name) => name !== 'results')
  expect(kept.toSorted()).toEqual(Object.keys(files).toSorted())
})

test('the figures of the README are those of the page', () => {
  const readme = fs.readFileSync(path.join(import.meta.dirname, '../../README.md'), 'utf8')
  expect(readme).toBe(withFigures(readme, folder))
})

test('every kept result is on the page, with when it was measured, and every bench exists', () => {
  const page = figuresPage(folder)['figures.md']!
  for (const name of fs.readdirSync(path.join(folder, 'results'))) {
    const { bench, date } = JSON.parse(fs.readFileSync(path.join(folder, 'results', name), 'utf8')) as Record<
      string,
      string
    >
    expect(page).toContain(`\`npm run bench ${bench}\`\n\nMeasured on ${date!.slice(0, 10)}: `)
  }
  for (const name of Object.keys(benches))
    expect(fs.existsSync(path.join(import.meta.dirname, `../../bench/${name}.ts`))).toBe(true)
})

test('a plot has a bar for each figure, and figures of different units are not compared', () => {
  const rows = [
    { name: 'a <b>', unit: 'ms', values: [1, 2] },
    { name: 'c', unit: 'ms', values: [3, null] },
  ]
  const picture = plot({ title: 'T', note: '', columns: ['x', 'y'], rows })!
  expect(picture.match(/<rect [^>]*height="14"/g)).toHaveLength(3)
  expect(picture).toContain('a &lt;b>')
  expect(plot({ title: 'T', note: '', columns: ['x'], rows: [rows[0]!, { ...rows[1]!, unit: 's' }] })).toBeUndefined()
})
