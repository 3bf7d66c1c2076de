// The package as a newcomer meets it: packed, installed into an empty project, used on each version of Node, with each AI SDK.

import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { temporaryFolder } from '../support/workspace.ts'

const run = promisify(execFile)
const root = path.join(import.meta.dirname, '../..')
const newcomers = path.join(root, 'node_modules/.newcomers/node_modules')

/** The versions of Node that Baton supports. The programs of the others exist for Linux on x64 only. */
const nodes = [
  ['the Node of the tests', process.execPath],
  ...(fs.existsSync(newcomers) ? ['22', '24'] : []).map((version) => [
    `Node ${version}`,
    path.join(newcomers, `node-${version}/bin/node`),
  ]),
] as [name: string, node: string][]

const sdks = [
  ['6', process.execPath],
  ['7', path.join(newcomers, 'node-22/bin/node')],
] as const

describe('the package', () => {
  const removals: (() => void)[] = []
  let project = ''
  let said = ''

  beforeAll(async () => {
    project = temporaryFolder((remove) => removals.push(remove))
    // The build is there already: `npm test` begins with it.
    const pack = ['pack', '--ignore-scripts', '--silent', '--pack-destination', project]
    const { stdout: tarball } = await run('npm', pack, { cwd: root })
    fs.writeFileSync(path.join(project, 'package.json'), '{"type":"module","private":true}\n')
    const install = ['install', `./${tarball.trim()}`, '--prefer-offline', '--no-audit', '--no-fund']
    said = (await run('npm', install, { cwd: project })).stderr
    // npm takes a minute where other programs want the disk as well.
  }, 400_000)

  afterAll(() => {
    for (const remove of removals) remove()
  })

  test('installs without a warning, within 45 MB', async () => {
    // What npm says about the settings of this machine is not about the package.
    expect(said.split('\n').filter((line) => line !== '' && !/Unknown (?:user|env|project) config/.test(line))).toEqual(
      [],
    )
    const { stdout } = await run('du', ['-sk', 'node_modules'], { cwd: project })
    expect(Number.parseInt(stdout, 10)).toBeLessThan(45 * 1024)
  })

  test('brings the files that its README and its documentation link to', () => {
    const folder = path.join(project, 'node_modules/@baton/baton')
    const pages = [
      'README.md',
      'CHANGELOG.md',
      ...fs.readdirSync(path.join(folder, 'docs')).map((name) => `docs/${name}`),
    ]
    const dead = pages
      .filter((page) => page.endsWith('.md'))
      .flatMap((page) =>
        [...fs.readFileSync(path.join(folder, page), 'utf8').matchAll(/\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g)]
          .map(([, link]) => path.join(path.dirname(page), link!))
          .filter((link) => !fs.existsSync(path.join(folder, link)))
          .map((link) => `${page}: ${link}`),
      )
    expect(dead).toEqual([])
  })

  test('has a manual page of every command', () => {
    const page = fs.readFileSync(path.join(project, 'node_modules/@baton/baton/dist/baton.1'), 'utf8')
    expect(page).toMatch(/^\.TH BATON 1/)
    for (const name of ['handoff', 'continue', 'run', 'up', 'tape append']) expect(page).toContain(`baton ${name}`)
    // npm links it for a global installation only if it is named in a list.
    expect(manifest.man).toEqual(['./dist/baton.1'])
  })

  test.for(nodes)('opens every door on %s', async ([, node]) => {
    const home = temporaryFolder()
    const env = { ...process.env, HOME: home, BATON_HOME: path.join(home, '.baton') }
    const doors = copied('doors.mjs', project)
    const transcript = path.join(home, 'session.jsonl')
    fs.writeFileSync(transcript, session)
    const { stdout } = await run(node, [doors, transcript], { cwd: project, env })
    expect(stdout.trim().split('\n')).toEqual(['command line', 'library', 'server and client', 'MCP', 'down'])
  })

  describe.runIf(fs.existsSync(newcomers)).each(sdks)('beside AI SDK %s', (sdk, node) => {
    beforeAll(() => link(path.join(newcomers, `ai-${sdk}`), path.join(project, 'node_modules/ai')))

    test('has its models write documents and run an agent', async () => {
      const home = temporaryFolder()
      fs.writeFileSync(path.join(home, 'notes.txt'), 'hello')
      const env = { ...process.env, HOME: home, BATON_HOME: path.join(home, '.baton') }
      const { stdout } = await run(node, [copied('models.mjs', project)], { cwd: project, env })
      const { specification, markdown, turn, results } = JSON.parse(stdout) as Record<string, unknown>
      expect(specification).toBe(sdk === '6' ? 'v3' : 'v4')
      expect(markdown).toContain('the customer was friendly')
      expect(turn).toMatchObject({ status: 'done', text: 'There are files.' })
      expect(results).toEqual([expect.objectContaining({ output: expect.stringContaining('package.json') })])
    })

    test.for([
      ['node16', path.join(newcomers, 'typescript-5')],
      ['nodenext', path.join(root, 'node_modules/typescript')],
      ['bundler', path.join(root, 'node_modules/typescript')],
    ] as const)('compiles the example of the README: %s', async ([resolution, compiler]) => {
      link(path.join(root, 'node_modules/@types/node'), path.join(project, 'node_modules/@types/node'))
      const source = path.join(project, `readme-${sdk}.ts`)
      fs.writeFileSync(source, exampleOf(fs.readFileSync(path.join(root, 'README.md'), 'utf8')))
      const module = resolution === 'bundler' ? 'esnext' : resolution
      const options = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022', '--types', 'node']
      const tsc = [path.join(compiler, 'bin/tsc'), ...options, '--module', module, '--moduleResolution', resolution]
      const { stdout } = await run(process.execPath, [...tsc, source], { cwd: project }).catch(
        (error: { stdout: string }) => error,
      )
      expect(stdout).toBe('')
    })
  })

  test('names what to install for a model that is newer than every AI SDK at hand', async () => {
    link(path.join(root, 'node_modules/ai'), path.join(project, 'node_modules/ai'))
    const home = temporaryFolder()
    const env = { ...process.env, HOME: home, BATON_HOME: path.join(home, '.baton') }
    const code = `
      import { openTape, writeHandoff } from '@baton/baton'
      const tape = await openTape('main')
      await tape.record({ role: 'user', content: 'one' })
      await tape.record({ role: 'assistant', content: 'two' })
      const model = { specificationVersion: 'v4', provider: 'p', modelId: 'm', supportedUrls: {} }
      await writeHandoff(tape, { goal: 'x', model, budget: 800 }).catch(({ code, message, hint }) =>
        console.log(JSON.stringify({ code, message, hint })))
      await tape.close()`
    fs.writeFileSync(path.join(project, 'newer.mjs'), code)
    const { stdout } = await run(process.execPath, ['newer.mjs'], { cwd: project, env })
    expect(JSON.parse(stdout)).toEqual({
      code: 'unsupported',
      message: expect.stringMatching(/^The model m needs AI SDK 7, and AI SDK 6\.\d+\.\d+ is installed$/),
      hint: 'Run "npm install ai@7" in your project. It needs Node 22 or newer.',
    })
  })
})

/** What Claude Code wrote of a session with one request. */
const session = [
  { type: 'user', message: { role: 'user', content: 'Explain the build.' } },
  { type: 'assistant', message: { role: 'assistant', content: [{ type: 'text', text: 'It compiles src.' }] } },
]
  .map((line, i) => ({
    ...line,
    uuid: `u${i}`,
    sessionId: 's1',
    cwd: '/project',
    timestamp: `2026-03-01T10:00:0${i}Z`,
  }))
  .map((line) => `${JSON.stringify(line)}\n`)
  .join('')

/** The program finds its packages beside itself. */
function copied(name: string, project: string): string {
  const copy = path.join(project, name)
  fs.copyFileSync(path.join(import.meta.dirname, name), copy)
  return copy
}

function link(target: string, at: string): void {
  fs.rmSync(at, { recursive: true, force: true })
  fs.mkdirSync(path.dirname(at), { recursive: true })
  fs.symlinkSync(target, at)
}

/** The example's model, tools and input are the reader's own. */
function exampleOf(readme: string): string {
  const example = readme.split('```ts\n')[1]!.split('```')[0]!
  return `import type { LanguageModel, ToolSet } from 'ai'
declare const model: LanguageModel
declare const tools: ToolSet
declare const input: string
${example}`
}
