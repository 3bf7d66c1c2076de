import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { adapterNamed } from '../../../src/agents/index.ts'
import { resumeText } from '../../../src/handoff/index.ts'
import { promptFor } from '../../../src/supervisor/documents/document-file.ts'
import { temporaryFolder } from '../../support/workspace.ts'

test('a document that an agent could not read to its end is in the prompt; any other is only named [C6]', () => {
  const folder = temporaryFolder()
  const [short, long] = [500, 20_000].map((bytes) => {
    const file = path.join(folder, `handoff-2026-11-18-02-${bytes}.md`)
    fs.writeFileSync(file, `# Handoff\n${'x'.repeat(bytes)}\nthe last word\n`)
    return resumeText(file)
  })
  const given = (agent: string, prompt: string) =>
    promptFor(adapterNamed(agent, { env: {} }), prompt).includes('the last word')
  const agents = ['claude', 'codex', 'gemini', 'opencode', 'pi']
  expect(agents.filter((agent) => given(agent, short!))).toEqual(['gemini'])
  expect(agents.filter((agent) => given(agent, long!))).toEqual(['codex', 'gemini'])
})
