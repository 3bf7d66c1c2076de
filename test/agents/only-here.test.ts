import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { agentNames } from '../../src/agents/index.ts'

const src = path.join(import.meta.dirname, '../../src')

/**
 * The demo's agent is a program of its own that writes transcripts as pi does, and may not know the agents. What tells a person from
 * an agent lists the programs of many more agents than Baton runs, for rooms below src/agents; its own test keeps the list complete.
 */
const allowed = [/^agents\b/, /^demo\b/, /^system.person\.ts$/]

test('no agent is named outside src/agents: what is particular to one is said there', () => {
  const name = new RegExp(`['"\`](${agentNames.join('|')})(['"\`]|/)`)
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file))
  const others = files.filter((file) => !allowed.some((place) => place.test(file)))
  expect(others.length).toBeGreaterThan(100)
  const found = others.flatMap((file) =>
    readFileSync(path.join(src, file), 'utf8')
      .split('\n')
      .flatMap((line, i) => (name.test(line) ? [`${file}:${i + 1} ${line.trim()}`] : [])),
  )
  expect(found).toEqual([])
})
