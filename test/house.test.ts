// The direction of imports is a lint rule; a lint rule that matches nothing is green too. So every pair of rooms is
// planted in a scratch copy of the house and linted with the project's own configuration.
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'

const root = fileURLToPath(new URL('..', import.meta.url))
const config = 'oxlint.config.mjs'

const anyone = ['config', 'notify', 'system', 'telemetry']
const forms = ['handoff', 'task', 'relay']
const runners = ['agent', 'supervisor', 'transcripts']
const belowOperations = ['store', 'tape', ...forms, 'approvals', 'fidelity', 'agents', 'connect', ...runners, ...anyone]

/** Room: whom it may know. Written again by hand, not taken from the configuration under test. */
const house: Record<string, string[]> = {
  system: [],
  telemetry: ['system'],
  notify: ['system'],
  store: ['system'],
  config: ['system'],
  tape: ['store', ...anyone],
  handoff: ['store', 'tape', ...anyone],
  task: ['store', 'tape', ...anyone],
  relay: ['store', 'tape', ...anyone],
  fidelity: ['store', 'tape', ...anyone],
  approvals: ['store', 'tape', 'task', 'relay', ...anyone],
  agents: ['store', 'tape', ...forms, ...anyone],
  agent: ['store', 'tape', ...forms, 'agents', ...anyone],
  supervisor: ['store', 'tape', ...forms, 'agents', 'transcripts', ...anyone],
  transcripts: ['store', 'tape', ...forms, 'agents', ...anyone],
  connect: ['store', 'tape', ...forms, 'agents', 'transcripts', ...anyone],
  demo: anyone,
  operations: belowOperations,
  client: ['operations'],
  mcp: [...belowOperations, 'operations'],
  server: [...belowOperations, 'operations', 'mcp'],
  web: ['client'],
  cli: [...belowOperations, 'operations', 'client', 'server', 'mcp', 'demo'],
}
const rooms = Object.keys(house)

const report = z.object({ diagnostics: z.array(z.object({ code: z.string(), filename: z.string() })) })

let folder: string
let found: Map<string, string[]>

/** File: what it says. */
const planted: Record<string, string> = {
  'src/errors.ts': 'export const ground = 1\n',
  'src/store/ring-a.ts': "import { b } from './ring-b.ts'\nexport const a: number = b\n",
  'src/store/ring-b.ts': "import { a } from './ring-a.ts'\nexport const b: number = a\n",
  'src/store/file/deep.ts': "export { room } from '../../tape/index.ts'\n",
  'src/store/type.ts': "export type { Room } from '../tape/index.ts'\n",
  'src/tape/lazy.ts': "export const lazy = () => import('../cli/index.ts')\n",
  'src/tape/own-name.ts': "export { openStore } from '@baton/baton/store'\n",
  'src/relay/argv.ts': 'export const args = process.argv\n',
  'src/relay/commander.ts': "export { Command } from 'commander'\n",
  'src/relay/parse-args.ts': "export { parseArgs } from 'node:util'\n",
  'src/relay/inspect.ts': "export { inspect } from 'node:util'\n",
  'src/server/commander.ts': "export { Command } from 'commander'\n",
  'src/exports/door.ts': "export { room } from '../cli/index.ts'\n",
  'src/exports/past.ts': "export { own } from '../tape/own.ts'\n",
  'src/exports/tape.ts': "export { room } from '../tape/index.ts'\n",
  'src/task/http.ts': "export { Hono } from 'hono'\n",
  'src/server/http.ts': "export { Hono } from 'hono'\n",
  'src/cli/main.ts': "export { Command } from 'commander'\nexport const args = process.argv\n",
  'src/cli/base/folder.ts': 'export const folder = process.cwd()\n',
  'src/cli/tape/print.ts': "process.stdout.write('printed')\nprocess.exitCode = 1\n",
  'src/agent/floating.ts': 'const later = async () => 1\nlater()\n',
}
for (const room of rooms) {
  planted[`src/${room}/own.ts`] = 'export const own = 1\n'
  planted[`src/${room}/index.ts`] = "export { ground as room } from '../errors.ts'\nexport type Room = number\n"
  for (const other of rooms) {
    if (other === room) continue
    planted[pair(room, other)] = `export { room } from '../${other}/index.ts'\n`
    planted[past(room, other)] = `export { own } from '../${other}/own.ts'\n`
  }
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-house-'))
  await cp(join(root, config), join(folder, config))
  await cp(join(root, 'tsconfig.json'), join(folder, 'tsconfig.json'))
  // The rules that need types look for their checker from the linted folder.
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  for (const [file, text] of Object.entries(planted)) {
    await mkdir(dirname(join(folder, file)), { recursive: true })
    await writeFile(join(folder, file), text)
  }
  found = await lint(folder)
})

afterAll(() => rm(folder, { recursive: true, force: true }))

describe('imports point downwards only', () => {
  it.each(rooms)('%s knows the rooms it may know and no other', (room) => {
    const others = rooms.filter((other) => other !== room)
    const refused = others.filter((other) => found.get(pair(room, other))?.includes('eslint(no-restricted-imports)'))
    expect(refused).toEqual(others.filter((other) => !house[room]?.includes(other)))
  })

  it('an allowed import passes every rule', () => {
    const allowed = rooms.flatMap((room) => (house[room] ?? []).map((other) => pair(room, other)))
    expect(allowed.filter((file) => found.has(file))).toEqual([])
  })

  it.each(rooms)("%s sees another room's index.ts and none of its other files", (room) => {
    const others = rooms.filter((other) => other !== room)
    const refused = others.filter((other) => found.get(past(room, other))?.includes('eslint(no-restricted-imports)'))
    expect(refused).toEqual(others)
  })

  it('the library exports what the indexes of the rooms below the doors name', () => {
    expect(found.get('src/exports/door.ts')).toEqual(['eslint(no-restricted-imports)'])
    expect(found.get('src/exports/past.ts')).toEqual(['eslint(no-restricted-imports)'])
    expect(found.get('src/exports/tape.ts')).toBeUndefined()
  })

  it.each(['src/store/file/deep.ts', 'src/store/type.ts', 'src/tape/lazy.ts'])(
    '%s cannot reach up from a subfolder, for a type or with import()',
    (file) => expect(found.get(file)).toEqual(['eslint(no-restricted-imports)']),
  )

  it('a cycle inside a room is refused', () => {
    expect(found.get('src/store/ring-a.ts')).toEqual(['import(no-cycle)'])
    expect(found.get('src/store/ring-b.ts')).toEqual(['import(no-cycle)'])
  })

  it('the package does not import itself by name', () => {
    expect(found.get('src/tape/own-name.ts')).toEqual(['eslint(no-restricted-imports)'])
  })

  it('every folder of src is a room of the house', async () => {
    const folders = (await readdir(join(root, 'src'), { withFileTypes: true })).filter((entry) => entry.isDirectory())
    expect([...rooms, 'exports']).toEqual(expect.arrayContaining(folders.map((entry) => entry.name)))
  })
})

describe('nothing below the doors parses argv or HTTP', () => {
  it('a command line is read in cli only', () => {
    expect(found.get('src/relay/argv.ts')).toEqual(['eslint(no-restricted-properties)'])
    expect(found.get('src/relay/commander.ts')).toEqual(['eslint(no-restricted-imports)'])
    expect(found.get('src/relay/parse-args.ts')).toEqual(['eslint(no-restricted-imports)'])
    expect(found.get('src/relay/inspect.ts')).toBeUndefined()
    expect(found.get('src/server/commander.ts')).toEqual(['eslint(no-restricted-imports)'])
    expect(found.get('src/cli/main.ts')).toBeUndefined()
  })

  it('the commands know the process by what main.ts gives them', () => {
    expect(found.get('src/cli/base/folder.ts')).toEqual(['eslint(no-restricted-properties)'])
    expect(found.get('src/cli/tape/print.ts')).toEqual(Array(2).fill('eslint(no-restricted-properties)'))
  })

  it('HTTP is spoken at the doors only', () => {
    expect(found.get('src/task/http.ts')).toEqual(['eslint(no-restricted-imports)'])
    expect(found.get('src/server/http.ts')).toBeUndefined()
  })
})

it('rules that need types are on: a forgotten promise is refused', () => {
  expect(found.get('src/agent/floating.ts')).toEqual(['typescript(no-floating-promises)'])
})

function pair(from: string, to: string): string {
  return `src/${from}/knows-${to}.ts`
}

function past(from: string, to: string): string {
  return `src/${from}/past-${to}.ts`
}

/** File: the rules it breaks. */
async function lint(cwd: string): Promise<Map<string, string[]>> {
  const oxlint = join(root, 'node_modules/.bin/oxlint')
  const output = await new Promise<string>((resolve, reject) => {
    execFile(oxlint, ['-c', config, '-f', 'json', 'src'], { cwd, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      if (error?.code === 1) resolve(stdout)
      else reject(new Error(`oxlint exited with ${error?.code ?? 0}, not 1: ${stdout}${stderr}`))
    })
  })
  const rules = new Map<string, string[]>()
  for (const { filename, code } of report.parse(JSON.parse(output)).diagnostics) {
    rules.set(filename, [...(rules.get(filename) ?? []), code])
  }
  return rules
}
