import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { examine, type Finding } from '../../src/connect/index.ts'
import { temporaryFolder } from '../support/workspace.ts'

/** What the doctor finds of agents where only these programs are on the path. */
async function agentsFound(programs: Record<string, string>): Promise<Finding[]> {
  const folder = temporaryFolder()
  const bin = path.join(folder, 'bin')
  fs.mkdirSync(bin)
  for (const [name, prints] of Object.entries(programs)) {
    fs.writeFileSync(path.join(bin, name), `#!/bin/sh\n${prints}\n`, { mode: 0o755 })
  }
  const env = { HOME: folder, PATH: bin }
  const found = await examine({ cwd: folder, project: folder, env, self: [process.execPath, 'baton'] })
  return found.filter(({ about }) => ['agents', 'claude', 'codex'].includes(about))
}

test('agents are named with their versions, and how to connect them [D6]', async () => {
  expect(await agentsFound({ claude: 'echo 2.1.0' })).toEqual([
    { about: 'claude', is: 'ok', text: 'Claude Code: 2.1.0, not connected ("baton connect claude")' },
  ])
})

test.each<Record<string, string>>([{}, { codex: 'exit 1' }])(
  'that there is no agent is said, %j [D6]',
  async (programs) => {
    expect(await agentsFound(programs)).toEqual([
      {
        about: 'agents',
        is: 'warning',
        text: 'no agent found (claude, codex, pi, gemini, opencode)',
        advice: expect.stringContaining('install one') as string,
      },
    ])
  },
)

test('a workspace that cannot be created is a problem [D6]', async () => {
  const folder = temporaryFolder()
  const home = path.join(folder, 'home')
  fs.writeFileSync(home, 'not a folder')
  const found = await examine({
    cwd: folder,
    project: folder,
    env: { HOME: home, PATH: '' },
    self: [process.execPath, 'baton'],
  })
  expect(found.find(({ about }) => about === 'store')).toEqual({
    about: 'store',
    is: 'problem',
    text: expect.stringMatching(/home\/\.local\/share\/baton\/.* cannot be created$/) as string,
    advice: expect.stringContaining(`Make ${home} a folder`) as string,
  })
})

const memory = '/dev/shm'
const isDisk = fs.existsSync(memory) && fs.statSync(memory).dev !== fs.statSync(os.tmpdir()).dev

test.runIf(isDisk)('the disk of the workspace is looked at too, where it is another one [D6]', async () => {
  const folder = temporaryFolder()
  const workspace = fs.mkdtempSync(path.join(memory, 'baton-'))
  onTestFinished(() => fs.rmSync(workspace, { recursive: true }))
  const found = async (address: string) => {
    const all = await examine({
      cwd: folder,
      project: folder,
      env: { HOME: folder, PATH: '' },
      self: [process.execPath, 'baton'],
      address,
    })
    return all.filter(({ about }) => about === 'disk').map(({ text }) => text)
  }
  expect(await found(workspace)).toEqual([
    expect.stringMatching(`GB free for ${folder}`),
    expect.stringMatching(`GB free for ${workspace}`),
  ])
  expect(await found(path.join(folder, '.baton'))).toEqual([expect.stringMatching(/^[\d.]+ GB free$/)])
})
