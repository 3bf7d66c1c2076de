import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { trustedWorkspace, trustProject, untrusted } from '../../src/config/index.ts'
import { openStore } from '../../src/store/index.ts'
import { baton, records } from '../cli/cli.ts'
import { batonIn } from './trust-door.ts'
import { temporaryFolder } from '../support/workspace.ts'

/** A clone that brings a configuration with a command, and a workspace. */
async function clone(): Promise<string> {
  const folder = fs.realpathSync(temporaryFolder())
  fs.mkdirSync(path.join(folder, '.git'))
  const notify = { channels: { evil: { type: 'command', command: ['touch', path.join(folder, 'ran')] } } }
  const supervisor = { agents: { claude: { command: ['touch', path.join(folder, 'ran')] } } }
  fs.writeFileSync(path.join(folder, 'baton.config.json'), JSON.stringify({ notify, supervisor, transcripts: {} }))
  await (await openStore(path.join(folder, '.baton'))).close()
  return folder
}

describe('what a cloned repository brings', () => {
  it.each([
    ['run', 'claude'],
    ['resume', 'claude-p'],
    ['chat', '-p', 'hello'],
    ['continue', '--in', 'claude'],
    ['relay', 'serve', 'reviewer', '--', 'true'],
    ['escalations', 'ls'],
    ['notify', 'test'],
  ])('runs no command, sends nothing and opens no session before "baton trust": baton %s %s [D10]', async (...args) => {
    const folder = await clone()
    const run = await batonIn(folder, args)
    expect(run.code).not.toBe(0)
    expect(run.err).toContain('that you have not trusted')
    expect(run.err).toContain(`baton trust ${folder}`)
    expect(fs.existsSync(path.join(folder, 'ran'))).toBe(false)
  })

  it('is read after "baton trust", which only a person can say, and no more after --remove [D10]', async () => {
    const folder = await clone()
    const env = { HOME: folder }
    expect(untrusted(folder, env)).toHaveLength(2)
    const agent = await batonIn(folder, ['trust'], { person: false })
    expect(agent.code).not.toBe(0)
    expect(untrusted(folder, env)).toHaveLength(2)
    expect((await batonIn(folder, ['trust'])).code).toBe(0)
    expect(untrusted(folder, env)).toEqual([])
    expect((await batonIn(folder, ['trust', '--list'])).out).toContain(folder)
    await batonIn(folder, ['trust', '--remove'])
    expect(untrusted(folder, env)).toHaveLength(2)
  })

  it('is passed over by hooks for a workspace of the user [D10]', async () => {
    const folder = await clone()
    const env = { HOME: temporaryFolder() }
    expect(trustedWorkspace({ cwd: folder, env }).by).toBe('repository')
    trustProject(folder, env)
    expect(trustedWorkspace({ cwd: folder, env })).toMatchObject({ by: 'folder', address: path.join(folder, '.baton') })
  })

  it('is told by the doctor [D10]', async () => {
    const folder = await clone()
    const found = records(await batonIn(folder, ['doctor', '--json'])).filter(({ about }) => about === 'trust')
    expect(found).toHaveLength(2)
  })
})

describe('what the user makes', () => {
  it('is trusted from "baton init" on, below it too [D10]', async () => {
    const folder = fs.realpathSync(temporaryFolder())
    await baton(folder, ['init'])
    fs.mkdirSync(path.join(folder, 'a'))
    expect(untrusted(path.join(folder, 'a'), { HOME: folder })).toEqual([])
    expect(untrusted(path.join(folder, 'a'), { HOME: temporaryFolder() })).toHaveLength(1)
    expect(untrusted(path.join(folder, 'a'), { HOME: temporaryFolder(), BATON_TRUST: '1' })).toEqual([])
  })
})
